"""The validity gate: blind and clairvoyant robots with the scripted holdouts."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.batches import EPISODES, episodes, home, make, put, put_at_reach, world
from housemates.cli.main import main
from housemates.evaluation import validity as gate
from housemates.evaluation.validity import (
    HOLDOUTS,
    LENGTH,
    STRATEGIES,
    THRESHOLDS,
    Effort,
    Row,
    blind,
    clairvoyant,
    deviation,
    play,
    search,
    starts,
    summary,
    table,
    useful_action,
    verdicts,
)
from housemates.sim.rules import Rules
from housemates.sim.state import COLLISION_END, SUCCESS
from housemates.tasks.actions import ACTIONS

SMALL = Effort(rounds=3, branches=32)
NOTHING = np.full((EPISODES, LENGTH), -1, np.int8)


@pytest.fixture(scope="module")
def seeing() -> list[Row]:
    return clairvoyant(episodes(), [home()], world(), "middle", "2.5 m", SMALL)


@pytest.fixture(scope="module")
def unseeing() -> list[Row]:
    return blind(episodes(), [home()], world(), "middle")


def test_a_blind_robot_runs_into_its_partner(unseeing: list[Row]):
    assert all(row.collision > 0.1 for row in unseeing)


def test_a_robot_that_leaves_half_to_its_partner_is_still_blind(unseeing: list[Row]):
    divided = blind(episodes(), [home()], world(), "middle", "blind half")
    assert divided[0].success == unseeing[0].success
    assert all(row.collision > 0 for row in divided)


def test_a_clairvoyant_robot_hardly_ever_fails(seeing: list[Row]):
    assert min(row.success for row in seeing) > 0.9


def test_there_is_a_row_for_every_holdout(seeing: list[Row]):
    assert [row.holdout for row in seeing] == list(HOLDOUTS)


def test_outcomes_add_up(seeing: list[Row], unseeing: list[Row]):
    assert all(row.success + row.collision + row.timeout == pytest.approx(1) for row in seeing + unseeing)


def test_the_same_seed_gives_the_same_rows(seeing: list[Row]):
    assert clairvoyant(episodes(), [home()], world(), "middle", "2.5 m", SMALL) == seeing


def test_more_search_never_solves_less():
    batch = starts(episodes(), [home()], world(), Rules(), "clairvoyant")
    found = [search(batch, batch.records.copy(), np.random.default_rng(0), Effort(r, 8))[0] for r in (0, 2)]
    assert ((found[1] == SUCCESS) >= (found[0] == SUCCESS)).all()


def test_what_the_search_finds_is_played_by_the_rules():
    """Along a branch robots never pass through each other: a branch through a standing partner ends there."""
    batch = starts(episodes(), [home()], world(), Rules(), "clairvoyant")
    nodes = batch.records[:EPISODES].copy()
    nodes["pose"][:, 1, :2] = nodes["pose"][:, 0, :2] + (0.3, 0.0)
    played = play(batch, nodes, np.zeros(EPISODES, int), NOTHING, np.random.default_rng(0))
    assert (played.outcome == COLLISION_END).all()


def test_branches_are_played_on_copies():
    batch = starts(episodes(), [home()], world(), Rules(), "clairvoyant")
    before = batch.records.tobytes()
    play(batch, batch.records[:EPISODES].copy(), np.zeros(EPISODES, int), NOTHING, np.random.default_rng(0))
    assert batch.records.tobytes() == before


def test_a_branch_can_be_continued_from_its_decision_points():
    """From each point that was kept, doing nothing special ends as the branch ended."""
    batch = starts(episodes(), [home()], world(), Rules(), "clairvoyant")
    strategy = np.zeros(EPISODES, int)
    played = play(batch, batch.records[:EPISODES].copy(), strategy, NOTHING, np.random.default_rng(0))
    last = played.nodes[np.arange(EPISODES), (played.count - 1) % played.nodes.shape[1]]
    again = play(batch, last, strategy, NOTHING, np.random.default_rng(1))
    assert again.outcome.tolist() == played.outcome.tolist()
    assert again.steps.tolist() == played.steps.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_deviations_are_actions_then_nothing(seed: int):
    row = deviation(np.random.default_rng(seed))
    used = int((row >= 0).sum())
    assert 1 <= used <= LENGTH
    assert ((row[:used] >= 0) & (row[:used] < len(ACTIONS))).all()
    assert (row[used:] == -1).all()


def test_the_useful_action_opens_before_it_picks():
    batch = make("set_table")
    put(batch, 0, (1.5, 1.5))
    assert ACTIONS[useful_action(batch, np.array([0]))[0]] == "open drawer_right"


def test_the_useful_action_places_what_is_in_the_hand():
    batch = make("tidy_house")
    batch.state.held[0, 0] = 1
    put_at_reach(batch, 0, world().episodes["goal"][0, 1], 1.8)
    assert ACTIONS[useful_action(batch, np.array([0]))[0]] == "place goal1"


def test_there_is_nothing_to_do_when_the_partner_has_the_rest():
    batch = make("tidy_house")
    batch.state.held[0, 1] = 0
    assert ACTIONS[useful_action(batch, np.array([STRATEGIES.index((0,))]))[0]] == "no-op"


def row(**more) -> Row:
    base = Row("tidy_house", "middle", "", "blind", "noop", success=0.5, collision=0.5, timeout=0.0, steps=100.0)
    return replace(base, **more)


@pytest.mark.parametrize(
    ("low", "high", "valid"), [(0.5, 0.95, True), (0.5, 0.91, False), (0.75, 0.99, False), (0.7, 0.95, True)]
)
def test_a_valid_game_needs_a_high_ceiling_and_a_wide_gap(low: float, high: float, valid: bool):
    rows = [row(success=low), row(success=high, robot="clairvoyant", warning="2.5 m")]
    assert verdicts(rows)[0].valid is valid


def test_one_task_without_a_gap_makes_the_game_invalid():
    rows = [row(success=0.3), row(success=0.99, robot="clairvoyant", warning="2.5 m")]
    rows += [replace(r, task="set_table", success=max(r.success, 0.9)) for r in rows]
    assert not verdicts(rows)[0].valid


def test_the_verdict_leaves_out_the_robot_that_does_half():
    rows = [row(success=0.5), row(success=0.95, robot="clairvoyant", warning="2.5 m"), row(success=0.9, robot="blind half")]
    assert verdicts(rows)[0].blind == 0.5


def test_valid_games_with_the_widest_gap_come_first():
    rows = []
    for speed, low, high in (("slow", 0.1, 0.8), ("middle", 0.6, 0.95), ("fast", 0.5, 0.95)):
        rows += [row(speed=speed, success=low), row(speed=speed, success=high, robot="clairvoyant", warning="2.5 m")]
    assert [v.speed for v in verdicts(rows)] == ["fast", "middle", "slow"]


def test_tables_have_a_line_for_every_row(seeing: list[Row], unseeing: list[Row]):
    assert len(table(seeing + unseeing).splitlines()) == 2 + 6
    assert len(summary(seeing + unseeing).splitlines()) == 2 + 1


def test_rows_are_written_whole(tmp_path: Path, seeing: list[Row]):
    gate.save(seeing, tmp_path / "rows.json")
    assert [r["success"] for r in json.loads((tmp_path / "rows.json").read_text())] == [r.success for r in seeing]
    assert [f.name for f in tmp_path.iterdir()] == ["rows.json"]


def test_a_missing_folder_is_made(tmp_path: Path, seeing: list[Row]):
    gate.save(seeing, tmp_path / "new" / "rows.json")
    assert (tmp_path / "new" / "rows.json").is_file()


def test_the_command_looks_at_the_place_of_its_file_before_it_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
):
    monkeypatch.setattr(gate, "validity", lambda *_, **__: pytest.fail("it played"))
    assert main(["validity", "--json", str(tmp_path)]) == 2
    assert "is a folder - name a file in it" in capsys.readouterr().err


def test_the_default_thresholds_are_among_those_compared():
    assert Rules().thresholds in THRESHOLDS.values()


def test_the_command_refuses_an_effort_that_makes_no_sense(capsys: pytest.CaptureFixture[str]):
    assert main(["validity", "--branches", "0"]) == 2
    assert "--branches 1 or more" in capsys.readouterr().err


def test_no_episodes_are_refused():
    with pytest.raises(ValueError, match="at least one episode"):
        gate.validity([home()], count=0)


def test_progress_goes_up_to_its_end(monkeypatch: pytest.MonkeyPatch):
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(gate, "first_episodes", lambda task, split, homes, count: episodes(task))
    monkeypatch.setattr(gate, "pack", lambda found, homes: world())
    small = {"tasks": ("tidy_house",), "speeds": ("slow", "fast"), "warnings": ("2.5 m",), "effort": Effort(1, 8)}
    gate.validity([home()], count=EPISODES, **small, progress=lambda *now: told.append(now))
    assert {total for _, total in told} == {2000}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert 0 < told[0][0] < 1000
    assert told[-1] == (2000, 2000)

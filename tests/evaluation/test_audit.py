"""The audit of the held-out suite: differences of partners, who is dropped, and the command with its files."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.small_runs import small_run
from housemates.agents.agent import disturb, resolve, scripted
from housemates.cli.main import main
from housemates.evaluation import audit as module
from housemates.evaluation import suite
from housemates.evaluation.audit import Audit, audit, audit_pairs, differences, games_of, mates_of, write_dropped
from housemates.evaluation.crossplay import crossplay
from housemates.evaluation.holdouts import holdouts, mark, named_partners, suite_of
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import read_rows
from housemates.reports.audit import audit_table, draw_audit
from housemates.reports.tables import markdown
from housemates.tasks.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("noop", "first_half", "second_half", "stubborn")


@pytest.fixture(scope="module")
def rows():
    """Four scripts with the paper's three."""
    everybody = [scripted(name) for name in NAMES]
    return rows_of(crossplay(audit_pairs(everybody, everybody[:3]), episodes(), [home()], count=8))


def names(*scripts):
    return [f"script/{name}" for name in scripts]


def test_a_difference_is_what_a_slow_sum_gives():
    values = np.random.default_rng(0).random((3, 2, 5, 4))
    found = differences(values)
    for i in range(3):
        for j in range(3):
            squares = []
            for m in range(2):
                for x in range(4):
                    apart = [values[i, m, n, x] - values[j, m, n, x] for n in range(5)]
                    mean = sum(apart) / 5
                    noise = sum((a - mean) ** 2 for a in apart) / 4 / 5
                    squares.append(mean**2 - noise)
            assert found[i, j] == pytest.approx(max(0.0, sum(squares) / 8) ** 0.5)


def test_two_draws_of_one_behaviour_do_not_differ_on_average():
    rng = np.random.default_rng(1)
    draws = (rng.random((2, 400, 100, 2)) < 0.5).astype(float)
    assert differences(draws)[0, 1] < 0.02
    assert np.abs(draws[0].mean(1) - draws[1].mean(1)).mean() > 0.05  # without the correction


def test_behaviours_that_differ_with_one_mate_only_differ():
    values = np.zeros((2, 4, 10, 1))
    values[1, 2] = 1.0
    assert differences(values)[0, 1] == pytest.approx(0.5)


def test_what_is_compared_comes_from_the_rows(rows):
    outcome, work, pace = games_of(rows, names(*NAMES), names(*NAMES[:3]))
    assert (outcome[0, 0, :, 0] == 0).all()  # two robots that stand still
    assert (work[0] == 0).all()
    assert work[1, 0, :, :2].mean() > 0.3
    assert (work[1, :, :, 2:] == 0).all()
    assert (pace[0, :, :, 0] == 1).all()
    assert pace.max() <= 1


def test_scripts_of_different_halves_differ_and_none_is_dropped(rows):
    found = audit(rows, names(*NAMES))
    assert found.dropped == {}
    assert (found.difference[~np.eye(4, dtype=bool)] > module.LIMIT).all()
    assert found.success.shape == (4, 3)


def test_everybody_within_the_limit_of_one_before_it_is_dropped_but_for_who_is_kept(rows):
    found = audit(rows, names(*NAMES), limit=2.0)
    assert found.dropped == dict.fromkeys(names(*NAMES[1:]), "script/noop")
    kept = audit(rows, names(*NAMES), keep=names("second_half"), limit=2.0)
    assert set(kept.dropped) == set(names("noop", "first_half", "stubborn"))
    assert set(kept.dropped.values()) == {"script/second_half"}


def test_games_that_are_missing_are_told(rows):
    with pytest.raises(ValueError, match="not every partner"):
        audit(rows.take(np.arange(len(rows) - 1)), names(*NAMES))
    with pytest.raises(ValueError, match="script/slow"):
        audit(rows, names(*NAMES, "slow"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose list of dropped partners is empty, and a holdout in a folder."""
    monkeypatch.setattr(suite, "AUDIT", tmp_path / "audit.json")
    folder = tmp_path / "holdouts" / "gt_coord-tidy_house-smoke-100"
    mark(folder)
    return small_run(folder, seed=100)


def test_who_is_dropped_is_not_in_the_suite_but_listed(package, capsys):
    partners = [scripted("slow"), *resolve(str(package))]
    other = [disturb(p, "blind") for p in partners[1:]]
    everybody = [*partners, *other]
    twins = {other[0].name: partners[1].name, "script/slow": partners[2].name}
    found = Audit([p.name for p in everybody], [], np.zeros((5, 0)), np.zeros((3, 5, 5)), twins)
    write_dropped(suite.AUDIT, "tidy_house", everybody, found, {"seed": 0})
    run = package.name
    assert suite.dropped_of("tidy_house") == {f"blind/{run}/0": f"{run}/0", "script/slow": f"{run}/1"}
    assert suite.dropped_of("set_table") == {}
    there = {p.name for p in named_partners(["suite"], "tidy_house", [package.parent])}
    assert "script/slow" not in there
    assert f"blind/{run}/0" not in there
    assert f"blind/{run}/1" in there
    assert "script/slow" in {p.name for p in named_partners(["suite"], "set_table")}
    whole = suite_of("tidy_house", [package.parent], everybody=True)
    assert f"blind/{run}/0" in {p.name for p in whole["disturbed"]}
    main(["holdouts", "list", str(package.parent), "--task", "tidy_house"])
    assert f"not in the suite, since they behave like another one: blind/{run}/0 ({run}/0)" in capsys.readouterr().out


def test_mates_are_the_papers_scripts_and_everybody_who_has_learned(package):
    families = suite_of("set_table", [package.parent])
    found = mates_of(families)
    assert [p.name for p in found[:3]] == names("noop", "first_half", "second_half")
    assert all(p.trained and not p.disturbed for p in found[3:])
    assert len(found) == 3 + sum(
        len(families[name]) for name in ("gt_coord_state", "gt_coord_depth", "populations", "preferences")
    )


def test_the_command_leaves_rows_table_and_figure_and_may_drop(package, monkeypatch, tmp_path, capsys):
    few = {"paper_scripts": [scripted("noop"), scripted("first_half")], "populations": resolve(f"{package}/0")}
    few["disturbed"] = [disturb(few["populations"][0], "blind")]
    monkeypatch.setattr("housemates.evaluation.holdouts.suite_of", lambda *_, **__: few)
    main(["holdouts", "audit", "--task", "tidy_house", "--episodes", "2", "--out", str(tmp_path / "out"), "--drop"])
    folder = tmp_path / "out" / "tidy_house"
    rows = read_rows(folder / "episodes.parquet")
    assert rows.num_rows == 4 * 4 * 2  # everybody with three scripts and one learned mate
    text = capsys.readouterr().out
    assert "of 4 partners are distinguishable" in text
    table = (folder / "audit.md").read_text()
    assert "housemates holdouts audit --task tidy_house --split dev --episodes 2" in table
    assert table.count("\n|") == 6
    assert (folder / "audit.png").stat().st_size > 1000
    assert set(json.loads(suite.AUDIT.read_text())["tidy_house"]) >= {"dropped", "limit", "commit", "suite"}


def test_the_figure_is_the_same_bytes_for_the_same_audit(rows, tmp_path):
    found, families = audit(rows, names(*NAMES), limit=0.5), dict.fromkeys(names(*NAMES), "paper_scripts")
    for k in range(2):
        draw_audit(found, families, [tmp_path / f"{k}.png", tmp_path / f"{k}.svg"])
    for kind in ("png", "svg"):
        assert (tmp_path / f"0.{kind}").read_bytes() == (tmp_path / f"1.{kind}").read_bytes()


def test_the_table_says_who_is_nearest_and_who_is_left_out(rows):
    found = audit(rows, names(*NAMES), keep=names(*NAMES[:3]), limit=2.0)
    table = audit_table(found, dict.fromkeys(names(*NAMES), "scripts"), "tidy_house", "how")
    assert [row[-1] for row in table.texts()][:3] == ["yes"] * 3
    assert table.texts()[3][-1].startswith("no, like ")
    assert table.notes[-1] == "how"


@pytest.mark.parametrize("task", list(TASKS))
def test_the_tables_in_the_documentation_are_those_of_the_rows(task):
    folder = ROOT / "results" / "audit" / task
    rows = rows_of(read_rows(folder / "episodes.parquet"))
    everybody = {p.name: name for name, found in suite_of(task, everybody=True).items() for p in found}
    found = audit(rows, list(dict.fromkeys(rows["agent"].tolist())), keep={p.name for p in holdouts(task)})
    lines = markdown(audit_table(found, everybody, task, "")).splitlines()
    written = (folder / "audit.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("|")] == [line for line in written if line.startswith("|")]
    assert f'--8<-- "results/audit/{task}/audit.md"' in (ROOT / "docs" / "benchmark" / "audit.md").read_text()

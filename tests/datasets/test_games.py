"""Datasets of games: what is written is what was played, decision by decision."""

import numpy as np
import pytest
import torch

from helpers.batches import episodes, home, make
from helpers.exports import SHORT, export, pairs, policies
from housemates import datasets
from housemates.agents.actors import load_actors
from housemates.agents.agent import scripted
from housemates.agents.draws import mixed, sample, uniform
from housemates.evaluation.crossplay import Pair, crossplay, pair_up
from housemates.evaluation.play import CHUNK, seat_order
from housemates.recordings.events import plan_of
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.state import OUTCOMES
from housemates.tasks.actions import ACTIONS, NO_OP, PICK

OBSERVATIONS = ("state", "predicates", "gps_compass", "depth")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def teams(folder):
    return pairs(folder / "policies")


@pytest.fixture(scope="module")
def data(folder, teams):
    export(folder / "all", teams, observations=OBSERVATIONS)
    return datasets.load_dataset(folder / "all")


def by_hand(pair: Pair, episode: int, seed: int) -> list[dict]:
    """The decisions of one game, played alone and one simulation step at a time; rewards are counted step by step."""
    team, order = [load_actors([who])[who] for who in (pair.agent, *pair.partners)], seat_order(np.array([episode]), 2)[0]
    mind = {int(order[seat]): team[seat] for seat in range(2)}
    batch = make(rules=SHORT, stored_spawns=True, autoreset=False)
    for robot, who in mind.items():
        if who.policy is None:
            batch.script(robot, script(who.script))
    batch.state.rng[:] = mixed(seed, episode)
    batch.reset(np.array([episode]))
    memory = {r: who.policy.initial_memory(1) for r, who in mind.items() if who.policy is not None}
    asked, rows, running, total = [0, 0], [], {}, 0.0
    while not batch.state.over[0]:
        actions, fresh = np.full((1, 2), -1), []
        for robot, who in mind.items():
            if batch.state.action[0, robot] >= 0:
                continue
            seen = {name: batch.observe(name)[0, robot].copy() for name in OBSERVATIONS}
            if who.policy is None:
                chosen, logits = plan_of(batch, 0, robot), None
            else:
                shown = {n: torch.from_numpy(np.stack([seen[n]] * CHUNK)) for n in who.policy.config.observations}
                latent = torch.full((CHUNK,), who.latent) if who.policy.config.latent else None
                acted = who.policy.act(shown, memory[robot].expand(CHUNK, -1), latent, greedy=True)
                memory[robot], logits = acted.memory[:1], acted.logits[:1].numpy()
                chosen = int(sample(logits, uniform(seed, episode, robot, asked[robot])[None])[0])
                actions[0, robot] = chosen
            asked[robot] += 1
            row = {"robot": robot, "clock": int(batch.state.clock[0]), "decision": chosen, "logits": logits, **seen}
            row |= {"reward": 0.0, "reward_discounted": 0.0, "duration": 0}
            running[robot] = row
            rows.append(row)
            fresh.append(row)
        batch.tick(actions)
        paid, total = batch.state.total[0] - total, batch.state.total[0]
        for row in running.values():
            row["reward_discounted"] += SHORT.discount ** row["duration"] * paid
            row["reward"] += paid
            row["duration"] += 1
        for row in fresh:
            infeasible = PICK <= row["decision"] < NO_OP and batch.state.executed[0, row["robot"]] == NO_OP
            row["feasible"] = not infeasible
    return sorted(rows, key=lambda row: (row["robot"], row["clock"]))


@pytest.mark.parametrize(("team", "episode"), [(0, 1), (2, 2), (4, 0), (4, 3), (5, 1)])
def test_a_game_is_the_one_played_by_hand(data, teams, team, episode):
    mine = data["game"] == 4 * team + episode
    rows = by_hand(teams[team], episode, seed=5)
    assert mine.sum() == len(rows)
    for name in ("robot", "clock", "decision", "duration", "feasible", *OBSERVATIONS):
        assert np.array_equal(data[name][mine], np.array([row[name] for row in rows])), name
    for name in ("reward", "reward_discounted"):
        assert np.allclose(data[name][mine], [row[name] for row in rows], rtol=0, atol=1e-9), name
    for place, row in zip(np.flatnonzero(mine), rows, strict=True):
        if row["logits"] is None:
            assert np.isnan(data["probabilities"][place]).all()
            assert np.isnan(data["log_prob"][place])
        else:
            likely = torch.from_numpy(row["logits"]).double().softmax(1).numpy()[0]
            assert np.allclose(data["probabilities"][place], likely, atol=1e-6)
            assert np.isclose(data["log_prob"][place], np.log(likely[row["decision"]]), atol=1e-5)


def test_games_end_as_those_of_an_evaluation(data, teams):
    rows = crossplay(teams, episodes(), [home()], SHORT, count=4, seed=5)
    first = np.flatnonzero(np.diff(data["game"], prepend=-1))
    for name in ("agent", "partner", "home", "success", "steps", "episode"):
        assert data[name][first].tolist() == rows[name].to_pylist(), name
    agents = np.flatnonzero((data["role"] == "agent") & data["start"])
    assert data["robot"][agents].tolist() == rows["robot"].to_pylist()


def test_every_step_of_a_game_belongs_to_one_decision_of_each_robot(data):
    for game in np.unique(data["game"]):
        for robot in range(2):
            mine = (data["game"] == game) & (data["robot"] == robot)
            assert data["duration"][mine].sum() == data["steps"][mine][0]
            assert (data["clock"][mine] == np.cumsum(data["duration"][mine]) - data["duration"][mine]).all()


def test_the_flags_mark_the_first_and_the_last_decision_of_each_robot(data):
    stream = 2 * data["game"] + data["robot"]
    change = np.flatnonzero(np.diff(stream)) + 1
    assert np.flatnonzero(data["start"]).tolist() == [0, *change]
    assert np.flatnonzero(data["done"]).tolist() == [*(change - 1), len(stream) - 1]
    assert (data["number"][data["start"]] == 0).all()
    assert (np.diff(data["number"])[~data["start"][1:]] == 1).all()


def test_movers_are_told_by_name_kind_and_latent(data):
    found = set(zip(data["mover"], data["kind"], data["latent"].tolist(), strict=True))
    assert found == {
        ("numbers", "learned", -1),
        ("pictures", "learned", -1),
        ("many/z2", "latent", 2),
        ("random", "random", -1),
        ("script/first_half", "script", -1),
        ("script/solo", "script", -1),
    }
    assert (np.where(data["role"] == "agent", data["agent"], data["partner"]) == data["mover"]).all()


def test_chance_is_as_likely_as_it_is(data):
    mine = data["kind"] == "random"
    assert np.allclose(data["probabilities"][mine], 1 / 25)
    assert np.allclose(data["log_prob"][mine], -np.log(25))


def test_infeasible_decisions_are_marked(data):
    infeasible = ~data["feasible"]
    assert infeasible.any()
    assert ((data["decision"][infeasible] >= PICK) & (data["decision"][infeasible] < NO_OP)).all()
    assert (data["duration"][infeasible] == 1).mean() > 0.9


def test_whose_decisions_are_written_changes_nothing_else(folder, teams, data):
    for role in ("agent", "partner"):
        export(folder / role, teams, observations=("state",), robots_of=role)
        part, mine = datasets.load_dataset(folder / role), data["role"] == role
        for name in part:
            assert np.array_equal(part[name], data[name][mine], equal_nan=part[name].dtype.kind == "f"), name


def test_only_successes_are_written_on_request(folder):
    teams = pair_up([scripted("solo")], [scripted("noop")])
    export(folder / "some", teams, Rules(horizon=750), count=12)
    export(folder / "won", teams, Rules(horizon=750), count=12, only="successes")
    some, won = datasets.load_dataset(folder / "some"), datasets.load_dataset(folder / "won")
    assert 0 < won["game"].max() < 11
    assert won["success"].all()
    assert won["decision"].tolist() == some["decision"][some["success"]].tolist()
    assert won["game"].tolist() == np.unique(some["game"][some["success"]], return_inverse=True)[1].tolist()
    assert (some["outcome"] == np.where(some["success"], OUTCOMES[1], some["outcome"])).all()


def test_the_same_command_writes_the_same_bytes_with_any_number_of_threads(folder, teams):
    for name, threads in (("one", 1), ("two", 2)):
        export(folder / name, teams[3:5], observations=("state", "depth"), pixels=32, threads=threads)
    files = sorted(file.name for file in (folder / "one").iterdir())
    assert files == ["dataset.json", "decisions.parquet", "depth.npy", "probabilities.npy", "state.npy"]
    for file in files:
        assert (folder / "one" / file).read_bytes() == (folder / "two" / file).read_bytes(), file


def test_another_seed_gives_other_games(folder, teams, data):
    export(folder / "other", teams[:1], observations=(), seed=6)
    assert datasets.load_dataset(folder / "other")["decision"].tolist() != data["decision"][data["game"] < 4].tolist()


def test_few_places_give_the_same_games(folder, teams, data, monkeypatch):
    monkeypatch.setattr("housemates.evaluation.trajectories.ROOM", 1)
    export(folder / "few", teams, observations=("state",))
    few = datasets.load_dataset(folder / "few")
    assert np.array_equal(few["state"], data["state"])
    assert np.array_equal(few["decision"], data["decision"])


def test_the_description_tells_what_was_played(folder, data):
    about = datasets.describe(folder / "all")
    assert about["task"] == "tidy_house"
    assert about["counts"] == {"games": 24, "decisions": len(data["game"]), "successes": 0}
    assert about["observations"]["depth"]["shape"] == [64, 64, 1]
    assert about["observations"]["depth"]["type"] == "uint8"
    assert about["actions"] == list(ACTIONS)
    assert [who["name"] for who in about["agents"]] == ["numbers", "many/z2", "pictures", "script/solo"]
    assert {who["name"]: who.get("holdout") for who in about["partners"]}["script/first_half"] is True
    assert str(folder) not in (folder / "all" / "dataset.json").read_text()


def test_a_robot_plays_alone(folder):
    export(folder / "alone", [Pair(scripted("solo"), ())], Rules(horizon=750))
    assert set(datasets.load_dataset(folder / "alone", ["role"])["role"]) == {"agent"}


def test_choices_that_nobody_offers_are_refused(folder, teams):
    with pytest.raises(ValueError, match="'smell'"):
        export(folder / "bad", teams, observations=("smell",))
    with pytest.raises(ValueError, match=r"4 pixels.*8.*1024"):
        export(folder / "bad", teams, observations=("depth",), pixels=4)
    with pytest.raises(ValueError, match="observations state state - name each of them once"):
        export(folder / "bad", teams, observations=("state", "state"))
    with pytest.raises(ValueError, match="--robots-of"):
        export(folder / "bad", teams, robots_of="me")
    with pytest.raises(ValueError, match=r"--episodes.*99.*24"):
        export(folder / "bad", teams, count=99)
    with pytest.raises(ValueError, match="nothing to write: none of the games was a success"):
        export(folder / "bad", teams[:1], only="successes")
    assert not list(folder.glob("*bad*"))


def test_a_policy_for_two_robots_is_refused_among_three(folder):
    numbers, *_ = policies(folder / "again")
    with pytest.raises(ValueError, match=r"trained.*2 robots.*3"):
        export(folder / "three", pair_up([numbers], [scripted("noop")], robots=3))

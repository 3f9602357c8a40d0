"""Best responses: one partner, who may be a holdout; never strangers to anybody; trained, played and counted by one command."""

import json

import numpy as np
import pytest

from helpers.small_runs import small_run
from housemates.agents import agent as partners
from housemates.agents.agent import disturb, resolve_all, scripted
from housemates.cli.main import main
from housemates.evaluation import holdouts
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.evaluation.holdouts import mark
from housemates.evaluation.metrics import best_responses, bounds, proximity, rows_of
from housemates.evaluation.protocol import response_pairs, run_pairs
from housemates.evaluation.rows import join_rows, read_rows
from housemates.evaluation.stats import Scores, bootstrap_mean, bootstrap_proximity
from housemates.homes.splits import load_split
from housemates.methods.ego import check_partners
from housemates.runs.run import create, read
from housemates.runs.train import new_run
from housemates.tasks.episodes import load_episodes

SMALL = ("--preset", "smoke", "--decisions", "300", "--quiet")


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(partners, "SHIPPED", tmp_path / "agents")


@pytest.fixture
def team(tmp_path):
    """A pair of learned holdouts."""
    mark(tmp_path / "holdouts" / "h")
    return small_run(tmp_path / "holdouts" / "h", seed=100)


def told(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def command(tmp_path, *more: str) -> list[str]:
    few = ("--split", "dev", "--episodes", "2", "--out", str(tmp_path / "answers"))
    return ["holdouts", "best-responses", *more, "--task", "tidy_house", *SMALL, *few]


def test_a_best_response_trains_with_a_holdout_and_is_not_zero_shot(team, tmp_path):
    out = tmp_path / "run"
    assert main(["train", "--method", "best_response", "--population", f"{team}/1", *SMALL, "--out", str(out)]) == 0
    assert read(out).stages == (2,)
    assert not read(out).zero_shot
    assert not json.loads((out / "stage2" / "agent" / "policy.json").read_text())["meta"]["zero_shot"]
    (pair,) = run_pairs(out, ())
    assert (pair.agent.name, pair.partners[0].name, pair.evaluation) == ("run/agent", "h/1", "best_response")
    assert not pair.zero_shot


def test_nobody_trains_with_a_best_response_since_it_knows_a_holdout(team, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", "--method", "best_response", "--population", f"{team}/1", *SMALL, "--out", str(out)]) == 0
    later = ("train", *SMALL, "--population", f"{out}/agent", "--out", str(tmp_path / "later"))
    assert "run/agent is a best response" in told(capsys, *later)
    assert "is a best response" in told(capsys, *later[:-3], f"{out}/stage2/agent", *later[-2:])
    assert not (tmp_path / "later").exists()


def test_strangers_of_a_best_response_are_no_zero_shot_evaluation_and_bound_nobody(tmp_path):
    assert main(command(tmp_path, "script/noop")) == 0
    run, out = tmp_path / "answers" / "tidy_house" / "script-noop-smoke-0", tmp_path / "rows.parquet"
    assert main(["evaluate", "--agents", f"{run}/agent", "--split", "dev", "--episodes", "2", "--out", str(out)]) == 0
    found = rows_of(read_rows(out))
    assert set(found["evaluation"]) == {"crossplay"}
    assert best_responses(found) == {}


def test_agents_for_one_partner_are_not_shipped(tmp_path, capsys):
    assert main(command(tmp_path, "script/noop")) == 0
    run = tmp_path / "answers" / "tidy_house" / "script-noop-smoke-0"
    assert main(["evaluate", str(run), "--split", "dev", "--episodes", "2"]) == 0
    assert "a measure for others" in told(capsys, "partners", "ship", str(run))


def test_what_is_there_is_played_with_what_is_new(tmp_path):
    assert main(command(tmp_path, "script/noop")) == 0
    assert main(command(tmp_path, "script/first_half", "--seeds", "0", "1")) == 0
    found = read_rows(tmp_path / "answers" / "tidy_house" / "episodes.parquet")
    runs = ["script-first_half-smoke-0", "script-first_half-smoke-1", "script-noop-smoke-0"]
    assert list(dict.fromkeys(found["agent"].to_pylist())) == [f"{run}/agent" for run in runs]


def test_another_task_or_budget_is_not_taken_for_the_same(tmp_path, capsys):
    assert main(command(tmp_path, "script/noop")) == 0
    assert main([word.replace("tidy_house", "set_table") for word in command(tmp_path, "script/noop")]) == 0
    assert (tmp_path / "answers" / "set_table" / "script-noop-smoke-0").is_dir()
    assert "is a run with --decisions 300, not 400" in told(capsys, *command(tmp_path, "script/noop"), "--decisions", "400")


def test_another_partner_of_that_name_is_refused(tmp_path, capsys):
    one, two = (small_run(tmp_path / place / "h", seed=seed) for seed, place in enumerate("ab"))
    assert main(command(tmp_path, f"{one}/1")) == 0
    assert "answers another partner of that name" in told(capsys, *command(tmp_path, f"{two}/1"))
    assert "a/h/1 cannot be named alone" in told(capsys, *command(tmp_path, f"{one}/1", f"{two}/1"))


def test_mistakes_are_told_before_anything_is_trained(tmp_path, capsys):
    assert "there are 100 of them" in told(capsys, *command(tmp_path, "script/noop"), "--episodes", "101")
    assert "no partner 'nobody'" in told(capsys, *command(tmp_path, "nobody"))
    assert not list(tmp_path.glob("answers/**/config.json"))


def test_torchrun_is_refused(tmp_path, monkeypatch, capsys):
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    assert "use --workers instead of torchrun" in told(capsys, *command(tmp_path, "script/noop"))


def test_one_that_was_begun_goes_on(tmp_path):
    run = tmp_path / "answers" / "tidy_house" / "script-noop-smoke-0"
    asked = {"method": "best_response", "preset": "smoke", "decisions": 300, "population": ("script/noop",)}
    create(run, new_run(asked, (), "cpu"))
    begun = (run / "config.json").stat().st_mtime_ns
    assert main(command(tmp_path, "script/noop")) == 0
    assert (run / "config.json").stat().st_mtime_ns == begun
    assert (run / "stage2" / "agent" / "policy.json").is_file()


def test_a_best_response_has_one_partner(team, tmp_path, capsys):
    arguments = ("train", "--method", "best_response", *SMALL, "--out", str(tmp_path / "run"))
    assert "answers one partner, not 2" in told(capsys, *arguments, "--population", str(team))
    assert "name run folders or partners with --population" in told(capsys, *arguments)
    assert not (tmp_path / "run").exists()


def test_other_methods_still_refuse_holdouts():
    with pytest.raises(ValueError, match=r"script/noop.*held out"):
        check_partners([scripted("noop")])
    assert not check_partners([scripted("noop")], one=True)


def test_one_command_answers_everybody_and_plays_at_the_end(team, tmp_path, capsys):
    wanted = command(tmp_path, "script/noop", f"{team}/0", f"{team}/1")
    assert main([*wanted, "--hours", "1e-9"]) == 0
    assert "paused - continue with the same command; 0 of 3 are trained" in capsys.readouterr().out
    assert main(wanted) == 0
    found = rows_of(read_rows(tmp_path / "answers" / "tidy_house" / "episodes.parquet"))
    met = set(zip(found["method"].tolist(), found["partner"].tolist(), found["evaluation"].tolist(), strict=True))
    answers = {("best_response", who, "best_response") for who in ("script/noop", "h/0", "h/1")}
    assert met == answers | {("gt_coord", who, "best_response") for who in ("h/0", "h/1")}
    assert not found["zero_shot"].any()
    assert set(best_responses(found)) == {("script/noop", ""), ("h", "0"), ("h", "1")}
    agents = list((tmp_path / "answers").rglob("agent/policy.safetensors"))
    assert len(agents) == 3
    written = [p.stat().st_mtime_ns for p in agents]
    assert main(wanted) == 0
    assert [p.stat().st_mtime_ns for p in agents] == written


def test_they_begin_as_an_agent_that_is_named_and_play_with_look_ahead_too(tmp_path):
    first = tmp_path / "first"
    assert main(["train", "--method", "best_response", "--population", "script/noop", *SMALL, "--out", str(first)]) == 0
    wanted = command(tmp_path, "script/noop", "--start", f"{first}/agent", "--look-ahead")
    assert main(wanted) == 0
    assert read(tmp_path / "answers" / "tidy_house" / "script-noop-smoke-0").start == f"{first}/agent"
    found = rows_of(read_rows(tmp_path / "answers" / "tidy_house" / "episodes.parquet"))
    assert set(found["method"].tolist()) == {"best_response", "best_response + look-ahead"}
    assert set(found["evaluation"].tolist()) == {"best_response"}
    best = max(found.only(method=method)["success"].mean() for method in found.distinct("method"))
    assert best_responses(found) == {("script/noop", ""): best}
    assert main(wanted) == 0  # again, with the same beginning


def test_one_command_answers_scripts_with_a_habit_and_disturbed_partners_of_the_suite(team, tmp_path, monkeypatch):
    asked = ("suite/further_scripts", "suite/disturbed", "--holdouts", str(team.parent))
    few = {"further_scripts": [scripted("slow")], "disturbed": [disturb(p, "blind") for p in resolve_all([f"{team}/0"])]}
    monkeypatch.setattr(holdouts, "suite_of", lambda *_, **__: few)
    assert main(command(tmp_path, *asked)) == 0
    found = rows_of(read_rows(tmp_path / "answers" / "tidy_house" / "episodes.parquet"))
    best = best_responses(found)
    assert {("script/slow", ""), ("blind/h", "0")} <= set(best)
    assert ("h", "1") in best  # the mates of the training are played too
    held = rows_of(crossplay(pair_up([scripted("solo")], few["disturbed"], "zsc"), *dev(), count=2))
    assert set(bounds(held, best | {("blind/h", "0"): 0.5})) == {"blind/h/0"}


def dev():
    """Episodes and homes of dev."""
    homes = load_split("dev")
    return load_episodes("tidy_house", "dev", homes=homes), homes


def test_one_latent_of_a_policy_is_answered(tmp_path):
    made = tmp_path / "bdp"
    assert main(["train", "--method", "bdp", "--stage", "1", *SMALL, "--out", str(made)]) == 0
    assert main(command(tmp_path, f"{made}/z5")) == 0
    found = read_rows(tmp_path / "answers" / "tidy_house" / "episodes.parquet")
    assert set(found["partner"].to_pylist()) == {"bdp/z5"}


def test_its_evaluation_is_with_its_partner_alone(tmp_path):
    assert main(command(tmp_path, "script/noop")) == 0
    run = tmp_path / "answers" / "tidy_house" / "script-noop-smoke-0"
    assert main(["evaluate", str(run), "--split", "dev", "--episodes", "2"]) == 0
    found = read_rows(run / "evaluation" / "episodes-dev.parquet")
    assert found["partner"].to_pylist() == ["script/noop"] * 2
    assert found.equals(read_rows(tmp_path / "answers" / "tidy_house" / "episodes.parquet"))


def test_mates_are_of_one_team(team, tmp_path):
    other = small_run(tmp_path / "g", seed=101)
    pairs = response_pairs([], resolve_all([str(team), str(other), "script/noop"]))
    assert {(p.agent.name, p.partners[0].name) for p in pairs} == {
        ("h/0", "h/1"),
        ("h/1", "h/0"),
        ("g/0", "g/1"),
        ("g/1", "g/0"),
    }


def test_seeds_must_be_given(tmp_path, capsys):
    assert "give --seeds" in told(capsys, *command(tmp_path, "script/noop"), "--seeds")


def cells(values) -> Scores:
    values = np.asarray(values, float)
    count = values.shape[1]
    return Scores(values, [f"p{k}" for k in range(count)], np.zeros(count, int), np.arange(count), np.arange(values.shape[2]))


def test_the_interval_of_br_prox_is_what_a_slow_bootstrap_gives():
    rng = np.random.default_rng(5)
    values, limit = (rng.random((3, 5, 12)) < 0.6).astype(float), {"p0": 0.5, "p1": 0.9, "p2": 0.7, "p4": 1.0}
    known = [0, 1, 2, 4]
    draws = []
    for _ in range(4000):
        seeds, episodes, who = rng.integers(0, 3, 3), rng.integers(0, 12, 12), rng.choice(known, 4)
        draws.append(np.mean([min(1.0, values[s, p, episodes].mean() / limit[f"p{p}"]) for s in seeds for p in who]))
    fast = bootstrap_proximity(cells(values), limit, resamples=20_000)
    plain = np.mean([min(1.0, values[s, p].mean() / limit[f"p{p}"]) for s in range(3) for p in known])
    assert fast.value == pytest.approx(plain)
    assert [fast.low, fast.high] == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.02)


def test_with_bounds_of_one_br_prox_is_success():
    found = cells(np.random.default_rng(0).random((2, 4, 10)) < 0.5)
    assert bootstrap_proximity(found, dict.fromkeys(found.partners, 1.0), 3, 500) == bootstrap_mean(found, 3, 500)


def test_bounds_are_by_the_names_of_the_rows():
    from helpers.evaluations import run_rows

    rows = rows_of(join_rows([run_rows("sp", 0)])).only(evaluation="zsc")
    best = {("script/noop", ""): 0.5, ("gt_coord-state-100", "1"): 0.0, ("elsewhere", "3"): 1.0}
    assert bounds(rows, best) == {"script/noop": 0.5}
    assert proximity(rows, best).left_out == 10

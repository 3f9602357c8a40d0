"""`housemates evaluate` and `housemates holdouts` from the command line, on a few dev episodes."""

import sys

import pytest

from helpers.small_runs import TINY, small_run
from housemates.agents import agent as partners
from housemates.agents.agent import is_holdout, resolve_all
from housemates.cli.main import main
from housemates.evaluation.holdouts import mark
from housemates.evaluation.rows import read_rows
from housemates.policies.checkpoint import save_policy
from housemates.policies.policy import Policy
from housemates.recordings.recording import load_recording
from housemates.run_folder import RunFolder

FEW = ("--split", "dev", "--episodes", "3", "--threads", "1")


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(partners, "SHIPPED", tmp_path / "agents")


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "pbt", "pbt")


def told(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_a_run_is_evaluated_with_its_population_strangers_and_controls(run, tmp_path, capsys):
    mark(tmp_path / "holdouts" / "h")
    small_run(tmp_path / "holdouts" / "h", seed=100)
    assert main(["evaluate", str(run), *FEW, "--holdouts", str(tmp_path / "holdouts")]) == 0
    rows = read_rows(run / "evaluation" / "episodes-dev.parquet")
    assert rows.num_rows == 3 * (2 + 5 + 5 + 5 + 1)
    assert set(rows["evaluation"].to_pylist()) == {"train_pop", "zsc", "control"}
    assert {"h/0", "h/1", "script/noop", "random", "pbt/0"} <= set(rows["partner"].to_pylist())
    out = capsys.readouterr().out
    assert "pbt/agent: zero-shot, with held-out partners" in out
    assert "control: the agent cannot sense its partner" in out


def test_a_few_games_of_a_run_are_kept_as_recordings(run, capsys):
    assert main(["evaluate", str(run), *FEW]) == 0
    assert f"housemates watch {run / 'evaluation' / 'recordings'}" in capsys.readouterr().out
    rows = read_rows(run / "evaluation" / "episodes-dev.parquet").to_pylist()
    found = [load_recording(path) for path in sorted((run / "evaluation" / "recordings").glob("*.npz"))]
    assert len(found) == 5
    met = set()
    for recording in found:
        header = recording.header
        (partner,) = set(header["robots"]) - {"pbt/agent"}
        (row,) = [r for r in rows if not r["control"] and (r["partner"], r["episode"]) == (partner, header["episode_id"])]
        assert (header["steps"], header["outcome"] == "success") == (row["steps"], row["success"])
        met.add(partner)
    assert met == {"script/noop", "script/first_half", "script/second_half", "pbt/0", "pbt/1"}


def test_without_learned_holdouts_the_command_says_so(run, capsys):
    assert main(["evaluate", str(run), *FEW]) == 0
    assert "there are no learned holdouts for tidy_house" in capsys.readouterr().err


def test_the_members_of_a_run_are_evaluated_together(tmp_path):
    run = small_run(tmp_path / "gt")
    assert main(["evaluate", str(run), *FEW, "--out", str(tmp_path / "rows.parquet")]) == 0
    rows = read_rows(tmp_path / "rows.parquet")
    assert rows["agent"].to_pylist() == ["gt/0"] * 3 + ["gt/1"] * 3


def test_a_function_that_only_the_run_names_is_refused_and_one_that_is_allowed_plays(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(partners, "NAMED", set())
    payload = "from pathlib import Path\nPath('ran').touch()\nimport numpy as np\n"
    payload += "def act(seen):\n    return np.full(len(seen['state']), 21)\n"
    (run / "payload.py").write_text(payload)
    members = partners.read_partners(RunFolder(run).partners, run)
    friend = partners.Agent("friend", "function", "pbt.payload:act")
    partners.write_partners(RunFolder(run).partners, [*members, friend], run)
    said = told(capsys, "evaluate", str(run), *FEW)
    assert "stage2/partners.json names the function 'pbt.payload:act'" in said
    assert not (tmp_path / "ran").exists()
    assert main(["evaluate", str(run), *FEW, "--allow", "pbt.payload:act"]) == 0
    assert (tmp_path / "ran").exists()
    assert "friend" in read_rows(run / "evaluation" / "episodes-dev.parquet")["partner"].to_pylist()
    sys.modules.pop("pbt.payload", None)


def test_a_solo_robot_is_evaluated_alone_from_the_start_of_each_robot(tmp_path, capsys):
    run = small_run(tmp_path / "solo", "solo", members=1)
    assert main(["evaluate", str(run), *FEW, "--out", str(tmp_path / "rows.parquet")]) == 0
    found = read_rows(tmp_path / "rows.parquet")
    assert found["partner"].to_pylist() == [""] * 6
    assert found["robot"].to_pylist() == [0] * 3 + [1] * 3
    assert sum("±" in line for line in capsys.readouterr().out.splitlines()[1:]) == 1


def test_any_agents_play_with_any_partners(run, tmp_path):
    out = tmp_path / "rows.parquet"
    agents, others = [f"{run}/agent", f"{run}/1", "script/solo"], ["random", f"{run}/0"]
    assert main(["evaluate", *FEW, "--agents", *agents, "--partners", *others, "--out", str(out)]) == 0
    rows = read_rows(out)
    assert rows.num_rows == 3 * 2 * 3
    assert set(rows["evaluation"].to_pylist()) == {"crossplay"}


def shipped(tmp_path, *names: str) -> None:
    """Policies that nobody trained come with the package."""
    for seed, name in enumerate(names):
        save_policy(tmp_path / "agents" / name, Policy(TINY, seed=seed), {"task": "tidy_house", "method": "bdp"})


def test_an_agent_that_comes_with_the_package_is_evaluated_by_a_short_name(tmp_path):
    shipped(tmp_path, "tidy_house/examples/bdp-tidy_house-state-0", "tidy_house/examples/pbt-tidy_house-state-0")
    out = tmp_path / "rows.parquet"
    for name in ("pretrained/bdp-tidy_house", "pretrained/bdp-tidy_house-state-0"):
        assert main(["evaluate", *FEW, "--agent", name, "--partner", "script/noop", "--out", str(out)]) == 0
        assert read_rows(out)["agent"].to_pylist() == ["tidy_house/examples/bdp-tidy_house-state-0"] * 3


def test_a_short_name_means_everybody_who_is_called_so(tmp_path):
    shipped(tmp_path, "tidy_house/examples/a-depth-0", "tidy_house/examples/a-state-0", "set_table/examples/ab-state-0")
    found = [p.name for p in resolve_all(["pretrained/a", "random"])]
    assert found == ["tidy_house/examples/a-depth-0", "tidy_house/examples/a-state-0", "random"]
    assert [p.name for p in resolve_all(["pretrained/set_table"])] == ["set_table/examples/ab-state-0"]


def test_a_name_that_nothing_in_the_package_has_is_told_with_those_there_are(tmp_path, capsys):
    shipped(tmp_path, "tidy_house/examples/pbt-0")
    message = told(capsys, "evaluate", "--agent", "pretrained/bdp-tidy_house")
    assert message == (
        "housemates: no policy 'pretrained/bdp-tidy_house' comes with the package - choose one of: tidy_house/examples/pbt-0"
    )


def test_the_same_command_writes_the_same_bytes(run, tmp_path):
    for name, threads in (("a", "1"), ("b", "2")):
        command = [
            "evaluate",
            str(run),
            "--split",
            "dev",
            "--episodes",
            "2",
            "--threads",
            threads,
            "--out",
            str(tmp_path / name),
        ]
        assert main(command) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_unfinished_run_is_not_evaluated(tmp_path, capsys):
    run = small_run(tmp_path / "young", done=999)
    assert "is not trained to its end" in told(capsys, "evaluate", str(run))


def test_evaluating_nothing_is_told(capsys):
    assert "evaluate what?" in told(capsys, "evaluate")


def test_evaluating_a_folder_without_a_run_is_told(tmp_path, capsys):
    assert "give the folder of a run" in told(capsys, "evaluate", str(tmp_path))


def test_agents_without_a_task_are_told(capsys):
    assert "add --task" in told(capsys, "evaluate", "--agents", "script/solo", "--partners", "random")


def test_the_list_shows_scripted_and_learned_holdouts(tmp_path, capsys):
    mark(tmp_path / "h")
    small_run(tmp_path / "h", seed=100)
    assert main(["holdouts", str(tmp_path / "h"), "--task", "tidy_house"]) == 0
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    scripts, learned = lines.index("paper_scripts"), lines.index("gt_coord_state")
    assert lines[scripts + 1 : scripts + 4] == ["script/noop", "script/first_half", "script/second_half"]
    assert lines[learned + 1 : learned + 3] == ["h/0", "h/1"]


def test_holdouts_alone_lists_those_of_all_tasks(capsys):
    assert main(["holdouts"]) == 0
    assert capsys.readouterr().out.count("script/noop") == 3


def test_holdouts_are_trained_marked_measured_and_not_trained_twice(tmp_path, capsys):
    command = ["holdouts", "train", "--task", "tidy_house", "--preset", "smoke", "--decisions", "300", "--seeds", "100"]
    command += ["--out", str(tmp_path), "--episodes", "2", "--quiet"]
    assert main([*command, "--hours", "1e-9"]) == 0
    assert "paused - continue with the same command" in capsys.readouterr().out
    assert main(command) == 0
    run = tmp_path / "gt_coord-tidy_house-smoke-100"
    written = (run / "stage1" / "members" / "00" / "policy.safetensors").stat().st_mtime_ns
    assert all(is_holdout(p) for p in partners.population(run))
    assert main(command) == 0
    assert (run / "stage1" / "members" / "00" / "policy.safetensors").stat().st_mtime_ns == written
    assert main(["holdouts", "ship", str(tmp_path)]) == 0
    assert len(partners.shipped()) == 2


def test_nobody_trains_with_a_holdout(tmp_path, capsys):
    mark(tmp_path / "h")
    small_run(tmp_path / "h", seed=100)
    answer = told(capsys, "train", "--preset", "smoke", "--population", str(tmp_path / "h"), "--out", str(tmp_path / "run"))
    assert "held out" in answer


def test_the_agent_of_an_evaluated_run_is_shipped_with_its_success(run, tmp_path, capsys):
    assert "was not evaluated on dev" in told(capsys, "partners", "ship", str(run))
    assert main(["evaluate", str(run), *FEW]) == 0
    assert main(["partners", "ship", str(run)]) == 0
    (agent,) = resolve_all(["pretrained/pbt-tidy_house"])
    rows = read_rows(run / "evaluation" / "episodes-dev.parquet").to_pylist()
    for kind in ("train_pop", "zsc"):
        won = [row["success"] for row in rows if row["evaluation"] == kind]
        assert agent.meta[kind] == pytest.approx(sum(won) / len(won), abs=1e-4)
    assert {agent.meta["decisions"]} == {row["decisions"] for row in rows if row["evaluation"] == "zsc"}
    assert agent.meta["run"] == f"pbt-tidy_house-{agent.meta['observations']}-0"

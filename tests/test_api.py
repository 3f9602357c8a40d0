"""The public functions return what they made, and print nothing."""

import numpy as np
import pytest

import housemates
from helpers.small_runs import small_run
from housemates.agents import agent as registry

FEW: dict = {"split": "dev", "episodes": 2, "threads": 1, "quiet": True}


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "SHIPPED", tmp_path / "agents")


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "sp", "sp")


def test_a_run_is_trained_and_returned(tmp_path, capsys):
    trained = housemates.train(
        "gt_coord", preset="smoke", decisions=200, change={"num_envs": 8}, out=tmp_path / "run", quiet=True
    )
    assert trained.complete
    assert trained.folder == tmp_path / "run"
    assert (trained.run.method, trained.run.training.num_envs) == ("gt_coord", 8)
    assert capsys.readouterr().out == ""


def test_an_evaluation_gives_rows_and_a_summary_and_leaves_both_in_the_run(run, capsys):
    played = housemates.evaluate(run, partners=["script/noop"], **FEW)
    assert played.file == run / "evaluation" / "episodes-dev.parquet"
    assert played.file.is_file()
    assert list(played.recordings.glob("*.npz"))
    assert sum(line.games for line in played.summary if line.what.startswith("sp/agent")) == 2 * 3
    assert capsys.readouterr().out == ""


def test_agents_without_a_run_are_evaluated_and_nothing_is_written(run, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    played = housemates.evaluate(agents=["script/solo"], partners=["random"], task="tidy_house", **FEW)
    assert played.rows.num_rows == 2
    assert played.file is None
    assert sorted(tmp_path.rglob("*")) == before


def test_a_report_gives_its_folder_and_tables(run):
    housemates.evaluate(run, partners=["script/noop"], **FEW)
    written = housemates.report(run, films=False, quiet=True)
    assert written.folder == run / "report"
    assert written.page.is_file()
    assert written.tables


def test_an_agent_is_loaded_by_name_and_acts_with_a_memory(run):
    agent = housemates.load_agent(f"{run}/agent", task="tidy_house")
    env = housemates.make_vec("tidy_house", partner="random", split="dev", num_envs=3, observations=agent.observations)
    obs, _ = env.reset(seed=0)
    agent.reset(3)
    actions = agent.act(obs)
    assert actions.shape == (3,)
    assert actions.min() >= 0
    before = agent.memory.clone()
    agent.reset(3, np.array([True, False, False]))
    assert not agent.memory[0].any()
    assert (agent.memory[1:] == before[1:]).all()


def test_the_same_seed_gives_the_same_actions_and_greedy_needs_none(run):
    def acts(**more) -> list[int]:
        agent = housemates.load_agent(f"{run}/agent", **more)
        shape = {name: agent.policy.config.shape(name) for name in agent.observations}
        obs = {name: np.zeros((8, *size), np.float32) for name, size in shape.items()}
        agent.reset(8)
        return [*agent.act(obs), *agent.act(obs)]

    assert acts(seed=1) == acts(seed=1)
    assert acts(greedy=True, seed=1) == acts(greedy=True, seed=2)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("script/noop", "is moved by the simulator"),
        ("{run}", "means 2 agents - choose one of: sp/0, sp/1"),
        ("nobody", "no partner 'nobody'"),
    ],
)
def test_what_cannot_be_loaded_alone_is_told(run, name, told):
    with pytest.raises(ValueError, match=told):
        housemates.load_agent(name.format(run=run))


def test_wrong_observations_are_told(run):
    agent = housemates.load_agent(f"{run}/agent")
    with pytest.raises(ValueError, match="is missing - give it too"):
        agent.act({})
    shape = {name: agent.policy.config.shape(name) for name in agent.observations}
    with pytest.raises(ValueError, match=r"call reset\(4\) first"):
        agent.act({name: np.zeros((4, *size), np.float32) for name, size in shape.items()})


def test_every_public_name_is_there():
    for name in housemates.__all__:
        assert getattr(housemates, name) is not None

"""Methods of one stage: a run of stage 2 alone, exact resume on both paths and with two workers, and what is refused."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from one_stage import METHODS, trainer

from helpers.batches import episodes, home, make
from helpers.learners import TINY
from housemates.agents.agent import load, population, resolve
from housemates.evaluation.evaluate import of_run
from housemates.evaluation.play import play
from housemates.evaluation.rows import UNKNOWN
from housemates.methods import METHODS as REGISTERED
from housemates.methods import register_method
from housemates.methods.cec import CEC
from housemates.methods.one_stage import OneAgent
from housemates.reports.paper import OTHERS
from housemates.run_folder import RunFolder
from housemates.runs.run import Run, create, read, work
from housemates.runs.train import new_run
from housemates.training.disturbances import Disturbances
from housemates.training.ppo import PPO
from housemates.training.settings import Training
from housemates.web.training import TrainingRun

ONE_STAGE = [name for name, spec in REGISTERED.items() if spec.agent is not None]
SMALL = Training(decisions=160, num_envs=8, rollout_decisions=8, save_every=50, ppo=PPO(chunk=4))
HERE = Path(__file__).resolve().parent


def small(method: str, **changes) -> Run:
    """A run of a method in the hall, as small as it can be."""
    values = {"training": SMALL, "stages": (2,)} | changes
    return Run(method, "tidy_house", "smoke", "state", "dev", 2, 1, 1, "cpu", TINY, **values)


def train(folder: Path, run: Run) -> Path:
    create(folder, run)
    assert work(folder, lambda _: ([home()], episodes()), quiet=True)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Runs that have been asked for, each trained once."""
    made = {}

    def get(method: str) -> Path:
        if method not in made:
            made[method] = train(tmp_path_factory.mktemp("runs") / method, small(method))
        return made[method]

    return get


def test_the_rivals_of_the_literature_have_one_stage():
    assert ONE_STAGE == ["cec", "e3t", "upd"]
    assert {name: REGISTERED[name].label for name in OTHERS} == OTHERS


@pytest.mark.parametrize("method", ONE_STAGE)
def test_a_run_of_one_stage_has_its_agent_where_every_command_looks(method, trained):
    folder = trained(method)
    assert RunFolder(folder).complete()
    (agent,) = resolve(f"{folder}/agent", "tidy_house")
    assert agent.meta["method"] == method
    assert agent.meta["zero_shot"]
    assert play(episodes().take(np.arange(2)), [home()], [[load(agent), "first_half"]]).outcome.all()
    assert json.loads(RunFolder(folder).partners.read_text())["partners"] == []
    with pytest.raises(FileNotFoundError, match="an agent and no population"):
        population(folder)


@pytest.mark.parametrize("method", ONE_STAGE)
def test_the_evaluation_has_its_games_with_itself_and_with_held_out_partners(method, trained):
    _, _, pairs = of_run(trained(method), ("script/noop",), (), False, None)
    own = [pair for pair in pairs if pair.evaluation == "train_pop"]
    assert [(pair.agent.name, [p.name for p in pair.partners]) for pair in own] == [(f"{method}/agent", [f"{method}/agent"])]
    assert not own[0].zero_shot
    (met,) = [pair for pair in pairs if pair.evaluation == "zsc" and not pair.control]
    assert met.zero_shot
    assert met.partners[0].name == "script/noop"


def test_the_budget_of_the_stage_that_is_not_there_is_nothing(trained):
    from housemates.evaluation.holdouts import origin

    (agent,) = resolve(f"{trained('cec')}/agent")
    told = origin(agent)
    assert (told["stage1_decisions"], told["stage1_steps"]) == (0, 0)
    assert told["stage2_decisions"] >= SMALL.decisions
    assert told["stage2_steps"] not in (0, UNKNOWN)


def test_the_page_lets_the_agent_play_all_robots(trained):
    shown = TrainingRun(trained("cec"))
    assert [shown.player(robot).name for robot in (0, 1)] == ["cec/agent", "cec/agent"]


@pytest.mark.parametrize("learner", ["torch", "fused"])
@pytest.mark.parametrize("method", METHODS)
def test_a_training_that_pauses_after_every_update_ends_with_the_same_agent(method, learner, tmp_path):
    whole = trainer(tmp_path / "whole", METHODS[method], learner=learner)
    assert whole.run()
    complete = False
    while not complete:
        run = trainer(tmp_path / "pausing", METHODS[method], learner=learner)
        run.load()
        complete = run.run(seconds=0)
    one, two = (tmp_path / name / "agent" / "policy.safetensors" for name in ("whole", "pausing"))
    assert one.read_bytes() == two.read_bytes()
    assert run.update > 3
    state = whole.method.state(), run.method.state()
    assert state[0].keys() == state[1].keys()
    assert all((state[0][name] == state[1][name]).all() for name in state[0])


@pytest.mark.parametrize("method", ["e3t", "upd"])
def test_both_paths_learn_the_same(method, tmp_path):
    ends = []
    for learner in ("torch", "fused"):
        made = trainer(tmp_path / learner, METHODS[method], learner=learner, decisions=60)
        made.run()
        ends.append([p.detach().numpy() for p in made.players[0].policy.parameters()])
    for one, two in zip(*ends, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.parametrize("method", ["e3t", "upd", "prioritised"])
def test_two_workers_have_one_agent_and_resume_exactly(method, tmp_path):
    for name in ("whole", "pausing"):
        METHODS[method](tmp_path / name)  # what a method needs is there before two workers look for it
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    shared["PYTHONPATH"] = os.pathsep.join(map(str, (HERE.parents[1] / "src", HERE.parent, HERE)))
    command = [sys.executable, str(HERE / "one_stage_workers.py"), str(tmp_path), method]
    workers = [subprocess.Popen(command, env=shared | {"RANK": str(rank)}) for rank in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    said = [(tmp_path / f"said{rank}").read_text() for rank in range(2)]
    assert said[0] == said[1]
    assert said[0].split()[2] == "True"
    one, two = (tmp_path / name / "agent" / "policy.safetensors" for name in ("whole", "pausing"))
    assert one.read_bytes() == two.read_bytes()


def test_in_cross_environment_self_play_the_agent_moves_and_learns_from_every_robot():
    method = CEC(TINY)
    slots = method.pairs(0, np.random.default_rng(0), 5, 2)
    assert (slots.player == 0).all()
    assert slots.learns.all()
    assert method.pairs(1, np.random.default_rng(0), 5, 2) is None
    assert len(method.policies) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stages": (1,)}, "has one stage"),
        ({"stages": (1, 2)}, "has one stage"),
        ({"population": ("pretrained/bdp-tidy_house-state",)}, "without partners of others"),
        ({"training": replace(SMALL, prioritised=True)}, "no population to prioritise"),
        ({"robots": 1}, "two robots"),
    ],
)
@pytest.mark.parametrize("method", ONE_STAGE)
def test_what_one_stage_has_no_place_for_is_refused(method, changes, words):
    asked = {"robots": 2, "policy": TINY} | changes
    with pytest.raises(ValueError, match=words):
        replace(small(method), **asked)


@pytest.mark.parametrize("method", ["cec", "upd"])
def test_disturbances_of_partners_that_are_not_there_or_have_their_own_are_refused(method):
    made = METHODS[method](Path())
    with pytest.raises(ValueError, match=r"disturbances.share"):
        made.disturber(make(), Disturbances(share=0.5), [0])


@pytest.mark.parametrize("method", ONE_STAGE)
def test_presets_do_not_disturb_their_partners(method):
    run = new_run({"preset": "state", "method": method}, (), "cpu")
    assert run.training.disturbances.share == 0
    assert run.stages == (2,)
    assert run.training.partner_model.action == (0.1 if method == "e3t" else 0.0)


def test_a_class_of_a_user_may_train_one_agent_in_one_stage(tmp_path):
    class Alone(OneAgent):
        """Plays with itself."""

        def __init__(self, config, robots, seed, settings):
            super().__init__(config, robots, seed)

        pairs = CEC.pairs

    register_method("alone", Alone)
    try:
        folder = train(tmp_path / "alone", small("alone"))
        assert RunFolder(folder).complete()
    finally:
        REGISTERED.pop("alone", None)
    assert read(folder).method == "alone"

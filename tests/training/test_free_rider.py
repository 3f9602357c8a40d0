"""An agent that has learnt to stand aside, kept as a case: every place that should say so says so.

`free_rider/` was trained in the hand-made hall beside `script/solo`, which does the whole task. With `tests` in PYTHONPATH,
`python tests/training/test_free_rider.py FOLDER` trains another one in half a minute.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from helpers.batches import episodes, home
from housemates.agents.agent import learned, scripted
from housemates.evaluation.crossplay import crossplay, pair_up
from housemates.evaluation.metrics import rows_of
from housemates.methods import METHODS
from housemates.policies.checkpoint import load_policy
from housemates.policies.config import PolicyConfig
from housemates.reports.work import warnings, work
from housemates.runs import run
from housemates.sim.rules import Rules
from housemates.training.ppo import PPO
from housemates.training.trainer import Training

CASE = Path(__file__).with_name("free_rider")
TRAINING = Training(
    decisions=60_000,
    num_envs=32,
    rollout_decisions=16,
    ppo=PPO(learning_rate=3e-3, entropy_end=0.0, num_minibatches=4, normalise_value=True),
)
RUN = run.Run(
    *("own", "tidy_house", "smoke", "state", "dev", 2, 1, 1, "cpu", PolicyConfig.state(hidden=16, features=16), TRAINING),
    stages=(2,),
    population=("script/solo",),
    settings=METHODS["own"].settings,
)


def train(folder: Path, training: Training = TRAINING, quiet: bool = False) -> bool:
    """An agent beside a robot that does everything."""
    run.create(folder, replace(RUN, training=training))
    return run.work(folder, lambda _: ([home()], episodes()), quiet=quiet)


@pytest.fixture
def stands_aside(monkeypatch):
    """Training begins with the agent that stands aside."""
    made = run.make_trainer

    def make(*arguments):
        trainer = made(*arguments)
        trainer.players[0].policy.load_state_dict(load_policy(CASE).state_dict())
        return trainer

    monkeypatch.setattr(run, "make_trainer", make)


def test_training_says_so(stands_aside, tmp_path, capsys):
    train(tmp_path / "run", replace(TRAINING, decisions=3000, ppo=PPO(learning_rate=1e-9)), quiet=True)
    assert "leaves the work to its partners" in capsys.readouterr().err
    row = json.loads((tmp_path / "run" / "stage2" / "metrics.jsonl").read_text().splitlines()[-1])
    assert row["charts/success"] > 0.5
    assert row["charts/agent_subgoals"] < 0.1
    assert row["charts/standing_partner"] < 0.1


def test_its_evaluation_says_so():
    agent = learned(CASE, "free_rider/agent")
    pairs = [*pair_up([agent], [scripted("solo")], "train_pop"), *pair_up([agent], [scripted("noop")], "zsc")]
    rows = rows_of(crossplay(pairs, episodes(), [home()], Rules(), count=8))
    success, share, alone = work(rows)
    assert success > 0.5
    assert share < 0.1
    assert alone == 0.0
    (told,) = warnings(rows)
    assert "leaves the work to its partners" in told


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(Path(sys.argv[1]))

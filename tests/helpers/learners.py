"""Tiny learners in the hand-made hall for the tests of learning: little networks, few homes, seconds to train."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from helpers.batches import EPISODES, episodes, home, make
from housemates.methods.self_play import GTCoord
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.training.ppo import PPO
from housemates.training.rollout import Collector, Learner, Slots
from housemates.training.store import Store
from housemates.training.trainer import Trainer, Training

TINY = PolicyConfig.state(hidden=8, features=8)
SHORT = Training(decisions=700, num_envs=4, rollout_decisions=8, save_every=2, ppo=PPO(chunk=4))


def player(batch, config: PolicyConfig = TINY, seed: int = 0, learns: bool = True, also: tuple[str, ...] = ()) -> Learner:
    """Somebody who plays in a batch; also: observations that are stored for training only."""
    made = Learner(Policy(config, seed=seed), generator=torch.Generator().manual_seed(seed))
    if learns:
        shapes = {name: batch.observation(name) for name in (*config.observations, *also)}
        made.store = Store(shapes, config.memory_size, 4)
    return made


def slots(players: list[list[int]], learns: list[list[bool]] | None = None, script: list[list[int]] | None = None) -> Slots:
    """Who moves whom, by rows of homes."""
    chosen = np.array(players, np.int16)
    return Slots(
        chosen,
        np.zeros(chosen.shape, np.int64),
        np.ones(chosen.shape, np.bool_) if learns is None else np.array(learns),
        np.zeros(chosen.shape, np.int16) if script is None else np.array(script, np.int16),
    )


def together(homes: int = 4, config: PolicyConfig = TINY, **more) -> Collector:
    """Two learners, each always the same robot, in fresh homes."""
    batch = make(size=homes, **more)
    batch.state.following[:] = np.arange(homes) % EPISODES
    return Collector(batch, [player(batch, config, 0), player(batch, config, 1)], slots([[0, 1]] * homes))


def trainer(folder: Path, config: Training = SHORT, policy: PolicyConfig = TINY, robots: int = 2, **changes) -> Trainer:
    """GT Coord in the hall."""
    method = GTCoord(policy, robots, config.seed)
    return Trainer(replace(config, **changes), method, episodes(), [home()], folder, robots)


def weights(trained: Trainer) -> list[np.ndarray]:
    """All weights of all players."""
    return [v.numpy().copy() for p in trained.players for v in p.policy.state_dict().values()]


if __name__ == "__main__":
    torch.set_num_threads(1)
    running = trainer(Path(sys.argv[1]), learner=sys.argv[2])
    running.load()
    running.run()

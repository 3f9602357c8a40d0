"""The Gymnasium face of one home: robot 0 is the learner, the others are partners. `gymnasium.make` finds it by its ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from housemates.envs.spaces import RENDER_MODES
from housemates.envs.vector import HomesEnv, make_vec
from housemates.sim.state import OUTCOMES, TIMEOUT

SUCCESS = "success"


def make_single(task: str, **options: Any) -> HomeLearnerEnv:
    """A Gymnasium Env of one home whose actions are those of robot 0.

    options: the arguments of `housemates.make_vec`, without `num_envs` and `final_observations`.
    """
    for name in ("num_envs", "final_observations"):
        if name in options:
            raise TypeError(f"no argument '{name}' for a single environment - leave it out, or use make_vec")
    # Final observations leave an ended home as it is: `reset` begins the next episode.
    return HomeLearnerEnv(make_vec(task, 1, final_observations=True, **options))


class HomeLearnerEnv(gymnasium.Env):
    """One home, one learner. A step lasts until robot 0 must decide again; the reward is the sum since its last decision."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 15}  # noqa: RUF012

    def __init__(self, homes: HomesEnv) -> None:
        """homes: a vector environment of one home, without autoreset in its batch."""
        self.homes, self.render_mode = homes, homes.render_mode
        self.observation_space, self.action_space = homes.single_observation_space, homes.single_action_space
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict[str, Any]]:
        """Begin an episode: a random one, or number options["episode"]."""
        super().reset(seed=seed)
        episode = (options or {}).get("episode")
        observations, _ = self.homes.reset(seed=seed, options=None if episode is None else {"episodes": [int(episode)]})
        self._over = False
        return _first(observations), {}

    def step(self, action: Any) -> tuple[dict, float, bool, bool, dict[str, Any]]:
        """Give robot 0 an action and run the home until it must decide again.

        info: `duration` simulation steps; `outcome` (running, success, collision, timeout); `subgoals` achieved in this call;
        `is_success`.
        """
        if self._over:
            raise RuntimeError("the episode is over - call reset before the next step")
        infos, reward, done = self.homes.play(np.asarray(action)[None])
        number = int(infos["outcome"][0])
        outcome, self._over = OUTCOMES[number], bool(done[0])
        info = {"duration": int(infos["duration"][0]), "outcome": outcome, "subgoals": int(infos["subgoals"][0])}
        info["is_success"] = outcome == SUCCESS
        truncated = self._over and number == TIMEOUT
        return _first(self.homes.observe()), float(reward[0]), self._over and not truncated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Which decisions may be taken now, bool [25]: all of them, because a step ends when robot 0 must decide."""
        space = self.action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise ValueError("only decisions have a mask - choose control='skills'")
        return np.ones(int(space.n), np.bool_)

    def render(self) -> np.ndarray | None:
        """The home in the chosen view, [512, 512, 3] uint8; None without a render mode."""
        pictures: Sequence[np.ndarray] | None = self.homes.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """Nothing is held open."""
        self.homes.close()


def _first(observations: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The observations of the only home."""
    return {name: values[0] for name, values in observations.items()}

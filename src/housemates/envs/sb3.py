"""`make_sb3`: the vector environment as Stable-Baselines3 takes it. Only this module needs stable-baselines3.

Stable-Baselines3 has a vector interface of its own (`VecEnv`): one flag for the end of an episode, infos as a list of dicts,
the last observation of an episode inside its info.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from housemates.envs.spaces import observation_space
from housemates.envs.vector import HomesEnv, make_vec
from housemates.sim.state import OUTCOMES

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError("housemates.envs.sb3 needs stable-baselines3 - run: pip install stable-baselines3") from error

MASK = "action_mask"
"""The observation that becomes the environments' method `action_masks`."""


def make_sb3(task: str, num_envs: int = 1, **options: Any) -> SB3VecEnv:
    """A Stable-Baselines3 VecEnv of `num_envs` homes; its actions are those of robot 0 in each.

    Policies are `MultiInputPolicy`. Wrap it in `VecMonitor` to see returns and success in the log.

    Args:
        task: the name of a task.
        num_envs: how many homes are played side by side.
        options: the other arguments of `housemates.make_vec` (partner, observations, split, seed, ...).
    """
    return SB3VecEnv(make_vec(task, num_envs, final_observations=True, **options))


class SB3VecEnv(VecEnv):
    """Many homes, one learner in each. The action mask is a method (`action_masks`, for MaskablePPO), not an observation."""

    def __init__(self, envs: HomesEnv) -> None:
        """envs: made with `final_observations=True`, from which algorithms bootstrap at a timeout."""
        if envs.batch.autoreset:
            raise ValueError("the environment drops last observations - make it with final_observations=True")
        self.envs, self._actions = envs, np.zeros(0)
        self._masks = np.ones((envs.num_envs, 0), bool)
        # The space of low-level control is the one without a mask.
        seen = observation_space(envs.names, envs.batch.robots, envs.batch.pixels, control="low_level")
        super().__init__(envs.num_envs, seen, envs.single_action_space)

    def reset(self) -> dict[str, np.ndarray]:
        """Begin episodes in all homes, from the seeds of `seed` if it was called."""
        given = any(seed is not None for seed in self._seeds)
        episodes = [options.get("episode", -1) for options in self._options]
        seen, _ = self.envs.reset(seed=self._seeds if given else None, options={"episodes": episodes})
        self._reset_seeds()
        self._reset_options()
        return self._without_mask(seen)

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions [N] (or [N, 10]) for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations, rewards [N], which [N] episodes are over, and one info for each home.

        info: `duration`, `outcome` and `subgoals` as in the environment of one home; at the end `is_success`,
        `terminal_observation` and `TimeLimit.truncated`.
        """
        seen, reward, terminated, truncated, infos = self.envs.step(self._actions)
        done = terminated | truncated
        told: list[dict[str, Any]] = [
            {"duration": int(duration), "outcome": OUTCOMES[outcome], "subgoals": int(subgoals)}
            for duration, outcome, subgoals in zip(infos["duration"], infos["outcome"], infos["subgoals"], strict=True)
        ]
        for home in np.flatnonzero(done):
            last = {name: values for name, values in infos["final_obs"][home].items() if name != MASK}
            told[home]["terminal_observation"] = last
            told[home]["TimeLimit.truncated"] = bool(truncated[home])
            told[home]["is_success"] = told[home]["outcome"] == "success"
        return self._without_mask(seen), reward.astype(np.float32), done, told

    def close(self) -> None:
        """Nothing is held open."""
        self.envs.close()

    def get_images(self) -> list[np.ndarray]:
        """Every home in the chosen view, uint8 [512, 512, 3] each."""
        return list(self.envs.render() or ())

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute of the homes; they share one environment, so it is the same for all of them."""
        if attr_name == "action_masks":
            return [lambda home=home: self._masks[home] for home in self._get_indices(indices)]
        value = getattr(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Refused: what can be chosen is an argument of `make_sb3`."""
        raise AttributeError(f"'{attr_name}' of a running environment cannot be set - give it to make_sb3")

    def env_method(self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **more: Any) -> list[Any]:
        """Call a method for each home: `action_masks` is the one there is."""
        if method_name != "action_masks":
            raise AttributeError(f"the homes have no method '{method_name}' - they have: action_masks")
        return [method(*args, **more) for method in self.get_attr(method_name, indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        """No home is wrapped by itself."""
        return [False for _ in self._get_indices(indices)]

    def _without_mask(self, seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The observations without the action mask, which is kept."""
        if MASK in seen:
            self._masks = seen[MASK].astype(bool)
        return {name: values for name, values in seen.items() if name != MASK}

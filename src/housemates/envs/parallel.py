"""The PettingZoo face: `make` returns a ParallelEnv of one home in which every robot is an agent.

One `step` is one `Batch.step`: the home runs until some robot must decide. A busy robot's action is ignored, and its
`action_mask` is one-hot on what it is doing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

from housemates.envs.spaces import (
    RENDER_MODES,
    action_space,
    change,
    check_control,
    check_names,
    check_render_mode,
    check_size,
    check_view,
    load,
    new_batch,
    new_buffer,
    observation_space,
    reseed,
)
from housemates.envs.watch import picture
from housemates.homes.home import Home
from housemates.sim.batch import Batch
from housemates.sim.control import control_size
from housemates.sim.rules import Rules
from housemates.sim.state import MUST_DECIDE, OUTCOMES, TIMEOUT
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes
from housemates.tasks.tasks import get_task


def make(
    task: str,
    robots: int = 2,
    split: str = "train",
    observations: str | Sequence[str] = "depth",
    size: int = 64,
    control: str = "skills",
    every_tick: bool = False,
    seed: int = 0,
    rules: Rules | None = None,
    render_mode: str | None = None,
    view: str = "top",
    homes: Sequence[Home] | None = None,
    episodes: Episodes | None = None,
    progress: bool = True,
    **changes: Any,
) -> HomeEnv:
    """A PettingZoo ParallelEnv of one home with agents `robot_0`, `robot_1`, ...

    Args:
        task: `tidy_house`, `set_table` or `prepare_groceries`.
        robots: 1 to 4.
        split: homes and episodes to play: `train`, `dev`, `eval` or `test`.
        observations: a list of depth (metres), rgb, segmentation, state, predicates, gps_compass, laser, laser_robots,
            track, egomotion, receptacles and window (docs/concepts/observations.md); or one word of `housemates train
            --observations` for what its policies see: "depth" is depth and state, "rgb" rgb and state, "state" state and
            predicates, "predicates" and "blind" (state) alone.
        size: side of the pictures, pixels.
        control: `skills` (25 decisions) or `low_level` (ten numbers, docs/concepts/control.md).
        every_tick: return after each simulation step instead of running until a robot must decide.
        seed: of the first episodes; `reset(seed=...)` starts again from another.
        rules: speeds, horizon, interruption, reward; single fields can be changed by name (speed="fast").
        render_mode: `rgb_array` makes `render` return a picture of the home.
        view: what `render` shows: `top` (from above), or `robot_0`, `robot_1`, ... (over that robot's shoulder).
        homes: play in these instead of the split's.
        episodes: play these instead of the split's.
        progress: show on stderr how far it is where homes, paths or episodes must be made first, once for each split.
        changes: fields of `Rules`.
    """
    names, control, size = check_names(observations), check_control(control), check_size(size)
    mode, view, changed = check_render_mode(render_mode), check_view(view, robots), change(rules, changes)
    homes, episodes = load(task, split, homes, episodes, progress)
    batch = new_batch(homes, episodes, 1, robots, changed, seed, autoreset=False, pixels=size)
    return HomeEnv(batch, names, control, every_tick, mode, view)


class HomeEnv(ParallelEnv):
    """One home of robots. Every agent gets fresh observations and the shared reward earned since the last call."""

    metadata = {"name": "housemates_v0", "render_modes": list(RENDER_MODES), "is_parallelizable": True}  # noqa: RUF012

    def __init__(
        self,
        batch: Batch,
        observations: tuple[str, ...],
        control: str,
        every_tick: bool = False,
        render_mode: str | None = None,
        view: str = "top",
    ) -> None:
        """batch: one home without autoreset."""
        self.batch, self.names, self.control, self.every_tick, self.render_mode = (
            batch, observations, control, every_tick, render_mode,
        )  # fmt: skip
        self.view = view
        self.possible_agents = [f"robot_{r}" for r in range(batch.robots)]
        self.agents: list[str] = []
        self._subgoals = get_task(batch.episodes.task).subgoal_names
        self._observation_spaces = {
            a: observation_space(observations, batch.robots, batch.pixels, control) for a in self.possible_agents
        }
        self._action_spaces = {a: action_space(control) for a in self.possible_agents}

    def observation_space(self, agent: str) -> Space:
        """The Dict space of one robot; always the same object."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """Discrete(25), or ten numbers under low-level control; always the same object."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Begin an episode: a random one, or number options["episode"]."""
        if seed is not None:
            reseed(self.batch, seed)
        episode = int((options or {}).get("episode", -1))
        self.batch.reset(np.array([episode]))
        self.agents = list(self.possible_agents)
        return self._observe(), self._infos(0, ())

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Give actions to the robots that must decide; returns observations, rewards, terminations, truncations, infos."""
        if not self.agents:
            raise RuntimeError("the episode is over - call reset before the next step")
        if not isinstance(actions, Mapping):
            raise ValueError(f"actions must be a dict with an action for each agent, got {actions!r}")
        unknown = set(actions) - set(self.agents)
        if unknown:
            raise ValueError(f"no agent '{sorted(unknown)[0]}' - the agents are: {', '.join(self.agents)}")
        state = self.batch.state
        clock, achieved = int(state.clock[0]), state.done_by[0] >= 0
        reward = self._skills(actions) if self.control == "skills" else self._low_level(actions)
        new = tuple(
            name for name, now, before in zip(self._subgoals, state.done_by[0] >= 0, achieved, strict=False) if now > before
        )
        outcome = int(state.outcome[0])
        agents = self.agents
        rewards = dict.fromkeys(agents, reward)
        terminations = dict.fromkeys(agents, outcome not in (0, TIMEOUT))
        truncations = dict.fromkeys(agents, outcome == TIMEOUT)
        observations, infos = self._observe(), self._infos(int(state.clock[0]) - clock, new)
        if outcome:
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def render(self) -> np.ndarray | None:
        """The home in the chosen view, [512, 512, 3] uint8; None without a render mode."""
        return None if self.render_mode is None else picture(self.batch, 0, self.view)

    def _skills(self, actions: Mapping[str, Any]) -> float:
        """One `Batch.step`; returns the reward of this call."""
        decide = self.batch.decide[0]
        chosen = np.full((1, self.batch.robots), -1)
        for r, agent in enumerate(self.possible_agents):
            if not decide[r]:
                continue
            if agent not in actions:
                raise ValueError(f"{agent} must decide and was given no action - give one of 0..{len(ACTIONS) - 1}")
            action = np.asarray(actions[agent])
            if action.shape not in ((), (1,)) or action.dtype.kind not in "iu" or not 0 <= int(action.item()) < len(ACTIONS):
                raise ValueError(f"{agent} was given {actions[agent]!r} - give an integer in 0..{len(ACTIONS) - 1}")
            chosen[0, r] = int(action.item())
        # What a robot has earned is counted from its own decision: take off what a busy one had before this call.
        before = 0.0 if decide[0] else float(self.batch.state.terms[0, 0].sum())
        step = self.batch.step(chosen, max_ticks=int(self.every_tick))
        return float(step.reward[0, 0]) - before

    def _low_level(self, actions: Mapping[str, Any]) -> float:
        """One `Batch.control`; returns the reward of this call."""
        chosen = np.zeros((1, self.batch.robots, control_size(self.batch.robot)), np.float32)
        for r, agent in enumerate(self.possible_agents):
            if agent not in actions:
                raise ValueError(f"{agent} was given no action - give {control_size(self.batch.robot)} numbers from -1 to 1")
            action = np.asarray(actions[agent], np.float32)
            if action.shape != (control_size(self.batch.robot),) or not np.isfinite(action).all():
                raise ValueError(
                    f"{agent} was given {actions[agent]!r} - give {control_size(self.batch.robot)} numbers from -1 to 1"
                )
            chosen[0, r] = action
        return float(self.batch.control(chosen).reward[0, 0])

    def _observe(self) -> dict[str, dict[str, np.ndarray]]:
        """Fresh observations of all agents, in arrays of their own."""
        seen = {name: self.batch.observe(name, new_buffer(self.batch, name))[0] for name in self.names}
        found = {agent: {name: seen[name][r] for name in self.names} for r, agent in enumerate(self.possible_agents)}
        if self.control == "skills":
            for r, agent in enumerate(self.possible_agents):
                found[agent]["action_mask"] = self._mask(r)
        return found

    def _mask(self, robot: int) -> np.ndarray:
        """All ones for a robot that must decide, one-hot on the running skill for a busy one."""
        running = int(self.batch.state.action[0, robot])
        mask = np.full(len(ACTIONS), running == MUST_DECIDE, np.int8)
        if running != MUST_DECIDE:
            mask[running] = 1
        return mask

    def _infos(self, duration: int, subgoals: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """For each agent: whether it must decide, simulation steps of this call, how the episode stands, new sub-goals."""
        decide, outcome = self.batch.decide[0], OUTCOMES[int(self.batch.state.outcome[0])]
        return {
            agent: {"must_decide": bool(decide[r]), "duration": duration, "outcome": outcome, "subgoals": list(subgoals)}
            for r, agent in enumerate(self.possible_agents)
        }

"""The Gymnasium face: `make_vec` returns a VectorEnv of many homes with one learner (robot 0) in each.

The other robots are partners: scripted, a function, or a policy. A step lasts until robot 0 must decide again; an episode
that ends begins again in the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from housemates.envs.partners import Partner, as_partners
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
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead, as_look_ahead, evasions_only
from housemates.sim.batch import Batch, Step
from housemates.sim.control import control_size
from housemates.sim.rules import Rules
from housemates.sim.state import TIMEOUT
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes


def make_vec(
    task: str,
    num_envs: int = 1,
    partner: Any = "noop",
    robots: int = 2,
    split: str = "train",
    observations: str | Sequence[str] = "depth",
    size: int = 64,
    control: str = "skills",
    seed: int = 0,
    rules: Rules | None = None,
    final_observations: bool = False,
    look_ahead: bool | str = False,
    threads: int = 1,
    render_mode: str | None = None,
    view: str = "top",
    homes: Sequence[Home] | None = None,
    episodes: Episodes | None = None,
    progress: bool = True,
    **changes: Any,
) -> HomesEnv:
    """A Gymnasium VectorEnv of `num_envs` homes; its actions are those of robot 0 in each.

    Args:
        task: `tidy_house`, `set_table` or `prepare_groceries`.
        num_envs: how many homes are played side by side.
        partner: what the other robots are: whoever has a name on the command line (`script/solo` or `solo`, `random`,
            `pretrained/NAME`, RUN/agent, RUN/3, RUN/z5, the folder of a policy, module:function; of a whole population, such
            as RUN, each takes some of the homes), a function from observations [n, ...] by name to actions [n], or a policy
            with `act(obs, memory)` and `initial_memory(n)`; or a list with one of these for each other robot.
        robots: robots in a home, the learner included: 1 to 4.
        split: homes and episodes to play: `train`, `dev`, `eval` or `test`.
        observations: a list of depth (metres), rgb, segmentation, state, predicates, gps_compass, laser, laser_robots,
            track, egomotion, receptacles and window (docs/concepts/observations.md); or one word of `housemates train
            --observations` for what its policies see: "depth" is depth and state, "rgb" rgb and state, "state" state and
            predicates, "predicates" and "blind" (state) alone.
        size: side of the pictures, pixels.
        control: `skills` (25 decisions) or `low_level` (ten numbers, docs/concepts/control.md).
        seed: of the first episodes; `reset(seed=...)` starts again from another.
        rules: speeds, horizon, interruption, reward; single fields can be changed by name (speed="fast").
        final_observations: put the last observation of an ended episode into infos["final_obs"].
        look_ahead: robot 0 looks ahead: decisions near a partner that would end in a collision are replaced (True, or one of
            `housemates.lookahead.settings.VARIANTS`).
        threads: threads that step homes and draw pictures.
        render_mode: `rgb_array` makes `render` return a picture of each home.
        view: what `render` shows: `top` (from above), or `robot_0`, `robot_1`, ... (over that robot's shoulder).
        homes: play in these instead of the split's.
        episodes: play these instead of the split's.
        progress: show on stderr how far it is where homes, paths or episodes must be made first, once for each split.
        changes: fields of `Rules`.
    """
    names, control, size = check_names(observations), check_control(control), check_size(size)
    mode, view, changed = check_render_mode(render_mode), check_view(view, robots), change(rules, changes)
    partners = as_partners(partner, robots, task)
    homes, episodes = load(task, split, homes, episodes, progress)
    options = {"autoreset": not final_observations, "threads": threads, "pixels": size}
    batch = new_batch(homes, episodes, num_envs, robots, changed, seed, **options)
    return HomesEnv(batch, partners, names, control, mode, view, as_look_ahead(look_ahead))


class HomesEnv(VectorEnv):
    """Many homes, one learner in each. Rewards are undiscounted sums since the learner's last decision."""

    metadata = {"render_modes": list(RENDER_MODES), "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        batch: Batch,
        partners: Sequence[Partner],
        observations: tuple[str, ...],
        control: str = "skills",
        render_mode: str | None = None,
        view: str = "top",
        look_ahead: LookAhead | None = None,
    ) -> None:
        """batch: with autoreset, or without to get final observations; partners: of robots 1, 2, ...; look_ahead: robot 0's."""
        if look_ahead is not None and control != "skills":
            raise ValueError(f"look_ahead with control '{control}' - only decisions are looked ahead at: use control='skills'")
        self.planner = None if look_ahead is None else Planner(batch, evasions_only(look_ahead))
        self.batch, self.partners, self.names, self.control, self.render_mode = (
            batch, list(partners), observations, control, render_mode,
        )  # fmt: skip
        self.num_envs, self.view = batch.size, view
        self.single_observation_space = observation_space(observations, batch.robots, batch.pixels, control)
        self.single_action_space = action_space(control)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._buffers: dict[str, np.ndarray] = {}
        for robot, partner in enumerate(self.partners, start=1):
            partner.join(batch, robot)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict, dict]:
        """Begin episodes in all homes: random ones, or numbers options["episodes"] [N].

        seed: one for all homes, or a list [N] with one for each; then what a home draws depends on its own seed alone, and
        None leaves it as it is.
        """
        if seed is not None:
            one = reseed(self.batch, seed)
            super().reset(seed=one)
            for partner in self.partners:
                partner.reseed(one)
        chosen = (options or {}).get("episodes")
        self.batch.reset(np.full(self.num_envs, -1) if chosen is None else np.asarray(chosen))
        for partner in self.partners:
            partner.forget(np.ones(self.num_envs, np.bool_))
        return self.observe(), {}

    def step(self, actions: np.ndarray) -> tuple[dict, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Give robot 0 of every home an action [N] (or [N, 10]) and run all homes until it must decide again.

        infos: `duration` [N] simulation steps, `outcome` [N] (index into `sim.state.OUTCOMES`), `subgoals` [N] new sub-goals
        since the last decision, and `final_obs` where it was asked for.
        """
        infos, reward, done = self.play(actions)
        if done.any():
            self._begin_again(done, infos)
        truncated = done & (infos["outcome"] == TIMEOUT)
        return self.observe(), reward, done & ~truncated, truncated, infos

    def play(self, actions: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """Run all homes until robot 0 must decide again or the episode is over: infos, rewards [N] and which [N] are over.

        Without autoreset in the batch, homes whose episode is over stay as they are.
        """
        chosen = self._check(actions)
        if self.planner is not None:
            chosen[:, 0] = self._look_ahead(self.planner, chosen)
        reward, done = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        outcome, duration = np.zeros(self.num_envs, np.int8), np.zeros(self.num_envs, np.int32)
        subgoals = np.zeros(self.num_envs, np.int32)
        running = np.ones(self.num_envs, np.bool_)
        achieved = (self.batch.state.done_by >= 0).sum(axis=1)
        while running.any():
            step = self._advance(chosen, running)
            ready = running & (step.decide[:, 0] | step.done)
            reward[ready], done[ready], outcome[ready] = step.reward[ready, 0], step.done[ready], step.outcome[ready]
            duration[ready] = step.duration[ready, 0]
            # With autoreset the next episode has begun already; what was done in the one that ended is kept in `ended`.
            by = np.where(step.done[:, None], self.batch.ended.done_by, self.batch.state.done_by)
            subgoals[ready] = ((by >= 0).sum(axis=1) - achieved)[ready]
            running &= ~ready
            if self.control == "skills":
                chosen[:, 0] = -1
        return {"duration": duration, "outcome": outcome, "subgoals": subgoals}, reward, done

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Every home in the chosen view, uint8 [512, 512, 3] each; None without a render mode."""
        return None if self.render_mode is None else tuple(picture(self.batch, e, self.view) for e in range(self.num_envs))

    def _check(self, actions: np.ndarray) -> np.ndarray:
        """Actions of all robots: the learner's as given, nothing yet for the partners."""
        given, low_level = np.asarray(actions), self.control == "low_level"
        shape = (self.num_envs, control_size(self.batch.robot)) if low_level else (self.num_envs,)
        if given.shape != shape:
            raise ValueError(f"actions must have shape {shape}, got {given.shape}")
        if low_level:
            chosen = np.zeros((self.num_envs, self.batch.robots, control_size(self.batch.robot)), np.float32)
        elif given.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers in 0..{len(ACTIONS) - 1}, got {given.dtype}")
        elif given.min() < 0 or given.max() >= len(ACTIONS):
            raise ValueError(f"actions must lie in 0..{len(ACTIONS) - 1}, got {given.min()}..{given.max()}")
        else:
            chosen = np.full((self.num_envs, self.batch.robots), -1)
        chosen[:, 0] = given
        return chosen

    def _look_ahead(self, planner: Planner, chosen: np.ndarray) -> np.ndarray:
        """What robot 0 of every home [N] does instead of chosen [N, R]; of what its learner likes only the choice is known."""
        liked = np.eye(len(ACTIONS))[chosen[:, 0]]
        return planner.revise(np.arange(self.num_envs) * self.batch.robots, liked, chosen[:, 0], chosen)

    def _advance(self, chosen: np.ndarray, running: np.ndarray) -> Step:
        """Ask the partners that must decide in the running homes [N], then run those homes until a robot must decide."""
        for robot, partner in enumerate(self.partners, start=1):
            partner.choose(self.batch, robot, self.names, self.batch.decide[:, robot] & running, chosen)
        if self.control == "low_level":
            return self.batch.control(chosen)
        # A home whose learner must decide already waits for the others: `over` keeps a home from moving.
        self.batch.state.over[~running] = True
        step = self.batch.step(chosen)
        self.batch.state.over[~running] = False
        return step

    def _begin_again(self, done: np.ndarray, infos: dict[str, Any]) -> None:
        """The next episodes in the homes of a mask [N]; without autoreset their last observations are kept first."""
        if not self.batch.autoreset:
            last, final = self.observe(done), np.full(self.num_envs, None, object)
            for e in np.flatnonzero(done):
                final[e] = {name: values[e] for name, values in last.items()}
            infos["final_obs"], infos["_final_obs"] = final, done.copy()
            self.batch.reset(which=done)
        for partner in self.partners:
            partner.forget(done)

    def observe(self, which: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """What robot 0 of the homes in which [N] (default: all) sees, in arrays of their own."""
        mask = np.zeros((self.num_envs, self.batch.robots), np.bool_)
        mask[:, 0] = True if which is None else which
        found = {}
        for name in self.names:
            if name not in self._buffers:
                self._buffers[name] = new_buffer(self.batch, name)
            found[name] = self.batch.observe(name, self._buffers[name], mask)[:, 0].copy()
        if self.control == "skills":
            found["action_mask"] = np.ones((self.num_envs, len(ACTIONS)), np.int8)
        return found

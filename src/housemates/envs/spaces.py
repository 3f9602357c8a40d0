"""Gymnasium spaces of observations and actions, and the arguments that all environments share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from housemates.envs.loading import load_homes, load_set
from housemates.homes.home import Home
from housemates.sim.batch import Batch
from housemates.sim.control import control_size
from housemates.sim.rules import Rules
from housemates.sim.sensors import SENSORS, sensor_names
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes
from housemates.tasks.task import Task
from housemates.tasks.tasks import resolve_task

CONTROLS = ("skills", "low_level")
SMALLEST, LARGEST = 8, 1024
"""Sides of the smallest and largest picture, pixels."""


def observations_offered() -> tuple[str, ...]:
    """What can be asked for; `action_mask` comes with the skills by itself."""
    return tuple(sensor.name for sensor in SENSORS.everything().values() if not sensor.training_only)


def check_names(observations: str | Sequence[str]) -> tuple[str, ...]:
    """The names of observations, if all are known and none comes twice; a word of `train --observations` stands for its set."""
    names = sensor_names(observations) if isinstance(observations, str) else tuple(observations)
    offered = ", ".join(observations_offered())
    for name in names:
        if SENSORS.find(name).training_only:
            raise ValueError(f"no observation '{name}' of a robot, only of a critic in training - choose among: {offered}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"observations {list(names)} - name one or more, each once, among: {offered}")
    return names


def check_control(control: str) -> str:
    """The name of a control, if it is known."""
    if control not in CONTROLS:
        raise ValueError(f"no control '{control}' - choose one of: {', '.join(CONTROLS)}")
    return control


def check_size(size: int) -> int:
    """The side of pictures, if it can be drawn."""
    if not SMALLEST <= size <= LARGEST:
        raise ValueError(f"pictures of {size} pixels - choose a size from {SMALLEST} to {LARGEST}")
    return int(size)


def observation_space(names: Sequence[str], robots: int, size: int, control: str = "skills") -> spaces.Dict:
    """The space of one robot's observations; with skills it holds an `action_mask` as well."""
    found: dict[str, spaces.Space] = {name: _space(name, robots, size) for name in names}
    if control == "skills":
        found["action_mask"] = spaces.Box(0, 1, (len(ACTIONS),), np.int8)
    return spaces.Dict(found)


def action_space(control: str) -> spaces.Space:
    """One of 25 decisions, or ten numbers from -1 to 1."""
    return spaces.Discrete(len(ACTIONS)) if control == "skills" else spaces.Box(-1.0, 1.0, (control_size(),), np.float32)


def _space(name: str, robots: int, size: int) -> spaces.Box:
    sensor = SENSORS.find(name)
    shape = (size, size, sensor.channels) if sensor.channels else sensor.size(robots)
    dtype: Any = sensor.environment_dtype or sensor.dtype
    low, high = (np.broadcast_to(np.asarray(bound, dtype), shape) for bound in sensor.limits(robots))
    return spaces.Box(low, high, shape, dtype)


RENDER_MODES = ("rgb_array",)


def load(
    task: str | Task, split: str, homes: Sequence[Home] | None, episodes: Episodes | None, progress: bool = True
) -> tuple[Sequence[Home], Episodes]:
    """The homes and episodes to play: those given, or the package's own of a split.

    progress: whether it is shown on the console where something must be made first.
    """
    name = resolve_task(task).name
    if episodes is not None:
        if homes is None:
            raise ValueError("episodes were given without their homes - give both (homes=..., episodes=...)")
        if episodes.task != name:
            raise ValueError(f"the episodes are of {episodes.task}, not of {name} - give the task they were made for")
        return homes, episodes
    if homes is None:
        homes = load_homes(split, progress)
    return homes, load_set(name, split, homes, progress)


def change(rules: Rules | None, changes: dict[str, Any]) -> Rules:
    """Rules (default: the paper's) with some fields changed by name."""
    known = [field.name for field in fields(Rules)]
    for name in changes:
        if name not in known:
            raise TypeError(f"no argument or rule '{name}' - the rules are: {', '.join(known)}")
    return replace(rules or Rules(), **changes)


def new_batch(
    homes: Sequence[Home], episodes: Episodes, count: int, robots: int, rules: Rules, seed: int, **options: Any
) -> Batch:
    """A batch of `count` homes; robots start where the episodes say, if they say it for all of them."""
    spawn = episodes.spawn
    stored = spawn is not None and 1 <= robots <= spawn.shape[1] and bool(np.isfinite(spawn[:, :robots]).all())
    return Batch(episodes, homes, count, robots, rules, seed=seed, stored_spawns=stored, **options)


def new_buffer(batch: Batch, name: str) -> np.ndarray:
    """An array [E, R, ...] for an observation of all robots; depth is in metres."""
    shape, dtype = batch.observation(name)
    return np.zeros((batch.size, batch.robots, *shape), SENSORS.find(name).environment_dtype or dtype)


def reseed(batch: Batch, seed: int | Sequence[int | None]) -> int:
    """Give all homes fresh generators, as a new batch with this seed has them; or each its own, from a list of seeds [E].

    Homes whose seed is None keep their generators. Returns one seed for everything else that is drawn.
    """
    if isinstance(seed, Sequence | np.ndarray):
        if len(seed) != batch.size:
            raise ValueError(f"{len(seed)} seeds for {batch.size} homes - give one seed, or a list of {batch.size}")
        each = [None if one is None else _seed(one) for one in seed]
        for home, one in enumerate(each):
            if one is not None:
                batch.state.rng[home] = np.random.SeedSequence(one).generate_state(1, np.uint64)[0]
        return int(np.random.SeedSequence([one or 0 for one in each]).generate_state(1)[0])
    one = _seed(seed)
    batch.state.rng[:] = np.random.SeedSequence([one, batch.size]).generate_state(batch.size, np.uint64)
    return one


def _seed(seed: Any) -> int:
    """A seed, if it is one."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ValueError(f"a seed must be a whole number, got {seed!r}")
    if seed < 0:
        raise ValueError(f"a seed must not be negative, got {seed}")
    return int(seed)


def check_render_mode(mode: str | None) -> str | None:
    """The render mode, if it is known."""
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"no render mode '{mode}' - choose {', '.join(RENDER_MODES)} or None")
    return mode


def check_view(view: str, robots: int) -> str:
    """What `render` shows, if there is such a view."""
    known = ("top", *(f"robot_{robot}" for robot in range(robots)))
    if view not in known:
        raise ValueError(f"no view '{view}' - choose one of: {', '.join(known)}")
    return view

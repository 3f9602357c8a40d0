"""Small batches in the hand-made hall for the tests of the simulator, and ways to put robots where a test needs them."""

from functools import lru_cache

import numpy as np

from helpers.rooms import hall
from housemates.homes.home import Home
from housemates.sim.batch import Batch, Step
from housemates.sim.rules import Rules
from housemates.sim.scripts import script
from housemates.sim.world import World, pack
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes, generate_episodes, with_approach
from reference.predicates import Situation

EPISODES = 24
FAR = (6.6, 4.4)
"""A free floor point in a corner of the hall."""


@lru_cache
def home() -> Home:
    return hall()


@lru_cache
def episodes(task: str = "tidy_house") -> Episodes:
    """A few episodes of a task in the hall, with stored starts."""
    return with_approach(generate_episodes(task, [home()], EPISODES, seed=3, spawns=True), [home()])


@lru_cache
def world(task: str = "tidy_house") -> World:
    return pack(episodes(task), [home()])


def make(task: str = "tidy_house", size: int = 1, robots: int = 2, rules: Rules | None = None, **more) -> Batch:
    """A batch in the hall; home e plays episode e modulo their number unless a test says otherwise."""
    batch = Batch(episodes(task), [home()], size, robots, rules, world=world(task), **more)
    batch.reset(np.arange(size) % EPISODES)
    return batch


def action(name: str) -> int:
    return ACTIONS.index(name)


def do(batch: Batch, *names: str | None) -> Step:
    """One tick of home 0 (and every other) with these actions, one per robot; None leaves a robot as it is."""
    chosen = [-1 if name is None else action(name) for name in names]
    return batch.tick(np.tile(chosen, (batch.size, 1)))


def put(batch: Batch, robot: int, xz: tuple[float, float] | np.ndarray, yaw: float = 0.0, home: int = 0) -> None:
    """Stand a robot somewhere. How near its partner is counts as known, so that nothing is cut because of it."""
    batch.state.pose[home, robot] = (*xz, yaw)
    poses = batch.state.pose[home, :, :2]
    for r in range(batch.robots):
        gaps = [np.hypot(*(poses[r] - poses[other])) for other in range(batch.robots) if other != r]
        batch.state.level[home, r] = sum(min(gaps, default=np.inf) < t for t in batch.rules.thresholds)


def put_at_reach(batch: Batch, robot: int, point: np.ndarray, metres: float, home: int = 0) -> None:
    """Stand a robot so that its base is `metres` (3D) from a point, towards the middle of the hall."""
    flat = np.sqrt(metres**2 - point[1] ** 2)
    way = np.array([3.5, 4.0]) - point[[0, 2]]
    put(batch, robot, point[[0, 2]] + way / np.linalg.norm(way) * flat, home=home)


def floor_points(count: int, seed: int = 0) -> np.ndarray:
    """Random floor points [count, 2] (x, z) of the hall at which a robot can stand."""
    floor = home().floor
    cells = floor.cells[np.random.default_rng(seed).integers(len(floor.cells), size=count)]
    return np.asarray(floor.origin) + cells[:, ::-1] * floor.cell


def situation(batch: Batch, e: int = 0) -> Situation:
    """Home e as the slow truth tests of `reference.predicates` read it."""
    s, shown = batch.state, batch.homes[batch.state.home[e]]
    joints = np.array([min(max(0.0, j.lower), j.upper) for j in shown.joints])
    joints[batch.world.homes[s.home[e]]["door_joint"]] = s.door[e]
    held_by = [next((r for r in range(batch.robots) if s.held[e, r] == i), -1) for i in range(2)]
    goals = batch.world.episodes["goal"][s.episode[e]]
    return Situation(shown, s.pose[e].copy(), s.thing[e].copy(), goals, (held_by[0], held_by[1]), joints)


def scripted(batch: Batch, *names: str) -> None:
    """Robots follow these scripts from the start of the episodes they are in."""
    ids = batch.state.episode.copy()
    for robot, name in enumerate(names):
        batch.script(robot, script(name))
    batch.reset(ids)


def play(batch: Batch, calls: int = 1) -> Step:
    """Let scripted homes run to the end of their episodes."""
    for _ in range(calls):
        step = batch.step(np.full((batch.size, batch.robots), -1))
    return step

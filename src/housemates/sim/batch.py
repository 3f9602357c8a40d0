"""E homes x R robots stepped together: the simulator's face to everything above it.

A home runs on its own clock until one of its robots must decide; then `step` returns, and only those robots are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from housemates.homes.home import Home
from housemates.parallel import Threads, announce
from housemates.robots import DEFAULT, Robot
from housemates.sim import control
from housemates.sim.cameras import PICTURES, Cameras
from housemates.sim.rules import Rules, numbers
from housemates.sim.scripts import SCRIPTS
from housemates.sim.sensors import SENSORS
from housemates.sim.state import MOST_ROBOTS, MUST_DECIDE, TRACE, Fields, allocate, copy_of
from housemates.sim.step import advance, begin, reset_all, tell
from housemates.sim.world import World, pack, supports
from housemates.tasks.actions import ACTIONS
from housemates.tasks.episodes import Episodes


class Step(NamedTuple):
    """What `Batch.step` returns. The arrays belong to the batch and change with its next call."""

    decide: np.ndarray
    """[E, R] bool: this robot must be given an action now. Its reward and duration below are complete."""
    reward: np.ndarray
    """[E, R] float64, undiscounted, since that robot's last decision."""
    reward_discounted: np.ndarray
    """[E, R] float64, sum of discount^k r_k over the steps k since that decision."""
    duration: np.ndarray
    """[E, R] int32, simulation steps since that decision."""
    done: np.ndarray
    """[E] bool: the episode ended in this call (with autoreset the next one has begun)."""
    outcome: np.ndarray
    """[E] int8, index into OUTCOMES."""
    terms: np.ndarray
    """[E, R, 4] float64, the reward by REWARD_TERMS."""


class Batch:
    """Many homes at once. Same seed, same episodes and same actions give the same bits, with any number of threads."""

    def __init__(
        self,
        episodes: Episodes,
        homes: Sequence[Home],
        size: int,
        robots: int = 2,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        stored_spawns: bool = False,
        autoreset: bool = True,
        world: World | None = None,
        pixels: int = 64,
        trace: int = 0,
        robot: Robot = DEFAULT,
    ) -> None:
        """`size` homes play random `episodes` (or the ones given to `reset` and `follow`).

        stored_spawns: robots start where the episodes say; world: reuses a packed one; pixels: side of the pictures;
        trace: how many steps of each call are kept in `Batch.trace` [E, T] TRACE (`traced` [E] says how many there were);
        robot: the body of all robots.
        """
        if not 1 <= robots <= MOST_ROBOTS:
            raise ValueError(f"a home has 1 to {MOST_ROBOTS} robots, got {robots}")
        if size < 1:
            raise ValueError(f"a batch needs at least one home, got {size}")
        if threads < 1:
            raise ValueError(f"a batch needs at least one thread, got {threads}")
        if not len(episodes):
            raise ValueError("there are no episodes to play - generate some first: housemates prepare")
        self.episodes, self.homes, self.rules = episodes, list(homes), rules or Rules()
        self.size, self.robots, self.threads, self.autoreset = size, robots, threads, autoreset
        self.robot, self.world = robot, world or pack(episodes, homes, robot)
        if not np.array_equal(self.world.task["arm_poses"][0], (robot.rest, robot.carry)):
            raise ValueError(f"the world was packed for another body than '{robot.name}' - pack one for it, or give none")
        if stored_spawns:
            _check_spawns(episodes, robots)
        self.stored_spawns = stored_spawns
        self.numbers = numbers(self.rules)
        self.records, self.ended_records = allocate(size, robots, robot.joints)
        self.state, self.ended = Fields(self.records, robots), Fields(self.ended_records, robots)
        self.state.rng[:] = np.random.SeedSequence([seed, size]).generate_state(size, np.uint64)
        self.pixels = pixels
        self._cameras: dict[int, Cameras] = {}
        self.trace, self.traced = np.zeros((size, trace), TRACE), np.zeros(size, np.int32)
        self._threads = Threads(threads)
        self._hands = None
        self._done = np.zeros(size, np.bool_)
        self._reward = np.zeros((size, robots))
        announce("simulator", (advance, reset_all), 25)
        self.reset()

    def reset(self, episode_ids: np.ndarray | None = None, which: np.ndarray | None = None) -> np.ndarray:
        """Begin new episodes in all homes (or those of the mask which [E]); their robots must decide. Returns decide [E, R].

        episode_ids [E] are indices into the episodes, -1 draws one at random.
        """
        which = self._mask(which, (self.size,))
        if episode_ids is not None:
            self.follow(episode_ids)
        reset_all(self.world, self.records, self.numbers, which, self.stored_spawns)
        return self.decide

    def follow(self, episode_ids: np.ndarray) -> None:
        """Choose the episodes [E] that the homes begin at their next reset (-1 draws one at random)."""
        ids = np.asarray(episode_ids, np.int32)
        if ids.shape != (self.size,):
            raise ValueError(f"episode_ids must have shape ({self.size},), got {ids.shape}")
        if ids.size and (ids.max() >= len(self.episodes) or ids.min() < -1):
            raise ValueError(f"episode_ids must be below {len(self.episodes)}, or -1 for a random one")
        self.state.following[:] = ids

    @property
    def decide(self) -> np.ndarray:
        """[E, R] bool: who must be given an action now."""
        return (self.state.action == MUST_DECIDE) & self.state.controllable & ~self.state.over[:, None]

    def step(self, actions: np.ndarray, max_ticks: int = 0) -> Step:
        """Give actions [E, R] to the robots that must decide, then run every home until a robot there must decide again.

        Actions of busy robots are ignored; -1 leaves a deciding robot waiting. `max_ticks` > 0 bounds the steps.
        """
        actions = np.asarray(actions)
        if actions.shape != (self.size, self.robots):
            raise ValueError(f"actions must have shape ({self.size}, {self.robots}), got {actions.shape}")
        if not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"actions must be integers below {len(ACTIONS)}, got {actions.dtype}")
        if actions.min() < -1 or actions.max() >= len(ACTIONS):
            raise ValueError(f"actions must lie in 0..{len(ACTIONS) - 1} (or -1 to wait), got {actions.min()}..{actions.max()}")
        actions = np.ascontiguousarray(actions, np.int8)
        told = self._nothing_told()

        def work(thread: int, shares: np.ndarray) -> None:
            advance(
                shares, thread, self.world, self.records, self.ended_records, self.numbers, actions, self.trace, self.traced,
                told, max_ticks, self.stored_spawns, self.autoreset,
            )  # fmt: skip

        self._threads.run(self.size, work)
        return self._after(told)

    def tick(self, actions: np.ndarray | None = None) -> Step:
        """One simulation step of every home; robots without an action stand still."""
        return self.step(np.full((self.size, self.robots), -1) if actions is None else actions, max_ticks=1)

    def control(self, actions: np.ndarray) -> Step:
        """One simulation step under low-level actions [E, R, numbers] (see `control`); all robots decide again after it.

        Robots with a script follow it with their skills.
        """
        actions = np.ascontiguousarray(actions, np.float32)
        wanted = (self.size, self.robots, control.control_size(self.robot))
        if actions.shape != wanted:
            raise ValueError(f"actions must have shape {wanted}, got {actions.shape}")
        if not np.isfinite(actions).all():
            raise ValueError("actions must be finite numbers from -1 to 1, got nan or inf")
        if self._hands is None:
            self._hands = supports(self.world, self.homes), control.new_scratch(self.size, self.robots, self.robot)
        surfaces, scratch = self._hands
        told = self._nothing_told()

        def work(thread: int, low: int, high: int) -> None:
            control.control(
                self.robot.chain, self.world, surfaces, self.records, self.state, self.ended_records, self.numbers, actions,
                low, high, self.stored_spawns, self.autoreset, scratch,
            )  # fmt: skip
            tell(self.records, low, high, told)

        self._threads.share(self.size, work)
        return self._after(told)

    def assign(self, home: int, robot: int, action: int) -> None:
        """Let a robot change its mind: drop what it is doing and start `action`."""
        if not 0 <= action < len(ACTIONS):
            raise ValueError(f"actions must lie in 0..{len(ACTIONS) - 1}, got {action}")
        if not 0 <= home < self.size:
            raise ValueError(f"there is no home {home} - choose one of 0..{self.size - 1}")
        self._check_robot(robot)
        begin(self.world, self.records[home], robot, action)

    def script(self, robot: int, plan: int, homes: np.ndarray | slice = slice(None)) -> None:
        """From the next reset on a robot follows a plan of `scripts.SCRIPTS`; it is neither asked nor interrupted."""
        self._check_robot(robot)
        if plan not in SCRIPTS.values():
            raise ValueError(f"there is no plan {plan} - choose one of: {', '.join(SCRIPTS)}")
        self.state.controllable[homes, robot] = False
        self.state.interruptible[homes, robot] = False
        self.state.script[homes, robot] = plan

    def observe(self, name: str, out: np.ndarray | None = None, which: np.ndarray | None = None) -> np.ndarray:
        """Write one observation of every robot in which [E, R] (default: all) into `out` and return it.

        `sensors.SENSORS` has all of them: out is [E, R, ...] of the sensor's shape and type. Depth is uint8 inverse depth, or,
        by the buffer's type, float32 metres or uint16 millimetres. Rows of robots that are not asked for are left as they are.
        """
        shape, dtype = self.observation(name)
        if out is None:
            out = np.zeros((self.size, self.robots, *shape), dtype)
        elif out.shape != (self.size, self.robots, *shape) or (out.dtype != dtype and name != "depth"):
            wanted = (self.size, self.robots, *shape)
            raise ValueError(f"the buffer for '{name}' must be {wanted} {np.dtype(dtype)}, got {out.shape} {out.dtype}")
        which = self._mask(which, (self.size, self.robots))
        if name in PICTURES:
            self.cameras.heads(name, self.records, which, out)
        else:
            self._threads.share(self.size, lambda _, low, high: self._write(name, which, out, low, high))
        return out

    def _write(self, name: str, which: np.ndarray, out: np.ndarray, low: int, high: int) -> None:
        """Sensors of homes low..high; kernels release the GIL, so blocks run side by side."""
        kernel = SENSORS.find(name).kernel
        if kernel is not None:
            kernel(self.world, self.records[low:high], self.numbers, which[low:high], out[low:high])

    def observation(self, name: str) -> tuple[tuple[int, ...], type]:
        """Shape and type of one robot's observation of that name."""
        sensor = SENSORS.find(name)
        if sensor.channels:
            return (self.pixels, self.pixels, sensor.channels), sensor.dtype
        return sensor.size(self.robots, self.robot.joints), sensor.dtype

    @property
    def cameras(self) -> Cameras:
        """The head cameras for pictures of the batch's own size."""
        return self.cameras_of(self.pixels)

    def cameras_of(self, pixels: int) -> Cameras:
        """The head cameras for pictures of a size; packing the homes for the renderer is put off until a picture is wanted."""
        if pixels not in self._cameras:
            self._cameras[pixels] = self.new_cameras(pixels, threads=self.threads)
        return self._cameras[pixels]

    def new_cameras(self, pixels: int, **options: Any) -> Cameras:
        """Cameras in the homes of this batch for pictures with a side of `pixels`; options: those of `Cameras`."""
        return Cameras(self.world, self.episodes, self.homes, self.size, self.robots, pixels, robot=self.robot, **options)

    def save(self) -> dict[str, np.ndarray]:
        """A copy of the complete state; `restore` continues from it bit for bit."""
        return {"state": copy_of(self.records), "ended": copy_of(self.ended_records)}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Go back to a saved state of a batch of the same size."""
        mine = {"state": self.records, "ended": self.ended_records}
        if saved.keys() != mine.keys():
            raise ValueError(f"this is not a saved batch: it has {sorted(saved)}, not {sorted(mine)}")
        for name, records in mine.items():
            if saved[name].shape != records.shape or saved[name].dtype != records.dtype:
                raise ValueError(f"the saved batch has {len(saved[name])} homes, this one {len(records)}: they must be equal")
        if (saved["state"]["robots"] != self.robots).any():
            raise ValueError(f"the saved batch has {saved['state']['robots'][0]} robots a home, this one {self.robots}")
        for name, records in mine.items():
            records[...] = saved[name]

    def _nothing_told(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `tell` writes into: who must decide, rewards, whose episode is over."""
        return np.empty((self.size, self.robots), np.bool_), self._reward, self._done

    def _after(self, told: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Step:
        s, (decide, reward, done) = self.state, told
        return Step(decide, reward, s.discounted, s.duration, done, s.outcome, s.terms)

    def _mask(self, which: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
        """A mask of the right shape; kernels do not check."""
        if which is None:
            return np.ones(shape, np.bool_)
        which = np.ascontiguousarray(which)
        if which.shape != shape or which.dtype != np.bool_:
            raise ValueError(f"which must be a mask of booleans of shape {shape}, got {which.dtype} {which.shape}")
        return which

    def _check_robot(self, robot: int) -> None:
        if not 0 <= robot < self.robots:
            raise ValueError(f"there is no robot {robot} - choose one of 0..{self.robots - 1}")


def _check_spawns(episodes: Episodes, robots: int) -> None:
    """Stored starts must be there for every robot of every episode."""
    if episodes.spawn is None:
        raise ValueError(f"{episodes.task} {episodes.split} episodes store no spawns - use stored_spawns=False")
    lacking = np.isnan(episodes.spawn[:, :robots]).any(axis=(1, 2))
    if lacking.any():
        first = int(episodes.id[lacking][0])
        raise ValueError(f"episode {first} has no stored start for all {robots} robots - use fewer, or stored_spawns=False")

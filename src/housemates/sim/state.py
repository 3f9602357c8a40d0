"""The complete changing state of E homes, one record per home: copying the records copies the world.

A record holds everything of one home side by side, because a home runs many steps on its own clock before the next one
has its turn. `Fields` shows the records as arrays [E, R, ...] by name, without copying.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from housemates.sim.rules import REWARD_TERMS, WINDOW

kernel = njit(cache=True, nogil=True, _nrt=False)
"""Compiles a kernel of the simulator that allocates nothing: without numba's reference counts, of which a call with the world's
arrays would change dozens, atomically."""

MOST_ROBOTS = 4
BOTH_HALVES = -2
"""Value of `script` for a robot that does the whole task in the better order."""
MUST_DECIDE = -1
"""Value of `action` for a robot that has nothing to do."""
SUCCESS, COLLISION_END, TIMEOUT = 1, 2, 3
OUTCOMES = ("running", "success", "collision", "timeout")
"""Names of the values of `outcome`."""


@lru_cache
def state_type(joints: int) -> np.dtype:
    """The record STATE of one home whose robots have so many arm joints.

    Yes/no values are bytes, since numba's records hold no arrays of booleans; `Fields` shows them as booleans.
    """
    return np.dtype(
        [
            ("robots", "i4"),  # How many of the rows below are in use
            ("rng", "u8"),  # Each home's own generator.
            ("episode", "i4"),  # Index into the episodes.
            ("home", "i4"),  # Index into the homes.
            ("following", "i4"),  # The episode to load at the next reset, -1 = draw one at random.
            ("clock", "i4"),  # Simulation steps since the episode began.
            ("pose", "f8", (MOST_ROBOTS, 3)),  # (x, z, yaw).
            ("spawn", "f8", (MOST_ROBOTS, 3)),  # Pose at the start of the episode.
            ("arm", "f8", (MOST_ROBOTS, joints)),  # Arm joints, radians.
            ("arm_goal", "f8", (MOST_ROBOTS, joints)),  # Where the arm is moving to.
            ("held", "i1", (MOST_ROBOTS,)),  # Object in the gripper, -1 none.
            ("thing", "f8", (2, 3)),  # Where each target object is now.
            ("thing_yaw", "f8", (2,)),
            ("rest", "f8", (2, 3)),  # Where it last lay, with every drawer closed.
            ("inside", "i1", (2,)),  # Which of the three openable receptacles it lies in, -1 none.
            ("approach", "i2", (2, 4)),  # Approach cells of the place where it last lay.
            ("door", "f8", (3,)),  # Joint values of fridge, right drawer, left drawer.
            ("done_by", "i1", (6,)),  # Which robot achieved each sub-goal, -1 none yet.
            ("action", "i1", (MOST_ROBOTS,)),  # The running action, MUST_DECIDE if none.
            (
                "executed",
                "i1",
                (MOST_ROBOTS,),
            ),  # What was done in the last step: an infeasible choice counts as a no-op.
            ("elapsed", "i4", (MOST_ROBOTS,)),  # Steps the running action has taken.
            ("destination", "i2", (MOST_ROBOTS,)),  # Approach cell of the running navigation.
            (
                "waypoint",
                "i4",
                (MOST_ROBOTS,),
            ),  # Floor cell a navigating robot is driving straight to, -1 when the next must be chosen.
            ("level", "i1", (MOST_ROBOTS,)),  # How many interruption thresholds lie above the distance to the nearest partner.
            ("controllable", "u1", (MOST_ROBOTS,)),  # Whether decisions come from outside (else from `script`).
            ("interruptible", "u1", (MOST_ROBOTS,)),  # Whether a near partner cuts this robot's skills.
            ("script", "i2", (MOST_ROBOTS,)),  # What a script follows: a row of `World.plans`, BOTH_HALVES, a habit.
            ("plan", "i2", (MOST_ROBOTS,)),  # The row it follows in this episode.
            ("plan_at", "i2", (MOST_ROBOTS,)),  # Next step of that plan; what a habit remembers.
            ("terms", "f8", (MOST_ROBOTS, len(REWARD_TERMS))),  # Reward terms since the robot's last decision.
            ("discounted", "f8", (MOST_ROBOTS,)),  # Discounted reward since the robot's last decision.
            ("factor", "f8", (MOST_ROBOTS,)),  # Discount of the next step's reward.
            ("duration", "i4", (MOST_ROBOTS,)),  # Steps since the robot's last decision.
            ("window", "f4", (MOST_ROBOTS, WINDOW, 3)),  # (x, z, executed action) of the last steps, slot = step modulo W.
            ("outcome", "i1"),  # How the episode ended in the last call, 0 if it goes on.
            ("over", "u1"),  # Whether the home waits for a reset (only without autoreset).
            ("total", "f8"),  # The literal return of the paper so far (no collision charge).
            ("idle", "i4", (MOST_ROBOTS,)),  # Steps in which the robot did nothing.
            ("travelled", "f8", (MOST_ROBOTS,)),  # Metres driven.
        ],
        align=True,
    )


ENDED = np.dtype(
    [
        ("episode", "i4"),  # -1 before the first end.
        ("outcome", "i1"),
        ("steps", "i4"),
        ("total", "f8"),  # The paper's literal return.
        ("done_by", "i1", (6,)),
        ("idle", "i4", (MOST_ROBOTS,)),
        ("travelled", "f8", (MOST_ROBOTS,)),
        (
            "window",
            "f4",
            (MOST_ROBOTS, WINDOW, 3),
        ),  # As `State.window` at the end: the newest entry is slot (steps - 1) modulo W.
    ],
    align=True,
)
"""What an episode looked like when it ended; kept until the home's next episode ends."""

TRACE = np.dtype(
    [
        ("clock", "i4"),  # Steps since the episode began, this one included
        ("pose", "f8", (MOST_ROBOTS, 3)),
        ("executed", "i1", (MOST_ROBOTS,)),
        ("held", "i1", (MOST_ROBOTS,)),
        ("thing", "f8", (2, 3)),
        ("door", "f8", (3,)),
    ],
    align=True,
)
"""A home after one step, as `Batch.trace` keeps it."""

YES_NO = ("controllable", "interruptible", "over")


class Fields:
    """Records [E] as arrays by name: `fields.pose` is [E, R, 3]. Writing into an array writes into the records."""

    pose: np.ndarray

    def __init__(self, records: np.ndarray, robots: int) -> None:
        for name in records.dtype.names or ():
            array = records[name]
            if name in YES_NO:
                array = array.view(np.bool_)
            if array.ndim > 1 and array.shape[1] == MOST_ROBOTS:
                array = array[:, :robots]
            setattr(self, name, array)

    def __getattr__(self, name: str) -> np.ndarray:
        raise AttributeError(f"homes have no '{name}' - they have: {', '.join(vars(self))}")


def blank(count: int, kind: np.dtype) -> np.ndarray:
    """Records of a kind, all zero."""
    return np.zeros(count, kind)


def copy_of(records: np.ndarray) -> np.ndarray:
    """A copy of records whose bytes are all decided: those between the fields are zero."""
    copied = np.zeros(records.shape, records.dtype)
    copied[...] = records
    return copied


def allocate(homes: int, robots: int, joints: int) -> tuple[np.ndarray, np.ndarray]:
    """Records (STATE [E], ENDED [E]) for E homes and R robots of so many arm joints, filled so that all wait for a reset."""
    state, ended = blank(homes, state_type(joints)), blank(homes, ENDED)
    state["robots"] = robots
    state["controllable"] = state["interruptible"] = 1
    for name in ("following", "held", "inside", "approach", "done_by", "action", "destination", "waypoint", "script", "plan"):
        state[name] = -1
    ended["episode"] = ended["done_by"] = -1
    return state, ended

"""The complete changing state of E homes x R robots, as a struct of arrays. Copying these arrays copies the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from housemates.sim.rules import REWARD_TERMS, WINDOW

BOTH_HALVES = -2
"""Value of `State.script` for a robot that does the whole task in the better order."""
MUST_DECIDE = -1
"""Value of `State.action` for a robot that has nothing to do."""
IDLE, SUCCESS, COLLISION_END, TIMEOUT = 0, 1, 2, 3
OUTCOMES = ("running", "success", "collision", "timeout")
"""Names of the values of `State.outcome`."""


class State(NamedTuple):
    """Axes: E homes, R robots, 2 target objects, 3 things that open, 6 sub-goals, W window steps."""

    rng: np.ndarray
    """[E] uint64, each home's own generator."""
    episode: np.ndarray
    """[E] int32, index into the episodes."""
    home: np.ndarray
    """[E] int32, index into the homes."""
    following: np.ndarray
    """[E] int32, the episode to load at the next reset, -1 = draw one at random."""
    clock: np.ndarray
    """[E] int32, simulation steps since the episode began."""
    pose: np.ndarray
    """[E, R, 3] float64 (x, z, yaw)."""
    spawn: np.ndarray
    """[E, R, 3] float64, pose at the start of the episode."""
    arm: np.ndarray
    """[E, R, 7] float64, arm joints, radians."""
    arm_goal: np.ndarray
    """[E, R, 7] float64, where the arm is moving to."""
    held: np.ndarray
    """[E, R] int8, object in the gripper, -1 none."""
    thing: np.ndarray
    """[E, 2, 3] float64, where each target object is now."""
    thing_yaw: np.ndarray
    """[E, 2] float64."""
    rest: np.ndarray
    """[E, 2, 3] float64, where it last lay, with every drawer closed."""
    inside: np.ndarray
    """[E, 2] int8, which of the three openable receptacles it lies in, -1 none."""
    approach: np.ndarray
    """[E, 2, 4] int16, approach cells of the place where it last lay."""
    door: np.ndarray
    """[E, 3] float64, joint values of fridge, right drawer, left drawer."""
    done_by: np.ndarray
    """[E, 6] int8, which robot achieved each sub-goal, -1 nobody yet."""
    action: np.ndarray
    """[E, R] int8, the running action, MUST_DECIDE if none."""
    executed: np.ndarray
    """[E, R] int8, what was really done in the last step: an infeasible choice counts as a no-op."""
    elapsed: np.ndarray
    """[E, R] int32, steps the running action has taken."""
    destination: np.ndarray
    """[E, R] int16, approach cell of the running navigation."""
    level: np.ndarray
    """[E, R] int8, how many interruption thresholds lie above the distance to the nearest partner."""
    controllable: np.ndarray
    """[E, R] bool, whether decisions come from outside (else from `script`)."""
    interruptible: np.ndarray
    """[E, R] bool, whether a near partner cuts this robot's skills."""
    script: np.ndarray
    """[E, R] int16, what a scripted robot follows: a row of `World.plans`, or BOTH_HALVES."""
    plan: np.ndarray
    """[E, R] int16, the row it follows in this episode."""
    plan_at: np.ndarray
    """[E, R] int16, next step of that plan."""
    terms: np.ndarray
    """[E, R, 4] float64, reward terms since the robot's last decision."""
    discounted: np.ndarray
    """[E, R] float64, discounted reward since the robot's last decision."""
    factor: np.ndarray
    """[E, R] float64, discount of the next step's reward."""
    duration: np.ndarray
    """[E, R] int32, steps since the robot's last decision."""
    window: np.ndarray
    """[E, R, W, 3] float32 (x, z, executed action) of the last steps, slot = step modulo W."""
    outcome: np.ndarray
    """[E] int8, how the episode ended in the last call, 0 if it goes on."""
    over: np.ndarray
    """[E] bool, whether the home waits for a reset (only without autoreset)."""
    total: np.ndarray
    """[E] float64, the literal return of the paper so far (no collision charge)."""
    idle: np.ndarray
    """[E, R] int32, steps in which the robot did nothing."""
    travelled: np.ndarray
    """[E, R] float64, metres driven."""


class Ended(NamedTuple):
    """What an episode looked like when it ended; kept until the home's next episode ends."""

    episode: np.ndarray
    """[E] int32, -1 before the first end."""
    outcome: np.ndarray
    """[E] int8."""
    steps: np.ndarray
    """[E] int32."""
    total: np.ndarray
    """[E] float64, the paper's literal return."""
    done_by: np.ndarray
    """[E, 6] int8."""
    idle: np.ndarray
    """[E, R] int32."""
    travelled: np.ndarray
    """[E, R] float64."""
    window: np.ndarray
    """[E, R, W, 3] float32, as `State.window` at the end: the newest entry is slot (steps - 1) modulo W."""


def allocate(homes: int, robots: int) -> tuple[State, Ended]:
    """Arrays for E homes and R robots, filled so that everybody waits for a reset."""
    e, r = homes, robots
    state = State(
        rng=np.zeros(e, np.uint64),
        episode=np.zeros(e, np.int32),
        home=np.zeros(e, np.int32),
        following=np.full(e, -1, np.int32),
        clock=np.zeros(e, np.int32),
        pose=np.zeros((e, r, 3)),
        spawn=np.zeros((e, r, 3)),
        arm=np.zeros((e, r, 7)),
        arm_goal=np.zeros((e, r, 7)),
        held=np.full((e, r), -1, np.int8),
        thing=np.zeros((e, 2, 3)),
        thing_yaw=np.zeros((e, 2)),
        rest=np.zeros((e, 2, 3)),
        inside=np.full((e, 2), -1, np.int8),
        approach=np.full((e, 2, 4), -1, np.int16),
        door=np.zeros((e, 3)),
        done_by=np.full((e, 6), -1, np.int8),
        action=np.full((e, r), MUST_DECIDE, np.int8),
        executed=np.full((e, r), 21, np.int8),
        elapsed=np.zeros((e, r), np.int32),
        destination=np.full((e, r), -1, np.int16),
        level=np.zeros((e, r), np.int8),
        controllable=np.ones((e, r), np.bool_),
        interruptible=np.ones((e, r), np.bool_),
        script=np.full((e, r), -1, np.int16),
        plan=np.full((e, r), -1, np.int16),
        plan_at=np.zeros((e, r), np.int16),
        terms=np.zeros((e, r, len(REWARD_TERMS))),
        discounted=np.zeros((e, r)),
        factor=np.ones((e, r)),
        duration=np.zeros((e, r), np.int32),
        window=np.zeros((e, r, WINDOW, 3), np.float32),
        outcome=np.zeros(e, np.int8),
        over=np.zeros(e, np.bool_),
        total=np.zeros(e),
        idle=np.zeros((e, r), np.int32),
        travelled=np.zeros((e, r)),
    )
    ended = Ended(
        episode=np.full(e, -1, np.int32),
        outcome=np.zeros(e, np.int8),
        steps=np.zeros(e, np.int32),
        total=np.zeros(e),
        done_by=np.full((e, 6), -1, np.int8),
        idle=np.zeros((e, r), np.int32),
        travelled=np.zeros((e, r)),
        window=np.zeros((e, r, WINDOW, 3), np.float32),
    )
    return state, ended

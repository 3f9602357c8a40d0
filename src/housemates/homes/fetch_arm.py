"""Poses of the Fetch robot's arm: at rest, carrying, and reaching ahead to a height and distance, in closed form.

Skills are instantaneous in the paper; these poses are what the arm shows while a robot works, and where it holds things.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from housemates.homes.fetch import ARM_LIMITS, CAMERA, GRIP, LINK, LINKS, TORSO, WORKSPACE

REST = np.array([-0.45, -1.08, 0.10, 0.935, -0.001, 1.573, 0.005])
"""[7] the arm at rest, radians (spec section 2): gripper down, to the right of the head camera's view."""
CARRY = np.array([-0.499, -1.18, 0.726, 1.033, -0.26, 1.81, 0.005])
"""[7] the arm with an object in hand, radians: gripper down at (0.56, -0.08, 0.95), near `fetch.RESTING_GRIP` but clear
of the middle of the picture, and close enough to REST that the way there is short."""

UPPER_ARM, FOREARM, HAND = 0.219 + 0.133, 0.197 + 0.1245, 0.1385 + 0.16645 + GRIP[0]
"""Shoulder to elbow, elbow to wrist, wrist to end effector, metres."""
PITCHES = np.radians(np.arange(-30, 91, 10))
"""How far down the gripper may point when it reaches, radians."""
PITCH_BY_HEIGHT = ((0.25, 0.6, 1.0, 1.5), np.radians((90.0, 75.0, 40.0, 0.0)))
"""Low things are taken from above, high ones from the front: heights (metres) and the pitch wanted there (radians)."""
PANS = np.radians(np.arange(-90, 1, 10))
"""How far the shoulder may turn to the right when the arm reaches, radians."""
PAN_WANTED = np.radians(-50.0)
"""The shoulder turns right, so that the elbow goes beside the head camera instead of through it."""
ELBOW_DOWN_COST = 0.3
"""The elbow goes below the wrist only where that bends the wishes above much less, radians."""
CAMERA_CLEARANCE = 0.2
"""The arm's middle line stays this far from the head camera, metres: its tubes are 6 cm thick."""


def reach_pose(height: float, distance: float) -> np.ndarray:
    """Arm joints [7], radians, that bring the end effector straight ahead to `distance` from the robot's centre, metres.

    `height` is above the floor. Points outside `fetch.WORKSPACE` count as the nearest point in it; where the arm cannot
    get there it goes to the nearest distance (on a 2.5 cm grid) it can reach at that height. The elbow is to the right,
    up where possible; the gripper points ahead, as far down as PITCH_BY_HEIGHT says or as nearly as the joints allow.
    """
    height = float(np.clip(height, *WORKSPACE[2]))
    distance = float(np.clip(distance, *WORKSPACE[0]))
    wanted = np.interp(height, *PITCH_BY_HEIGHT)
    pan, pitch, side = (grid.ravel() for grid in np.meshgrid(PANS, PITCHES, (-1.0, 1.0), indexing="ij"))
    cost = np.abs(pitch - wanted) + 0.5 * np.abs(pan - PAN_WANTED) + ELBOW_DOWN_COST * (side > 0)
    others = np.linspace(*WORKSPACE[0], 33)
    for forward in (distance, *others[np.argsort(np.abs(others - distance), kind="stable")]):
        poses, possible = _bend(forward, height, pan, pitch, side)
        if possible.any():
            return poses[np.argmin(np.where(possible, cost, np.inf))]
    raise ValueError(f"the arm reaches nothing at height {height} m; choose another height in {WORKSPACE[2].tolist()}")


@lru_cache(maxsize=1)
def reach_table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`reach_pose` on a grid, for kernels: heights [11], distances [9] (metres) and joints [11, 9, 7].

    Take the nearest entry and let the arm move there; between entries the elbow may change sides.
    """
    heights = np.linspace(*WORKSPACE[2], 11)
    distances = np.linspace(*WORKSPACE[0], 9)
    return heights, distances, np.array([[reach_pose(h, d) for d in distances] for h in heights])


def _bend(forward: float, height: float, pan: np.ndarray, pitch: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Arm joints [N, 7] for the end effector at (forward, 0, height), shoulder turned by pan [N], gripper pitch [N] down.

    side [N] is -1 for the elbow up, 1 for down. Also possible [N]: within the arm's length and limits, and clear of the camera.
    """
    zero = np.zeros_like(pan)
    hand = np.stack([np.cos(pitch), zero, -np.sin(pitch)], axis=1)
    grip = np.array([forward, 0.0, height])
    wrist = grip - HAND * hand
    ahead = np.stack([np.cos(pan), np.sin(pan), zero], axis=1)
    neck, lift_offset = _shoulder()
    shoulder = neck + lift_offset[0] * ahead + [0.0, 0.0, lift_offset[2]]
    # The upper arm stays in the vertical plane through `ahead`: find the lift at which the forearm ends at the wrist.
    span = wrist - shoulder
    a, b = (span * ahead).sum(axis=1), -span[:, 2]
    cosine = (UPPER_ARM**2 + (span**2).sum(axis=1) - FOREARM**2) / (2 * UPPER_ARM * np.hypot(a, b))
    lift = np.arctan2(b, a) + side * np.arccos(np.clip(cosine, -1.0, 1.0))
    upper = _compose(_about_z(pan), _about_y(lift))
    elbow = shoulder + UPPER_ARM * upper[:, :, 0]
    roll, flex, fore = _aim(upper, (wrist - elbow) / FOREARM)
    fore_roll, wrist_flex, last = _aim(fore, hand)
    # Turn the gripper about its own axis until its fingers open sideways.
    wrist_roll = np.arctan(last[:, 1, 2] / np.where(last[:, 1, 1] == 0, 1e-12, last[:, 1, 1]))
    poses = np.stack([pan, lift, roll, flex, fore_roll, wrist_flex, wrist_roll], axis=1)
    clear = np.minimum(_gap(shoulder, elbow), np.minimum(_gap(elbow, wrist), _gap(wrist, grip[None])))
    inside = ((ARM_LIMITS[:, 0] <= poses) & (poses <= ARM_LIMITS[:, 1])).all(axis=1)
    return poses, inside & (np.abs(cosine) <= 1.0) & (clear >= CAMERA_CLEARANCE)


def _shoulder() -> tuple[np.ndarray, np.ndarray]:
    """The shoulder's turning joint in the base frame [3] and the lifting joint in the turning joint's frame [3], metres."""
    torso, pan, lift = (
        np.array(LINKS[LINK[f"{name}_link"]].offset) for name in ("torso_lift", "shoulder_pan", "shoulder_lift")
    )
    return torso + pan + [0.0, 0.0, TORSO], lift


def _aim(frame: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Roll [N] about x, then flex [N] about y, that turn the x of frame [N, 3, 3] to direction [N, 3]; and the new frame.

    Of the two ways to do it, the one that flexes forwards as the rest pose does, so that near targets have near poses.
    """
    local = np.einsum("nij,ni->nj", frame, direction)
    flex = np.arctan2(np.hypot(local[:, 1], local[:, 2]), local[:, 0])
    roll = np.arctan2(local[:, 1], -local[:, 2])
    return roll, flex, _compose(frame, _about_x(roll), _about_y(flex))


def _gap(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Distances [N] of the head camera from the segments start [N, 3] to end [N, 3], metres."""
    along = end - start
    share = np.clip(((CAMERA - start) * along).sum(axis=1) / (along**2).sum(axis=1), 0.0, 1.0)
    return np.linalg.norm(CAMERA - start - share[:, None] * along, axis=1)


def _compose(*turns: np.ndarray) -> np.ndarray:
    """Product of rotations [N, 3, 3]."""
    out = turns[0]
    for matrix in turns[1:]:
        out = out @ matrix
    return out


def _rotation(rows: tuple[tuple[np.ndarray, ...], ...]) -> np.ndarray:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _about_x(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return _rotation(((i, o, o), (o, c, -s), (o, s, c)))


def _about_y(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return _rotation(((c, o, s), (o, i, o), (-s, o, c)))


def _about_z(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return _rotation(((c, -s, o), (s, c, o), (o, o, i)))


POSES = {
    "rest": REST,
    "carry": CARRY,
    "reach-low": reach_pose(0.4, 0.75),
    "reach-middle": reach_pose(0.8, 0.8),
    "reach-high": reach_pose(1.2, 0.8),
}
"""Arm poses by name, radians: at rest, holding something, and reaching to a low table, a counter and a shelf."""

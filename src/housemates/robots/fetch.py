"""The Fetch robot as numbers: links, joints, limits, head camera, arm poses and how its arm reaches.

Lengths and limits are facts of the public robot description; no file of it is part of this package. Its appearance is in
`robots.body`.
"""

from __future__ import annotations

import numpy as np

from housemates.geometry.kinematics import PRISMATIC, REVOLUTE
from housemates.robots.body import BLUE, BODY
from housemates.robots.meshes import fetch_meshes
from housemates.robots.robot import Link, Robot, X, Y, Z

TORSO = 0.15
"""Height at which the torso is held, metres (spec section 2)."""
HEAD_PAN, HEAD_TILT = 0.0, 1.45
"""Head joints, radians. Habitat asks for a tilt of pi/2 (spec section 2); the joint stops at 1.45."""


LINKS = (
    Link("base_link", "", (0.0, 0.0, 0.0)),
    Link("torso_fixed_link", "base_link", (-0.086875, 0.0, 0.377425)),
    Link("torso_lift_link", "base_link", (-0.086875, 0.0, 0.37743), Z, PRISMATIC, 0.0, 0.38615),
    Link("head_pan_link", "torso_lift_link", (0.053125, 0.0, 0.603), Z, REVOLUTE, -1.57, 1.57),
    Link("head_tilt_link", "head_pan_link", (0.14253, 0.0, 0.058), Y, REVOLUTE, -0.76, 1.45),
    Link("shoulder_pan_link", "torso_lift_link", (0.119525, 0.0, 0.34858), Z, REVOLUTE, -1.6056, 1.6056),
    Link("shoulder_lift_link", "shoulder_pan_link", (0.117, 0.0, 0.06), Y, REVOLUTE, -1.221, 1.518),
    Link("upperarm_roll_link", "shoulder_lift_link", (0.219, 0.0, 0.0), X, REVOLUTE, -np.pi, np.pi, True),
    Link("elbow_flex_link", "upperarm_roll_link", (0.133, 0.0, 0.0), Y, REVOLUTE, -2.251, 2.251),
    Link("forearm_roll_link", "elbow_flex_link", (0.197, 0.0, 0.0), X, REVOLUTE, -np.pi, np.pi, True),
    Link("wrist_flex_link", "forearm_roll_link", (0.1245, 0.0, 0.0), Y, REVOLUTE, -2.16, 2.16),
    Link("wrist_roll_link", "wrist_flex_link", (0.1385, 0.0, 0.0), X, REVOLUTE, -np.pi, np.pi, True),
    Link("gripper_link", "wrist_roll_link", (0.16645, 0.0, 0.0)),
)
"""The robot from the floor to the gripper, parents first."""

LINK = {link.name: index for index, link in enumerate(LINKS)}
"""Index of a link by name."""
ARM = LINKS[LINK["shoulder_pan_link"] : LINK["wrist_roll_link"] + 1]
"""The links moved by the seven arm joints, in the order of the joint vector."""
LOWEST, HIGHEST = np.array([link.lower for link in ARM]), np.array([link.upper for link in ARM])
"""[7] smallest and largest angle of the arm joints, radians."""

GRIP = (0.08, 0.0, 0.0)
"""The end effector in the gripper's frame, metres (spec section 2); a held object's centre is here."""
RESTING_GRIP = (0.5, 0.0, 1.0)
"""Where the end effector should rest, base frame, metres (spec section 2)."""
WORKSPACE = np.array([(0.4, 1.2), (-0.7, 0.7), (0.25, 1.5)])
"""[3, 2] smallest and largest x, y, z of the end effector, base frame, metres (spec section 2)."""

CAMERA = (0.25, 0.0, 1.2)
"""The head camera in the base frame, metres; it moves only with the base (spec section 2)."""
CAMERA_LOOKS_AT = (0.75, 0.0, 1.0)
"""A point on its optical axis, base frame, metres: 21.8 degrees down."""
CAMERA_FOV = 90.0
"""Horizontal field of view, degrees."""


REST = np.array([-0.45, -1.08, 0.10, 0.935, -0.001, 1.573, 0.005])
"""[7] the arm at rest, radians (spec section 2): gripper down, to the right of the head camera's view."""
CARRY = np.array([-0.499, -1.18, 0.726, 1.033, -0.26, 1.81, 0.005])
"""[7] the arm with an object in hand, radians: gripper down at (0.56, -0.08, 0.95), near RESTING_GRIP but clear
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

    `height` is above the floor. Points outside WORKSPACE count as the nearest point in it; where the arm cannot
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


def reach_table() -> np.ndarray:
    """`reach_pose` on a grid over the workspace, for kernels: joints [11 heights, 9 distances, 7].

    Take the nearest entry and let the arm move there; between entries the elbow may change sides.
    """
    heights = np.linspace(*WORKSPACE[2], 11)
    distances = np.linspace(*WORKSPACE[0], 9)
    return np.array([[reach_pose(h, d) for d in distances] for h in heights])


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
    inside = ((poses >= LOWEST) & (poses <= HIGHEST)).all(axis=1)
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


FETCH = Robot(
    name="fetch",
    links=LINKS,
    arm=tuple(link.name for link in ARM),
    held={"torso_lift_link": TORSO, "head_pan_link": HEAD_PAN, "head_tilt_link": HEAD_TILT},
    gripper="gripper_link",
    grip=GRIP,
    workspace=WORKSPACE,
    rest=REST,
    carry=CARRY,
    reach=reach_table(),
    camera=CAMERA,
    camera_looks_at=CAMERA_LOOKS_AT,
    camera_fov=CAMERA_FOV,
    solids=BODY,
    accent=BLUE,
    read_meshes=fetch_meshes,
)
"""The robot of the paper."""

"""A recording as a file of rerun, the viewer for robot data: for looking closely at one episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from housemates.geometry.kinematics import forward_kinematics
from housemates.homes.home import OPENABLE, Home, body_poses
from housemates.homes.objects import NAMES, parts_of
from housemates.recordings.captions import thing_names, told
from housemates.recordings.recording import Recording
from housemates.tasks.actions import door_of
from housemates.web.views import home_triangles, triangles


def write_rerun(path: Path, recording: Recording, home: Home) -> None:
    """Write an .rrd file: the home, robots with their arms, objects, doors and events over the steps of an episode."""
    try:
        import rerun as rr  # ty: ignore[import-not-found]
    except ModuleNotFoundError as error:
        raise ValueError("--rerun needs rerun, which is not installed - run: pip install rerun-sdk") from error
    rr.init("housemates")
    rr.save(str(path))
    rr.log("home", rr.ViewCoordinates.RIGHT_HAND_Y_UP, static=True)
    doors = [door_of(home, kind) + 1 for kind in OPENABLE]
    position, colour, body, label = home_triangles(home)
    roofless = label != (home.labels.index("ceiling") if "ceiling" in home.labels else -1)
    still = ~np.isin(body, doors) & roofless
    rr.log("home/still", _mesh(rr, position[still], colour[still]), static=True)
    for kind, number in zip(OPENABLE, doors, strict=True):
        rr.log(f"home/{kind}", _mesh(rr, position[body == number], colour[body == number]), static=True)
    links, parts = recording.robot.links, recording.robot.parts
    for robot in range(recording.robots):
        for n, link in enumerate(links):
            rr.log(f"robot_{robot}/{link.name}", _solids(rr, parts, np.flatnonzero(parts.body == n)), static=True)
    for i, kind in enumerate(recording.episode["kind"][0]):
        solids = parts_of(NAMES[int(kind)])
        rr.log(f"object_{i}", _solids(rr, solids, np.arange(len(solids))), static=True)
        rr.log(f"goal_{i}", rr.Points3D([recording.episode["goal"][0, i]], radii=0.05), static=True)
    frames = link_poses(recording)
    for frame in range(recording.steps + 1):
        rr.set_time("step", sequence=frame)
        joints = np.zeros(len(home.joints))
        joints[np.array(doors) - 1] = recording.frames["door"][frame]
        poses = body_poses(home.joints, joints)
        for kind, number in zip(OPENABLE, doors, strict=True):
            _place(rr, f"home/{kind}", poses[number])
        for robot in range(recording.robots):
            for n, link in enumerate(links):
                _place(rr, f"robot_{robot}/{link.name}", frames[frame, robot, n])
        for i in range(2):
            _place(rr, f"object_{i}", _upright(recording, frame, i))
    things = thing_names(recording)
    for event in recording.events:
        rr.set_time("step", sequence=event["tick"])
        rr.log("events", rr.TextLog(told(event, things)))


def link_poses(recording: Recording) -> np.ndarray:
    """World poses [F, R, L, 4, 4] of all links in all frames."""
    chain, pose, arm = recording.robot.chain, recording.frames["pose"].astype(float), recording.arm()
    out = np.zeros((*pose.shape[:2], len(chain.parent), 4, 4))
    forward_kinematics(chain.origin, chain.axis, chain.kind, chain.parent, chain.joint, arm, pose, out)
    return out


def _solids(rr: Any, parts: Any, chosen: np.ndarray) -> Any:
    each = [triangles(parts, int(i)) for i in chosen]
    colours = [np.tile(parts.colour[i], (len(t), 1)) for i, t in zip(chosen, each, strict=True)]
    return _mesh(rr, np.concatenate(each), np.concatenate(colours))


def _mesh(rr: Any, position: np.ndarray, colour: np.ndarray) -> Any:
    """Triangles [T, 3, 3] with flat colours [T, 3]."""
    corners = np.arange(3 * len(position)).reshape(-1, 3)
    return rr.Mesh3D(
        vertex_positions=position.reshape(-1, 3), triangle_indices=corners, vertex_colors=np.repeat(colour, 3, axis=0)
    )


def _place(rr: Any, name: str, pose: np.ndarray) -> None:
    rr.log(name, rr.Transform3D(translation=pose[:3, 3], mat3x3=pose[:3, :3]))


def _upright(recording: Recording, frame: int, thing: int) -> np.ndarray:
    """Where an object is: at its place, or in front of whoever holds it."""
    yaw = float(recording.frames["thing_yaw"][frame, thing])
    for robot in np.flatnonzero(recording.frames["held"][frame] == thing):
        yaw += float(recording.frames["pose"][frame, robot, 2])
    pose, c, s = np.eye(4), np.cos(yaw), np.sin(yaw)
    pose[0, 0], pose[0, 2], pose[2, 0], pose[2, 2] = c, s, -s, c
    pose[:3, 3] = recording.frames["thing"][frame, thing]
    return pose

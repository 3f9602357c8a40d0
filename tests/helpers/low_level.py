"""A scripted controller for the ten low-level numbers: drive along the home's paths, reach with the arm, grip.

It knows what the simulator knows and is written for one robot in home 0; the tests of low-level control use it.
"""

import numpy as np

from housemates.homes.navigation import approach_for, navigation
from housemates.robots import FETCH
from housemates.robots.fetch import reach_pose
from housemates.sim.batch import Batch
from housemates.sim.control import JOINT_STEP, control_size
from housemates.sim.skills import OPEN_ENOUGH, way_is_free

NEAREST = 0.6
"""Where it stops in front of a thing, metres; nearer the arm would have to fold."""
MOST_STEPS = 3000
"""Simulation steps after which something is wrong."""
KEEP, OPEN_HAND = 1.0, -1.0


def wrapped(angle: float) -> float:
    return (angle + np.pi) % (2 * np.pi) - np.pi


class Hand:
    """One robot that works with its own wheels and arm. `reward` is what the team was paid so far."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.grip, self.reward, self.steps = batch, OPEN_HAND, 0.0, 0
        self.home = batch.homes[batch.state.home[0]]
        self.way, self.floor = navigation(self.home), self.home.floor

    @property
    def pose(self) -> np.ndarray:
        return self.batch.state.pose[0, 0]

    def send(self, ahead: float = 0.0, left: float = 0.0, arm: np.ndarray | None = None) -> None:
        numbers = np.zeros((1, self.batch.robots, control_size()))
        numbers[0, 0, :2], numbers[0, 0, 9] = (ahead, left), self.grip
        if arm is not None:
            numbers[0, 0, 2:9] = arm
        self.reward += self.batch.control(numbers).reward[0, 0]
        self.steps += 1
        assert self.steps < MOST_STEPS, "the controller got stuck"

    def drive_to(self, x: float, z: float) -> None:
        """Straight to a floor point: turn on the spot, then go."""
        forward, turn = self.batch.numbers.forward, self.batch.numbers.turn
        while np.hypot(x - self.pose[0], z - self.pose[1]) > 0.01:
            error = wrapped(np.arctan2(-(z - self.pose[1]), x - self.pose[0]) - self.pose[2])
            away = np.hypot(x - self.pose[0], z - self.pose[1])
            self.send(min(1.0, away / forward) if abs(error) < 0.01 else 0.0, np.clip(error / turn, -1, 1))

    def go_near(self, point: np.ndarray) -> None:
        """Along the home's paths to the approach cell of a point, face it, and roll up to it."""
        a = approach_for(self.home, self.way, point)[0]
        goal = self.centre(self.way.approach[a])
        while np.hypot(goal[0] - self.pose[0], goal[1] - self.pose[1]) > 0.01:
            row, col = (round(v) for v in self.floor.grid((self.pose[0], self.pose[1])))
            here = self.floor.cell_of[row, col]
            ahead = self.centre(self.way.corner[a, here])
            seen = way_is_free(self.batch.world, self.batch.state.home[0], self.pose[0], self.pose[1], *ahead)
            # Cells see their next corner from their centre.
            self.drive_to(*(ahead if seen else self.centre(here)))
        self.face(point)
        before = self.pose[:2] + 1.0
        while np.hypot(*(point[[0, 2]] - self.pose[:2])) > NEAREST + 0.02 and (before != self.pose[:2]).any():
            before = self.pose[:2].copy()
            self.send(ahead=0.1)

    def centre(self, cell: int) -> tuple[float, float]:
        return self.floor.point(*self.floor.cells[cell])

    def face(self, point: np.ndarray) -> None:
        error = 1.0
        while abs(error) > 1e-3:
            error = wrapped(np.arctan2(-(point[2] - self.pose[1]), point[0] - self.pose[0]) - self.pose[2])
            self.send(left=np.clip(error / self.batch.numbers.turn, -1, 1))

    def move_arm(self, pose: np.ndarray) -> None:
        gap = np.ones(7)
        while np.abs(gap).max() > 1e-3:
            gap = pose - self.batch.state.arm[0, 0]
            gap = np.where(FETCH.continuous, wrapped(gap), gap)
            self.send(arm=np.clip(gap / JOINT_STEP, -1, 1))

    def reach(self, point: np.ndarray) -> None:
        self.move_arm(reach_pose(point[1], float(np.hypot(*(point[[0, 2]] - self.pose[:2])))))

    def pick(self, i: int) -> None:
        self.go_near(self.batch.state.thing[0, i])
        self.reach(self.batch.state.thing[0, i])
        self.grip = KEEP
        self.send()

    def place(self, point: np.ndarray) -> None:
        self.move_arm(FETCH.carry)
        self.go_near(point)
        self.reach(point)
        self.grip = OPEN_HAND
        self.send()

    def open_drawer(self, box: int) -> None:
        """Take the handle of a drawer and back away; the drawer follows the hand."""
        handle = self.batch.world.homes["handle"][self.batch.state.home[0], box]
        self.go_near(handle)
        self.reach(handle)
        self.grip = KEEP
        while self.batch.state.door[0, box] <= OPEN_ENOUGH[box]:
            self.send(ahead=-0.2)
        self.grip = OPEN_HAND
        self.send()

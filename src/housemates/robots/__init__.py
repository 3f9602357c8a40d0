"""Robot bodies as data, by name."""

from housemates.plugins import Table
from housemates.robots.fetch import FETCH
from housemates.robots.robot import Robot

DEFAULT = FETCH
"""The body of every robot where nothing else is said. What is compiled for, or sized by, a body reads it from here."""
ROBOTS: Table[Robot] = Table("robot", "housemates.robots", Robot, (FETCH,))
"""All bodies that are known here, by name; recordings name theirs."""


def register_robot(robot: Robot) -> Robot:
    """Make a body known by its name to everything in this process; returns it."""
    return ROBOTS.register(robot)

"""Geometry on plain arrays: exact functions, distances and paths on a floor grid, collisions, kinematics."""

from housemates import parallel as parallel  # decides where compiled kernels are kept

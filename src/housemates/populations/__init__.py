"""Training methods, one file each: who plays with whom, and what else they are paid for."""

from __future__ import annotations

from housemates.populations.gt_coord import GTCoord, Solo

METHODS = {"gt_coord": GTCoord, "solo": Solo}
"""All methods by name; each is made from (config, robots, seed)."""

"""Laptop: depth pictures of 64 x 64 pixels and a small network, sized for two cores and an evening."""

from dataclasses import replace

from housemates.learning.trainer import Training
from housemates.presets.preset import DISTURBED, DIVERSITY, RECIPE, Preset

LAPTOP = Preset(
    purpose="learns from depth pictures on two cores; ten million decisions, about 48 minutes of CPU time for GT Coord",
    observations="depth",
    informed=True,
    training=Training(decisions=10_000_000, homes=256, rollout=32, ppo=replace(RECIPE, auxiliary=0.1), disturbances=DISTURBED),
    methods=DIVERSITY,
    kitchens="varied",
)

"""Laptop: depth pictures of 64 x 64 pixels and a small network, sized for two cores and an evening."""

from dataclasses import replace

from housemates.learning.trainer import Training
from housemates.presets.preset import RECIPE, Preset

LAPTOP = Preset(
    purpose="learns from depth pictures on two cores; eight million decisions",
    observations="depth",
    informed=True,
    training=Training(decisions=8_000_000, homes=256, rollout=32, ppo=replace(RECIPE, auxiliary=0.1)),
)

"""Laptop: depth pictures of 64 x 64 pixels and a small network, sized for two cores and an evening."""

from housemates.learning.ppo import PPO
from housemates.learning.trainer import Training
from housemates.presets.preset import Preset

LAPTOP = Preset(
    purpose="learns from depth pictures on two cores; eight million decisions",
    observations="depth",
    training=Training(decisions=8_000_000, homes=256, rollout=32, ppo=PPO(learning_rate=1e-3)),
)

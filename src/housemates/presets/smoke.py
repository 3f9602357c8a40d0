"""Smoke: does everything work here? A tiny network, a few homes, under a minute; it learns next to nothing."""

from housemates.learning.ppo import PPO
from housemates.learning.trainer import Training
from housemates.presets.preset import Preset

SMOKE = Preset(
    purpose="checks that training works on this machine, under a minute",
    observations="state",
    hidden=32,
    split="dev",
    training=Training(decisions=20_000, homes=32, rollout=16, save_every=5, ppo=PPO(learning_rate=1e-3)),
)

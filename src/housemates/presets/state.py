"""State: for development and for the search of recipes. Distances, headings and the ground-truth bits instead of pictures,
so that ten million decisions take minutes on two cores."""

from housemates.learning.ppo import PPO
from housemates.learning.trainer import Training
from housemates.presets.preset import Preset

STATE = Preset(
    purpose="develops methods without pictures; ten million decisions",
    observations="state",
    training=Training(decisions=10_000_000, homes=256, rollout=32, ppo=PPO(learning_rate=1e-3)),
)

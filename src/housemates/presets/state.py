"""State: for development and for the search of recipes. Distances, headings and the ground-truth bits instead of pictures,
so that a run takes about 18 minutes of CPU time. What it reaches is in docs/learning.md."""

from housemates.learning.trainer import Training
from housemates.presets.preset import DISTURBED, DIVERSITY, RECIPE, Preset

STATE = Preset(
    purpose="develops methods without pictures; 12 million decisions, about 18 minutes of CPU time",
    observations="state",
    training=Training(decisions=12_000_000, homes=256, rollout=32, ppo=RECIPE, disturbances=DISTURBED),
    methods=DIVERSITY,
    kitchens="varied",
)

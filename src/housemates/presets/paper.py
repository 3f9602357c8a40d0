"""Paper: the paper's network, reward and learning numbers (appendix A, C.3, C.4), for a machine with GPUs.

Rollouts of 128 environments x 128 steps, 100 M simulation steps a stage. How many decisions those are depends on how long
skills take: an untrained robot decides about every 13 steps, a trained one every 2 to 6.
"""

from housemates.learning.ppo import PAPER
from housemates.learning.trainer import Training
from housemates.presets.preset import Preset
from housemates.sim.rules import Reward, Rules

PAPER_PRESET = Preset(
    purpose="repeats the paper's training on GPUs; 100 million simulation steps a stage",
    observations="depth",
    networks="paper",
    training=Training(
        decisions=0,
        steps=100_000_000,
        homes=128,
        rollout=0,
        rollout_steps=128,
        ppo=PAPER,
        rules=Rules(reward=Reward(collision="none")),
    ),
)

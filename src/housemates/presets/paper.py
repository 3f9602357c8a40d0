"""Paper: the paper's network, reward and learning numbers (appendix A, C.3, C.4), for a machine with GPUs.

Rollouts of 128 environments x 128 steps and 100 M steps in all, at about ten steps per decision of each of two robots.
"""

from housemates.learning.ppo import PAPER
from housemates.learning.trainer import Training
from housemates.presets.preset import Preset
from housemates.sim.rules import Reward, Rules

PAPER_PRESET = Preset(
    purpose="repeats the paper's training on GPUs; twenty million decisions (100 M simulation steps)",
    observations="depth",
    networks="paper",
    training=Training(decisions=20_000_000, homes=128, rollout=13, ppo=PAPER, rules=Rules(reward=Reward(collision="none"))),
)

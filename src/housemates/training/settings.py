"""The settings of one stage of training."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from housemates.sim.rules import Reward, Rules
from housemates.training.distillation import Distillation
from housemates.training.disturbances import Disturbances
from housemates.training.partner_model import PartnerModel
from housemates.training.ppo import PPO

LATER: dict[str, Any] = {"look_ahead": "", "one_draw": False, "games": 1, "checkpoints": [], "stage1_times": 1}
LATER |= {"prioritised": False, "partner_model": {"action": 0.0, "view": 0.0}, "distillation": {"weight": 0.0, "share": 0.25}}
"""Settings that files of earlier versions lack, with what they meant then."""


@dataclass(frozen=True)
class Training:
    """How long and how widely one stage is trained."""

    decisions: int = 8_000_000
    """The budget in decisions of all learners together; 0 where it is given in steps. Never in minutes."""
    num_envs: int = 256
    """Homes simulated at once, shared among the workers."""
    rollout_decisions: int = 32
    """Decisions per learning robot between two updates, on average; 0 where a rollout is given in steps."""
    seed: int = 0
    """Decides weights, episodes and everything that is drawn."""
    save_every: int = 20
    """Updates between two resume points."""
    ppo: PPO = field(default_factory=PPO)
    """How policies are improved; other algorithms read what they share with PPO (learning rate, discount, entropy, ...)."""
    rules: Rules = field(default_factory=lambda: Rules(reward=Reward(collision="timeout")))
    """The game."""
    disturbances: Disturbances = field(default_factory=Disturbances)
    """Partners of stage 2 that stop or do not react in some episodes."""
    look_ahead: Literal["", "guess", "velocity"] = ""
    """How the agent of stage 2 looks ahead (see `lookahead.settings`): what it decides near a partner may be replaced, which it
    learns from as from everything else that the home does; "" not at all."""
    one_draw: bool = False
    """Whether all homes of a worker have the same team between two draws, as the paper's text and its released code have it;
    else every home draws its own. Methods whose teams never change (SP, GT Coord) are not affected in stage 1."""
    games: int = 1
    """Episodes that the agent of stage 2 plays with the same partners, with one memory, before others are drawn."""
    checkpoints: tuple[int, ...] = ()
    """Simulation steps of all homes after which stage 2 keeps its agent as it is then, as RUN/agent@STEPS."""
    stage1_times: int = 1
    """How many times the budget stage 1 has; stage 2 has it once."""
    prioritised: bool = False
    """Whether stage 2 draws partners the more often, the less the agent succeeds with them (MEP); else all alike."""
    partner_model: PartnerModel = field(default_factory=PartnerModel)
    """What the agent of stage 2 predicts of its partner from memory, in training only."""
    distillation: Distillation = field(default_factory=Distillation)
    """What the agent of stage 2 learns from the look-ahead, which it then does without."""
    steps: int = 0
    """The budget in simulation steps of all homes together (the paper's currency; a step of a home with two robots is one
    step); 0 where it is given in decisions."""
    rollout_steps: int = 0
    """Simulation steps of each home between two updates; 0 where a rollout is given in decisions."""
    learner: str = "auto"
    """What learns. PPO, computed by torch, by fused kernels (twice as fast for small networks on a CPU), or auto: by those
    where they can; or an algorithm of one's own by its name (`training.algorithm`)."""

    def __post_init__(self) -> None:
        for name in ("num_envs", "save_every", "games", "stage1_times"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} - it must be at least 1")
        for name in ("decisions", "steps", "rollout_decisions", "rollout_steps"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)} - it must not be negative")
        if any(number < 1 for number in self.checkpoints):
            raise ValueError(f"checkpoints = {list(self.checkpoints)} - give positive numbers of simulation steps")
        if self.seed < 0:
            raise ValueError(f"seed = {self.seed} - a seed must not be negative")

    def check(self) -> None:
        """Refuse settings that contradict each other; single ones may be changed one after the other before that."""
        for one, other in (("decisions", "steps"), ("rollout_decisions", "rollout_steps")):
            if (getattr(self, one) > 0) == (getattr(self, other) > 0):
                both = f"{one} = {getattr(self, one)} and {other} = {getattr(self, other)}"
                raise ValueError(f"{both} - one of them must be positive and the other 0")
        if self.look_ahead and self.distillation.weight:
            both = f"look_ahead = {self.look_ahead} and distillation.weight = {self.distillation.weight}"
            raise ValueError(f"{both} - an agent that looks ahead has nothing to learn from it: choose one of them")
        if self.ppo.per_step and self.ppo.discount != self.rules.discount:
            both = f"ppo.discount = {self.ppo.discount} and rules.discount = {self.rules.discount}"
            raise ValueError(f"{both} - credit per simulation step needs one discount: make them equal")

    def of_stage(self, stage: int) -> Training:
        """The settings with the budget of a stage."""
        times = self.stage1_times if stage == 1 else 1
        return replace(self, decisions=times * self.decisions, steps=times * self.steps)

    def share(self, decisions: int, steps: int) -> float:
        """Which share of the budget is spent after so many decisions and steps; 1 or more at the end."""
        return steps / self.steps if self.steps else decisions / self.decisions

    @property
    def budget(self) -> tuple[str, int]:
        """In what the budget is counted (`decisions` or `steps`, as rows of the log name it), and how many."""
        return ("steps", self.steps) if self.steps else ("decisions", self.decisions)

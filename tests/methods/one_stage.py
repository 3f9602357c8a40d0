"""Small trainings of stage 2 in the hall: the methods of one stage, and a population whose partners are prioritised."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from helpers.batches import episodes, home
from helpers.learners import SHORT, TINY
from housemates.agents.agent import learned
from housemates.methods.cec import CEC
from housemates.methods.e3t import E3T, E3TSettings
from housemates.methods.ego import Coordination
from housemates.methods.upd import UPD, UPDSettings
from housemates.policies.checkpoint import save_policy
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.training.method import Method
from housemates.training.partner_model import PartnerModel
from housemates.training.settings import Training
from housemates.training.trainer import Trainer

MODELLED = PartnerModel(action=0.3, view=0.2)


def population(folder: Path) -> Coordination:
    """Two partners, prioritised."""
    for k in range(2):
        if not (folder / str(k)).exists():
            save_policy(folder / str(k), Policy(TINY, seed=k), {})
    partners = [learned(folder / str(k), f"run/{k}") for k in range(2)]
    return Coordination(TINY, 2, 0, partners, redraw=2, prioritised=True)


METHODS: dict[str, Callable[[Path], Method]] = {
    "cec": lambda folder: CEC(TINY),
    "e3t": lambda folder: E3T(TINY, settings=E3TSettings(redraw=2)),
    "upd": lambda folder: UPD(TINY, settings=UPDSettings(window=2, redraw=2)),
    "prioritised": population,
}
TRAINING = replace(SHORT, decisions=200, rules=Rules(horizon=60), partner_model=MODELLED)


def trainer(folder: Path, method: Callable[[Path], Method], training: Training = TRAINING, group=None, **changes) -> Trainer:
    """Stage 2 of a small training in a folder."""
    return Trainer(replace(training, **changes), method(folder), episodes(), [home()], folder, 2, group, stage=2)

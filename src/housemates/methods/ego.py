"""Stage 2: one fresh agent learns to work with all members of a frozen population (paper, section 4.3).

Only the agent learns, from the task's reward alone; whatever made the population, this stage is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from housemates import run_folder
from housemates.agents.actors import load_actors
from housemates.agents.agent import BEST_RESPONSE, DISTURBED, WRITTEN, Agent, is_holdout
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.scripts import script
from housemates.sim.state import SUCCESS
from housemates.training.method import Members
from housemates.training.rollout import NOBODY, SCRIPTED, Slots
from housemates.training.store import Store

AGENT = 0
"""The player that learns; the others are frozen."""
AGENT_SEED = 500
"""Where the agent's weights are drawn, beyond those of the population's members."""


def check_partners(partners: Sequence[Agent], robots: int = 2, one: bool = False) -> bool:
    """Refuse partners that are excluded from training; returns whether training with these is zero-shot.

    one: for a best response, which has one partner and may train with a holdout.
    """
    if not partners:
        raise ValueError("no partners to train with - name partners with --population")
    if one and len(partners) > 1:
        raise ValueError(f"a best response answers one partner, not {len(partners)} - name one with --population")
    for partner in partners:
        if is_holdout(partner) and not one:
            raise ValueError(f"{partner.name} is held out for the evaluation - choose other partners")
        if partner.meta.get("method") == BEST_RESPONSE and not one:
            raise ValueError(f"{partner.name} is a best response, perhaps to a holdout - choose other partners")
        if partner.look_ahead is not None:
            raise ValueError(f"{partner.name} looks ahead, which partners of training do not - name it without +lookahead")
        if partner.disturbed and not one:
            raise ValueError(f"{partner.name} is a disturbed partner of the evaluation - train with disturbances.share instead")
        if partner.kind == "person":
            raise ValueError(f"{partner.name} is a person - people play on the page: housemates play")
        if partner.meta.get("robots", robots) != robots:
            raise ValueError(f"{partner.name} was trained for {partner.meta['robots']} robots, not {robots} - use --robots")
    return not one and all(partner.kind not in WRITTEN and partner.meta.get("zero_shot", True) for partner in partners)


class Coordination(Members):
    """The agent moves one robot of each home, partners drawn from the population all others."""

    def __init__(
        self,
        config: PolicyConfig,
        robots: int,
        seed: int,
        partners: Sequence[Agent],
        redraw: int = 10,
        one: bool = False,
        prioritised: bool = False,
    ) -> None:
        """redraw: updates between two draws of partners and of the agent's robot; one: see `check_partners`; prioritised:
        partners with whom the agent fails are drawn more often (MEP; Zhao et al., AAAI 2023)."""
        check_partners(partners, robots, one)
        self.robots = robots
        if robots < 2:
            raise ValueError(f"{robots} robot has no partner to coordinate with - use --robots 2 or more")
        self.partners, self.redraw, self.prioritised = list(partners), redraw, prioritised
        self.games = np.zeros((2, len(self.partners)))
        """Games with each partner lately, and how many of them succeeded; earlier ones count the less, the older they are."""
        known = load_actors(self.partners)
        actors = [known[partner] for partner in self.partners]
        # All latents of a policy are one player.
        frozen = {id(actor.policy): actor.policy for actor in actors if actor.policy is not None}
        numbers = {key: k for k, key in enumerate(frozen, start=1)}
        policies = [Policy(config, seed=seed * 1000 + AGENT_SEED), *(p.requires_grad_(False) for p in frozen.values())]
        self.player = np.array([numbers.get(id(actor.policy), SCRIPTED) for actor in actors], np.int16)
        self.latent = np.array([actor.latent for actor in actors], np.int64)
        self.script = np.array([script(p.script) if p.kind == "script" else 0 for p in self.partners], np.int16)
        self.disturbed = np.array([("", *DISTURBED).index(p.disturbed) for p in self.partners], np.int8)
        super().__init__(policies, [True] + [False] * (len(policies) - 1))

    @property
    def pixels(self) -> int | None:
        """Side length of the pictures that players see, None if there are none."""
        sizes = {policy.config.picture for policy in self.policies if policy.config.pictures}
        if len(sizes) > 1:
            raise ValueError(f"players see pictures of {' and '.join(map(str, sorted(sizes)))} pixels - one run has one size")
        return sizes.pop() if sizes else None

    def pairs(self, update: int, rng: np.random.Generator, homes: int, robots: int) -> Slots | None:
        """Every home draws the agent's robot, and for each other robot a partner, independently; all alike, or by weight."""
        if update % self.redraw:
            return None
        if self.prioritised:
            drawn = rng.choice(len(self.partners), size=(homes, robots), p=self.weights())
        else:
            drawn = rng.integers(len(self.partners), size=(homes, robots))
        learns = np.zeros((homes, robots), np.bool_)
        slots = Slots(self.player[drawn], self.latent[drawn], learns, self.script[drawn], self.disturbed[drawn], drawn.copy())
        mine = np.arange(homes), rng.integers(robots, size=homes)
        slots.player[mine], slots.latent[mine], slots.learns[mine], slots.script[mine] = AGENT, 0, True, 0
        slots.disturbed[mine], slots.partner[mine] = 0, NOBODY
        return slots

    def success(self) -> np.ndarray:
        """[partners] how often the agent succeeds with each, as if there had been one success and one failure before all."""
        return (self.games[1] + 1) / (self.games[0] + 2)

    def weights(self) -> np.ndarray:
        """[partners] how likely each is to be drawn: in proportion to how often the agent fails with it."""
        failure = 1 - self.success()
        return failure / failure.sum()

    def after_update(self, stores: list[Store | None], finished: dict[str, np.ndarray]) -> dict[str, float]:
        """Where partners are prioritised: count the games of all workers; log the success with each partner."""
        if not self.prioritised:
            return {}
        partner, now = finished["partner"].reshape(-1, self.robots).astype(np.int64), np.zeros_like(self.games)
        won = np.repeat(finished["outcome"] == SUCCESS, self.robots).reshape(-1, self.robots)
        for number in range(len(self.partners)):
            mine = partner == number
            now[:, number] = mine.sum(), won[mine].sum()
        # Half of the weight of a game is gone after as many updates as lie between two draws.
        self.games = 0.5 ** (1 / self.redraw) * self.games + self.group.sums(now.reshape(-1)).reshape(now.shape)
        names = [partner.name.rpartition("/")[2] for partner in self.partners]
        names = names if len(set(names)) == len(names) else [partner.name for partner in self.partners]
        return {f"success {name}": float(rate) for name, rate in zip(names, self.success(), strict=True)}

    def state(self) -> dict[str, np.ndarray]:
        """The games that weights are made of."""
        return {"games": self.games} if self.prioritised else {}

    def load(self, state: dict[str, np.ndarray]) -> None:
        """The inverse of `state`."""
        if self.prioritised:
            self.games = state["games"].copy()

    def place(self, player: int) -> str:
        """There is only one agent."""
        return run_folder.AGENT

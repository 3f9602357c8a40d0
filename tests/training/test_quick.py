"""Rounds in few calls: the same bits in stores, memories and generators as by `Actors.decide`, and where that must be used."""

import numpy as np
import pytest
import torch

from helpers.batches import make
from helpers.learners import TINY, player, slots
from housemates.agents.quick import QuickActors
from housemates.fused import gemm
from housemates.lookahead.settings import LookAhead
from housemates.policies.config import PolicyConfig
from housemates.sim.rules import Rules
from housemates.sim.scripts import SCRIPTS
from housemates.sim.sensors import privileged_size
from housemates.training.disturbances import Disturbances, Disturber
from housemates.training.rollout import SCRIPTED, Collector
from housemates.training.store import Store

pytestmark = pytest.mark.skipif(not gemm.available(), reason="no BLAS library for the fused kernels")
SMALL = {"hidden": 8, "features": 8}
HOMES = 6
SOON = Rules(horizon=60)
"""Episodes that end within a rollout."""
EVERY_KIND = Disturbances(share=0.9, freeze=1.0, blind=1.0, noise=1.0, slow=1.0, earliest=2)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def two_learners(quick):
    batch = make(size=HOMES, rules=SOON)
    return Collector(batch, [player(batch, TINY, k) for k in range(2)], slots([[0, 1], [1, 0]] * 3), fused=True, quick=quick)


def one_learner_twice(quick):
    batch = make(size=HOMES, rules=SOON)
    return Collector(batch, [player(batch)], slots([[0, 0]] * HOMES), fused=True, quick=quick)


def partners(quick, config=TINY, frozen=5, disturbed=False, **more):
    """A learner beside several frozen networks, every second of which moves the first robot."""
    batch = make(size=HOMES, rules=SOON, pixels=64)
    players = [player(batch, TINY, 0), *(player(batch, config, seed, learns=False) for seed in range(1, frozen + 1))]
    teams = [[0, 1 + home % frozen] if home % 2 else [1 + home % frozen, 0] for home in range(HOMES)]
    who = slots(teams, [[member == 0 for member in team] for team in teams])
    who.latent[:] = np.arange(HOMES)[:, None] % max(config.latent, 1)
    disturber = Disturber(batch, EVERY_KIND, [3]) if disturbed else None
    return Collector(batch, players, who, disturber, fused=True, quick=quick, **more)


def with_latents(quick):
    batch = make(size=HOMES, rules=SOON)
    learner = player(batch, PolicyConfig.state(latent=3, latent_logit_std=1.0, **SMALL))
    learner.scale.mean, learner.scale.spread = 0.3, 1.7
    shapes = {name: batch.observation(name) for name in learner.policy.config.observations}
    learner.store = Store(shapes, learner.policy.config.memory_size, 4, {"window": batch.observation("window")})
    who = slots([[0, 0]] * HOMES)
    who.latent[:] = np.arange(HOMES)[:, None] % 3
    return Collector(batch, [learner], who, fused=True, quick=quick)


def informed_depth(quick):
    batch = make(size=HOMES, rules=SOON, pixels=64)
    config = PolicyConfig.laptop(privileged=privileged_size(2), **SMALL)
    players = [player(batch, config, k, also=("privileged", "predicates")) for k in range(2)]
    return Collector(batch, players, slots([[0, 1]] * HOMES), fused=True, quick=quick)


def scripted(quick):
    batch = make(size=HOMES, rules=SOON)
    plan = [[0, SCRIPTS["noop"]]] * HOMES
    made = Collector(batch, [player(batch)], slots([[0, SCRIPTED]] * HOMES, script=plan), fused=True, quick=quick)
    made.pending = slots([[SCRIPTED, 0]] * HOMES, script=[[SCRIPTS["solo"], 0]] * HOMES)
    return made


GAMES = {
    "two learners": two_learners,
    "one learner, both robots": one_learner_twice,
    "few partners": lambda quick: partners(quick, frozen=2),
    "stacked partners": partners,
    "depth partners": lambda quick: partners(quick, PolicyConfig.laptop(**SMALL)),
    "partners with latents": lambda quick: partners(quick, PolicyConfig.state(latent=3, **SMALL)),
    "disturbed": lambda quick: partners(quick, disturbed=True),
    "disturbed depth": lambda quick: partners(quick, PolicyConfig.laptop(**SMALL), disturbed=True),
    "several games": lambda quick: partners(quick, games=2),
    "latents, windows, units": with_latents,
    "informed depth": informed_depth,
    "scripts": scripted,
}


@pytest.mark.parametrize("game", GAMES)
def test_a_round_in_few_calls_gives_the_same_bits(game):
    one, other = (GAMES[game](quick) for quick in (True, False))
    assert isinstance(one.quick, QuickActors)
    assert other.quick is None
    for _ in range(3):
        ended = [made.collect(70).arrays() for made in (one, other)]
        for name, values in ended[0].items():
            np.testing.assert_array_equal(values, ended[1][name], err_msg=name)
        same(one.state(), other.state())
        same(one.batch.save(), other.batch.save())
        for mine, theirs in zip(one.players, other.players, strict=True):
            assert torch.equal(mine.generator.get_state(), theirs.generator.get_state())
    assert sum(len(p.store.action) for p in one.players if p.store is not None) > 60


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    """Both hold the same bits."""
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.dtype == other[name].dtype, name
        assert values.tobytes() == other[name].tobytes(), name


def test_it_is_left_to_the_acting_engine_what_only_that_can():
    batch = make(size=2)
    assert Collector(batch, [player(batch)], slots([[0, 0]] * 2), fused=False).quick is None
    ahead = player(batch)
    ahead.look_ahead = LookAhead("velocity")
    assert Collector(batch, [ahead], slots([[0, 0]] * 2), fused=True).quick is None
    deep = player(batch, PolicyConfig.state(layers=2, **SMALL))
    assert Collector(batch, [player(batch), deep], slots([[0, 1]] * 2), fused=True).quick is None
    with pytest.raises(ValueError, match=r"Actors\.decide"):
        QuickActors(Collector(batch, [deep], slots([[0, 0]] * 2), fused=True).actors)


def test_a_latent_that_a_policy_does_not_have_is_refused():
    made = with_latents(True)
    made.slots.latent[2] = 3
    with pytest.raises(ValueError, match="0 to 2"):
        made.collect(10)

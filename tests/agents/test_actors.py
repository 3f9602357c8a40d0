"""The acting engine: whose decision goes where, what is seen and remembered, who draws from what, and in which calls."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from helpers.batches import make
from housemates.agents.actors import NOBODY, Actor, Actors, load_actors
from housemates.agents.agent import Agent, latents, scripted
from housemates.agents.draws import uniform
from housemates.agents.functions import FunctionPolicy, RandomPolicy
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.sensors import ABSENT
from housemates.tasks.actions import ACTIONS, NO_OP

TINY = PolicyConfig.state(hidden=8, features=8)
EVERYBODY = np.ones((6, 2), np.bool_)


def engine(*actors: Actor, homes: int = 6, robots: int = 2, places=None, **options) -> Actors:
    """Actors in a fresh batch; without places actor r moves robot r of every home."""
    made = Actors(make(size=homes, robots=robots), actors, **options)
    made.actor[:] = np.arange(robots) % len(actors) if places is None else places
    return made


def decide(actors: Actors, which=None, drawn=None):
    """Actions [E, R] of one round, and everybody's decisions."""
    out = np.full(actors.actor.shape, -1)
    return out, actors.decide(np.ones(out.shape, np.bool_) if which is None else which, out, drawn)


def always(action: int) -> FunctionPolicy:
    return FunctionPolicy(lambda obs: np.full(len(obs["state"]), action), ("state",))


def counted(policy: Policy) -> list[int]:
    """How many robots each call of a policy is asked for, from now on."""
    sizes: list[int] = []
    act = policy.act

    def watched(obs, memory, **more):
        sizes.append(len(memory))
        return act(obs, memory, **more)

    policy.act = watched
    return sizes


def test_every_robot_gets_the_decision_of_its_own_actor():
    places = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1]])
    out, _ = decide(engine(Actor(always(3)), Actor(always(8)), places=places))
    assert (out == np.where(places == 0, 3, 8)).all()


def test_robots_that_are_not_asked_or_that_nobody_moves_get_no_decision():
    actors = engine(Actor(always(3)), places=np.array([[0, NOBODY]] * 6))
    which = EVERYBODY.copy()
    which[2] = False
    out, _ = decide(actors, which)
    assert (out[:, 1] == -1).all()
    assert out[:, 0].tolist() == [3, 3, -1, 3, 3, 3]


def test_a_decision_is_made_from_the_robots_own_observation():
    actors = engine(Actor(Policy(TINY)))
    whole = actors.batch.observe("state").reshape(12, -1)
    _, (decisions,) = decide(actors)
    assert (decisions.seen["state"] == whole[decisions.rows]).all()


def test_actors_of_one_policy_decide_in_one_call_whatever_their_latents():
    policy = Policy(PolicyConfig.state(hidden=8, features=8, latent=3))
    sizes = counted(policy)
    decide(engine(Actor(policy, 0), Actor(policy, 2)))
    assert sizes == [12]


def test_a_generator_of_ones_own_means_a_call_of_ones_own():
    policy = Policy(TINY)
    sizes = counted(policy)
    one, two = (Actor(policy, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    out, _ = decide(engine(one, two, homes=60, places=np.tile([0, 1], (60, 1))))
    assert sizes == [60, 60]
    again, _ = decide(
        engine(Actor(policy, generator=torch.Generator().manual_seed(2)), homes=60, places=np.tile([-1, 0], (60, 1)))
    )
    assert (again[:, 1] == out[:, 1]).all()


def test_calls_of_networks_have_one_size_where_chunks_are_asked_for():
    policy = Policy(TINY)
    sizes = counted(policy)
    actors = engine(Actor(policy), homes=50, chunk=32)
    decide(actors, drawn=np.zeros((50, 2)))
    decide(actors, np.arange(100).reshape(50, 2) == 7, drawn=np.zeros((50, 2)))
    assert sizes == [32] * 4 + [32]


def test_a_function_is_called_once_for_those_who_decide_and_nobody_else():
    sizes = []
    function = FunctionPolicy(lambda obs: sizes.append(len(obs["state"])) or NO_OP, ("state",))
    decide(engine(Actor(function), homes=50, chunk=32), drawn=np.zeros((50, 2)))
    assert sizes == [100]


@pytest.mark.parametrize("fused", [False, True])
def test_with_chunks_a_decision_does_not_depend_on_who_else_decides(fused):
    drawn = uniform(1, np.arange(40)[:, None], np.arange(2))
    actors = engine(Actor(Policy(TINY)), homes=40, chunk=32, fused=fused)
    _, (whole,) = decide(actors, drawn=drawn)
    actors.forget(np.ones(40, np.bool_))
    some = np.zeros((40, 2), np.bool_)
    some[[3, 17, 38]] = True
    _, (few,) = decide(actors, some, drawn)
    places = np.searchsorted(whole.rows, few.rows)
    assert (whole.action[places] == few.action).all()
    if fused:
        assert torch.equal(whole.result.logits[places], few.result.logits)
    else:
        # On some processors the last bits of a product by torch depend on the row's place in it.
        torch.testing.assert_close(whole.result.logits[places], few.result.logits, rtol=1e-5, atol=1e-7)


def test_chunks_shared_by_threads_give_the_same_decisions():
    policy, drawn = Policy(TINY), uniform(1, np.arange(50)[:, None], np.arange(2))
    one, two = (decide(engine(Actor(policy), homes=50, chunk=32, threads=n), drawn=drawn)[0] for n in (1, 2))
    assert (one == two).all()


def test_given_draws_choose_the_actions():
    actors = engine(Actor(Policy(TINY)))
    low, _ = decide(actors, drawn=np.zeros((6, 2)))
    high, _ = decide(actors, drawn=np.full((6, 2), 1 - 1e-9))
    assert (low == 0).all()
    assert (high == len(ACTIONS) - 1).all()


def test_greedy_networks_take_the_likeliest_action_and_the_random_policy_stays_random():
    policy = Policy(TINY)
    actors = engine(Actor(policy), Actor(RandomPolicy()), homes=200, greedy=True)
    out, (network, _) = decide(actors, drawn=uniform(0, np.arange(200)[:, None], np.arange(2)))
    assert (out[:, 0] == network.result.logits.argmax(1).numpy()).all()
    assert len(set(out[:, 1])) == len(ACTIONS)


def test_memory_is_kept_from_decision_to_decision_and_empty_when_an_episode_begins():
    actors = engine(Actor(Policy(TINY)))
    _, (first,) = decide(actors)
    assert first.start.all()
    assert not first.memory.any()
    actors.batch.step(np.full((6, 2), NO_OP))
    _, (second,) = decide(actors)
    assert not second.start.any()
    assert torch.equal(second.memory, first.result.memory)
    actors.batch.reset()
    _, (third,) = decide(actors)
    assert not third.memory.any()


def test_homes_can_be_forgotten():
    actors = engine(Actor(Policy(TINY)))
    decide(actors)
    actors.forget(np.arange(6) == 2)
    kept = actors.memory_of(0).abs().sum(1) > 0
    assert kept.tolist() == [True] * 4 + [False] * 2 + [True] * 6


def test_memories_can_be_taken_over_from_another_batch():
    one, two = (engine(Actor(Policy(TINY))) for _ in range(2))
    decide(one)
    two.remember(one)
    assert torch.equal(two.memory_of(0), one.memory_of(0))


def test_blind_robots_sense_no_partner_and_others_do():
    actors = engine(Actor(Policy(TINY)))
    actors.blind[:, 1] = True
    whole = actors.batch.observe("state")
    _, (decisions,) = decide(actors)
    seen = decisions.seen["state"].reshape(6, 2, -1)
    assert (seen[:, 0] == whole[:, 0]).all()
    assert seen[:, 1, -2:].reshape(-1, 2).tolist() == [pytest.approx(ABSENT)] * 6
    assert (seen[:, 1, :-2] == whole[:, 1, :-2]).all()


def test_policies_see_pictures_of_the_size_they_were_made_for():
    actors = engine(Actor(Policy(PolicyConfig.laptop(hidden=8, features=8, picture=128))), homes=1)
    assert actors.batch.pixels == 64
    _, (decisions,) = decide(actors)
    assert decisions.seen["depth"].shape == (2, 128, 128, 1)


def test_stacked_policies_decide_as_they_do_alone():
    policies = [Policy(TINY, seed=k) for k in range(4)]
    places = np.random.default_rng(0).integers(4, size=(6, 2))
    drawn = np.zeros((6, 2))
    alone, stacked = (engine(*map(Actor, policies), places=places, stack=n) for n in (0, 4))
    assert [len(alone.groups), len(stacked.groups)] == [4, 1]
    logits = {int(row): one for d in decide(alone, drawn=drawn)[1] for row, one in zip(d.rows, d.result.logits, strict=True)}
    (together,) = decide(stacked, drawn=drawn)[1]
    for row, one in zip(together.rows, together.result.logits, strict=True):
        assert one.numpy() == pytest.approx(logits[int(row)].numpy(), abs=1e-6)


def test_stacked_policies_act_with_new_weights_after_a_refresh():
    policies = [Policy(TINY, seed=k) for k in range(4)]
    actors = engine(*map(Actor, policies), places=np.zeros((6, 2)), stack=4)
    before = decide(actors, drawn=np.zeros((6, 2)))[1][0].result.logits
    with torch.no_grad():
        policies[0].actor.bias.add_(1.0)
    actors.refresh()
    after = decide(actors, drawn=np.zeros((6, 2)))[1][0].result.logits
    assert after.numpy() == pytest.approx(before.numpy() + 1, abs=1e-5)


class Mine:
    """A user's policy: it knows observations and memory, nothing else."""

    def initial_memory(self, n):
        return torch.full((n, 1), 5.0)

    def act(self, obs, memory):
        return SimpleNamespace(action=memory[:, 0].long(), memory=memory + 1)


def test_a_users_policy_acts_with_its_own_memory():
    actors = engine(Actor(Mine(), sees=("state",)))
    assert set(decide(actors)[0].flat) == {5}
    actors.batch.step(np.full((6, 2), NO_OP))
    assert set(decide(actors)[0].flat) == {6}


def test_a_users_policy_that_gives_too_few_actions_is_named():
    mine = Mine()
    mine.act = lambda obs, memory: SimpleNamespace(action=torch.zeros(3, dtype=torch.long), memory=memory)
    with pytest.raises(ValueError, match=r"actions.*shape.*3.*12"):
        decide(engine(Actor(mine, sees=("state",), name="mine")))


@pytest.mark.parametrize(
    ("given", "told"), [(25, "from 25 to 25"), (-1, "from -1 to -1"), (0.5, "of type float64"), ([1, 2], "of shape")]
)
def test_a_function_that_gives_no_actions_is_told(given, told):
    with pytest.raises(ValueError, match=f"the function gave actions {told}"):
        decide(engine(Actor(FunctionPolicy(lambda obs: given, ("state",)))))


def test_a_policy_for_two_robots_is_refused_among_three_and_may_act_alone():
    with pytest.raises(ValueError, match=r"trained.*2 robots.*3"):
        engine(Actor(Policy(TINY), name="ada"), robots=3)
    out, _ = decide(engine(Actor(Policy(TINY)), robots=1))
    assert (out >= 0).all()


def test_every_kind_of_agent_is_loaded_as_an_actor(tmp_path):
    save_policy(tmp_path / "many", Policy(PolicyConfig.state(hidden=8, features=8, latent=3)), {})
    many, script, chance = latents(tmp_path / "many", "many"), scripted("solo"), Agent("random", "random")
    known = load_actors([*many, script, chance])
    assert [known[agent].latent for agent in many] == [0, 1, 2]
    assert len({id(known[agent].policy) for agent in many}) == 1
    assert known[script].script == "solo"
    assert isinstance(known[chance].policy, RandomPolicy)

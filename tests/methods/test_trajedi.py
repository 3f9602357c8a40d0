"""TrajeDi: its reward is the members' Jensen-Shannon divergence, whatever the borders of rollouts."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from helpers import batches
from helpers.batches import make
from helpers.learners import SHORT, TINY, player, slots, weights
from housemates.methods.trajedi import Likelihoods, TrajeDi, TrajeDiSettings, divergence, episodes
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.training.rollout import Collector
from housemates.training.store import Store
from housemates.training.trainer import Trainer

FEW = PolicyConfig.blind(hidden=4, features=4, actions=3)
LENGTH = 4
SEQUENCES = np.array(list(product(range(FEW.actions), repeat=LENGTH)))
SOON = Rules(horizon=60)


def members(config: PolicyConfig = FEW, count: int = 3) -> list[Policy]:
    """Policies that differ a good deal: the actor's first weights are nearly zero otherwise."""
    made = [Policy(config, seed=k) for k in range(count)]
    with torch.no_grad():
        for policy in made:
            policy.actor.weight.mul_(200.0)
    return made


def observation(history: np.ndarray) -> np.ndarray:
    """What a robot sees after some actions: anything that they decide."""
    seed = int("".join(map(str, history)) or "0", FEW.actions) + 100 * len(history)
    return np.random.default_rng(seed).normal(size=FEW.shape("state")[0]).astype(np.float32)


def every_sequence() -> Store:
    """A store that holds every possible episode of LENGTH decisions, each in its own stream, one decision after the other."""
    streams = len(SEQUENCES)
    store = Store({"state": (FEW.shape("state"), np.float32)}, FEW.memory_size, streams * LENGTH)
    for t in range(LENGTH):
        place = store.append(streams)
        store.observations["state"][place] = [observation(s[:t]) for s in SEQUENCES]
        store.stream[place] = np.arange(streams)
        store.action[place] = SEQUENCES[:, t]
        store.start[place], store.done[place], store.closed[place] = t == 0, t == LENGTH - 1, True
    return store


def exact(policies: list[Policy]) -> np.ndarray:
    """Probability [n, sequences] of every sequence, by the policies' own way of judging sequences."""
    seen = np.array([[observation(s[:t]) for s in SEQUENCES] for t in range(LENGTH)])
    actions, obs = torch.from_numpy(SEQUENCES.T.copy()), {"state": torch.from_numpy(seen)}
    with torch.no_grad():
        judged = [p.evaluate(obs, p.initial_memory(len(SEQUENCES)), actions).log_prob.double() for p in policies]
    return np.array([log_prob.sum(0).exp().numpy() for log_prob in judged])


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(p)).sum(-1)


def test_the_expected_reward_is_the_divergence_of_the_members():
    policies = members()
    p = exact(policies)
    assert p.sum(1) == pytest.approx(1.0, abs=1e-5)
    jsd = entropy(p.mean(0)) - entropy(p).mean()
    store = every_sequence()
    log_probs = Likelihoods(policies, len(SEQUENCES)).read(store)[store.done]
    expected = np.mean([p[i] @ divergence(log_probs, i) for i in range(len(policies))])
    assert jsd > 0.1
    assert expected == pytest.approx(jsd, abs=1e-5)


def test_members_that_are_the_same_are_paid_nothing():
    store = every_sequence()
    log_probs = Likelihoods([Policy(FEW, seed=1)] * 4, len(SEQUENCES)).read(store)[store.done]
    assert divergence(log_probs, 2) == pytest.approx(0.0, abs=1e-6)


def test_nobody_is_paid_more_than_log_n():
    certain = np.array([[-1.0, -900.0, -2000.0]])
    assert divergence(certain, 0) == pytest.approx(np.log(3))
    assert divergence(certain, 1) == pytest.approx(np.log(3) - 899.0)


def rollouts(sizes: list[int], config: PolicyConfig = TINY, pixels: int = 64) -> tuple[list[dict], list[Policy]]:
    """Rollouts of three members that exchange their places, with what the members think of every closed decision."""
    batch = make(size=3, rules=SOON, pixels=pixels)
    players = [player(batch, config, k) for k in range(3)]
    policies = [p.policy for p in players]
    with torch.no_grad():
        for policy in policies:
            policy.actor.weight.mul_(100.0)
    collector = Collector(batch, players, slots([[0, 1], [1, 2], [2, 0]]))
    likelihoods, kept = Likelihoods(policies, 6), []
    for k, size in enumerate(sizes):
        collector.pending = slots(np.roll([[0, 1], [1, 2], [2, 0]], k, axis=0).tolist())
        collector.collect(size)
        for i in (2, 0, 1):
            store = players[i].store
            total, closed = likelihoods.read(store), store.closed
            rows = {name: store.numbers[name][: store.size][closed].copy() for name in ("stream", "start", "done", "action")}
            rows |= {name: seen[: store.size][closed].copy() for name, seen in store.observations.items()}
            kept.append(rows | {"member": np.full(closed.sum(), i), "total": total[closed]})
        likelihoods.end()
    return kept, policies


def by_hand(kept: list[dict], policies: list[Policy]) -> tuple[np.ndarray, np.ndarray]:
    """What `read` said and what it should have said, one decision after the other."""
    memory: dict[tuple[int, int], list[torch.Tensor]] = {}
    sums: dict[tuple[int, int], np.ndarray] = {}
    said, right = [], []
    for rows in kept:
        for k in range(len(rows["stream"])):
            key = int(rows["stream"][k]), int(rows["member"][k])
            if rows["start"][k]:
                memory[key] = [p.initial_memory(1) for p in policies]
                sums[key] = np.zeros(len(policies))
            for j, policy in enumerate(policies):
                seen = {name: torch.from_numpy(rows[name][k : k + 1]) for name in policy.config.observations}
                result = policy.act(seen, memory[key][j], greedy=True)
                memory[key][j] = result.memory
                sums[key][j] += float(result.logits.log_softmax(-1)[0, rows["action"][k]])
            said.append(rows["total"][k])
            right.append(sums[key].copy())
    return np.array(said), np.array(right)


def test_episodes_are_followed_across_rollouts_and_through_exchanges():
    kept, policies = rollouts([25] * 8)
    said, right = by_hand(kept, policies)
    assert sum(rows["done"].sum() for rows in kept) > 8
    assert len(said) > 150
    assert said == pytest.approx(right, abs=1e-3)


def test_members_with_pictures_watch_pictures():
    config = PolicyConfig(("depth", "state"), "patches", picture=64, features=8, hidden=8)
    said, right = by_hand(*rollouts([20] * 2, config))
    assert said == pytest.approx(right, abs=1e-3)


def test_an_open_decision_is_not_counted_yet():
    store = every_sequence()
    store.closed[-len(SEQUENCES) :] = False
    likelihoods = Likelihoods(members(), len(SEQUENCES))
    total = likelihoods.read(store)
    likelihoods.end()
    assert (total[-len(SEQUENCES) :] == 0).all()
    assert likelihoods.sums == pytest.approx(total[-2 * len(SEQUENCES) : -len(SEQUENCES)])


def test_parts_of_episodes_are_cut_at_their_starts():
    store = Store({}, 1, 6)
    store.append(6)
    store.stream[:] = [0, 1, 0, 0, 1, 0]
    store.start[:] = [0, 1, 0, 1, 0, 0]
    store.closed[:] = [1, 1, 1, 1, 1, 0]
    assert episodes(store, 2).tolist() == [[0, 2, -1], [1, 4, -1], [3, -1, -1]]


def test_members_are_judged_as_they_were_before_the_first_of_them_learnt():
    store, policies = every_sequence(), members()
    before = Likelihoods(policies, len(SEQUENCES)).read(store)
    likelihoods = Likelihoods(policies, len(SEQUENCES))
    likelihoods.read(store)
    with torch.no_grad():
        policies[0].actor.bias[0] += 1.0
    assert (likelihoods.read(store) == before).all()
    likelihoods.end()
    assert (likelihoods.read(store) != before)[:, 0].any()


def trained(folder, **changes) -> Trainer:
    """A tiny TrajeDi population in the hall whose episodes end soon."""
    config = replace(SHORT, decisions=600, num_envs=4, ppo=replace(SHORT.ppo, discount=0.9), rules=replace(SOON, discount=0.9))
    method = TrajeDi(TINY, 2, 0, TrajeDiSettings(members=3, redraw=2, weight=changes.pop("weight", 1.0)))
    return Trainer(replace(config, **changes), method, batches.episodes(), [batches.home()], folder)


def test_the_bonus_is_paid_where_an_episode_ends_and_only_there(tmp_path):
    running = trained(tmp_path, weight=4.0)
    paid, real = [], running.method.bonus

    def spy(player, store):
        paid.append((real(player, store), store.done.copy()))
        return paid[-1][0]

    running.method.bonus = spy
    for _ in range(4):
        running.step()
    bonus, done = (np.concatenate(part) for part in zip(*paid, strict=True))
    assert (bonus[~done] == 0).all()
    assert (np.abs(bonus[done]) > 1e-6).all()
    assert bonus.max() <= 4.0 * np.log(3) + 1e-5


def test_the_divergence_is_logged(tmp_path):
    running = trained(tmp_path)
    rows = [running.step() for _ in range(4)]
    told = [row for row in rows if "method/jsd" in row]
    assert told
    assert all(0 <= row["method/jsd_saturated"] <= 1 for row in told)
    assert all(abs(row["method/jsd"]) <= np.log(3) for row in told)


def test_a_resumed_population_goes_on_exactly(tmp_path):
    whole, parts = trained(tmp_path / "whole"), trained(tmp_path / "parts")
    whole.run()
    parts.run(seconds=0.0)
    again = trained(tmp_path / "parts")
    assert again.load()
    again.run()
    assert whole.update > parts.update > 0
    assert all((a == b).all() for a, b in zip(weights(whole), weights(again), strict=True))


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="weight = -1"):
        TrajeDiSettings(weight=-1.0)

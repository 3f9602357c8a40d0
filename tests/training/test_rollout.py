"""Rollouts: what is stored of each decision, what is carried over, who plays when, and whose memory is whose."""

import numpy as np
import pytest
import torch

from helpers.batches import make
from helpers.learners import player, slots, together
from housemates.policies.config import PolicyConfig
from housemates.sim.rules import Rules
from housemates.sim.scripts import SCRIPTS
from housemates.sim.sensors import privileged_size, write_window
from housemates.training.rollout import SCRIPTED, Collector
from housemates.training.store import Store

SOON = Rules(horizon=60)
"""Episodes that end before a rollout does."""


def by_stream(store: Store, *names: str) -> dict[int, list[tuple]]:
    """Closed decisions of each stream in order, as tuples of the named numbers."""
    found: dict[int, list[tuple]] = {}
    for i in np.flatnonzero(store.closed):
        row = tuple(store.numbers[name][i].tolist() for name in names)
        found.setdefault(int(store.stream[i]), []).append(row)
    return found


def episodes_of(store: Store) -> list[list[int]]:
    """Indices of the decisions of each complete episode of each stream."""
    found, running = [], {}
    for i in range(store.size):
        s = store.stream[i]
        if store.start[i]:
            running[s] = []
        if s in running:
            running[s].append(i)
            if store.done[i]:
                found.append(running.pop(s))
    return found


def test_a_robots_decisions_last_as_long_as_its_episode():
    collector = together(rules=SOON)
    finished = collector.collect(600).arrays()
    for p in collector.players:
        lengths = [int(p.store.duration[rows].sum()) for rows in episodes_of(p.store)]
        assert sorted(lengths) == sorted(int(n) for n in finished["steps"])


def test_a_robots_decisions_earn_what_its_episode_paid():
    collector = together(rules=SOON)
    finished = collector.collect(600).arrays()
    for p in collector.players:
        earned = [float(p.store.reward[rows].sum()) for rows in episodes_of(p.store)]
        assert sorted(earned) == pytest.approx(sorted(finished["total"]), abs=1e-4)


def test_a_reward_within_a_decision_is_discounted_by_its_step():
    collector = together(rules=Rules(horizon=60, discount=0.9))
    collector.collect(200)
    store = collector.players[0].store
    quiet = store.closed & np.isclose(store.reward, -0.01 * store.duration, atol=1e-6)
    assert quiet.sum() > 50
    assert store.discounted[quiet] == pytest.approx(-0.01 * (1 - 0.9 ** store.duration[quiet]) / (1 - 0.9), abs=1e-5)


def test_carrying_decisions_over_changes_nothing_that_is_stored():
    names = ("action", "log_prob", "value", "memory", "reward", "discounted", "duration", "done", "start", "clock")
    whole, parts = together(rules=SOON), together(rules=SOON)
    whole.collect(400)
    pieces: list[dict[int, list[tuple]]] = [{}, {}]
    while sum(len(rows) for piece in pieces for rows in piece.values()) < 400:
        parts.collect(60)
        for piece, p in zip(pieces, parts.players, strict=True):
            for stream, rows in by_stream(p.store, *names).items():
                piece.setdefault(stream, []).extend(rows)
    for piece, p in zip(pieces, whole.players, strict=True):
        for stream, rows in by_stream(p.store, *names).items():
            assert piece[stream][: len(rows)] == rows[: len(piece[stream])]


def test_a_rollout_counts_the_decisions_it_was_asked_for():
    collector = together()
    collector.collect(100)
    assert 100 <= collector.closed < 100 + 8


def test_every_stream_has_at_most_one_open_decision_and_the_last():
    collector = together()
    collector.collect(100)
    for p in collector.players:
        open_rows = np.flatnonzero(~p.store.closed)
        assert len(set(p.store.stream[open_rows])) == len(open_rows)
        assert all(i == np.flatnonzero(p.store.stream == p.store.stream[i])[-1] for i in open_rows)


def test_stored_memories_are_those_the_policy_has_when_it_replays_the_episode():
    collector = together(rules=SOON)
    collector.collect(400)
    for p in collector.players:
        for rows in episodes_of(p.store):
            memory = p.policy.initial_memory(1)
            for i in rows:
                assert p.store.memory[i] == pytest.approx(memory.numpy()[0], abs=1e-5)
                seen = {name: torch.from_numpy(values[i : i + 1]) for name, values in p.store.observations.items()}
                result = p.policy.act(seen, memory, greedy=True)
                memory = result.memory.clone()
                log_prob = result.logits.log_softmax(-1)[0, p.store.action[i]]
                assert p.store.log_prob[i] == pytest.approx(float(log_prob), abs=1e-5)
                assert p.store.value[i] == pytest.approx(float(result.value), abs=1e-5)


def test_memory_is_empty_at_episode_starts_and_nowhere_else():
    collector = together(rules=SOON)
    collector.collect(400)
    store = collector.players[0].store
    assert ((store.memory == 0).all(axis=1) == store.start).all()
    assert (store.start == (store.clock == 0)).all()


def test_an_observation_is_the_one_at_the_time_of_the_decision():
    collector = together(homes=1)
    seen = collector.batch.observe("state")[0, 0].copy()
    collector.collect(1)
    assert (collector.players[0].store.observations["state"][0] == seen).all()


def test_new_slots_wait_for_a_homes_next_episode():
    batch = make(size=2, rules=SOON)
    players = [player(batch, seed=k) for k in range(3)]
    collector = Collector(batch, players, slots([[0, 1], [0, 1]]))
    collector.collect(10)
    collector.pending = slots([[2, 1], [2, 1]])
    while (batch.state.clock > 0).all() and collector.closed < 400:
        assert (collector.slots.player[:, 0] == 0).all()
        collector.collect(1)
    begun = collector.slots.player[:, 0] == 2
    assert begun.any()
    assert players[2].store.start[0]


def test_a_frozen_partner_is_not_learnt_from():
    batch = make(size=4)
    learner, frozen = player(batch), player(batch, seed=5, learns=False)
    Collector(batch, [learner, frozen], slots([[0, 1]] * 4)).collect(50)
    assert set(learner.store.stream % 2) == {0}


def test_a_frozen_partner_samples_its_actions():
    batch = make(size=16)
    learner, frozen = player(batch), player(batch, seed=5, learns=False)
    collector = Collector(batch, [learner, frozen], slots([[0, 1]] * 16))
    collector.collect(1)
    assert len(set(collector.actions[:, 1])) > 4


def test_a_frozen_partner_keeps_its_memory_through_an_episode():
    batch = make(size=1)
    learner, frozen = player(batch), player(batch, seed=5, learns=False)
    collector = Collector(batch, [learner, frozen], slots([[0, 1]]))
    collector.collect(5)
    before = collector.actors.memory_of(1)[1].clone()
    seen = []
    act = frozen.policy.act

    def spy(obs, memory, *args, **more):
        seen.append(memory.clone())
        return act(obs, memory, *args, **more)

    frozen.policy.act = spy
    while not seen and batch.state.clock[0] > 0:
        collector.collect(collector.closed + 1)
    assert batch.state.clock[0] > 0
    assert torch.equal(seen[0][0], before)


def test_an_exchanged_partner_begins_with_an_empty_memory():
    batch = make(size=1, rules=Rules(horizon=20))
    players = [player(batch), player(batch, seed=5, learns=False), player(batch, seed=6, learns=False)]
    collector = Collector(batch, players, slots([[0, 1]]))
    collector.actors.memory_of(2)[:] = 7.0
    first = []
    act = players[2].policy.act

    def spy(obs, memory, *args, **more):
        first.append(float(memory.abs().sum()))
        return act(obs, memory, *args, **more)

    players[2].policy.act = spy
    collector.pending = slots([[0, 2]])
    while not first:
        collector.collect(20)
    assert first[0] == 0.0


def test_players_may_see_different_things():
    batch = make(size=4)
    players = [player(batch), player(batch, PolicyConfig.predicates(hidden=8, features=8))]
    Collector(batch, players, slots([[0, 1]] * 4)).collect(60)
    assert set(players[0].store.observations) == {"state", "predicates"}
    assert set(players[1].store.observations) == {"predicates"}
    assert players[1].store.observations["predicates"][: players[1].store.size].any()


def test_one_player_may_move_both_robots():
    batch = make(size=4)
    only = player(batch)
    Collector(batch, [only], slots([[0, 0]] * 4)).collect(80)
    assert set(only.store.stream) == set(range(8))


def test_a_scripted_partner_does_its_half():
    batch = make(size=4)
    learner = player(batch)
    plan = [[0, SCRIPTS["second_half"]]] * 4
    collector = Collector(batch, [learner], slots([[0, SCRIPTED]] * 4, script=plan))
    collector.collect(200)
    assert set(learner.store.stream % 2) == {0}
    assert not batch.state.controllable[:, 1].any()
    assert (batch.ended.done_by[:, 2:4] == 1).any() or (batch.state.done_by[:, 2:4] == 1).any()


def test_a_scripted_partner_gives_way_to_a_learnt_one_at_an_episodes_end():
    batch = make(size=2, rules=SOON)
    players = [player(batch), player(batch, seed=3)]
    collector = Collector(batch, players, slots([[0, SCRIPTED]] * 2, script=[[0, SCRIPTS["noop"]]] * 2))
    collector.pending = slots([[0, 1]] * 2)
    collector.collect(300)
    assert batch.state.controllable.all()
    assert set(players[1].store.stream % 2) == {1}


def test_what_a_critic_is_shown_is_stored_with_the_decision():
    config = PolicyConfig.state(hidden=8, features=8, privileged=privileged_size(2))
    batch = make(size=2)
    learner = player(batch, config, also=("privileged",))
    Collector(batch, [learner], slots([[0, 0]] * 2)).collect(40)
    assert np.isfinite(learner.store.value).all()
    left = learner.store.observations["privileged"][: learner.store.size, 57 + 8]
    assert left == pytest.approx(1 - learner.store.clock / batch.rules.horizon, abs=1e-6)


def test_a_rollout_may_end_early():
    collector = together()
    collector.collect(1000, enough=lambda share: share >= 0.02)
    assert 20 <= collector.closed < 40


def test_a_rollout_of_steps_is_that_long_in_every_home():
    collector = together()
    finished = collector.collect(0, steps=50).arrays()
    assert collector.batch.state.clock.sum() + finished["steps"].sum() == 50 * 4
    collector.collect(0, steps=1)
    collector.collect(0, enough=lambda share: share >= 0.3, steps=10)
    assert collector.batch.state.clock.max() <= 50 + 1 + 3


def test_finished_episodes_say_who_played():
    batch = make(size=2, rules=SOON)
    players = [player(batch), player(batch, seed=3, learns=False)]
    finished = Collector(batch, players, slots([[0, 1], [1, 0]])).collect(200).arrays()
    assert {(int(h), *map(int, p)) for h, p in zip(finished["home"], finished["player"], strict=True)} == {(0, 0, 1), (1, 1, 0)}


def test_a_collector_continues_exactly_from_its_state():
    one, two = together(rules=SOON), together(rules=SOON)
    one.collect(120)
    one.compact()
    saved, world = {k: v.copy() for k, v in one.state().items()}, one.batch.save()
    generators = [p.generator.get_state() for p in one.players]
    one.collect(120)
    two.batch.restore(world)
    two.load(saved)
    for p, state in zip(two.players, generators, strict=True):
        p.generator.set_state(state)
    two.collect(120)
    for a, b in zip(one.players, two.players, strict=True):
        assert all((a.store.numbers[k][: a.store.size] == b.store.numbers[k][: b.store.size]).all() for k in a.store.numbers)


def windows_by_hand(homes: int, decisions: int) -> tuple[Store, dict[int, list[np.ndarray]]]:
    """A learner with windows, and what a slow reader of the simulator saw at the end of each decision of each stream."""
    batch = make(size=homes, rules=SOON)
    learner = player(batch)
    learner.store = Store(
        {name: batch.observation(name) for name in learner.policy.config.observations},
        learner.policy.config.memory_size,
        4,
        {"window": batch.observation("window")},
    )
    collector = Collector(batch, [learner], slots([[0, 0]] * homes))
    seen: dict[int, list[np.ndarray]] = {}
    close = collector._close

    def watched(step):
        now = batch.observe("window")
        last = np.zeros_like(now)
        write_window(batch.ended.window, batch.ended.steps, np.ones((homes, 2), np.bool_), last)
        for e, r in zip(*np.nonzero((step.decide | step.done[:, None]) & (collector.open_at >= 0)), strict=True):
            seen.setdefault(e * 2 + r, []).append((last if step.done[e] else now)[e, r].copy())
        close(step)

    collector._close = watched
    collector.collect(decisions)
    return learner.store, seen


def test_a_window_is_that_at_the_end_of_the_decision_also_when_the_episode_ends_with_it():
    store, seen = windows_by_hand(4, 300)
    assert store.done[store.closed].sum() > 4
    for stream, expected in seen.items():
        stored = store.window[(store.stream == stream) & store.closed]
        assert (stored == np.array(expected)).all()


def test_a_window_never_reaches_back_beyond_the_start_of_its_episode():
    store, _ = windows_by_hand(4, 300)
    for i in np.flatnonzero(store.closed):
        steps = int(store.clock[i] + store.duration[i])
        happened = np.any(store.window[i] != 0, axis=1)
        assert not happened[: max(0, 40 - steps)].any()
        assert happened[max(0, 40 - steps) :].all()

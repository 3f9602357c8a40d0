"""Advantages of decisions of variable length against hand-worked numbers and a slow twin; chunks for recurrent training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from housemates.training.ppo import advantages, chunks, links


def run(reward, value, duration, done, following, discount, gae_lambda, per_step):
    out = np.empty(len(reward), np.float32)
    advantages(
        np.asarray(reward, np.float32),
        np.asarray(value, np.float32),
        np.asarray(duration, np.int32),
        np.asarray(done, np.bool_),
        np.asarray(following, np.int64),
        discount,
        gae_lambda,
        per_step,
        out,
    )
    return out


def slow_advantages(reward, value, duration, done, following, discount, gae_lambda, per_step):
    """The definition: the sum of decayed temporal differences along the chain of decisions."""
    out = []
    for first in range(len(reward)):
        total, weight, i = 0.0, 1.0, first
        while True:
            if following[i] < 0 and not done[i]:
                break
            steps = duration[i] if per_step else 1
            ahead = 0.0 if done[i] else discount**steps * value[following[i]]
            total += weight * (reward[i] + ahead - value[i])
            if done[i]:
                break
            weight *= (discount * gae_lambda) ** steps
            i = following[i]
        out.append(total)
    return np.array(out)


def test_two_decisions_of_three_and_two_steps_give_the_hand_worked_advantages():
    # gamma 0.9, lambda 0.5 per step. Last: 2 - 1 = 1. First: 1 + 0.9^3 * 1 - 0.5 + (0.45)^3 * 1.
    out = run([1.0, 2.0], [0.5, 1.0], [3, 2], [False, True], [1, -1], 0.9, 0.5, True)
    assert out == pytest.approx([1 + 0.729 - 0.5 + 0.091125, 1.0])


def test_the_papers_advantage_ignores_how_long_a_decision_took():
    short = run([1.0, 2.0], [0.5, 1.0], [1, 1], [False, True], [1, -1], 0.99, 0.95, False)
    long = run([1.0, 2.0], [0.5, 1.0], [40, 7], [False, True], [1, -1], 0.99, 0.95, False)
    assert (short == long).all()


def test_an_open_decision_bootstraps_the_one_before_it_and_has_no_advantage_itself():
    out = run([1.0, 0.0], [0.5, 4.0], [2, 0], [False, False], [1, -1], 0.9, 0.5, True)
    assert out == pytest.approx([1 + 0.81 * 4 - 0.5, 0.0])


@st.composite
def rollouts(draw):
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    stream = rng.integers(0, 4, n)
    done = rng.random(n) < 0.2
    return stream, rng.normal(size=n), rng.normal(size=n), rng.integers(1, 30, n), done


@given(rollouts(), st.booleans())
def test_advantages_agree_with_their_definition(rollout, per_step):
    stream, reward, value, duration, done = rollout
    following = np.empty(len(stream), np.int64)
    links(stream, done, np.empty(4, np.int64), following)
    out = run(reward, value, duration, done, following, 0.98, 0.95, per_step)
    assert out == pytest.approx(slow_advantages(reward, value, duration, done, following, 0.98, 0.95, per_step), abs=1e-4)


@given(rollouts(), st.integers(1, 8))
def test_chunks_hold_every_closed_decision_once_in_order_and_never_cross_an_episode_start(rollout, length):
    stream, _, _, _, done = rollout
    n = len(stream)
    start = np.zeros(n, np.bool_)
    newest = {}
    closed = np.zeros(n, np.bool_)
    for i, s in enumerate(stream):
        if s in newest:
            closed[newest[s]] = True
        start[i] = s not in newest or done[newest[s]]
        newest[s] = i
    out = np.empty((n, length), np.int64)
    rows = chunks(stream.astype(np.int64), start, closed, length, 4, out)
    found = [[i for i in row if i >= 0] for row in out[:rows]]
    assert sorted(i for row in found for i in row) == list(np.flatnonzero(closed))
    for row in found:
        assert row == sorted(row)
        assert len({stream[i] for i in row}) == 1
        assert not any(start[i] for i in row[1:])

"""Errors and intervals: known cases, a slow bootstrap beside the fast one, and coverage where the truth is known."""

import numpy as np
import pytest
from scipy.stats import trim_mean

from helpers.evaluations import EPISODES, grid, run_rows
from housemates.evaluation.metrics import mean_over_partners, per_run, rows_of
from housemates.evaluation.rows import join_rows
from housemates.evaluation.stats import Scores, bootstrap_iqm, bootstrap_mean, compare, iqm, over_seeds, scores


def made(values, strata=None, runs=None) -> Scores:
    """Scores [S, P, N] with partners of one stratum, each its own run, unless said otherwise."""
    values = np.asarray(values, float)
    count = values.shape[1]
    strata = np.zeros(count, int) if strata is None else np.array(strata)
    runs = np.arange(count) if runs is None else np.array(runs)
    return Scores(values, [f"p{k}" for k in range(count)], strata, runs, np.arange(values.shape[2]))


def test_the_standard_error_is_of_the_mean():
    found = over_seeds(np.array([0.2, 0.4, 0.9]))
    assert found.mean == pytest.approx(0.5)
    assert found.error == pytest.approx(np.std([0.2, 0.4, 0.9], ddof=1) / np.sqrt(3))


def test_one_seed_has_no_error():
    assert np.isnan(over_seeds(np.array([0.3])).error)
    assert over_seeds(np.array([0.3])).n == 1


@pytest.mark.parametrize("count", [4, 8, 40])
def test_the_iqm_is_the_mean_of_the_middle_half(count):
    values = np.random.default_rng(0).random(count)
    assert iqm(values) == pytest.approx(trim_mean(values, 0.25))


def test_the_iqm_takes_parts_of_values_at_its_borders():
    # Half of six values: the two in the middle and half of each neighbour.
    assert iqm(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 100.0])) == pytest.approx((0.5 * 1 + 2 + 3 + 0.5 * 4) / 3)


def test_a_weight_is_as_good_as_a_repetition():
    values, weights = np.array([0.1, 0.5, 0.2, 0.9]), np.array([3, 1, 0, 2])
    assert iqm(values, weights) == pytest.approx(iqm(np.repeat(values, weights)))


def test_one_outlier_does_not_move_the_iqm():
    assert iqm(np.array([0.5] * 7 + [100.0])) == 0.5


def test_rows_become_scores_by_seed_partner_and_episode():
    rows = grid(("sp",), 2).only(evaluation="zsc")
    found = scores(rows)
    assert found.values.shape == (2, 11, EPISODES)
    expected = rows.only(agent_seed=1, partner="script/noop")["success"].astype(float)
    assert (found.values[1, found.partners.index("script/noop")] == expected).all()
    assert found.values.mean() == pytest.approx(per_run(rows, mean_over_partners).mean())


def test_scripts_are_fixed_and_members_of_a_learned_run_are_drawn_together():
    found = scores(grid(("sp",), 2).only(evaluation="zsc"))
    script = [k for k, name in enumerate(found.partners) if name.startswith("script/")]
    others = [k for k in range(11) if k not in script]
    assert len(set(found.strata[script])) == 3
    assert len(set(found.strata[others])) == 1
    assert len(set(found.runs[others])) == 4


def test_populations_of_different_seeds_are_matched_by_place():
    found = scores(grid(("sp",), 2).only(evaluation="train_pop"))
    assert found.values.shape == (2, 4, EPISODES)
    assert not np.isnan(found.values).any()
    assert len(set(found.strata)) == 4


def test_a_pair_that_did_not_play_is_left_out():
    values = np.ones((2, 3, 4))
    values[1, 2] = np.nan
    found = bootstrap_iqm(made(values), resamples=200)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    found = made(np.random.default_rng(0).random((3, 11, 20)) < 0.6)
    assert bootstrap_iqm(found, 1) == bootstrap_iqm(found, 1)
    assert bootstrap_iqm(found, 1) != bootstrap_iqm(found, 2)


def test_the_interval_is_what_a_slow_bootstrap_gives():
    rng = np.random.default_rng(3)
    found = made(rng.random((3, 6, 12)) < rng.random((3, 6, 1)), [0, 1, 2, 2, 2, 2], [0, 1, 2, 2, 3, 3])
    draws = []
    for _ in range(2000):
        seeds = rng.integers(0, 3, 3)
        episodes = rng.integers(0, 12, 12)
        partners = [0, 1] + [p for run in rng.integers(0, 2, 2) for p in ((2, 3), (4, 5))[run]]
        cells = sorted(float(np.mean(found.values[s, p, episodes])) for s in seeds for p in partners)
        draws.append(trim_mean(cells, 0.25) if len(cells) % 4 == 0 else iqm(np.array(cells)))
    fast = bootstrap_iqm(found, resamples=20_000)
    slow = np.percentile(draws, [2.5, 97.5])
    assert [fast.low, fast.high] == pytest.approx(slow, abs=0.03)


def test_partners_of_one_run_make_the_interval_wider_than_strangers_would():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.random((1, 4, 1)) > rng.random((2, 4, 30)), 2, axis=1)
    together = bootstrap_mean(made(values, runs=[0, 0, 1, 1, 2, 2, 3, 3]))
    apart = bootstrap_mean(made(values))
    assert together.high - together.low > apart.high - apart.low


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng, covered = np.random.default_rng(0), 0
    for trial in range(100):
        found = made(rng.random((10, 10, 20)) < (0.5 + 0.1 * rng.normal(size=(10, 1, 1))))
        interval = bootstrap_mean(found, trial, 400)
        covered += interval.low <= 0.5 <= interval.high
    assert covered >= 85


def test_a_constant_lead_is_the_difference_and_always_an_improvement():
    base = np.random.default_rng(0).random((2, 5, 10)) * 0.5
    found = compare(made(base + 0.25), made(base), resamples=500)
    assert found.difference.value == pytest.approx(0.25)
    assert found.improvement.value > 0.5
    same = compare(made(base[:1] + 0.25), made(base[:1]), resamples=500)
    # Paired: what both share, hard partners and episodes, leaves no uncertainty at all.
    assert (same.difference.low, same.difference.high) == (pytest.approx(0.25), pytest.approx(0.25))
    assert same.improvement.value == same.improvement.low == 1.0


def test_equal_methods_improve_half_of_the_time():
    base = np.ones((2, 3, 4))
    assert compare(made(base), made(base), resamples=50).improvement.value == 0.5


def test_only_common_partners_and_episodes_are_compared():
    a = scores(rows_of(run_rows("sp", 0)).only(evaluation="zsc"))
    b = scores(
        rows_of(run_rows("bdp", 0)).only(evaluation="zsc", episode=(0, 1, 2), partner=("script/noop", "script/first_half"))
    )
    found = compare(a, b, resamples=50)
    assert (found.partners, found.episodes) == (2, 3)
    expected = a.values[0, [a.partners.index(p) for p in b.partners], :3].mean() - b.values.mean()
    assert found.difference.value == pytest.approx(expected)


def test_methods_without_a_common_partner_are_not_compared():
    a = scores(grid(("sp",), 1).only(partner="script/noop", evaluation="zsc"))
    b = scores(grid(("bdp",), 1).only(partner="script/first_half", evaluation="zsc"))
    with pytest.raises(ValueError, match="no partner and episode in common"):
        compare(a, b)


def test_an_episode_played_twice_counts_by_its_mean():
    rows = rows_of(join_rows([run_rows("sp", 0), run_rows("sp", 0)])).only(evaluation="zsc")
    once = rows_of(run_rows("sp", 0)).only(evaluation="zsc")
    assert np.array_equal(scores(rows).values, scores(once).values)

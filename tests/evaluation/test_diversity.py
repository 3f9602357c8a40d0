"""The diversity audit on populations made by hand, and against slow sums written down differently."""

from itertools import product
from math import log2

import numpy as np
import pytest

from housemates.evaluation.diversity import (
    Games,
    Information,
    cross_play,
    distances,
    gap,
    information,
    numbers,
    patterns,
    skills,
)

EPISODES, SUBGOALS, ACTIONS = 12, 4, 25
NAMES = ("pick obj0", "place obj0", "pick obj1", "place obj1")


def games(does, members: int = 4, robots: int = 2, success=lambda i, j, rng: i == j, seed: int = 0) -> Games:
    """All ordered pairs, all episodes; does(member, rng) gives the sub-goals [S] and the skills [A] of a robot."""
    rng = np.random.default_rng(seed)
    rows = list(product(range(members), range(members), range(EPISODES)))
    acted = [[does(who, rng) for who in (i, *[j] * (robots - 1))] for i, j, _ in rows]
    first, second, episode = np.array(rows).T
    return Games(
        first,
        second,
        episode,
        np.array([success(i, j, rng) for i, j, _ in rows]),
        np.array([[done for done, _ in game] for game in acted], np.bool_),
        np.array([[used for _, used in game] for game in acted], np.int64),
    )


def specialist(member, rng):
    """Member k always does sub-goal k and uses skill k."""
    return np.arange(SUBGOALS) == member, 5 * (np.arange(ACTIONS) == member)


def anybody(member, rng):
    """Everybody does anything."""
    return rng.random(SUBGOALS) < 0.5, rng.multinomial(10, np.full(ACTIONS, 1 / ACTIONS))


def leaning(member, rng):
    """Members prefer something."""
    p = np.full(ACTIONS, 1.0)
    p[member] = 9.0
    return rng.random(SUBGOALS) < 0.3 + 0.15 * member, rng.multinomial(7 + member, p / p.sum())


def told(played: Games, permutations: int) -> Information:
    """About the member by its sub-goals."""
    return information(played, patterns(played), permutations=permutations)


def test_members_that_each_do_one_thing_are_told_apart_for_certain():
    found = numbers(games(specialist), NAMES, permutations=50)
    assert found["information"]["subgoals"]["bits"] == pytest.approx(2.0)
    assert found["information"]["skills"]["bits"] == pytest.approx(2.0)
    assert found["behaviours"] == pytest.approx(4.0)


def test_certainty_is_improbable_by_chance():
    assert told(games(specialist), permutations=199).p == pytest.approx(1 / 200)


def test_two_members_of_four_that_do_the_same_share_a_behaviour():
    found = told(games(lambda member, rng: specialist(member // 2, rng)), permutations=0)
    assert found.plug_in == pytest.approx(1.0)


def test_members_that_act_alike_have_no_information():
    found = told(games(anybody), permutations=200)
    assert abs(found.bits) < 0.03
    assert found.p > 0.05


def test_relabelled_members_have_no_information_on_average():
    found = [told(games(anybody, seed=k), permutations=50) for k in range(8)]
    assert np.mean([f.null_mean for f in found]) == pytest.approx(0.0, abs=0.01)
    assert np.mean([f.plug_in for f in found]) > 0.04
    assert np.mean([f.bits for f in found]) == pytest.approx(0.0, abs=0.01)


def test_a_difference_between_episodes_is_none_between_members():
    def by_episode(member, rng):
        return np.zeros(SUBGOALS), np.eye(ACTIONS, dtype=np.int64)[0]

    played = games(by_episode)
    played.done[:, :, 0] = (played.episode % 2 == 0)[:, None]
    found = told(played, permutations=20)
    assert found.bits == pytest.approx(0.0, abs=0.01)
    assert found.p == 1.0


def test_long_games_count_as_much_as_short_ones():
    played = games(lambda k, rng: (np.zeros(SUBGOALS), (1 + 9 * k) * np.eye(ACTIONS, dtype=np.int64)[k]))
    assert information(played, skills(played), permutations=0).plug_in == pytest.approx(2.0)


def test_what_a_game_shows_in_shares_needs_less_correction():
    steps = [games(lambda k, rng: (anybody(k, rng)[0], rng.multinomial(100, np.full(ACTIONS, 0.04))), seed=s) for s in range(6)]
    found = [information(played, skills(played), permutations=0) for played in steps]
    assert np.mean([f.bits for f in found]) == pytest.approx(0.0, abs=2e-4)
    assert np.mean([f.plug_in for f in found]) > 1e-3


def test_a_population_of_one_is_refused():
    with pytest.raises(ValueError, match="has no diversity"):
        numbers(games(anybody, members=1), NAMES)


def test_members_that_work_only_with_themselves_have_the_widest_gap():
    assert gap(games(anybody)) == pytest.approx((1.0, 0.0, 1.0, 0.0))


def test_cross_play_knows_who_was_robot_0():
    matrix = cross_play(games(anybody, members=3, success=lambda i, j, rng: i < j))
    assert matrix.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]


def test_members_with_nothing_in_common_are_one_apart():
    shares = np.eye(3)
    assert distances(shares, exclusive=True) == pytest.approx(1 - np.eye(3))


@pytest.mark.parametrize("robots", [2, 3])
def test_the_numbers_agree_with_slow_sums(robots):
    played = games(leaning, members=3, robots=robots, success=lambda i, j, rng: rng.random() < 0.5)
    found = numbers(played, NAMES, permutations=5)
    slow = slow_numbers(played)
    assert found["information"]["subgoals"]["bits"] == pytest.approx(slow["subgoals"])
    assert found["information"]["subgoals_in_self_play"]["bits"] == pytest.approx(slow["alone"])
    assert found["information"]["skills"]["bits"] == pytest.approx(slow["skills"])
    assert found["information"]["sum_of_subgoals"] == pytest.approx(slow["sum"])
    assert found["distance"]["events"] == pytest.approx(slow["distance"])
    assert found["success"]["gap"] == pytest.approx(slow["gap"])


def slow_information(seen: list[tuple[int, dict]], members: int) -> float:
    """I(M; X) = H(X) - H(X | M) from a list of (member, shares of what it did); entropies corrected one by one."""
    shares, variances = [], []
    for k in range(members):
        mine = [did for who, did in seen if who == k]
        things = set().union(*mine)
        shares.append({x: sum(did.get(x, 0.0) for did in mine) / len(mine) for x in things})
        variances.append({x: np.var([did.get(x, 0.0) for did in mine]) / len(mine) for x in things})

    def entropy(share: dict, variance: dict) -> float:
        return -sum(p * log2(p) for p in share.values()) + sum(variance[x] / p for x, p in share.items()) / 2 / np.log(2)

    things = set().union(*shares)
    mixed = {x: sum(s.get(x, 0.0) for s in shares) / members for x in things}
    unsure = {x: sum(v.get(x, 0.0) for v in variances) / members**2 for x in things}
    return entropy(mixed, unsure) - sum(entropy(s, v) for s, v in zip(shares, variances, strict=True)) / members


def slow_numbers(played: Games) -> dict[str, float]:
    """The same numbers by lists and dictionaries."""
    seen, alone, acts, flags = [], [], [], [[] for _ in range(SUBGOALS)]
    rates: dict[int, list] = {}
    won: dict[bool, list[float]] = {True: [], False: []}
    for g in range(len(played.first)):
        i, j = int(played.first[g]), int(played.second[g])
        won[i == j].append(float(played.success[g]))
        for r, who in enumerate((i, *[j] * (played.done.shape[1] - 1))):
            pattern = tuple(played.done[g, r].tolist())
            seen.append((who, {pattern: 1.0}))
            rates.setdefault(who, []).append(pattern)
            if i == j:
                alone.append(seen[-1])
            for s in range(SUBGOALS):
                flags[s].append((who, {pattern[s]: 1.0}))
            steps = played.skills[g, r].tolist()
            acts.append((who, {a: n / sum(steps) for a, n in enumerate(steps) if n}))
    members = len(rates)
    gaps = []
    for a, b in product(range(members), repeat=2):
        if a < b:
            by_goal = [abs(np.mean([p[s] for p in rates[a]]) - np.mean([p[s] for p in rates[b]])) for s in range(SUBGOALS)]
            mine, theirs = ([did for who, did in acts if who == k] for k in (a, b))
            shares = [[np.mean([did.get(x, 0.0) for did in some]) for x in range(ACTIONS)] for some in (mine, theirs)]
            gaps.append((np.mean(by_goal) + np.abs(np.subtract(*shares)).sum() / 2) / 2)
    return {
        "subgoals": slow_information(seen, members),
        "alone": slow_information(alone, members),
        "skills": slow_information(acts, members),
        "sum": sum(slow_information(f, members) for f in flags),
        "distance": float(np.mean(gaps)),
        "gap": float(np.mean(won[True]) - np.mean(won[False])),
    }

"""Where the variance of success comes from: against slow sums over all pairs of games, and on made-up rows."""

import numpy as np
import pytest

from helpers.evaluations import HOLDOUTS, grid, pair
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import join_rows
from housemates.evaluation.variance import PARTS, block_of, parts_of, variance_shares
from housemates.reports.families import variance_table


def slowly(values, methods):
    """The same shares from every two games, one by one, and means over methods at the end."""
    agents, partners, episodes = values.shape
    sums = {}
    for a in range(agents):
        for b in range(agents):
            who = (methods[a], "itself") if a == b else (methods[a], methods[b])
            for p in range(partners):
                for q in range(partners):
                    for n in range(episodes):
                        for m in range(episodes):
                            sums.setdefault((who, p == q, n == m), []).append(values[a, p, n] * values[b, q, m])
    mean = {key: np.mean(products) for key, products in sums.items()}
    names = sorted(set(methods))
    seeds = {m: mean[(m, m), False, False] for m in names if ((m, m), False, False) in mean}
    itself = {m: mean[(m, "itself"), False, False] for m in names}

    def apart(same_partner, same_episode):
        return np.mean([mean[(m, o), same_partner, same_episode] for m in names for o in names if m != o])

    base = apart(False, False)
    partner, episode = apart(True, False) - base, apart(False, True) - base
    agent = np.mean([itself[m] - seeds[m] for m in seeds])
    found = {
        "method": np.mean([seeds.get(m, itself[m] - agent) for m in names]) - base,
        "agent": agent,
        "partner": partner,
        "episode": episode,
        "partner and episode": apart(True, True) - base - partner - episode,
    }
    whole = np.mean([mean[(m, "itself"), True, True] for m in names]) - base
    found["rest"] = whole - sum(found.values())
    return {name: value / whole for name, value in found.items()}


@pytest.mark.parametrize("methods", [[0, 0, 1, 1, 1], [0, 1, 1, 2, 2], [0, 1, 2, 2, 2]])
def test_the_shares_are_those_of_slow_sums(methods):
    rng = np.random.default_rng(0)
    values = (rng.random((5, 3, 4)) < rng.random((5, 1, 1))).astype(float)
    assert parts_of(values, np.array(methods)) == pytest.approx(slowly(values, methods))


def test_a_method_with_one_seed_does_not_make_seeds_differ():
    """Two seeds of a good method and one of a poor one: seeds are alike, methods are not."""
    success = np.array([1.0, 1.0, 0.0])[:, None, None]
    found = parts_of(np.broadcast_to(success, (3, 3, 5)), np.array([0, 0, 1]))
    assert found["agent"] == pytest.approx(0)
    assert found["method"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("part", "shape"), [("partner", (1, 4, 1)), ("episode", (1, 1, 30)), ("partner and episode", (1, 4, 30))]
)
def test_a_part_that_decides_everything_has_it_all(part, shape):
    values = np.broadcast_to(np.random.default_rng(1).integers(0, 2, shape).astype(float), (4, 4, 30))
    found = parts_of(values, np.array([0, 0, 1, 1]))
    assert found["method"] == pytest.approx(0)
    assert found["agent"] == pytest.approx(0)
    assert found["rest"] == pytest.approx(0, abs=1e-9)
    assert found[part] > 0.8


def test_agents_that_always_or_never_succeed_are_the_whole_variance():
    values = np.broadcast_to(np.array([1.0, 0.0, 1.0, 0.0])[:, None, None], (4, 3, 5))
    found = parts_of(values, np.array([0, 0, 1, 1]))
    assert found["agent"] + found["method"] == pytest.approx(1)
    assert found["agent"] > 1


def test_methods_apart_are_told_from_seeds():
    values = np.broadcast_to(np.array([1.0, 1.0, 0.0, 0.0])[:, None, None], (4, 3, 5))
    assert parts_of(values, np.array([0, 0, 1, 1]))["method"] == pytest.approx(1)


def test_with_one_seed_each_methods_have_the_share_of_both():
    values = np.broadcast_to(np.array([1.0, 0.5, 0.0])[:, None, None], (3, 3, 5))
    found = parts_of(values, np.array([0, 1, 2]))
    assert np.isnan(found["agent"])
    assert found["method"] == pytest.approx(1)


def test_chance_is_the_rest():
    values = (np.random.default_rng(2).random((6, 20, 100)) < 0.5).astype(float)
    found = parts_of(values, np.array([0, 0, 0, 1, 1, 1]))
    assert found["rest"] == pytest.approx(1, abs=0.03)
    assert abs(found["agent"]) < 0.01


def test_only_what_everybody_played_counts():
    rows = rows_of(join_rows([
        pair("a-0/agent", "bdp", 0, HOLDOUTS[0]), pair("a-0/agent", "bdp", 0, HOLDOUTS[1]),
        pair("a-1/agent", "bdp", 1, HOLDOUTS[0]),
    ]))  # fmt: skip
    values, methods = block_of(rows)
    assert values.shape == (2, 1, 8)
    assert methods.tolist() == [0, 0]
    assert variance_shares(rows) is None


def test_a_report_has_a_line_for_each_task_and_what_is_seen():
    table = variance_table(grid(seeds=3))
    assert [row[:3] for row in table.texts()] == [["Tidy House", "state", "9 × 11 × 8"]]
    shares = [cell.value for cell in table.rows[0][3:]]
    assert len(shares) == len(PARTS)
    assert sum(shares) == pytest.approx(100)
    assert all(cell.error >= 0 for cell in table.rows[0][3:])

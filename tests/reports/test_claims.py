"""The paper's claims beside ours: against differences computed by hand, and every verdict."""

import numpy as np
import pytest

from helpers.evaluations import grid, run_rows
from housemates.evaluation.metrics import efficiency_gain, mean_over_partners, per_run, rows_of
from housemates.evaluation.rows import join_rows
from housemates.evaluation.stats import Interval, compare_populations, scores
from housemates.reports import paper
from housemates.reports.claims import (
    CLAIMS,
    HOLDS,
    NOT_MEASURED,
    NOT_SEEN,
    ONE_SEED,
    OPPOSITE,
    T95,
    Found,
    claim_table,
    overall,
    verdict,
)


def lines(rows, **how):
    return {line[0]: line for line in claim_table(rows, resamples=200, **how).texts()}


def test_a_claim_has_the_papers_difference_and_ours():
    rows = grid(seeds=3)
    line = lines(rows)["BDP is better than SP with held-out partners"]
    ours = [100 * per_run(rows.only(method=method, evaluation="zsc"), mean_over_partners).mean() for method in ("bdp", "sp")]
    told = dict(zip(claim_table(rows, resamples=2).columns, line, strict=True))
    assert told["Tidy House"].startswith(f"paper +14.0, here {ours[0] - ours[1]:+.1f} [")
    assert told["Set Table"] == "paper +28.5, not measured"
    assert told["here"] == "holds (1 of 3 tasks measured)"


def test_populations_are_compared_though_they_have_no_partner_in_common():
    rows = grid(seeds=3).only(evaluation="train_pop")
    found = [scores(rows.only(method=method)) for method in ("bdp", "sp")]
    ours = compare_populations(*found, resamples=500)
    assert ours.value == pytest.approx(np.nanmean(found[0].values) - np.nanmean(found[1].values))
    assert ours.low < ours.value < ours.high
    turned = compare_populations(*reversed(found), resamples=500)
    assert turned.value == pytest.approx(-ours.value)


def test_methods_that_are_equal_make_no_claim_hold():
    rows = rows_of(
        join_rows([run_rows(method, seed, controls=False, skill=0.5) for method in ("bdp", "pbt") for seed in range(3)])
    )
    assert lines(rows)["BDP is better than PBT with held-out partners"][-1] == "not seen (1 of 3 tasks measured)"


def test_only_what_was_measured_is_shown_unless_all_is_asked_for():
    rows = grid(seeds=1)
    shown = lines(rows)
    assert "BDP is better than BDP-[Discrim] with held-out partners" not in shown
    whole = lines(rows, whole=True)
    assert len(whole) == len({claim.text for claim in CLAIMS if "state" in claim.sees})
    assert whole["BDP is better than BDP-[Discrim] with held-out partners"][-1] == NOT_MEASURED


def test_every_claim_is_about_numbers_that_the_paper_printed():
    for claim in CLAIMS:
        for (_, kind), line in claim.printed.items():
            if kind == claim.evaluation:
                assert line[claim.first][0] > line[claim.second][0], claim.text
    assert {claim.first for claim in CLAIMS} | {claim.second for claim in CLAIMS} <= set(paper.LABELS)


@pytest.mark.parametrize(("low", "high", "said"), [(1, 2, HOLDS), (-1, 2, NOT_SEEN), (-2, -1, OPPOSITE)])
def test_a_verdict_follows_from_the_interval(low, high, said):
    assert verdict(Found(Interval(0.5, low, high), (3, 3))) == said
    assert verdict(Found(Interval(0.5, low, high), (3, 1))) == ONE_SEED


def test_one_seed_makes_no_claim_hold():
    told = lines(grid(seeds=1))
    line = told["BDP is better than SP with held-out partners"]
    assert line[-1] == "one seed (1 of 3 tasks measured)"
    assert "[" not in line[3]
    assert told["BDP gains more time than SP with held-out partners"][-1] == "one seed (1 of 3 tasks measured)"


def test_gains_have_the_interval_of_welch():
    rows = grid(seeds=3)
    cell = lines(rows)["BDP gains more time than SP with held-out partners"][3]
    a, b = (per_run(rows.only(method=m, evaluation="zsc"), efficiency_gain) for m in ("bdp", "sp"))
    errors = [np.std(one, ddof=1) ** 2 / 3 for one in (a, b)]
    free = int(sum(errors) ** 2 / sum(error**2 / 2 for error in errors))
    low = 100 * (a.mean() - b.mean() - T95[free - 1] * np.sqrt(sum(errors)))
    assert f"[{low:+.1f}, " in cell
    assert free in (2, 3, 4)


def test_verdicts_of_several_tasks_are_counted():
    assert overall([HOLDS, HOLDS, HOLDS]) == "holds"
    assert overall([HOLDS, NOT_SEEN, OPPOSITE]) == "holds in 1, not seen in 1, the opposite in 1"
    assert overall([NOT_MEASURED]) == NOT_MEASURED
    assert overall([NOT_SEEN, NOT_MEASURED, NOT_MEASURED]) == "not seen (1 of 3 tasks measured)"

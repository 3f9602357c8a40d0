"""Best responses to the holdouts of the package: their names, their mates, and a report with rows of both."""

import numpy as np

from helpers.evaluations import EPISODES, pair, run_rows
from housemates.agents.agent import resolve
from housemates.cli.best_responses import named
from housemates.evaluation.crossplay import identity
from housemates.evaluation.holdouts import holdouts
from housemates.evaluation.metrics import best_responses, rows_of
from housemates.evaluation.protocol import response_pairs
from housemates.evaluation.rows import join_rows, write_rows
from housemates.reports.report import Options, write_report


def test_every_shipped_holdout_has_a_name_that_means_it_alone():
    found = holdouts("tidy_house")
    names = named(found)
    assert len(names) == len(found) == 11
    assert [[identity(p) for p in resolve(names[q.name])] for q in found] == [[identity(q)] for q in found]


def test_shipped_mates_play_with_each_other_and_with_nobody_else():
    pairs = response_pairs([], holdouts("tidy_house"))
    assert len(pairs) == 8
    for mates in pairs:
        (partner,) = mates.partners
        assert mates.agent.meta["run"] == partner.meta["run"]
        assert mates.agent.meta["member"] != partner.meta["member"]
        assert (mates.evaluation, mates.zero_shot) == ("best_response", False)


def test_a_holdout_that_is_named_twice_has_one_mate():
    once = holdouts("tidy_house")
    assert len(response_pairs([], once + [p for q in once[3:] for p in resolve(q.path)])) == 8


def test_a_report_shows_best_responses_without_making_them_rivals(tmp_path):
    mate = ("gt_coord-state-100/1", "learned", "gt_coord-state-100")
    answer = pair("br/agent", "best_response", 0, mate, "best_response", success=[True] * EPISODES)
    team = pair("gt_coord-state-100/0", "gt_coord", 100, mate, "best_response", success=[k % 2 == 0 for k in range(EPISODES)])
    write_rows(tmp_path / "sp.parquet", run_rows("sp", 0))
    write_rows(tmp_path / "best.parquet", join_rows([answer, team]))
    made = write_report(
        [tmp_path / "sp.parquet", tmp_path / "best.parquet"], tmp_path / "out", Options(films=False, resamples=50)
    )
    tables = {table.name: table for table in made.tables}
    assert [row[1:3] + row[6:7] for row in tables["responses_tidy_house"].texts()] == [
        ["trained for it", "br", "100.0"],
        ["its team mate", "gt_coord-state-100/0", "50.0"],
    ]
    assert [row[1] for row in tables["zero_shot"].texts()] == ["SP"]
    assert {row[1] for row in tables["runs"].texts()} == {"SP"}
    assert "1 of 11" in tables["zero_shot"].texts()[0][-1]
    text = (tmp_path / "out" / "tables.md").read_text()
    assert text.splitlines()[2].startswith("Tidy House, success with 11 held-out partners")
    assert best_responses(rows_of(join_rows([answer, team]))) == {("gt_coord-state-100", "1"): 1.0}
    assert np.isfinite(tables["zero_shot"].rows[0][-1].low)

"""Bounds of best responses: from rows into the package, and BR-Prox wherever the same games are played."""

import pytest

from helpers.evaluations import HOLDOUTS, grid, pair
from housemates.cli.evaluate import near_best
from housemates.cli.main import main
from housemates.evaluation import bounds as module
from housemates.evaluation.bounds import known_bounds, read_bounds, write_bounds
from housemates.evaluation.metrics import best_responses, rows_of
from housemates.evaluation.rows import join_rows, write_rows
from housemates.reports.families import family_table
from housemates.reports.summary import zero_shot_table

LEARNED = HOLDOUTS[4]


def responses(**same):
    """Best responses to a script, to a learned partner, and to it blind."""
    answered = [HOLDOUTS[0], LEARNED, (f"blind/{LEARNED[0]}", *LEARNED[1:])]
    made = [
        pair(f"br-{k}/agent", "best_response", 0, who, "best_response", skill=1.0, **same) for k, who in enumerate(answered)
    ]
    return join_rows(made)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FILE", tmp_path / "bounds.json")
    return tmp_path / "bounds.json"


def test_bounds_come_back_as_they_were_in_the_rows(file):
    rows = rows_of(responses())
    assert write_bounds(rows) == {("tidy_house", "eval"): 3}
    assert read_bounds("tidy_house", "eval", "0123abcd") == best_responses(rows)
    assert ("blind/" + LEARNED[2], "1") in best_responses(rows)


def test_bounds_of_other_games_do_not_count(file):
    write_bounds(rows_of(responses()))
    assert read_bounds("tidy_house", "eval", "another") == {}
    assert read_bounds("tidy_house", "dev", "0123abcd") == {}
    assert read_bounds("set_table", "eval", "0123abcd") == {}


def test_other_tasks_stay_in_the_file(file):
    write_bounds(rows_of(responses()))
    write_bounds(rows_of(responses(split="dev")))
    assert len(read_bounds("tidy_house", "eval", "0123abcd")) == 3
    assert len(read_bounds("tidy_house", "dev", "0123abcd")) == 3


def test_rows_of_two_environments_and_of_no_best_response_are_refused(file):
    two = rows_of(join_rows([responses(), responses(environment="another")]))
    with pytest.raises(ValueError, match="2 environments"):
        write_bounds(two)
    with pytest.raises(ValueError, match="not of best responses"):
        write_bounds(grid(("bdp",), 1))


def test_rows_of_best_responses_come_before_the_package(file):
    write_bounds(rows_of(responses()))
    mine = rows_of(join_rows([responses(success=False), pair("a/agent", "bdp", 0, HOLDOUTS[0])]))
    assert set(known_bounds(mine).values()) == {0.0}


def test_reports_and_evaluations_use_the_bounds_of_the_package(file):
    rows = grid(("bdp",), 1)
    assert zero_shot_table(rows, resamples=10).rows[0][-1].text == "-"
    assert near_best(rows) == []
    write_bounds(rows_of(responses()))
    assert "2 of 11" in zero_shot_table(rows, resamples=10).rows[0][-1].text
    assert "BR-Prox of bdp-tidy_house-state-0/agent" in near_best(rows)[0]
    assert "(2 of 11 partners have a best response" in near_best(rows)[0]
    near = [row[7].text for row in family_table(rows, resamples=10).rows]
    assert near != ["-"]


def test_the_command_writes_the_file(file, tmp_path, capsys):
    write_rows(tmp_path / "br.parquet", responses())
    main(["holdouts", "bounds", str(tmp_path / "br.parquet")])
    assert "tidy_house, eval: 3 partners have a best response" in capsys.readouterr().out
    assert file.is_file()

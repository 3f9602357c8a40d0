"""Tables as text: cells, Markdown, LaTeX, HTML, console; and what the tables beyond the paper's say."""

import numpy as np
import pytest

from evaluations import EPISODES, grid, pair, run_rows
from housemates.evaluation.metrics import mean_over_partners, per_run, rows_of, worst_partners
from housemates.evaluation.rows import join_rows
from housemates.evaluation.stats import Interval
from housemates.reports.heat_map import subgoal_table
from housemates.reports.summary import comparison_table, control_table, partner_table, run_table, zero_shot_table
from housemates.reports.tables import Cell, Table, console, interval, latex, markdown, page

SMALL = Table("t", "A title", ("method", "a|b"), (("BDP & co_1", Cell(50.04, 1.26, 3)), ("PBT <x>", Cell())), ("Note 5 %.",))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(), "-"),
        (Cell(66.71, 0.05, digits=2), "66.71 ± 0.05"),
        (Cell(66.71, n=1), "66.7 (n=1)"),
        (Cell(66.71, 2.0, n=3, mark="†"), "66.7† ± 2.0"),
        (Cell(-3.0, n=1, note="success 5 %", signed=True), "-3.0 (success 5 %, n=1)"),
        (Cell(3.0, 1.0, n=2, signed=True), "+3.0 ± 1.0"),
    ],
)
def test_a_cell_shows_its_number_and_what_belongs_to_it(cell, text):
    assert cell.text == text


def test_an_interval_stands_in_brackets():
    assert interval(Interval(0.5, 0.25, 0.75)).text == "50.0 [25.0, 75.0]"


def test_markdown_has_as_many_bars_in_every_line():
    lines = [line for line in markdown(SMALL).splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert {line.replace("\\|", "").count("|") for line in lines} == {3}


def test_latex_escapes_what_means_something_to_it():
    text = latex(SMALL)
    assert r"BDP \& co\_1 & 50.0 $\pm$ 1.3 \\" in text
    assert r"Note 5 \%." in text
    assert text.count(r"\begin{") == text.count(r"\end{")


def test_html_escapes_names():
    assert "PBT &lt;x&gt;" in page(SMALL)
    assert "<x>" not in page(SMALL)


def test_the_console_has_the_same_numbers_as_the_page():
    rows = grid()
    table = zero_shot_table(rows, resamples=200)
    for row in table.texts():
        assert all(cell in console(table) and cell in markdown(table) for cell in row)


def test_every_method_has_a_line_with_the_numbers_of_its_rows():
    rows = grid()
    table = zero_shot_table(rows, resamples=200)
    assert [row[1] for row in table.rows] == ["SP", "PBT", "BDP"]
    for row, method in zip(table.rows, ("sp", "pbt", "bdp"), strict=True):
        mine = rows.only(evaluation="zsc", method=method)
        assert row[4].value == pytest.approx(100 * per_run(mine, mean_over_partners).mean())
        assert row[6].value == pytest.approx(100 * per_run(mine, worst_partners).mean())
        assert row[5].low <= row[5].value <= row[5].high


def test_best_responses_are_shown_where_they_are():
    mate = ("gt_coord-state-100/1", "learned", "gt_coord-state-100")
    parts = [run_rows("sp", 0)]
    parts += [pair("gt_coord-state-100/0", "gt_coord", 100, mate, "train_pop", success=[True] * EPISODES)]
    row = zero_shot_table(rows_of(join_rows(parts)), resamples=50).rows[0]
    mine = rows_of(parts[0]).only(evaluation="zsc", partner="gt_coord-state-100/1")
    assert row[-1].value == pytest.approx(mine["success"].mean())
    assert "1 of 11" in row[-1].text


def test_best_responses_have_a_column_partner_by_partner_and_no_line_elsewhere():
    mate = ("gt_coord-state-100/1", "learned", "gt_coord-state-100")
    parts = [run_rows("sp", 0), pair("br/agent", "best_response", 0, mate, "best_response", success=[True] * EPISODES)]
    rows = rows_of(join_rows(parts))
    table = partner_table(rows, "tidy_house")
    assert table.columns[-1] == "best response"
    assert {row[0]: row[-1].text for row in table.rows if row[-1].text != "-"} == {"gt_coord-state-100/1": "100.0"}
    assert [row[1] for row in zero_shot_table(rows, resamples=50).rows] == ["SP"]
    assert "best_response" not in {row[1] for row in control_table(rows).rows}


def test_controls_stand_beside_every_method():
    table = control_table(grid())
    lines = [(row[1], row[3]) for row in table.rows]
    for method in ("SP", "PBT", "BDP"):
        assert [what for name, what in lines if name == method] == [
            "with holdouts",
            "cannot sense its partner",
            "partner acts at random",
        ]
    assert ("Solo", "scripted robot that ignores its partner") in lines
    assert not any("Not evaluated" in note for note in table.notes)


def test_missing_controls_are_named():
    table = control_table(rows_of(run_rows("sp", 0, controls=False)))
    assert any("Not evaluated: cannot sense its partner; partner acts at random" in note for note in table.notes)


def test_a_script_has_no_seeds_to_count():
    row = next(row for row in control_table(grid()).rows if row[1] == "Solo")
    assert "n=1" not in row[5].text


def test_games_with_people_have_a_line():
    human = pair("sp-tidy_house-state-0/agent", "sp", 0, ("a guest", "person", "a guest"), "human")
    table = control_table(rows_of(join_rows([run_rows("sp", 0), human])))
    assert "with people" in [row[3] for row in table.rows]


def test_every_two_methods_are_compared_once():
    table = comparison_table(grid(), resamples=200)
    assert [row[1] for row in table.rows] == ["BDP − SP", "BDP − PBT", "SP − PBT"]
    rows = grid().only(evaluation="zsc")
    means = {m: per_run(rows.only(method=m), mean_over_partners).mean() for m in ("sp", "pbt", "bdp")}
    assert table.rows[0][3].value == pytest.approx(100 * (means["bdp"] - means["sp"]))


def test_methods_that_see_different_things_are_not_compared():
    rows = rows_of(join_rows([run_rows("sp", 0), run_rows("bdp", 0, observations="depth")]))
    assert comparison_table(rows, resamples=50).rows == ()


def test_scripted_partners_come_first():
    names = [row[0] for row in partner_table(grid(), "tidy_house").rows]
    assert names[:4] == ["script/noop", "script/first_half", "script/second_half", "gt_coord-state-100/0"]


def test_who_did_what_is_counted_for_every_method_and_partner():
    rows = grid(("pbt", "bdp"))
    table = subgoal_table(rows, "tidy_house")
    assert table.columns == ("method", "sees", "partner", "pick object 0", "place object 0", "pick object 1", "place object 1")
    assert len(table.rows) == 2 * len(rows.only(evaluation="zsc").distinct("partner"))
    for method, _, partner, *cells in table.rows:
        assert isinstance(partner, str)
        mine = rows.only(evaluation="zsc", method=str(method).lower(), partner=partner)["subgoals"]
        counted = [100 * sum(int(who) == 1 for who in column) / len(mine) for column in mine.T[:4]]
        assert [cell.value for cell in cells if isinstance(cell, Cell)] == pytest.approx(counted)


def test_runs_are_listed_with_seed_and_budget():
    table = run_table(grid(("sp",), 2))
    shown = [dict(zip(table.columns, row, strict=True)) for row in table.texts()]
    assert [(line["run"], line["seed"], line["decisions"]) for line in shown] == [
        ("sp-tidy_house-state-0", "0", "2.0 M"),
        ("sp-tidy_house-state-1", "1", "2.0 M"),
    ]
    assert {line["zero-shot"] for line in shown} == {"yes"}


def test_a_run_that_is_not_zero_shot_is_marked_in_every_table_of_success():
    rows = grid(("sp",), 1)
    rows.columns["zero_shot"] = np.zeros(len(rows), bool)
    assert zero_shot_table(rows, resamples=50).rows[0][4].mark == "†"
    assert all(row[-1].mark == "†" for row in partner_table(rows, "tidy_house").rows)
    assert "NO" in run_table(rows).texts()[0][-2]


@pytest.mark.parametrize(("more", "mark", "shown"), [(9_000, "", "2.0 M"), (400_000, "‡", "2.0 M – 2.4 M")])
def test_budgets_that_differ_by_more_than_a_rollout_are_marked(more: int, mark: str, shown: str):
    rows = grid(("sp",), 2)
    rows.columns["decisions"] = rows["decisions"] + np.where(rows["agent_seed"] == 1, more, 0)
    line = zero_shot_table(rows, resamples=50).rows[0]
    assert (line[3], line[4].mark) == (shown, mark)

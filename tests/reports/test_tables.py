"""Tables as text: cells, Markdown, LaTeX, HTML, console; and what the tables beyond the paper's say."""

import numpy as np
import pytest

from helpers.evaluations import EPISODES, grid, pair, run_rows
from housemates.evaluation.metrics import mean_over_partners, per_run, rows_of, worst_partners
from housemates.evaluation.rows import join_rows
from housemates.evaluation.stats import Interval
from housemates.reports.figures import subgoal_table
from housemates.reports.summary import comparison_table, control_table, partner_table, run_table, short_names, zero_shot_table
from housemates.reports.tables import Cell, Table, console, interval, latex, markdown, page, paper_tables

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
        assert row[7].value == pytest.approx(100 * per_run(mine, mean_over_partners).mean())
        assert row[9].value == pytest.approx(100 * per_run(mine, worst_partners).mean())
        assert row[8].low <= row[8].value <= row[8].high


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
            "with held-out partners",
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
    assert names[:4] == ["standing", "first half", "second half", "gt_coord-state-100/0"]


def test_who_did_what_is_counted_for_every_method_and_partner():
    rows = grid(("pbt", "bdp"))
    table = subgoal_table(rows, "tidy_house")
    assert table.columns == ("method", "sees", "partner", "pick object 0", "place object 0", "pick object 1", "place object 1")
    assert len(table.rows) == 2 * len(rows.only(evaluation="zsc").distinct("partner"))
    whole = {short: partner for partner, short in short_names(rows.only(evaluation="zsc").distinct("partner")).items()}
    for method, _, partner, *cells in table.rows:
        mine = rows.only(evaluation="zsc", method=str(method).lower(), partner=whole[str(partner)])["subgoals"]
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
    assert zero_shot_table(rows, resamples=50).rows[0][7].mark == "†"
    assert all(row[-1].mark == "†" for row in partner_table(rows, "tidy_house").rows)
    assert "NO" in run_table(rows).texts()[0][-2]


@pytest.mark.parametrize(("more", "mark", "shown"), [(9_000, "", "2.0 M"), (400_000, "‡", "2.0 M – 2.4 M")])
def test_budgets_that_differ_by_more_than_a_rollout_are_marked(more: int, mark: str, shown: str):
    rows = grid(("sp",), 2)
    rows.columns["decisions"] = rows["decisions"] + np.where(rows["agent_seed"] == 1, more, 0)
    line = zero_shot_table(rows, resamples=50).rows[0]
    assert (line[5], line[7].mark) == (shown, mark)


def line_of(table, **wanted):
    """The row of a table with these texts, by column."""
    shown = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return next(row for row in shown if all(row[name] == text for name, text in wanted.items()))


def test_seeds_that_met_different_partners_are_marked_wherever_they_are_averaged():
    rows = grid(("sp", "bdp"), 2)
    others = (rows["method"] != "sp") | (rows["agent_seed"] != 1) | (rows["evaluation"] != "zsc")
    mixed = rows.take(others | (rows["partner_kind"] == "script"))
    for table, column in ((zero_shot_table(mixed, resamples=50), "success"), (paper_tables(mixed)[0], "SP")):
        where = {"method": "SP"} if column == "success" else {"partners": "ZSC", "source": "ours, state"}
        assert line_of(table, task="Tidy House", **where)[column].mark == "¶"
        assert any("did not meet the same partners" in note for note in table.notes)
    for cell in ("IQM [95 %]", "worst 20 %", "collision", "time-out"):
        assert line_of(zero_shot_table(mixed, resamples=50), method="SP")[cell].mark == "¶"
    assert line_of(zero_shot_table(mixed, resamples=50), method="BDP")["success"].mark == ""
    assert line_of(comparison_table(mixed, resamples=50), methods="BDP − SP")["difference [95 %]"].mark == "¶"


def test_seeds_that_played_other_episodes_are_marked():
    rows = grid(("sp",), 2)
    some = rows.take((rows["agent_seed"] != 1) | (rows["episode"] < 3))
    assert zero_shot_table(some, resamples=50).rows[0][7].mark == "¶"


def test_rows_that_were_computed_in_two_ways_are_marked():
    ways = {("sp", 0): "fused", ("sp", 1): "torch", ("bdp", 0): "torch", ("bdp", 1): "torch"}
    parts = [run_rows(method, seed, inference=way) for (method, seed), way in ways.items()]
    rows = rows_of(join_rows(parts))
    table = zero_shot_table(rows, resamples=50)
    assert line_of(table, method="SP")["success"].mark == "*"
    assert line_of(table, method="BDP")["success"].mark == ""
    assert any("fused" in note for note in table.notes)
    assert line_of(comparison_table(rows, resamples=50), methods="BDP − SP")["difference [95 %]"].mark == "*"


@pytest.mark.parametrize(
    ("versions", "mark"), [((1, 2), "◊"), ((0, 2), "◊"), ((-1, 2), "◊"), ((2, 2), ""), ((0, 0), ""), ((-1, 0), "")]
)
def test_versions_of_the_look_ahead_are_never_averaged_without_a_mark(versions, mark):
    parts = [run_rows("sp", seed, look_ahead=version) for seed, version in enumerate(versions)]
    parts += [run_rows("bdp", seed, look_ahead=2) for seed in range(2)]
    table = zero_shot_table(rows_of(join_rows(parts)), resamples=50)
    assert line_of(table, method="SP")["success"].mark == mark
    assert line_of(table, method="BDP")["success"].mark == ""
    assert any("another version of the look-ahead" in note for note in table.notes) == bool(mark)
    assert (r"$\diamond$" in latex(table)) == bool(mark)
    assert "◊" not in latex(table)


@pytest.mark.parametrize("column", [{"preset": "paper"}, {"pixels": 256}])
def test_presets_and_picture_sizes_are_never_averaged_without_a_mark(column):
    same = {"preset": "laptop", "pixels": 64}
    parts = [
        run_rows("sp", 0, **same),
        run_rows("sp", 1, **(same | column)),
        run_rows("bdp", 0, **same),
        run_rows("bdp", 1, **same),
    ]
    table = zero_shot_table(rows_of(join_rows(parts)), resamples=50)
    assert line_of(table, method="SP")["success"].mark == "§"
    assert any("different presets or picture sizes" in note for note in table.notes)
    assert line_of(table, method="BDP")["success"].mark == ""
    assert (line_of(table, method="BDP")["preset"], line_of(table, method="BDP")["pictures"]) == ("laptop", "64 × 64")


def test_what_old_rows_do_not_say_is_told_as_unknown():
    line = line_of(zero_shot_table(grid(("sp",), 2), resamples=50), method="SP")
    assert (line["preset"], line["pictures"], line["steps"], line["success"].mark) == ("unknown", "unknown", "not recorded", "")
    parts = [run_rows("sp", 0), run_rows("sp", 1, preset="state", pixels=0)]
    assert line_of(zero_shot_table(rows_of(join_rows(parts)), resamples=50), method="SP")["success"].mark == "§"


BUDGET = {"stage1_decisions": 1_000_000, "stage1_steps": 3_000_000, "stage2_decisions": 1_000_000, "stage2_steps": 9_000_000}


def test_tables_name_decisions_and_steps_of_the_training():
    rows = rows_of(join_rows([run_rows("sp", 0, **BUDGET), run_rows("pbt", 0)]))
    line = line_of(run_table(rows), run="sp-tidy_house-state-0")
    assert (line["decisions"], line["steps"]) == ("1.0 M + 1.0 M", "3.0 M + 9.0 M")
    assert line_of(run_table(rows), run="pbt-tidy_house-state-0")["steps"] == "not recorded"
    assert line_of(zero_shot_table(rows, resamples=50), method="SP")["steps"] == "12.0 M"
    words = "SP (state) 2.0 M decisions, 12.0 M steps; PBT (state) 2.0 M decisions, steps not recorded"
    for table in (
        *paper_tables(rows)[:2],
        control_table(rows),
        comparison_table(rows, resamples=50),
        partner_table(rows, "tidy_house"),
    ):
        assert any(words in note for note in table.notes), table.name


def test_the_same_decisions_with_other_steps_are_marked():
    parts = [run_rows("sp", 0, **BUDGET), run_rows("sp", 1, **(BUDGET | {"stage2_steps": 20_000_000}))]
    line = zero_shot_table(rows_of(join_rows(parts)), resamples=50).rows[0]
    assert (line[6], line[7].mark) == ("12.0 M – 23.0 M", "‡")


def test_a_task_that_nobody_knows_appears_under_its_own_name():
    rows = grid(("sp", "bdp"), 2)
    rows.words["task"] = np.array(["water_plants"])
    assert {row[0] for row in zero_shot_table(rows, resamples=50).rows} == {"water_plants"}
    assert {row[2] for row in run_table(rows).rows} == {"water_plants"}
    assert {row[0] for row in control_table(rows).rows} == {"water_plants"}
    assert comparison_table(rows, resamples=50).rows[0][0] == "water_plants"
    assert line_of(paper_tables(rows)[0], task="water_plants", partners="ZSC")["SP"].value > 0
    assert subgoal_table(rows, "water_plants").columns[3:] == tuple(f"sub-goal {k}" for k in (1, 2, 3, 4))


def test_the_literal_bdp_has_a_row_and_a_column_of_its_own():
    rows = grid(("bdp", "bdp_literal"), 1)
    assert [row[1] for row in zero_shot_table(rows, resamples=50).rows] == ["BDP", "BDP (literal)"]
    tables = {table.name: table for table in paper_tables(rows)}
    for name in ("table1", "table2", "table3", "table4", "table5"):
        assert tables[name].columns[-1] == "BDP (literal)"
    assert "BDP (literal)" not in paper_tables(grid(("bdp",), 1))[0].columns


@pytest.mark.parametrize(
    ("method", "preset", "told"), [("bdp", "state", 1), ("bdp", "", 1), ("bdp", "paper", 0), ("sp", "state", 0)]
)
def test_tables_say_that_the_presets_bdp_is_a_variant(method, preset, told):
    rows = rows_of(run_rows(method, 0, preset=preset))
    for table in (zero_shot_table(rows, resamples=50), paper_tables(rows)[0]):
        assert sum("the paper's own is BDP (literal)" in note for note in table.notes) == told

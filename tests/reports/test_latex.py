"""Tables for LaTeX are whole: a small reader of the part of LaTeX they use finds nothing that would not compile."""

import re

import pytest

from helpers.evaluations import grid
from housemates.reports.figures import subgoal_table
from housemates.reports.summary import comparison_table, control_table, partner_table, run_table, zero_shot_table
from housemates.reports.tables import Cell, Table, latex, paper_tables

COMMANDS = {
    "begin", "end", "centering", "toprule", "midrule", "bottomrule", "caption", "label", "textbf", "pm", "dagger", "ddagger",
    "times", "ldots", "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar",
}  # fmt: skip
"""All that the tables may use: LaTeX's own, and booktabs'."""
ODD = Table(
    "odd", "50 % of {a_b} & #1 ~ $5 ^ x\\y", ("me_thod", "a|b", "50 %"),
    (("BDP & co_1", "<x> − y × …", Cell(1.0, 2.0, 3, mark="†")), ("100 %", "", Cell())), ("Note_1: 5 % ‡.",),
)  # fmt: skip


def tables() -> list[Table]:
    """Everything a report of two tasks has."""
    rows = grid(("sp", "pbt", "bdp", "pbt_state"), seeds=2, task="set_table")
    summaries = [zero_shot_table(rows, resamples=20), control_table(rows), comparison_table(rows, resamples=20)]
    partners = [partner_table(rows, "set_table"), subgoal_table(rows, "set_table")]
    return [*summaries, *paper_tables(rows), *partners, run_table(rows), ODD]


FOUND = {table.name: table for table in tables()}


@pytest.fixture(params=[*FOUND])
def table(request) -> Table:
    return FOUND[request.param]


def bare(text: str) -> str:
    """The text without escaped signs."""
    return re.sub(r"\\[\\&%_#${}]", "", text)


def test_environments_are_closed_in_the_order_of_their_opening(table):
    waiting = []
    for what, name in re.findall(r"\\(begin|end)\{([^}]*)\}", latex(table)):
        if what == "begin":
            waiting.append(name)
        else:
            assert waiting.pop() == name
    assert waiting == []


def test_every_line_has_as_many_cells_as_there_are_columns(table):
    text = latex(table)
    kinds = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
    assert kinds
    body = text[kinds.end() : text.index(r"\end{tabular}")]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert len(lines) == len(table.rows) + 1
    assert {bare(line).count("&") + 1 for line in lines} == {len(kinds[1])} == {len(table.columns)}


def test_no_line_begins_with_what_a_line_end_would_take_as_its_option(table):
    assert not re.search(r"\\\\\s*[\[*]", latex(table))


def test_braces_and_mathematics_are_closed(table):
    text, depth = bare(latex(table)), 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0
    assert depth == 0
    assert text.count("$") % 2 == 0


def test_signs_that_mean_something_are_escaped(table):
    text = bare(latex(table))
    assert not re.search(r"[%_#~^|<>]", re.sub(r"\\label\{[^}]*\}", "", text))
    outside = "".join(line for line in text.splitlines() if not line.endswith(r"\\") and " & " not in line)
    assert "&" not in outside


def test_only_known_commands_and_letters_are_used(table):
    text = latex(table)
    assert set(re.findall(r"\\([A-Za-z]+)", text)) <= COMMANDS
    assert text.isascii()

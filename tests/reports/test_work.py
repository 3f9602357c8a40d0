"""Who does the work: counted from rows, and said in words where an agent leaves it to its partners."""

import pytest

from helpers.evaluation_rows import row
from housemates.evaluation.metrics import Rows, agent_share, rows_of
from housemates.evaluation.rows import AGENT, NOBODY, PARTNER, make_rows
from housemates.reports.work import warnings, work, work_table


def rows(*changes: dict) -> Rows:
    """Rows of one agent with its population (and a standing robot), four sub-goals each."""
    made = [row(**change) for change in changes]
    return rows_of(make_rows({name: [one[name] for one in made] for name in made[0]}))


def own(subgoals: list[int], success: bool = True, partner: str = "run/z0") -> dict:
    return {"evaluation": "train_pop", "partner": partner, "partner_kind": "latent", "subgoals": subgoals, "success": success}


LAZY = [own([PARTNER] * 4), own([PARTNER, PARTNER, AGENT, PARTNER], partner="run/z1"), own([NOBODY] * 4, False)]
BUSY = [own([AGENT, AGENT, PARTNER, PARTNER]), own([AGENT, PARTNER, NOBODY, NOBODY], False, "run/z1")]


def test_the_share_is_of_the_subgoals_that_were_achieved():
    assert agent_share(rows(*LAZY)) == pytest.approx(1 / 8)
    assert agent_share(rows(*BUSY)) == pytest.approx(3 / 6)


def test_an_agent_that_stands_aside_is_named():
    found = rows(*LAZY, {"success": False})
    told = warnings(found)
    assert len(told) == 1
    assert "leaves the work to its partners" in told[0]
    assert "bdp-tidy_house-state-0" in told[0]
    (line,) = work_table(found).texts()
    assert line[4:7] == ["75.0", "12.5", "0.0"]


def test_an_agent_that_works_is_not():
    found = rows(*BUSY, {"success": True})
    assert warnings(found) == []
    assert work_table(found).texts()[0][-1] == "no"


def test_what_was_not_played_is_not_judged():
    found = rows({"success": False})
    assert warnings(found) == []
    assert work_table(found).texts()[0][4:6] == ["-", "-"]
    assert work_table(found).texts()[0][-1] == "not judged"
    assert work(found)[2] == 0.0

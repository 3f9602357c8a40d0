"""The results that lie in the repository: played in the homes of today, and told in the docs as the rows have it."""

from __future__ import annotations

import re
import runpy
from collections import defaultdict
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

import pytest

from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import join_rows, read_rows
from housemates.evaluation.series import by_place
from housemates.homes.splits import load_split
from housemates.sim.rules import Rules
from housemates.tasks.episodes import load_episodes
from housemates.training.trainer import environment_hash

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "results").glob("*_*-*/*.parquet"))
"""By task and observations; other folders have tests of their own."""
BEST = ROOT / "results" / "best_responses-tidy_house.parquet"
ENDS = ("success", "collision", "timeout")
LABELS = {"SP": "sp", "PBT": "pbt", "BDP": "bdp"}
ROW = re.compile(r"^\| (SP|PBT|BDP) \| (state|depth) \| (\d) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)


def rows(path: Path) -> list[dict]:
    """The rows of a file."""
    return read_rows(path).to_pylist()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_results_are_of_the_evaluation_homes_as_they_are(path):
    homes = load_split("eval")
    found = rows(path)
    task = found[0]["task"]
    assert {row["split"] for row in found} == {"eval"}
    assert {row["environment"] for row in found} == {environment_hash(load_episodes(task, "eval", homes=homes), Rules(), 2)}
    assert {row["control"] for row in found if row["evaluation"] == "control"} == {"blind", "solo", "random"}
    strangers = {row["partner"] for row in found if row["evaluation"] == "zsc"}
    assert len(strangers) == 11
    assert all(row["zero_shot"] for row in found if row["evaluation"] == "zsc")


def test_the_page_tells_what_the_rows_say():
    told = ROW.findall((ROOT / "docs" / "lab_notes" / "earlier_results.md").read_text())
    seeds = defaultdict(list)
    for path in FILES:
        found = rows(path)
        first = next(row for row in found if row["evaluation"] == "zsc")
        means = []
        for wanted in (
            lambda row: row["evaluation"] == "train_pop",
            lambda row: row["evaluation"] == "zsc",
            lambda row: row["evaluation"] == "zsc" and row["partner_kind"] == "script",
            lambda row: row["evaluation"] == "zsc" and row["partner_kind"] != "script",
        ):
            by_partner = defaultdict(list)
            for row in filter(wanted, found):
                by_partner[row["partner"]].append(row["success"])
            means.append(100 * mean(mean(games) for games in by_partner.values()))
        seeds[first["method"], first["observations"]].append(means)
    assert {(LABELS[method], sees) for method, sees, *_ in told} == set(seeds)
    for method, sees, count, *cells in told:
        runs = seeds[LABELS[method], sees]
        assert int(count) == len(runs)
        for cell, values in zip(cells, zip(*runs, strict=True), strict=True):
            error = f" ± {stdev(values) / len(values) ** 0.5:.1f}" if len(values) > 1 else ""
            assert cell.strip() == f"{mean(values):.1f}{error}"


def short(partner: str) -> str:
    """A holdout as the page calls it: first half, 100/1."""
    learned = re.search(r"(\d+)-(\d)$", partner)
    return f"{learned[1]}/{learned[2]}" if learned else partner.removeprefix("script/").replace("_", " ")


def test_the_page_tells_what_could_be_reached_with_each_partner():
    text = (ROOT / "docs" / "lab_notes" / "earlier_results.md").read_text()
    games, bound = defaultdict(list), defaultdict(float)
    for row in rows(BEST):
        assert (row["evaluation"], row["split"], row["zero_shot"]) == ("best_response", "eval", False)
        games[row["agent"], row["partner"]].append(row["success"])
    for (_, partner), won in games.items():
        bound[short(partner)] = max(bound[short(partner)], mean(won))
    assert len(bound) == 11
    told = re.findall(r"^\| (noop|first half|second half|\d{3}/\d) \| ([\d.]+) \|", text, re.MULTILINE)
    assert dict(told) == {partner: f"{100 * success:.1f}" for partner, success in bound.items()}
    near = defaultdict(list)
    for path in FILES:
        met = defaultdict(list)
        found = [row for row in rows(path) if row["evaluation"] == "zsc"]
        for row in found:
            met[short(row["partner"])].append(row["success"])
        proximity = mean(min(1.0, mean(won) / bound[partner]) for partner, won in met.items())
        near[found[0]["method"], found[0]["observations"]].append(proximity)
    told = re.findall(r"^\| (SP|PBT|BDP) \| (state|depth) \| (0\.\d\d)", text, re.MULTILINE)
    assert {(LABELS[method], sees): value for method, sees, value in told} == {k: f"{mean(v):.2f}" for k, v in near.items()}


@pytest.mark.parametrize("name", ["bdp-tidy_house-state-0", "sp-tidy_house-state-0", "bdp-set_table-state-0"])
def test_the_page_of_the_look_ahead_tells_what_its_rows_say(name):
    page = (ROOT / "docs" / "concepts" / "methods" / "lookahead.md").read_text()
    for file in (name, f"{name}+lookahead"):
        found = [row for row in rows(ROOT / "results" / "lookahead-dev" / f"{file}.parquet") if row["evaluation"] == "zsc"]
        assert {row["split"] for row in found} == {"dev"}
        ends = [100 * mean(row[end] for row in found) for end in ENDS]
        assert " / ".join(f"{share:.1f}" for share in ends) in page


def ends_and_gain(found: list[dict]) -> str:
    """How games end in per cent, and the efficiency gain of those that are won."""
    won = [row for row in found if row["success"] and row["solo_steps"] >= 0]
    gain = 100 * (sum(row["solo_steps"] for row in won) / sum(row["steps"] for row in won) - 1)
    return " / ".join(f"{100 * mean(row[end] for row in found):.1f}" for end in ENDS) + f", {gain:+.0f} %"


@pytest.mark.parametrize("version", [1, 2])
def test_the_page_of_the_look_ahead_compares_its_versions_as_the_rows_have_it(version):
    page = (ROOT / "docs" / "concepts" / "methods" / "lookahead.md").read_text().replace("*", "")
    found = rows(ROOT / "results" / "lookahead-dev" / f"bdp_pbt-tidy_house-state-0-version_{version}.parquet")
    for method in ("bdp", "pbt"):
        for name, ahead in ((method.upper(), ""), (f"+ look-ahead, version {version}", " + look-ahead")):
            mine = [row for row in found if row["method"] == method + ahead]
            assert {row["look_ahead"] for row in mine} == {-1 if version == 1 else 2 if ahead else 0}
            blind = [row for row in mine if row["partner"].startswith("blind/")]
            scripts = [row for row in mine if row["partner_kind"] == "script"]
            learned = [row for row in mine if row["partner_kind"] == "learned" and not row["partner"].startswith("blind/")]
            told = [ends_and_gain(part) for part in (learned, blind, scripts, mine)]
            assert f"| {name} | {' | '.join(told)} |" in page


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["with", "without"])
def test_the_page_of_the_look_ahead_tells_of_an_agent_that_trained_with_it(name, version):
    path = f"lookahead-dev/bdp-tidy_house-state-0-trained_{name}{'_2' if version == 2 else ''}+lookahead"
    page = (ROOT / "docs" / "concepts" / "methods" / "lookahead.md").read_text()
    assert f"| version {version}: trained {name} | {by_partner(path)} |" in page


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_page_of_the_look_ahead_has_every_seed_that_trained_with_it(seed):
    page = (ROOT / "docs" / "concepts" / "methods" / "lookahead.md").read_text()
    assert f"| {seed} | {by_partner(f'trained_with/bdp-tidy_house-state-{seed}+lookahead')} |" in page


def by_partner(path: str) -> str:
    """How games with held-out partners end, success with the standing one, half scripts and learned ones, and the gain."""
    found = [row for row in rows(ROOT / "results" / f"{path}.parquet") if row["evaluation"] == "zsc"]
    ends = [100 * mean(row[end] for row in found) for end in ENDS]
    parts = [
        [row["success"] for row in found if row["partner"] == "script/noop"],
        [row["success"] for row in found if row["partner"].endswith("_half")],
        [row["success"] for row in found if row["partner_kind"] == "learned"],
    ]
    told = [" / ".join(f"{share:.1f}" for share in ends), f"{100 * mean(parts[0]):.0f}"]
    told += [f"{100 * mean(part):.1f}" for part in parts[1:]] + [ends_and_gain(found).partition(", ")[2]]
    return " | ".join(told)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "results" / "distillation-dev").glob("*.parquet")))
def test_the_page_of_distillation_tells_what_its_rows_say(name):
    page = (ROOT / "docs" / "concepts" / "methods" / "distillation.md").read_text()
    found = rows(ROOT / "results" / "distillation-dev" / f"{name}.parquet")
    first, ahead, *_ = ([*group] for _, group in groupby(found, key=lambda row: row["agent"]))
    parts = [[row for row in first if row["partner"].startswith("script/") == scripted] for scripted in (False, True)]
    ends = [[100 * mean(row[end] for row in games) for end in ("success", "collision")] for games in (*parts, first, ahead)]
    assert " | ".join(f"{success:.1f} / {collision:.1f}" for success, collision in ends) in page


def test_the_page_of_the_theory_of_mind_tells_what_its_rows_say():
    page = (ROOT / "docs" / "concepts" / "methods" / "mind.md").read_text()
    games = defaultdict(list)
    for path in sorted((ROOT / "results" / "mind-dev").glob("*.parquet")):
        for row in rows(path):
            games[row["agent"].partition("/")[2], row["partner"].startswith("script/")].append(row)
    lines = ("agent", "agent + look-ahead (velocity)", "agent + look-ahead", "agent + look-ahead (mind)")
    for agent in (*lines, "agent + look-ahead (oracle destination)"):
        found = [[100 * mean(row[end] for row in games[agent, scripted]) for end in ENDS]
                 for scripted in (True, False)]  # fmt: skip
        assert " | ".join(" / ".join(f"{share:.1f}" for share in ends) for ends in found) in page


@pytest.mark.parametrize(
    ("task", "title"), [("tidy_house", "Tidy House"), ("set_table", "Set Table"), ("prepare_groceries", "Prepare Groceries")]
)
def test_the_page_of_the_suite_tells_what_pairs_from_depth_reach(task, title):
    files = [ROOT / "results" / "holdouts-eval" / f"{task}-laptop-100-{member}.parquet" for member in (0, 1)]
    found = [100 * mean(row["success"] for row in rows(path) if row["split"] == "eval") for path in files]
    assert f"| {title} | {found[0]:.0f} and {found[1]:.0f} |" in (ROOT / "docs" / "benchmark" / "suite.md").read_text()


def test_the_page_of_the_suite_has_what_was_measured_of_every_partner():
    made = runpy.run_path(str(ROOT / "tools" / "suite_page.py"))
    assert made["part"]() in (ROOT / "docs" / "benchmark" / "suite.md").read_text()
    assert all(len(made["task_table"](task)) > 50 for task in made["TASKS"])


def test_the_first_steps_tell_what_the_main_job_reaches():
    found = rows(ROOT / "results" / "main" / "bdp-tidy_house-depth-0.parquet")
    met = [row for row in found if row["evaluation"] == "zsc"]
    assert {row["split"] for row in met} == {"eval"}
    told = (ROOT / "docs" / "getting_started" / "first_steps.md").read_text()
    assert f"succeeds in {100 * mean(row['success'] for row in met):.1f} % [" in told


def test_no_agent_leaves_the_work_to_its_partners_and_the_page_has_it_as_the_rows_do():
    page = (ROOT / "docs" / "concepts" / "methods" / "disturbances.md").read_text()
    titles = {"tidy_house": "Tidy House", "set_table": "Set Table"}
    agents = defaultdict(list)
    for path in sorted((ROOT / "results" / "free_riding").glob("*.parquet")):
        for row in rows(path):
            agents[row["method"], row["task"], row["stage2_decisions"] // 100_000 / 10, row["agent_seed"]].append(row)
    assert len(agents) == 36
    cells = defaultdict(list)
    for (method, task, millions, _), games in sorted(agents.items()):
        own = [row for row in games if row["evaluation"] == "train_pop"]
        beside = mean(row["success"] for row in games if row["partner"] == "script/noop")
        done = [by for row in own for by in row["subgoals"]]
        share = sum(by == 1 for by in done) / sum(by > 0 for by in done)
        assert share >= 0.25
        assert beside >= 0.5
        found = (mean(row["success"] for row in own), share, beside)
        cells[f"| {method.upper()} | {titles[task]} | {millions:g} M |"].append([f"{100 * value:.1f}" for value in found])
    for start, seeds in cells.items():
        assert f"{start} {' | '.join(', '.join(column) for column in zip(*seeds, strict=True))} |" in page


def test_the_page_of_dev_results_tells_what_its_rows_say():
    made = runpy.run_path(str(ROOT / "tools" / "dev_table.py"))
    page = (ROOT / "docs" / "results" / "dev.md").read_text()
    assert made["with_tables"](page) == page
    rows = [file.stem for file in sorted((ROOT / "results" / "state-dev").glob("*.parquet"))]
    assert rows
    assert all(made["NAME"].match(name) for name in rows)
    seeds = re.findall(r"^\| [^|]+ \| (\d+(?:, \d+)*) \|", page, re.MULTILINE)
    assert sum(len(found.split(",")) for found in seeds) == len(rows)


def test_the_page_of_sensors_tells_what_its_rows_say():
    made = runpy.run_path(str(ROOT / "tools" / "sensor_table.py"))
    page = (ROOT / "docs" / "lab_notes" / "sensors.md").read_text()
    assert made["with_table"](page) == page
    files = sorted((ROOT / "results" / "sensors-dev").glob("*.parquet"))
    assert {file.stem for file in files} == set(made["NAMES"])
    for row in (row for file in files for row in rows(file)):
        assert (row["split"], row["agent_seed"], row["zero_shot"]) == ("dev", 1, True)
        assert "holdouts/" not in row["partner"]


OPTIONS = sorted((ROOT / "results" / "options").glob("*.parquet"))
GRID = sorted((ROOT / "results" / "grid").glob("*.parquet")) + OPTIONS
STAGE = 50_000_000
"""Simulation steps of each stage of the grid."""


@pytest.mark.parametrize("path", GRID, ids=lambda path: path.stem)
def test_rows_of_the_grid_are_of_the_evaluation_homes_and_of_equal_budgets(path):
    found = rows(path)
    task = found[0]["task"]
    method = path.stem.partition("-")[0] if path in OPTIONS else found[0]["method"].partition(" + ")[0]
    assert path.stem.startswith(f"{method}-{task}-state-")
    assert {row["split"] for row in found} == {"eval"}
    assert {row["environment"] for row in found} == {
        environment_hash(load_episodes(task, "eval", homes=load_split("eval")), Rules(), 2)
    }
    met = [row for row in found if row["evaluation"] == "zsc"]
    assert all(row["zero_shot"] for row in met)
    assert not met or len({row["partner"] for row in met}) == 11
    trained = [row for row in found if row["decisions"] > 0]
    steps = {row["stage1_steps"] + row["stage2_steps"] for row in trained}
    stages = 1 if found[0]["method"] == "gt_coord" else 2
    assert all(abs(many / (stages * STAGE) - 1) < 0.01 for many in steps)


def test_the_results_page_tells_what_the_rows_of_the_grid_say():
    made = runpy.run_path(str(ROOT / "tools" / "results_page.py"))
    page = (ROOT / "docs" / "results" / "index.md").read_text()
    assert made["with_parts"](page, made["parts"]()) == page


@pytest.mark.parametrize(("name", "column"), [("bdp", 1), ("bdp_games5", 3)])
def test_the_page_of_repeated_games_tells_what_its_rows_say(name, column):
    page = (ROOT / "docs" / "concepts" / "repeated.md").read_text()
    files = [ROOT / "results" / "series-dev" / f"{name}-tidy_house-state-{seed}.parquet" for seed in range(3)]
    found = rows_of(join_rows(map(read_rows, files)))
    for place in by_place(found):
        line = re.search(rf"^\| {place.game + 1} \|(.*)\|$", page, re.MULTILINE)[1].split("|")
        told = f"{100 * place.success:.1f}"
        if place.game:
            first = by_place(found)[0].success
            told += f", {100 * (place.success - first):+.1f} [{100 * place.low:+.1f}, {100 * place.high:+.1f}]"
        assert line[column - 1].strip() == told

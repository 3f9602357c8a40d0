"""The report as a folder: what is in it, that it asks nothing of the network, and what it refuses."""

import json
import re
from contextlib import chdir
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from helpers.evaluations import HOLDOUTS, grid, pair, run_folder, run_rows
from housemates.cli.main import main
from housemates.evaluation.metrics import rows_of, subgoal_shares
from housemates.evaluation.rows import join_rows, read_rows, write_rows
from housemates.reports.figures import drawing, heat_map, read_curves, save, success_by_method, thinned
from housemates.reports.report import Options, write_report
from housemates.reports.sources import gather, read_source, select
from housemates.reports.summary import few_episodes, headline, references, short_names, zero_shot_table
from housemates.reports.tables import console, markdown

FAST = Options(films=False, resamples=200, all_tables=True)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [run_folder(folder, method, seed) for method, seed in (("bdp", 0), ("bdp", 1), ("pbt", 0))]


@pytest.fixture(scope="module")
def written(runs, tmp_path_factory):
    """Written to a relative place, so that another one can be compared with it byte by byte."""
    with chdir(tmp_path_factory.mktemp("report")):
        found = write_report(runs, Path("out"), FAST)
        return replace(found, page=found.page.resolve())


class Addresses(HTMLParser):
    """Every address on a page, and tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href", "action", "poster", "data")]
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_folder_has_everything(written):
    folder = written.page.parent
    names = {path.name for path in folder.iterdir()}
    assert {"index.html", "tables.md", "tables.tex", "episodes.parquet", "figures", "how.txt"} <= names
    stems = {path.stem for path in (folder / "figures").glob("*.png")}
    wanted = ("success", "partners", "heat_map", "cross_play", "curves")
    assert all(any(stem.startswith(name) for stem in stems) for name in wanted)
    assert stems == {path.stem for path in (folder / "figures").glob("*.svg")}
    assert all(path.read_bytes().startswith(PNG) for path in (folder / "figures").glob("*.png"))


def test_the_page_asks_nothing_of_the_network(written):
    text = written.page.read_text()
    page = Addresses()
    page.feed(text)
    assert page.open == []
    assert page.found
    assert all(address.startswith(("data:", "#")) for address in page.found)
    assert "default-src 'none'" in text
    assert "<script" not in text


def test_every_link_on_the_page_leads_somewhere(written):
    text = written.page.read_text()
    anchors = re.findall(r'href="#([\w-]+)"', text)
    assert anchors
    assert all(f'id="{anchor}"' in text for anchor in anchors)


def test_all_three_formats_have_the_same_numbers(written):
    folder = written.page.parent
    page, lines, tex = (folder / name for name in ("index.html", "tables.md", "tables.tex"))
    for table in written.tables:
        for row in table.texts():
            for cell in row:
                plain = cell.replace("−", "-")
                assert cell.replace("<", "&lt;") in page.read_text()
                assert cell in lines.read_text()
                if re.fullmatch(r"[\d.]+", plain):
                    assert plain in tex.read_text()


def test_the_papers_five_tables_and_the_controls_are_in_it(written):
    assert {"zero_shot", "controls", "table1", "table2", "table3", "table4", "table5", "runs"} <= {
        t.name for t in written.tables
    }


def test_the_rows_are_copied(runs, written):
    rows = read_rows(written.page.parent / "episodes.parquet")
    assert rows.equals(gather([read_source(run) for run in runs]))


def test_it_tells_how_it_was_made(runs, written):
    told = (written.page.parent / "how.txt").read_text()
    assert "--method bdp --task tidy_house --preset smoke --observations state --seed 1 --decisions 1000000" in told
    assert "--episodes 8 --seed 0" in told
    assert "environment (homes, episodes, rules): 0123abcd" in told
    assert "torch 2.0" in told
    assert "matplotlib" in told


def test_the_same_runs_give_the_same_bytes(runs, written, tmp_path):
    with chdir(tmp_path):
        write_report(runs, Path("out"), FAST)
    first, second = written.page.parent, tmp_path / "out"
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) > 10
    assert [str(file) for file in files if (first / file).read_bytes() != (second / file).read_bytes()] == []


def test_missing_controls_are_told_at_the_top(tmp_path):
    rows = run_rows("sp", 0, controls=False)
    write_rows(tmp_path / "episodes.parquet", rows.filter([e == "train_pop" for e in rows["evaluation"].to_pylist()]))
    found = write_report([tmp_path], tmp_path / "out", FAST)
    assert "Controls that were not evaluated" in found.notes[0]
    assert "Controls that were not evaluated" in found.page.read_text()


def test_the_command_prints_the_table_of_the_report_and_its_place(capsys, tmp_path):
    write_rows(tmp_path / "rows.parquet", run_rows("sp", 0))
    assert main(["report", str(tmp_path / "rows.parquet"), "--out", str(tmp_path / "r"), "--no-films"]) == 0
    shown = capsys.readouterr().out
    assert console(zero_shot_table(rows_of(run_rows("sp", 0)))) in shown
    assert markdown(zero_shot_table(rows_of(run_rows("sp", 0)))) in (tmp_path / "r" / "tables.md").read_text()
    assert str(tmp_path / "r" / "index.html") in shown


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "no run at"),
        (lambda folder: folder.mkdir(), "no config.json"),
        (lambda folder: (folder.mkdir(), (folder / "config.json").write_text("{}")), "has not been evaluated yet"),
        (lambda folder: folder.write_bytes(b"nonsense"), "is damaged"),
    ],
)
def test_what_is_no_evaluated_run_is_refused_in_one_line(make, words, tmp_path, capsys):
    make(tmp_path / "run")
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error


def test_a_game_that_several_runs_played_counts_once(tmp_path):
    sources = []
    for name in ("a", "b"):
        write_rows(tmp_path / f"{name}.parquet", run_rows("sp", 0))
        sources.append(read_source(tmp_path / f"{name}.parquet"))
    once = run_rows("sp", 0)
    assert gather(sources).equals(once)


def test_runs_of_one_name_that_see_different_things_are_told_apart_and_others_refused(tmp_path):
    def source(name: str, **more):
        write_rows(tmp_path / f"{name}.parquet", pair("sp-0/agent", "sp", 0, HOLDOUTS[0], "zsc", **more))
        return read_source(tmp_path / f"{name}.parquet")

    state, depth, other = source("state"), source("depth", observations="depth"), source("other", decisions=77)
    assert set(gather([state, depth])["observations"].to_pylist()) == {"state", "depth"}
    assert gather([state, depth]).num_rows == 2 * gather([state]).num_rows
    with pytest.raises(ValueError, match="'sp-0/agent'"):
        gather([state, other])


def test_splits_are_not_mixed(tmp_path):
    table = join_rows([run_rows("sp", 0), run_rows("sp", 1, split="dev")])
    rows, notes = select(table, None, False)
    assert rows.distinct("split") == ["eval"]
    assert any("also rows of dev" in note for note in notes)
    assert select(table, "dev", False)[0].distinct("split") == ["dev"]
    with pytest.raises(ValueError, match="'test'"):
        select(table, "test", False)


def test_sampled_and_likeliest_actions_are_not_mixed():
    table = join_rows([run_rows("sp", 0), run_rows("sp", 0, greedy=True)])
    assert not select(table, None, False)[0]["greedy"].any()
    assert select(table, None, True)[0]["greedy"].all()
    with pytest.raises(ValueError, match="--greedy"):
        select(run_rows("sp", 0), None, True)


def test_different_environments_are_told():
    table = join_rows([run_rows("sp", 0), run_rows("sp", 1, environment="other")])
    assert any("not comparable" in note for note in select(table, None, False)[1])


def test_the_diversity_audit_is_shown_if_it_was_made(tmp_path):
    run = run_folder(tmp_path, "bdp", 0)
    (run / "diversity.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"diversity.json is damaged"):
        read_source(run)


def test_a_damaged_log_names_its_line(tmp_path):
    run = run_folder(tmp_path, "sp", 0)
    with (run / "stage2" / "metrics.jsonl").open("a") as file:
        file.write("{half a line")
    with pytest.raises(ValueError, match="damaged in line 31"):
        read_curves(run)


def test_curves_hold_what_the_log_says(tmp_path):
    run = run_folder(tmp_path, "sp", 0)
    curves = read_curves(run)
    log = [json.loads(line) for line in (run / "stage1" / "metrics.jsonl").read_text().splitlines()]
    assert [curve.stage for curve in curves] == [1, 2]
    assert curves[0].shares["collision"].tolist() == [row["charts/collision"] for row in log]


def test_a_long_curve_is_averaged_not_cut():
    x, y = thinned(np.arange(1000.0), np.arange(1000.0), 10)
    assert len(x) == 10
    assert y.tolist() == [49.5 + 100 * k for k in range(10)]


def test_the_heat_map_draws_the_shares(tmp_path):
    rows = grid(("bdp", "pbt"), 1)
    with drawing():
        figure = heat_map(rows, "tidy_house", "state")
    names = [axis.get_title(loc="left") for axis in figure.axes]
    assert "BDP\nheld-out partners" in names
    assert "PBT\nown population, seed 0" in names
    shown = np.asarray(figure.axes[names.index("PBT\nown population, seed 0")].images[0].get_array())
    expected = subgoal_shares(rows.only(method="pbt", evaluation="train_pop"))[1]
    assert np.allclose(shown, expected)


def test_bars_are_as_high_as_the_success(tmp_path):
    rows = rows_of(pair("sp-0/agent", "sp", 0, HOLDOUTS[0], success=[True] * 2 + [False] * 6))
    with drawing():
        figure = success_by_method(rows, "tidy_house")
        save(figure, tmp_path, "bars")
    assert [bar.get_height() for bar in figure.axes[0].patches] == [pytest.approx(25.0)]
    assert (tmp_path / "bars.svg").read_text().startswith("<?xml")


def test_a_legend_says_what_dots_and_diamonds_are():
    games = (pair(f"sp-{seed}/agent", "sp", seed, HOLDOUTS[0], success=[True] * 2 + [False] * 6) for seed in (0, 1))
    with drawing():
        figure = success_by_method(rows_of(join_rows(games)), "tidy_house")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one seed", "the paper's"]


@pytest.mark.parametrize(
    ("name", "run", "text"),
    [
        ("script/first_half", "", "first half"),
        ("runs/gt_coord-tidy_house-state-100/1", "", "gt_coord-tidy_house-state-100/1"),
        ("tidy_house/holdouts/gt_coord-tidy_house-state-101-0", "", "GT Coord 101-0"),
        ("tidy_house/holdouts/gt_coord-tidy_house-depth-101-0", "", "GT Coord depth 101-0"),
        ("tidy_house/examples/bdp-tidy_house-depth-0", "", "BDP depth 0"),
        ("script/noop", "", "standing"),
        ("runs/bdp-0/agent", "", "bdp-0"),
        ("bdp-tidy_house-state-0/z5", "bdp-tidy_house-state-0", "z5"),
        ("my.module:clean", "", "my.module:clean"),
        ("random", "", "random"),
    ],
)
def test_names_on_axes_are_short(name, run, text):
    assert short_names([name], run) == {name: text}


def test_partners_that_would_share_a_short_name_keep_their_whole_one():
    names = ["a/bdp-0/z1", "b/bdp-0/z1", "script/noop"]
    assert short_names(names) == {"a/bdp-0/z1": "a/bdp-0/z1", "b/bdp-0/z1": "b/bdp-0/z1", "script/noop": "standing"}


def test_tables_of_the_paper_show_only_what_was_measured_unless_all_is_wanted(runs, written, tmp_path):
    short = write_report(runs, tmp_path / "out", Options(films=False, resamples=50))
    found = {table.name: table for table in short.tables}
    assert {"table3", "table4"}.isdisjoint(found)
    assert found["table1"].columns == ("task", "partners", "source", "PBT", "BDP")
    assert {row[0] for row in found["table1"].rows} == {"Tidy House"}
    whole = {table.name: table for table in written.tables}["table1"]
    wide = [dict(zip(whole.columns, row, strict=True)) for row in whole.texts() if row[0] == "Tidy House"]
    assert [dict(zip(found["table1"].columns, row, strict=True)) for row in found["table1"].texts()] == [
        {name: row[name] for name in found["table1"].columns} for row in wide
    ]


def test_the_headline_tells_success_with_its_interval_and_what_to_compare_it_with():
    rows = rows_of(run_rows("sp", 0))
    (sentence,) = headline(rows, resamples=50)
    success = zero_shot_table(rows, resamples=50).texts()[0][7].split()[0]
    assert f"SP {success} % [" in sentence
    assert all(f"{words} {100 * value:.1f} %" in sentence for words, value in references(rows, "tidy_house").items())
    assert set(references(rows, "tidy_house")) == {"scripted solo", "partner-blind"}


def test_few_episodes_are_warned_about():
    assert "8 episodes" in few_episodes(rows_of(run_rows("sp", 0)))[0]
    assert few_episodes(rows_of(run_rows("sp", 0)).only(evaluation="train_pop")) == []


def test_a_task_that_the_report_does_not_know_is_reported_under_its_name(tmp_path):
    table = join_rows([run_rows("sp", 0), run_rows("bdp", 0)])
    named = table.set_column(
        table.column_names.index("task"), table.schema.field("task"), pa.array(["../water plants"] * len(table))
    )
    write_rows(tmp_path / "rows.parquet", named)
    made = write_report([tmp_path / "rows.parquet"], tmp_path / "out", Options(films=False, resamples=50))
    assert [row[:2] for row in made.headline[0].rows] == [("../water plants", "SP"), ("../water plants", "BDP")]
    assert "../water plants, success with 11 held-out partners" in (tmp_path / "out" / "tables.md").read_text()
    drawn = {path.parent for path in made.figures}
    assert drawn == {tmp_path / "out" / "figures"}
    assert all(path.is_file() for path in made.figures)

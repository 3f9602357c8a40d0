"""Agents in generated and real homes: who is compared with what, and the interval against a slow bootstrap."""

from pathlib import Path

import numpy as np
import pytest

from helpers.evaluations import HOLDOUTS, pair
from housemates.evaluation.metrics import rows_of
from housemates.evaluation.rows import join_rows, read_rows, write_rows
from housemates.evaluation.stats import compare_homes, scores
from housemates.reports.report import Options, write_report
from housemates.reports.tables import markdown
from housemates.reports.transfer import at_home, kind_of, transfer_table


def games(trained="train", split="eval", seeds=2, skill=0.5, partners=3, **same):
    """Agents of BDP that were trained somewhere, with a few scripts."""
    made = []
    for seed in range(seeds):
        run = f"bdp-{trained or 'old'}-{seed}/agent"
        more = {"trained_in": trained, "split": split, "environment": split, "skill": skill} | same
        made += [pair(run, "bdp", seed, HOLDOUTS[k], **more) for k in range(partners)]
    return join_rows(made)


def table_of(*parts):
    return transfer_table(rows_of(join_rows(parts)), resamples=50)


@pytest.mark.parametrize(
    ("split", "trained", "home"),
    [("replicacad-dev", "generated", "dev"), ("eval", "real", "replicacad-eval"), ("eval", "generated", "eval")],
)
def test_every_split_has_one_of_the_other_kind(split, trained, home):
    assert at_home(split, trained) == home


@pytest.mark.parametrize(
    ("split", "kind"), [("train", "generated"), ("replicacad-train", "real"), ("replicacad", "real"), ("", "not recorded")]
)
def test_homes_are_generated_or_real(split, kind):
    assert kind_of(split) == kind


def test_both_ways_are_compared_with_the_homes_of_the_training():
    table = table_of(
        games("train", "eval", success=True), games("train", "replicacad-eval", success=False),
        games("replicacad-train", "eval", success=False), games("replicacad-train", "replicacad-eval", success=True),
    )  # fmt: skip
    lines = {(row[3], row[4]): row for row in table.texts()}
    assert len(lines) == 4
    assert lines["generated", "replicacad-eval"][8] == "-100.0 [-100.0, -100.0]"
    assert lines["real", "eval"][8] == "-100.0 [-100.0, -100.0]"
    assert lines["generated", "eval"][8] == lines["real", "replicacad-eval"][8] == "-"


def test_agents_of_one_kind_of_homes_are_no_line():
    assert table_of(games("train", "eval"), games("train", "dev")).rows == ()


def test_homes_that_were_not_recorded_are_told_and_not_compared():
    table = table_of(games("", "eval"), games("", "replicacad-eval"))
    assert {row[3] for row in table.texts()} == {"not recorded"}
    assert {row[8] for row in table.texts()} == {"-"}


def test_only_agents_and_partners_of_both_are_compared():
    table = table_of(
        games("train", "eval", seeds=1, partners=2, success=True),
        games("train", "replicacad-eval", seeds=2, partners=3, success=False),
    )
    (line,) = [row for row in table.texts() if row[4] == "replicacad-eval"]
    assert line[8] == "-100.0 [-100.0, -100.0]"


@pytest.mark.parametrize(("version", "marked"), [(2, False), (-1, True)])
def test_another_version_of_the_look_ahead_is_marked(version, marked):
    made = [
        pair(
            "bdp-0/agent + look-ahead", "bdp + look-ahead", 0, HOLDOUTS[k], trained_in="train", split=split, environment=split,
            look_ahead=used,
        )
        for split, used in (("eval", 2), ("replicacad-eval", version))
        for k in range(3)
    ]  # fmt: skip
    (line,) = [row for row in table_of(*made).texts() if row[4] == "replicacad-eval"]
    assert ("◊" in line[8]) == marked


def test_what_the_files_lack_is_named():
    table = table_of(games("train", "eval"), games("train", "replicacad-eval", lacks="macro 3"))
    assert [row[-1] for row in table.texts()] == ["nothing", "macro 3"]


def test_many_missing_files_are_told_in_short():
    table = table_of(games("train", "eval"), games("train", "replicacad-eval", lacks="a, b, c, d"))
    assert table.texts()[1][-1] == "a and 3 more"


def test_the_table_in_the_documentation_is_that_of_the_rows():
    root = Path(__file__).resolve().parents[2]
    files = [*(root / "results" / "transfer").glob("*.parquet"), *(root / "results" / "grid").glob("bdp-*.parquet")]
    rows = rows_of(read_rows(sorted(files)))
    page = (root / "docs" / "concepts" / "real_homes.md").read_text()
    table = transfer_table(rows)
    assert table.rows
    for line in markdown(table).splitlines():
        assert not line.startswith("| ") or line in page


def test_the_interval_is_what_a_slow_bootstrap_gives():
    first, second = (scores(rows_of(games("train", split, 3, skill))) for split, skill in (("eval", 0.8), ("dev", 0.3)))
    found = compare_homes(first, second, resamples=4000)
    rng, drawn = np.random.default_rng(5), []
    for _ in range(4000):
        seeds = rng.integers(3, size=3)
        means = [s.values[seeds][:, :, rng.integers(8, size=8)].mean() for s in (first, second)]  # scripts are not drawn
        drawn.append(means[0] - means[1])
    assert found.value == pytest.approx(first.values.mean() - second.values.mean())
    assert (found.low, found.high) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.02)


def test_other_agents_are_refused():
    first, second = (scores(rows_of(games("train", "eval", seeds))) for seeds in (1, 2))
    with pytest.raises(ValueError, match="same agents"):
        compare_homes(first, second)


def test_a_report_of_both_kinds_has_the_section(tmp_path):
    write_rows(tmp_path / "a.parquet", join_rows([games("train", "eval"), games("train", "replicacad-eval")]))
    write_report([tmp_path / "a.parquet"], tmp_path / "report", Options(films=False, resamples=20))
    page = (tmp_path / "report" / "index.html").read_text()
    assert 'id="transfer"' in page
    assert 'id="families"' in page
    assert 'id="variance"' in page

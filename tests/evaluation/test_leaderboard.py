"""Entries of the leaderboard: what breaks a rule is refused in one line, and figures are those of the rows."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

import numpy as np
import pyarrow as pa
import pytest

from housemates.cli.main import main
from housemates.evaluation.leaderboard import ENTRY, ROWS, read_entries, read_entry, submit
from housemates.evaluation.rows import read_rows, write_rows
from housemates.io import seal_again

ROOT = Path(__file__).resolve().parents[2]
BOARD = ROOT / "results" / "leaderboard"
FILE = ROOT / "results" / "tidy_house-state" / "bdp-0.parquet"


def changed(tmp_path: Path, **columns: object) -> Path:
    """The rows of a real agent with held-out partners, with columns set to one value for all of them."""
    table = read_rows(FILE)
    table = table.take(np.flatnonzero(np.array(table.column("evaluation").to_pylist()) == "zsc"))
    for name, value in columns.items():
        place = table.column_names.index(name)
        table = table.set_column(place, table.field(name), pa.array([value] * len(table), table.field(name).type))
    write_rows(tmp_path / "rows.parquet", table)
    return tmp_path / "rows.parquet"


def cut(tmp_path: Path, keep: object) -> Path:
    """The rows of a real agent without those that `keep`, a function of a row, refuses."""
    table = read_rows(FILE)
    which = [k for k, row in enumerate(table.to_pylist()) if row["evaluation"] == "zsc" and keep(row)]
    write_rows(tmp_path / "rows.parquet", table.take(which))
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"zero_shot": False}, "zero-shot"),
        ({"suite": 2}, "suite"),
        ({"environment": "0123456789abcdef"}, "environment"),
        ({"split": "dev"}, "split dev"),
        ({"greedy": True}, "greedy"),
        ({"method": "function"}, "name itself"),
        ({"method": "bdp + look-ahead (oracle action)"}, "oracle"),
        ({"observations": ""}, "sees"),
        ({"decisions": 0}, "--decisions"),
        ({"evaluation": "crossplay"}, "held-out partners"),
    ],
)
def test_rows_that_break_a_rule_are_refused(tmp_path, capsys, columns, word):
    rows = changed(tmp_path, **columns)
    assert main(["submit", str(rows), "--name", "mine", "--out", str(tmp_path / "board")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert word in line
    assert not list((tmp_path / "board").glob("*"))


def test_rows_of_two_splits_are_refused(tmp_path):
    (tmp_path / "dev").mkdir()
    with pytest.raises(ValueError, match="mix splits"):
        submit([FILE, changed(tmp_path / "dev", split="dev", agent="other")], "mine", tmp_path / "board")


def test_a_missing_partner_is_named(tmp_path):
    rows = cut(tmp_path, lambda row: row["partner"] != "script/noop")
    with pytest.raises(ValueError, match="1 of 11 held-out partners are missing, such as script/noop"):
        submit([rows], "mine", tmp_path / "board")


def test_fewer_episodes_are_refused(tmp_path):
    rows = cut(tmp_path, lambda row: row["episode"] < 90)
    with pytest.raises(ValueError, match="90 of 100 episodes"):
        submit([rows], "mine", tmp_path / "board")


def test_one_training_does_not_count_twice(tmp_path):
    with pytest.raises(ValueError, match="two rows of one game"):
        submit([FILE, FILE], "mine", tmp_path / "board")


def test_an_outside_policy_declares_itself(tmp_path):
    rows = changed(tmp_path, method="rules of thumb", observations="depth", decisions=0)
    folder, entry = submit(
        [rows], "By hand", tmp_path / "board", decisions=0, privileged="a map of the home", link="https://x.org"
    )
    assert (entry.method, entry.observations, entry.decisions, entry.ground_truth) == ("rules of thumb", "depth", 0, "")
    assert (entry.privileged, entry.link, entry.seeds) == ("a map of the home", "https://x.org", (0,))
    assert read_entry(folder) == entry


def test_ground_truth_and_look_ahead_are_found_in_the_rows(tmp_path):
    _, entry = submit([changed(tmp_path, method="bdp + look-ahead")], "mine", tmp_path / "board")
    assert (entry.method, entry.look_ahead, entry.ground_truth) == ("bdp", "look-ahead", "predicates")


def test_an_entry_is_not_overwritten(tmp_path):
    submit([FILE], "mine", tmp_path / "board")
    with pytest.raises(ValueError, match="exists already"):
        submit([FILE], "mine", tmp_path / "board")


def test_a_figure_that_the_rows_do_not_give_is_refused(tmp_path):
    folder, _ = submit([FILE], "mine", tmp_path / "board")
    values = json.loads((folder / ENTRY).read_text())
    values["figures"]["success"] += 0.01
    (folder / ENTRY).write_text(json.dumps(values))
    with pytest.raises(ValueError, match="is damaged"):
        read_entry(folder)
    seal_again(folder / ENTRY)
    with pytest.raises(ValueError, match="says success"):
        read_entry(folder)


def test_other_rows_than_those_of_the_entry_are_refused(tmp_path):
    folder, _ = submit([FILE], "mine", tmp_path / "board")
    write_rows(folder / ROWS, read_rows(FILE.with_name("bdp-1.parquet")))
    with pytest.raises(ValueError, match="not the file that the entry was made of"):
        read_entry(folder)


@pytest.mark.parametrize("folder", sorted(place.parent for place in BOARD.glob(f"*/{ENTRY}")), ids=lambda place: place.name)
def test_every_figure_of_a_committed_entry_is_that_of_its_rows(folder):
    entry = read_entry(folder)
    agents: dict[str, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for row in read_rows(folder / ROWS).to_pylist():
        agents[row["agent"]][row["partner"]].append(row)
    assert len(agents) == len(entry.seeds)
    found = entry.figures

    def share(column: str, kinds: tuple[str, ...]) -> float:
        games = [[rows for rows in met.values() if rows[0]["partner_kind"] in kinds] for met in agents.values()]
        return mean(mean(mean(row[column] for row in rows) for rows in mine) for mine in games)

    everybody = ("script", "learned", "latent")
    assert found.success == pytest.approx(share("success", everybody), abs=1e-6)
    assert found.scripted == pytest.approx(share("success", ("script",)), abs=1e-6)
    assert found.learned == pytest.approx(share("success", ("learned", "latent")), abs=1e-6)
    assert found.collision == pytest.approx(share("collision", everybody), abs=1e-6)
    assert found.timeout == pytest.approx(share("timeout", everybody), abs=1e-6)
    worst = [sorted(mean(row["success"] for row in rows) for rows in met.values()) for met in agents.values()]
    assert found.worst == pytest.approx(mean(mean(shares[: -(-len(shares) // 5)]) for shares in worst), abs=1e-6)
    assert found.low <= found.success <= found.high
    for partner, success in found.by_partner.items():
        games = [row["success"] for met in agents.values() for row in met[partner]]
        assert success == pytest.approx(mean(games), abs=1e-6)


def test_committed_entries_are_the_results_of_the_repository():
    played = defaultdict(list)
    for path in sorted((ROOT / "results").glob("tidy_house-*/*.parquet")):
        rows = [row for row in read_rows(path).to_pylist() if row["evaluation"] == "zsc"]
        played[rows[0]["method"], rows[0]["observations"]] += rows
    entries = {(entry.method, entry.observations): entry for entry in read_entries(BOARD) if entry.software == "0.2.0"}
    assert set(played) <= set(entries)
    for which, rows in played.items():
        assert entries[which].figures.success == pytest.approx(mean(row["success"] for row in rows), abs=1e-6)

"""Rows of episodes: written, read back, refused."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from helpers.evaluation_rows import row
from housemates.evaluation.rows import (
    BUDGETS,
    COLUMNS,
    LATER,
    checksum,
    join_rows,
    make_rows,
    no_rows,
    read_rows,
    trust,
    write_rows,
)

RESULTS = Path(__file__).resolve().parents[2] / "results"


def table(**changes):
    one = row(**changes)
    return make_rows({name: [value] for name, value in one.items()})


def test_rows_come_back_as_they_were_written(tmp_path):
    rows = join_rows([table(), table(episode=1, subgoals=[1, 2, 0, 0])])
    write_rows(tmp_path / "deep" / "a.parquet", rows)
    assert read_rows(tmp_path / "deep" / "a.parquet") == rows


def test_several_files_are_read_in_the_given_order(tmp_path):
    for k in range(3):
        write_rows(tmp_path / f"{k}.parquet", table(episode=k))
    assert read_rows([tmp_path / f"{k}.parquet" for k in (2, 0, 1)])["episode"].to_pylist() == [2, 0, 1]


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_rows(tmp_path / name, table())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"housemates evaluate.*RUN"):
        read_rows(tmp_path / "none.parquet")


def test_a_damaged_file_is_refused_by_name(tmp_path):
    (tmp_path / "odd.parquet").write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(ValueError, match=r"odd\.parquet is damaged"):
        read_rows(tmp_path / "odd.parquet")


def test_a_file_that_lacks_a_column_is_refused(tmp_path):
    parquet.write_table(table().drop_columns(["robot"]), tmp_path / "old.parquet")
    with pytest.raises(ValueError, match=r"old\.parquet.*'robot'"):
        read_rows(tmp_path / "old.parquet")


def test_a_file_with_another_type_is_refused(tmp_path):
    rows = table()
    changed = rows.set_column(rows.column_names.index("steps"), "steps", pa.array(["many"]))
    parquet.write_table(changed, tmp_path / "old.parquet")
    with pytest.raises(ValueError, match=r"'steps'.*int32"):
        read_rows(tmp_path / "old.parquet")


def test_rows_with_an_unknown_column_cannot_be_made():
    with pytest.raises(ValueError, match="unknown column 'colour'"):
        make_rows({name: [value] for name, value in row().items()} | {"colour": ["red"]})


def test_rows_with_an_empty_value_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="has an empty 'home'"):
        write_rows(tmp_path / "a.parquet", table(home=None))


def test_no_rows_have_all_columns():
    assert no_rows().column_names == list(COLUMNS)


def test_values_that_were_not_written_are_refused(tmp_path):
    file = tmp_path / "a.parquet"
    write_rows(file, join_rows([table(steps=10), table(steps=20)]))
    written = parquet.read_table(file)
    steps = pa.array([10, 21], pa.int32())
    changed = written.set_column(written.column_names.index("steps"), written.schema.field("steps"), steps)
    parquet.write_table(changed.replace_schema_metadata(written.schema.metadata), file)
    with pytest.raises(ValueError, match=r"a\.parquet.*damaged"):
        read_rows(file)


def test_rows_in_another_order_are_refused(tmp_path):
    file = tmp_path / "a.parquet"
    write_rows(file, join_rows([table(partner="ab", home="c"), table(partner="a", home="bc")]))
    written = parquet.read_table(file)
    parquet.write_table(written.take([1, 0]).replace_schema_metadata(written.schema.metadata), file)
    with pytest.raises(ValueError, match="not those that were written"):
        read_rows(file)


def test_rows_without_checksum_are_refused_until_they_are_trusted(tmp_path):
    file, rows = tmp_path / "old.parquet", join_rows([table(), table(episode=1)])
    parquet.write_table(rows, file)
    with pytest.raises(ValueError, match=r"checksum.*housemates\.evaluation\.rows"):
        read_rows(file)
    command = [sys.executable, "-m", "housemates.evaluation.rows", str(file)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.endswith("old.parquet: 2 rows, unchanged, with a checksum\n")
    assert read_rows(file) == rows


def test_the_checksum_does_not_depend_on_how_memory_holds_the_rows():
    rows = join_rows([table(episode=k, home=f"dev/{k}", subgoals=[1] * (k % 4)) for k in range(10)])
    pieces = pa.concat_tables([rows.slice(0, 3), rows.slice(3, 1), rows.slice(4)])
    assert checksum(pieces) == checksum(rows)
    assert checksum(rows.slice(1)) != checksum(rows)


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.parquet")), ids=lambda path: path.stem)
def test_the_rows_of_this_repository_are_as_they_were_written(path):
    assert read_rows(path).num_rows > 0


def test_rows_of_earlier_versions_are_read_with_what_they_lack_as_unknown(tmp_path):
    old = table(preset="state", pixels=0, stage1_steps=5).drop_columns(list(LATER))
    parquet.write_table(old, tmp_path / "old.parquet")
    trust(tmp_path / "old.parquet")
    (found,) = read_rows(tmp_path / "old.parquet").to_pylist()
    assert {name: found[name] for name in LATER} == {
        "preset": "", "pixels": -1, "inference": "", "lacks": "", "family": "", "suite": -1, "game": -1, "keeps_memory": False,
            "trained_in": "", "look_ahead": -1,
    } | dict.fromkeys(BUDGETS, -1)  # fmt: skip
    assert {name: found[name] for name in row()} == row()

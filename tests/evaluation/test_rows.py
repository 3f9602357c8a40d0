"""Rows of episodes: written, read back, refused."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from evaluation_rows import row
from housemates.evaluation.rows import BUDGETS, COLUMNS, LATER, join_rows, make_rows, no_rows, read_rows, write_rows


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
    with pytest.raises(FileNotFoundError, match="make it with: housemates evaluate RUN"):
        read_rows(tmp_path / "none.parquet")


def test_a_damaged_file_is_refused_by_name(tmp_path):
    (tmp_path / "odd.parquet").write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(ValueError, match=r"odd\.parquet is damaged"):
        read_rows(tmp_path / "odd.parquet")


def test_a_file_that_lacks_a_column_is_refused(tmp_path):
    parquet.write_table(table().drop_columns(["robot"]), tmp_path / "old.parquet")
    with pytest.raises(ValueError, match=r"old\.parquet lacks the column 'robot'"):
        read_rows(tmp_path / "old.parquet")


def test_a_file_with_another_type_is_refused(tmp_path):
    rows = table()
    changed = rows.set_column(rows.column_names.index("steps"), "steps", pa.array(["many"]))
    parquet.write_table(changed, tmp_path / "old.parquet")
    with pytest.raises(ValueError, match="'steps' of type string instead of int32"):
        read_rows(tmp_path / "old.parquet")


def test_rows_with_an_unknown_column_cannot_be_made():
    with pytest.raises(ValueError, match="unknown column 'colour'"):
        make_rows({name: [value] for name, value in row().items()} | {"colour": ["red"]})


def test_rows_with_an_empty_value_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="has an empty 'home'"):
        write_rows(tmp_path / "a.parquet", table(home=None))


def test_no_rows_have_all_columns():
    assert no_rows().column_names == list(COLUMNS)


def test_rows_of_earlier_versions_are_read_with_what_they_lack_as_unknown(tmp_path):
    old = table(preset="state", pixels=0, stage1_steps=5).drop_columns(list(LATER))
    parquet.write_table(old, tmp_path / "old.parquet")
    (found,) = read_rows(tmp_path / "old.parquet").to_pylist()
    assert {name: found[name] for name in LATER} == {"preset": "", "pixels": -1} | dict.fromkeys(BUDGETS, -1)
    assert {name: found[name] for name in row()} == row()

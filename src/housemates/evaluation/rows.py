"""What evaluations leave behind: one row per episode, in parquet files that every table, figure and test is made from.

Nothing is averaged here. A file is read only if its columns are the ones below (but for LATER) and their values are those that
were written, so that old and damaged files fail loudly. Rows of an earlier version without checksum are given one, if you trust
them, by: python -m housemates.evaluation.rows FILE ...
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from housemates.io import reading, write_whole

if TYPE_CHECKING:
    import pyarrow as pa

EVALUATIONS = ("train_pop", "zsc", "crossplay", "control", "human", "best_response", "series", "alone")
"""train_pop: with the partners the agent was trained with; zsc: with holdouts; crossplay: any list with any list; control:
see CONTROLS; human: a person at the other robot; best_response: agents that know their one partner, a measure for others;
series: several games in a row with the same partner; alone: the agent alone in the home, from the start of each robot."""
CONTROLS = ("", "blind", "solo", "random")
"""What is special about a row of evaluation `control`: `blind`, the agent cannot sense its partner; `solo`, a script that does
the whole task takes the agent's place; `random`, the partner draws its actions. Empty in all other rows."""
CHECKSUM = b"housemates.sha256"
"""Where a file's metadata has the checksum of its values."""
UNKNOWN = -1
"""A number that was not recorded when the agent was trained."""
BUDGETS = ("stage1_decisions", "stage1_steps", "stage2_decisions", "stage2_steps")
"""What either stage of the agent's training has cost."""
NOBODY, AGENT, PARTNER = 0, 1, 2
"""Values in `subgoals`: who achieved it."""
COLUMNS = {
    "evaluation": "string",
    "control": "string",
    "task": "string",
    "split": "string",
    "agent": "string",
    "method": "string",
    "agent_seed": "int64",
    "observations": "string",
    "decisions": "int64",
    "trained_in": "string",
    "preset": "string",
    "pixels": "int32",
    "stage1_decisions": "int64",
    "stage1_steps": "int64",
    "stage2_decisions": "int64",
    "stage2_steps": "int64",
    "partner": "string",
    "partner_kind": "string",
    "partner_run": "string",
    "partner_observations": "string",
    "family": "string",
    "suite": "int32",
    "zero_shot": "bool",
    "episode": "int32",
    "home": "string",
    "lacks": "string",
    "environment": "string",
    "robot": "int8",
    "seed": "int64",
    "greedy": "bool",
    "success": "bool",
    "collision": "bool",
    "timeout": "bool",
    "steps": "int32",
    "total": "double",
    "subgoals": "list<int8>",
    "idle_agent": "int32",
    "idle_partner": "int32",
    "distance_agent": "double",
    "distance_partner": "double",
    "solo_steps": "int32",
    "inference": "string",
    "game": "int32",
    "keeps_memory": "bool",
    "look_ahead": "int32",
}
"""Name and type of every column, in order.

decisions: of the agent's training, over both stages; stage1_*, stage2_*: decisions and simulation steps (of all homes) of
either stage. trained_in: the split of the homes of its training. preset: what the agent was trained by; pixels: the side of
its pictures, 0 if it sees none. partner_run: names whatever trained the partner, so that members of one run can be counted as
one sample. zero_shot: whether the partner had no part in the agent's training. family, suite: the partner's family in the
held-out suite and the suite's version, 0 for partners outside of it. episode: index into the split. lacks: what the files of
the homes lack. robot: which one the agent moved. total: the paper's literal return. subgoals: one entry per sub-goal of the
task. idle_*: steps in which nothing was done, distance_*: metres driven; of all partners together. solo_steps: what the
scripted solo robot needs alone from the same start, -1 where it does not succeed or was not asked for. inference: what
computed the networks' decisions, `fused`, `torch` or `both` (see `agents.actors.inference`); empty if not known or no network
decided. game: the number of the game among those with the same partner, from 0, -1 where games are not in a series.
keeps_memory: whether the agent remembers the earlier games of its series. look_ahead: the version of the agent's look-ahead
(`lookahead.settings.VERSION`), 0 for an agent that does not look ahead.
"""

LATER = {
    "trained_in": "",
    "preset": "",
    "pixels": UNKNOWN,
    "inference": "",
    "lacks": "",
    "family": "",
    "suite": UNKNOWN,
    "game": -1,
}
LATER |= dict.fromkeys(BUDGETS, UNKNOWN) | {"trained_in": "", "keeps_memory": False, "look_ahead": UNKNOWN}
"""Columns that rows of earlier versions do not have, and what stands there instead: not known."""


def schema() -> pa.Schema:
    """The columns as a pyarrow schema."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "bool": pa.bool_(), "double": pa.float64(), "list<int8>": pa.list_(pa.int8())}
    kinds |= {"int8": pa.int8(), "int32": pa.int32(), "int64": pa.int64()}
    return pa.schema([pa.field(name, kinds[kind], nullable=False) for name, kind in COLUMNS.items()])


def make_rows(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """A table from one sequence per column, all of one length; missing and unknown columns are errors."""
    import pyarrow as pa

    some = len(next(iter(columns.values()), ()))
    columns = {name: [value] * some for name, value in LATER.items()} | dict(columns)
    odd = sorted(columns.keys() ^ COLUMNS.keys())
    if odd:
        what = f"lack the column '{odd[0]}'" if odd[0] in COLUMNS else f"have an unknown column '{odd[0]}'"
        raise ValueError(f"rows {what} - the columns are: {', '.join(COLUMNS)}")
    return pa.table({name: pa.array(columns[name], schema().field(name).type) for name in COLUMNS}, schema())


def no_rows() -> pa.Table:
    """An empty table."""
    return schema().empty_table()


def join_rows(tables: Iterable[pa.Table]) -> pa.Table:
    """All rows of several tables in one."""
    import pyarrow as pa

    return pa.concat_tables([no_rows(), *tables]).combine_chunks()


def write_rows(path: Path | str, rows: pa.Table) -> None:
    """Write a parquet file; it appears whole or not at all, and the same rows give the same bytes."""
    from pyarrow import parquet

    _check(rows, "the rows to write")
    marked = rows.replace_schema_metadata({CHECKSUM: checksum(rows)})
    write_whole(Path(path), lambda file: parquet.write_table(marked, file, compression="zstd", write_page_checksum=True))


def read_rows(paths: Path | str | Iterable[Path | str]) -> pa.Table:
    """The rows of one or several parquet files, in this order."""
    return join_rows(_read(path) for path in ([Path(paths)] if isinstance(paths, Path | str) else map(Path, paths)))


def _read(path: Path, trusted: bool = False) -> pa.Table:
    """The rows of one file; trusted: also without a checksum."""
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise FileNotFoundError(f"no {path} - make it with: housemates evaluate RUN")
    with reading(path, "evaluate again"):
        table = parquet.read_table(path, page_checksum_verification=True)
        table.validate(full=True)
    found = table
    for name, value in LATER.items():
        if name not in found.column_names:
            found = found.append_column(name, pa.array([value] * len(found), schema().field(name).type))
    _check(found, str(path))
    written = (table.schema.metadata or {}).get(CHECKSUM)
    if written is None and not trusted:
        remedy = f"if you trust it: python -m housemates.evaluation.rows {path}"
        raise ValueError(f"{path} has no checksum (it is of an earlier version) - evaluate again, or {remedy}")
    with reading(path, "evaluate again"):
        if written is not None and written != checksum(table):
            raise ValueError("its values are not those that were written")
        return found.select(list(COLUMNS)).cast(schema())


def checksum(rows: pa.Table) -> bytes:
    """A checksum of all values, however a file or memory holds them."""
    import pyarrow as pa
    from pyarrow.compute import call_function

    digest = hashlib.sha256()
    for name in rows.column_names:
        column = rows.column(name)
        digest.update(f"{name} {COLUMNS.get(name, column.type)} {len(column)}\n".encode())
        # Of words and lists the lengths come first, then everything in them one after the other.
        if pa.types.is_string(column.type):
            digest.update(call_function("binary_length", [column]).to_numpy().tobytes())
            for words in column.chunks:
                everything = pa.ListArray.from_arrays([0, len(words)], words)
                digest.update(call_function("binary_join", [everything, ""])[0].as_buffer())
            continue
        if pa.types.is_list(column.type):
            digest.update(call_function("list_value_length", [column]).to_numpy().tobytes())
            column = call_function("list_flatten", [column])
        digest.update(column.to_numpy().tobytes())
    return digest.hexdigest().encode()


def _check(table: pa.Table, where: str) -> None:
    """Refuse a table with other columns."""
    wanted = schema()
    for name in sorted(set(wanted.names) ^ set(table.column_names)):
        what = "lacks the column" if name in COLUMNS else "has an unknown column"
        raise ValueError(f"{where} {what} '{name}' - evaluate again with this version: housemates evaluate RUN")
    for field in wanted:
        found = table.schema.field(field.name).type
        if found != field.type:
            raise ValueError(f"{where} has '{field.name}' of type {found} instead of {field.type} - evaluate again")
        if table.column(field.name).null_count:
            raise ValueError(f"{where} has an empty '{field.name}' - every row needs every column; evaluate again")


def trust(path: Path) -> int:
    """Give the rows of a file of an earlier version a checksum, as they are; returns their number."""
    rows = _read(path, trusted=True)
    write_rows(path, rows)
    return rows.num_rows


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        print(f"{file}: {trust(file)} rows, unchanged, with a checksum")

"""Datasets on disk: there whole or not at all, and damaged ones are refused."""

import json
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from helpers.exports import export
from housemates import datasets
from housemates.agents.agent import scripted
from housemates.datasets import write
from housemates.datasets.dataset import COLUMNS
from housemates.evaluation.crossplay import pair_up

SCRIPTS = pair_up([scripted("solo")], [scripted("first_half"), scripted("noop")])


@pytest.fixture
def folder(tmp_path):
    export(tmp_path / "data", SCRIPTS, observations=("state", "rgb"), pixels=16)
    return tmp_path / "data"


def test_everything_that_was_written_is_read(folder):
    data = datasets.load_dataset(folder)
    assert [*data] == [*COLUMNS, "state", "rgb", "probabilities"]
    n = datasets.describe(folder)["counts"]["decisions"]
    assert {len(values) for values in data.values()} == {n}
    assert data["rgb"].shape == (n, 16, 16, 3)
    assert data["rgb"].dtype == np.uint8
    assert data["reward"].dtype == np.float64


def test_a_part_is_read_on_request(folder):
    whole, part = datasets.load_dataset(folder), datasets.load_dataset(folder, ["state", "mover", "decision"])
    assert [*part] == ["state", "mover", "decision"]
    assert all(np.array_equal(part[name], whole[name]) for name in part)


def test_row_groups_change_nothing_that_is_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "ROWS", 50)
    export(tmp_path / "pieces", SCRIPTS, observations=("state",))
    pieces, whole = datasets.load_dataset(tmp_path / "pieces"), datasets.load_dataset(folder)
    for name in ("game", "mover", "partner", "decision", "state"):
        assert np.array_equal(pieces[name], whole[name]), name


def test_other_libraries_read_the_files(folder):
    from pyarrow import parquet

    table = parquet.read_table(folder / "decisions.parquet")
    assert table.column_names == [*COLUMNS]
    assert table["mover"].to_pylist() == datasets.load_dataset(folder)["mover"].tolist()
    assert np.load(folder / "state.npy").shape == (table.num_rows, 18)


def test_an_interrupted_export_leaves_nothing(tmp_path):
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "data", SCRIPTS, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_refused_before_anybody_plays(folder, monkeypatch):
    monkeypatch.setattr("housemates.datasets.export.trajectories", None)
    with pytest.raises(ValueError, match=r"exists.*--out"):
        export(folder, SCRIPTS)


def test_a_place_that_is_taken_meanwhile_is_left_alone(tmp_path):
    def take(done: int, total: int) -> None:
        (tmp_path / "data").mkdir(exist_ok=True)

    with pytest.raises(ValueError, match="exists already"):
        export(tmp_path / "data", SCRIPTS, progress=take)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_without_dataset_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="housemates export"):
        datasets.load_dataset(tmp_path / "nowhere")


def test_an_unknown_name_is_told_with_the_known_ones(folder):
    with pytest.raises(ValueError, match=r"'depth'.*episode"):
        datasets.load_dataset(folder, ["depth"])


def test_another_format_is_refused(folder):
    about = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps(about | {"format": 7}))
    with pytest.raises(ValueError, match=r"format.*7.*2"):
        datasets.load_dataset(folder)


@pytest.mark.parametrize("name", ["dataset.json", "decisions.parquet", "state.npy"])
def test_a_damaged_file_is_named(folder, name):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=rf"{name} is damaged.* - export the games again"):
        datasets.load_dataset(folder)


def test_a_lost_file_is_named(folder):
    (folder / "state.npy").unlink()
    with pytest.raises(ValueError, match=r"state\.npy is damaged"):
        datasets.load_dataset(folder)


def test_arrays_of_another_length_are_refused(folder):
    np.save(folder / "state.npy", np.zeros((3, 18), np.float32))
    with pytest.raises(ValueError, match=r"3 entries.*'state'"):
        datasets.load_dataset(folder, check=False)


def test_reading_needs_neither_torch_nor_the_simulator(folder):
    code = f"import sys; from housemates import datasets; datasets.load_dataset({str(folder)!r}); "
    code += "print([name for name in ('torch', 'numba') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_changed_number_is_refused_unless_nobody_asks(folder):
    values = np.load(folder / "state.npy")
    values[5, 3] += 1
    np.save(folder / "state.npy", values)
    with pytest.raises(ValueError, match=r"state\.npy.*damaged"):
        datasets.load_dataset(folder)
    assert len(datasets.load_dataset(folder, ["decision"])["decision"]) == len(values)
    assert np.array_equal(datasets.load_dataset(folder, check=False)["state"], values)


def test_a_changed_description_is_refused(folder):
    text = (folder / "dataset.json").read_text()
    (folder / "dataset.json").write_text(text.replace('"greedy": false', '"greedy": true'))
    with pytest.raises(ValueError, match=r"dataset\.json.*damaged"):
        datasets.describe(folder)


@pytest.mark.parametrize("limit", [4_500, 6_000])
def test_a_full_disk_leaves_nothing(tmp_path, limit):
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            export(tmp_path / "data", SCRIPTS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []

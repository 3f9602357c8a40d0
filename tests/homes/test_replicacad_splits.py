"""ReplicaCAD as splits: which layouts are in which, what is said when some are missing, and games in them by plain commands."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from helpers.tiny_flats import LAYOUTS, write_flats
from housemates.cli.main import main
from housemates.evaluation import validity as gate
from housemates.homes.replicacad import splits
from housemates.homes.replicacad.splits import lacks, layouts
from housemates.homes.sources import HOMES, load_split
from housemates.tasks.episodes import for_training, load_episodes
from housemates.tasks.tasks import TASKS
from housemates.tasks.validate import validate

EVERY = [f"v3_sc{macro}_staging_{micro:02d}" for macro in range(4) for micro in range(21)]
PARTS = ("replicacad-train", "replicacad-dev", "replicacad-eval")


@pytest.fixture
def flats(tmp_path, monkeypatch):
    """A small ReplicaCAD in the usual place, with a cache of its own."""
    monkeypatch.setenv("HOUSEMATES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path / "cache"))
    splits._tell.cache_clear()
    return write_flats(tmp_path / "data" / "replica_cad")


@pytest.fixture
def real(replica_cad, monkeypatch):
    """The real files in the usual place."""
    monkeypatch.setenv("HOUSEMATES_DATA", str(replica_cad.parent))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield replica_cad


def quietly(split):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_split(split)


def test_every_layout_of_the_first_three_macros_is_in_one_split_alone():
    found = [name for part in PARTS for name in layouts(part, [n for n in EVERY if "sc3" not in n])]
    assert sorted(found) == [name for name in EVERY if "sc3" not in name]


def test_the_evaluation_takes_the_unseen_macro_where_it_is():
    assert layouts("replicacad-eval", EVERY) == [name for name in EVERY if "sc3" in name]


def test_training_layouts_do_not_depend_on_what_is_there_for_the_evaluation():
    assert layouts("replicacad-train", EVERY) == layouts("replicacad-train", [n for n in EVERY if "sc3" not in n])
    assert len(layouts("replicacad-train", EVERY)) == 45


def test_scenes_that_are_no_layouts_are_left_out():
    assert layouts("replicacad", ["apt_0", "v3_sc0_staging_00", "empty_stage"]) == ["v3_sc0_staging_00"]


def test_a_missing_macro_is_said_once(flats):
    with pytest.warns(UserWarning, match="has no macro 3 for replicacad-eval"):
        homes = load_split("replicacad-eval")
    assert [home.name for home in homes] == ["v3_sc0_staging_18", "v3_sc1_staging_19"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_split("replicacad-eval")


def test_with_the_unseen_macro_nothing_stands_in(flats):
    write_flats(flats, ("v3_sc3_staging_00",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [home.name for home in load_split("replicacad-eval")] == ["v3_sc3_staging_00"]


def test_what_is_missing_is_named_for_rows(flats):
    assert lacks("replicacad-eval", quietly("replicacad-eval")).startswith("v3_sc3, ")
    told = lacks("replicacad-dev", quietly("replicacad-dev"))
    assert told.startswith("v3_sc0_staging_15, v3_sc0_staging_16")


def test_generated_homes_lack_nothing():
    assert lacks("dev", load_split("dev")) == ""


def test_a_missing_dataset_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    for name in ("DATA", "CACHE", "SHARED"):
        monkeypatch.setenv(f"HOUSEMATES_{name}", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "--agents", "script/solo", "--task", "tidy_house", "--split", "replicacad-eval"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert "run: housemates data replicacad" in told[0]


def test_the_shared_folder_is_a_usual_place(tmp_path, monkeypatch):
    monkeypatch.delenv("HOUSEMATES_DATA", raising=False)
    monkeypatch.setenv("HOUSEMATES_SHARED", str(tmp_path))
    write_flats(tmp_path / "data" / "replica_cad")
    assert len(quietly("replicacad-train")) == 2


def test_sets_have_the_sizes_of_the_paper():
    assert {part: HOMES[part].episodes for part in PARTS} == dict(zip(PARTS, (10_000, 100, 100), strict=True))
    assert [for_training(part) for part in PARTS] == [True, False, False]


@pytest.mark.parametrize("task", TASKS)
def test_episodes_in_small_flats_break_no_rule(flats, task):
    homes = quietly("replicacad-eval")
    episodes = load_episodes(task, "replicacad-eval", homes=homes)
    assert len(episodes) == 100
    assert validate(episodes, homes) == []


def test_games_in_small_flats_are_played_by_the_plain_command(flats, tmp_path, capsys):
    from housemates.evaluation.rows import read_rows

    out = tmp_path / "rows.parquet"
    words = ["--agents", "script/solo", "--partners", "script/noop", "--task", "tidy_house", "--episodes", "4"]
    assert main(["evaluate", *words, "--split", "replicacad-eval", "--out", str(out)]) == 0
    rows = read_rows(out)
    assert all(lacking.startswith("v3_sc3, ") for lacking in rows.column("lacks").to_pylist())
    assert rows.column("split").to_pylist() == ["replicacad-eval"] * 4


def test_a_lone_robot_completes_tasks_in_small_flats(flats, tmp_path):
    words = ["validity", "--split", "replicacad-eval", "--episodes", "20", "--no-search", "--speed", "middle"]
    assert main([*words, "--json", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    found = [row["success"] for row in (rows["rows"] if isinstance(rows, dict) else rows) if row["robot"] == "alone"]
    assert len(found) == len(TASKS)
    assert min(found) == 1.0


def test_an_environment_plays_in_small_flats(flats):
    import housemates

    env = housemates.make("tidy_house", split="replicacad-eval", observations="state", progress=False)
    observations, _ = env.reset(seed=0)
    assert all(np.isfinite(values["state"]).all() for values in observations.values())


# The real files


def test_the_real_layouts_are_split_as_the_names_say(real):
    assert [len(quietly(part)) for part in PARTS] == [45, 9, 9]


@pytest.mark.parametrize("task", TASKS)
def test_episodes_in_real_layouts_break_no_rule(real, task):
    homes = quietly("replicacad-dev")
    episodes = load_episodes(task, "replicacad-dev", homes=homes)
    assert validate(episodes, homes) == []


@pytest.mark.parametrize("task", TASKS)
def test_a_lone_robot_completes_nearly_all_real_episodes(real, task):
    homes = quietly("replicacad-dev")
    episodes = gate.first_episodes(task, "replicacad-dev", homes, 100)
    rows = gate.alone(episodes, homes, gate.pack(episodes, homes), "middle")
    assert rows[0].success >= 0.97


HASHES = """
import json, sys, warnings
warnings.simplefilter("ignore")
from housemates.homes.sources import load_split
from housemates.tasks.benchmark import episodes_hash
from housemates.tasks.generate import generate_episodes
homes = load_split("replicacad-eval")
made = [episodes_hash(generate_episodes(t, homes, 18, 9, spawns=True)) for t in ("tidy_house", "set_table")]
json.dump([[home.content_hash for home in homes], [json.dumps(home.header()) for home in homes], made], sys.stdout)
"""
OTHERS = {
    "another BLAS kernel": {"OPENBLAS_CORETYPE": "Nehalem"},
    "a C library without FMA": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"},
    "a generic processor for numba": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}


def hashes(folder: Path, changes: dict[str, str]) -> list:
    done = subprocess.run(
        [sys.executable, "-c", HASHES], env=os.environ | changes | {"HOUSEMATES_DATA": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_another_processor_reads_the_same_real_homes_and_makes_the_same_episodes(replica_cad):
    here = hashes(replica_cad.parent, {})
    for changes in OTHERS.values():
        assert hashes(replica_cad.parent, changes) == here


def test_another_processor_reads_the_same_small_homes_and_makes_the_same_episodes(tmp_path):
    write_flats(tmp_path / "replica_cad", LAYOUTS)
    here = hashes(tmp_path, {})
    assert hashes(tmp_path, OTHERS["another BLAS kernel"]) == here

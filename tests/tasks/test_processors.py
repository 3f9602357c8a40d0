"""The same homes and episodes on every processor: made in processes that may not use what this one has."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from housemates.homes import files as homes_manifest
from housemates.homes.files import homes_hash, manifest, packaged_homes
from housemates.homes.generate import SPLITS, generate_home
from housemates.homes.splits import load_split
from housemates.tasks import benchmark as packaged
from housemates.tasks import episodes as episode_sets
from housemates.tasks.benchmark import episodes_hash, expected_hash, packaged_episodes
from housemates.tasks.episodes import SHIPPED, SIZES, load_episodes
from housemates.tasks.tasks import TASKS

SCRIPT = Path(__file__).with_name("processors.py")
X86 = platform.machine() == "x86_64"
FEATURES = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])
"""What numpy may use here beyond its baseline: AVX2 and FMA, AVX-512."""
OTHERS = {
    "numpy's baseline": {"NPY_DISABLE_CPU_FEATURES": FEATURES},
    "another BLAS kernel": {"OPENBLAS_CORETYPE": "Nehalem" if X86 else "ARMV8"},
    "a generic processor for numba": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "a C library without FMA": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"},
}


def run(arguments: list[str], changes: dict[str, str]) -> str:
    """What a process prints that runs with other settings."""
    done = subprocess.run([sys.executable, *arguments], env=os.environ | changes, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    """The hashes as this machine makes them."""
    return json.loads(run([str(SCRIPT)], {}))


@pytest.mark.parametrize("other", OTHERS)
def test_another_processor_makes_the_same_homes_and_episodes(here, other):
    there = json.loads(run([str(SCRIPT)], OTHERS[other]))
    differ = [name for name in here if here[name] != there[name] and name != "numpy"]
    assert not differ


@pytest.mark.skipif(not (X86 and __cpu_features__.get("X86_V3", False)), reason="needs an x86-64 processor with FMA")
def test_numpys_own_products_would_have_differed(here):
    assert json.loads(run([str(SCRIPT)], OTHERS["another BLAS kernel"]))["numpy"] != here["numpy"]


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_another_processor_makes_the_whole_benchmark(other, tmp_path):
    told = run(["-m", "housemates.tasks.benchmark"], OTHERS[other] | {"HOUSEMATES_CACHE": str(tmp_path)})
    assert told.splitlines()[-1] == "benchmark version 1: nothing differs"


def test_the_manifest_names_every_split_and_task():
    known = manifest()
    assert known["version"] == 1
    assert set(known["homes"]) == set(known["episodes"]) == set(SPLITS) == set(SIZES)
    assert all(set(known["episodes"][split]) == set(TASKS) for split in SPLITS)


@pytest.mark.parametrize("split", SPLITS)
def test_the_packages_homes_are_those_of_the_manifest_and_of_the_generator(split):
    homes = load_split(split)
    assert homes_hash(homes) == manifest()["homes"][split]
    made = generate_home(split, 1)
    assert made.content_hash == homes[1].content_hash
    assert json.dumps(made.header()) == json.dumps(homes[1].header())


@pytest.mark.parametrize("split", SHIPPED)
@pytest.mark.parametrize("task", TASKS)
def test_the_packages_episodes_are_those_of_the_manifest(task, split):
    episodes = load_episodes(task, split)
    assert len(episodes) == SIZES[split]
    assert episodes_hash(episodes) == expected_hash(task, split)
    assert episodes.spawn is not None
    assert episodes.approach is not None


def test_a_damaged_file_of_the_package_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(homes_manifest, "FOLDER", tmp_path)
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    (tmp_path / "dev.npz").write_bytes(b"no homes")
    (tmp_path / "tidy_house-dev.npz").write_bytes(b"no episodes")
    with pytest.raises(ValueError, match=r"dev\.npz.*damaged"):
        packaged_homes("dev")
    with pytest.raises(ValueError, match=r"tidy_house-dev\.npz.*damaged"):
        packaged_episodes("tidy_house", "dev")


def test_episodes_of_other_homes_are_not_the_packages(tmp_path, monkeypatch):
    homes = list(reversed(load_split("dev")))
    made: list[str] = []
    monkeypatch.setattr(episode_sets, "make_episodes", lambda task, *_: made.append(task) or pytest.fail("made"))
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    with pytest.raises(pytest.fail.Exception):
        load_episodes("tidy_house", "dev", homes=homes)
    assert made == ["tidy_house"]


def test_training_episodes_that_differ_from_the_manifest_are_told_of(tmp_path, monkeypatch, capsys):
    few = load_episodes("tidy_house", "dev")
    homes = load_split("train")
    wrong = few.take(np.arange(4))
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    monkeypatch.setattr(episode_sets, "make_episodes", lambda *_: wrong)
    monkeypatch.setattr(episode_sets, "read_episodes", lambda folder, _: wrong if folder.exists() else _missing())
    load_episodes("tidy_house", "train", homes=homes)
    assert "not those of benchmark version 1" in capsys.readouterr().err


def _missing():
    raise FileNotFoundError

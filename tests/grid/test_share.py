"""Fictitious Co-Play takes over the population of self-play."""

from pathlib import Path

import pytest

from helpers.small_runs import TINY, small_run
from housemates.agents.agent import load, population
from housemates.grid.share import share
from housemates.methods.self_play import FCP, PopulationSettings
from housemates.policies.checkpoint import read_description, save_policy
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder
from housemates.runs.run import read


@pytest.fixture
def sp(tmp_path) -> Path:
    run = small_run(tmp_path / "sp", "sp")
    for k in range(2):
        for when in ("start", "middle"):
            place = run / "stage1" / "members" / f"{k:02d}" / when
            save_policy(place, Policy(TINY, seed=7 + k), {"decisions": 0, "task": "tidy_house"})
    (run / "stage1" / "metrics.jsonl").write_text('{"decisions": 1000}\n')
    (run / "stage1" / "resume").mkdir()
    return run


def test_the_shared_population_is_the_one_that_the_method_would_have(sp, tmp_path):
    share(sp, tmp_path / "fcp", "fcp")
    found = population(tmp_path / "fcp")
    own = FCP(TINY, 2, 0, PopulationSettings(members=2)).population()
    assert [p.name for p in found] == [f"fcp/{p.name}" for p in own]
    assert [p.path for p in found] == [str(tmp_path / "fcp" / "stage1" / p.path) for p in own]


def test_earlier_versions_are_other_policies_than_the_ends(sp, tmp_path):
    share(sp, tmp_path / "fcp", "fcp")
    hashes = [read_description(p.path)["weights"]["sha256"] for p in population(tmp_path / "fcp")]
    assert hashes[0] != hashes[2]
    assert all(load(p) is not None for p in population(tmp_path / "fcp"))


def test_the_run_is_the_methods_own_with_a_complete_first_stage(sp, tmp_path):
    share(sp, tmp_path / "fcp", "fcp")
    assert (read(tmp_path / "fcp").method, read(tmp_path / "fcp").stages) == ("fcp", (1,))
    assert RunFolder(tmp_path / "fcp").complete(1)
    assert (tmp_path / "fcp" / "stage1" / "metrics.jsonl").is_file()
    assert not (tmp_path / "fcp" / "stage1" / "resume").exists()


def test_nothing_is_left_of_a_run_that_cannot_be_shared(sp, tmp_path):
    (sp / "stage1" / "members" / "01" / "middle" / "policy.json").unlink()
    with pytest.raises((OSError, ValueError)):
        share(sp, tmp_path / "fcp", "fcp")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sp"]

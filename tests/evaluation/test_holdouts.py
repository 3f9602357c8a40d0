"""Holdouts: found, marked, measured, put into the package."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from helpers.batches import episodes, home
from helpers.small_runs import small_run
from housemates.agents import agent as partners
from housemates.agents.agent import is_holdout, shipped
from housemates.evaluation import holdouts as module
from housemates.evaluation.holdouts import (
    holdouts,
    learned_holdouts,
    mark,
    measure,
    members,
    read_mark,
    recipe_hash,
    runs_in,
    ship,
    shipped_bytes,
    write_index,
)
from housemates.policies.checkpoint import load_policy
from housemates.run_folder import RunFolder
from housemates.runs.run import read


@pytest.fixture
def run(tmp_path):
    """A complete holdout."""
    folder = tmp_path / "holdouts" / "gt_coord-tidy_house-smoke-100"
    mark(folder)
    return small_run(folder, seed=100)


def test_scripted_holdouts_come_first_and_are_three():
    assert [p.name for p in holdouts("set_table")[:3]] == ["script/noop", "script/first_half", "script/second_half"]


def test_both_members_of_a_run_are_holdouts_of_its_task(run):
    found = learned_holdouts("tidy_house", [run.parent])[-2:]
    assert [p.name for p in found] == [f"{run.name}/0", f"{run.name}/1"]
    assert all(is_holdout(p) for p in found)
    assert run.name not in {p.meta.get("run") for p in learned_holdouts("set_table", [run.parent])}


def test_a_run_without_mark_is_no_holdout(tmp_path):
    small_run(tmp_path / "plain")
    assert runs_in(tmp_path) == []


def test_an_unfinished_run_is_no_holdout_yet(tmp_path):
    mark(tmp_path / "young")
    small_run(tmp_path / "young", done=999)
    assert not RunFolder(tmp_path / "young").complete()
    assert "young" not in {p.meta.get("run") for p in learned_holdouts("tidy_house", [tmp_path])}


def test_a_run_that_has_just_begun_is_not_complete(run):
    for path in (run / "stage1").rglob("policy.*"):
        path.unlink()
    (run / "stage1" / "population.json").unlink()
    assert not RunFolder(run).complete()


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="housemates holdouts"):
        learned_holdouts("tidy_house", [tmp_path / "none"])


def test_the_recipe_is_the_same_for_all_seeds_and_another_for_other_settings(tmp_path):
    one, two = (read(small_run(tmp_path / str(seed), seed=seed)) for seed in (1, 2))
    other = read(small_run(tmp_path / "sp", "sp"))
    assert recipe_hash(one) == recipe_hash(two) != recipe_hash(other)


def test_competence_is_measured_and_written_down(run):
    measured = measure(run, episodes(), [home()], count=3)
    mark(run, measured)
    assert read_mark(run)["episodes"] == 3
    for member in members(run):
        assert 0 <= member.meta["alone"] <= member.meta["alone_subgoals"] <= 1
        assert 0 <= member.meta["mate"] <= 1


def test_a_damaged_mark_is_told(run):
    (run / "holdout.json").write_text("{")
    with pytest.raises(ValueError, match=r"holdout\.json is damaged"):
        members(run)


@pytest.fixture
def package(run, tmp_path, monkeypatch):
    """A package that ships the run's members."""
    rates = {"alone": 0.1, "alone_subgoals": 0.5, "mate": 0.9}
    mark(run, {"split": "dev", "episodes": 7, "members": [rates, rates]})
    ship(run, tmp_path / "agents")
    monkeypatch.setattr(partners, "SHIPPED", tmp_path / "agents")
    return tmp_path / "agents"


def test_shipped_holdouts_are_found_with_all_that_is_known_of_them(run, package):
    found = learned_holdouts("tidy_house")
    assert [p.name for p in found] == [f"tidy_house/holdouts/{run.name}-{k}" for k in range(2)]
    assert all(is_holdout(p) for p in found)
    told = found[1].meta
    wanted = {"seed": 100, "run": run.name, "member": 1, "observations": "state", "mate": 0.9, "recipe": recipe_hash(read(run))}
    assert {name: told[name] for name in wanted} == wanted


def test_a_shipped_holdout_is_the_policy_that_was_trained(run, package):
    for k, partner in enumerate(shipped()):
        ours, theirs = (load_policy(p).state_dict() for p in (partner.path, run / "stage1" / "members" / f"{k:02d}"))
        assert all((ours[name] == theirs[name]).all() for name in theirs)


def test_a_holdout_that_is_shipped_and_lies_in_a_folder_is_met_once(run, package):
    assert len(learned_holdouts("tidy_house", [run.parent])) == 2


def test_the_index_lists_what_is_shipped(run, package):
    index = json.loads((package / "index.json").read_text())
    assert list(index) == [f"tidy_house/holdouts/{run.name}-{k}" for k in range(2)]
    assert all(entry["seed"] == 100 and entry["bytes"] > 0 for entry in index.values())


def test_a_run_that_is_not_measured_is_not_shipped(run, tmp_path):
    with pytest.raises(ValueError, match="was not measured"):
        ship(run, tmp_path / "agents")


def test_an_ordinary_run_is_not_shipped_as_holdout(tmp_path):
    with pytest.raises(ValueError, match="is no holdout"):
        ship(small_run(tmp_path / "plain"), tmp_path / "agents")


def test_the_index_names_families(run, package):
    index = json.loads((package / "index.json").read_text())
    assert {entry["family"] for entry in index.values()} == {"gt_coord_state"}


def test_the_same_weights_are_shipped_once(run, package, tmp_path):
    again = tmp_path / "holdouts" / "again"
    shutil.copytree(run, again)
    with pytest.raises(ValueError, match="has these weights already"):
        ship(again, package)
    assert len(ship(run, package)) == 2  # to the same place


def test_what_the_package_has_no_room_for_is_refused(run, package, monkeypatch):
    size = sum(file.stat().st_size for file in package.rglob("*") if file.is_file())
    assert shipped_bytes(package) == size
    monkeypatch.setattr(module, "MOST_BYTES", size)
    ship(run, package)
    monkeypatch.setattr(module, "MOST_BYTES", size - 1)
    with pytest.raises(ValueError, match="MB of policies in the package, more than"):
        ship(run, package)


def test_the_package_keeps_to_its_limit_and_has_every_policy_once_in_single_precision():
    assert shipped_bytes() <= module.MOST_BYTES == 40_000_000
    listed = json.loads((partners.SHIPPED / "index.json").read_text())
    sums = [entry["sha256"] for entry in listed.values()]
    assert len(sums) == len(set(sums))
    for name in listed:
        kinds = {tensor.dtype for tensor in load_file(partners.SHIPPED / name / "policy.safetensors").values()}
        assert kinds == {torch.float32}


def test_the_index_of_the_package_is_what_would_be_written(tmp_path):
    shutil.copytree(partners.SHIPPED, tmp_path / "copy", ignore=shutil.ignore_patterns("*.md"))
    write_index(tmp_path / "copy")
    assert (tmp_path / "copy" / "index.json").read_text() == (partners.SHIPPED / "index.json").read_text()


def test_what_comes_with_the_package_can_be_loaded():
    found = shipped()
    assert found
    for partner in found:
        assert load_policy(partner.path).config.robots == (1 if partner.meta["method"] == "solo" else 2)
        assert is_holdout(partner) == ("/holdouts/" in partner.name)

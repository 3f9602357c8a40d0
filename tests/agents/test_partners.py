"""Who can act: names and folders become partners, partners become JSON and players, and holdouts are known as such."""

import json
import sys
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch

from housemates.agents import agent as registry
from housemates.agents.agent import (
    Agent,
    is_holdout,
    load,
    population,
    read_partners,
    resolve,
    resolve_all,
    write_partners,
)
from housemates.cli.best_responses import named
from housemates.config import from_json, to_json
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder, is_held_out

TINY = PolicyConfig.state(hidden=8, features=8)
CONFIG = {"task": "tidy_house", "method": "sp", "observations": "state", "training": {"seed": 3}}


def forward(obs: dict[str, np.ndarray]) -> np.ndarray:
    """A user's function."""
    return np.full(len(obs["state"]), 21)


def wrong(obs: dict[str, np.ndarray]) -> np.ndarray:
    return np.full(len(obs["state"]), 25)


wrong.observations = ("state",)
not_callable = 3


def make_run(folder, members: int = 2, latent: int = 0):
    """A run's folder as training leaves it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    for m in range(members):
        save_policy(folder / "stage1" / "members" / f"{m:02d}", Policy(replace(TINY, latent=latent), seed=m), {"decisions": 7})
    return folder


def listed(folder):
    """The same with a list of its population."""
    make_run(folder, 1, latent=3)
    entries = [Agent(f"z{z}", "latent", "stage1/members/00", z, meta={"success": 0.5}) for z in range(3)]
    write_partners(folder / "stage1" / "population.json", entries, folder)
    return folder


def test_a_partner_comes_back_from_json():
    partner = Agent("a/z3", "latent", "somewhere", 3, meta={"seed": 1})
    assert from_json(Agent, to_json(partner), "partners.json") == partner


@pytest.mark.parametrize("values", [{"name": "a"}, {"name": "a", "kind": "learned", "age": 3}, [1]])
def test_what_is_no_partner_is_told(values):
    with pytest.raises(ValueError, match=r"partners\.json"):
        from_json(Agent, values, "partners.json")


def test_a_partner_of_an_unknown_kind_is_told():
    with pytest.raises(ValueError, match="choose one of: script, learned"):
        Agent("a", "robot")


def test_scripts_are_found_by_name_and_moved_by_the_simulator():
    (found,) = resolve("script/first_half", "tidy_house")
    assert (found.kind, found.script, load(found)) == ("script", "first_half", None)


def test_a_script_needs_no_prefix():
    assert resolve("solo") == resolve("script/solo")


def test_an_unknown_script_is_told():
    with pytest.raises(ValueError, match="no scripted robot 'lazy'"):
        resolve("script/lazy")


def test_nobody_is_told_with_all_ways_to_name_somebody():
    with pytest.raises(ValueError, match=r"'nobody'.*script/NAME"):
        resolve("nobody")


def test_a_run_is_its_population(tmp_path):
    found = resolve(str(make_run(tmp_path / "run")))
    assert [p.name for p in found] == ["run/0", "run/1"]
    assert found[0].meta["seed"] == 3
    assert found[0].meta["decisions"] == 7


def test_a_listed_population_comes_back_with_absolute_folders(tmp_path):
    found = population(listed(tmp_path / "run"))
    assert [(p.name, p.latent) for p in found] == [("run/z0", 0), ("run/z1", 1), ("run/z2", 2)]
    assert load(found[2]).config.latent == 3


def test_a_run_may_be_moved_with_its_population(tmp_path):
    listed(tmp_path / "run").rename(tmp_path / "moved")
    assert load(resolve(str(tmp_path / "moved" / "z1"))[0]) is not None


@pytest.mark.parametrize(("part", "name"), [("1", "run/1"), ("0", "run/0")])
def test_one_member_of_a_run_is_named_by_its_number(part, name, tmp_path):
    (found,) = resolve(f"{make_run(tmp_path / 'run')}/{part}")
    assert found.name == name


def test_a_member_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ValueError, match="has no '7' - choose one of: 0, 1, agent"):
        resolve(f"{make_run(tmp_path / 'run')}/7")


def test_the_coordination_agent_of_a_run_is_named_agent(tmp_path):
    folder = make_run(tmp_path / "run")
    with pytest.raises(FileNotFoundError, match="no coordination agent"):
        resolve(f"{folder}/agent")
    save_policy(folder / "stage2" / "agent", Policy(TINY), {})
    assert resolve(f"{folder}/agent")[0].name == "run/agent"


def test_a_policys_folder_with_a_latent_is_as_many_partners(tmp_path):
    save_policy(tmp_path / "behaviours", Policy(replace(TINY, latent=4)), {})
    assert [p.latent for p in resolve(str(tmp_path / "behaviours"))] == [0, 1, 2, 3]


def test_a_partner_for_another_task_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"trained.*tidy_house.*set_table"):
        resolve(str(make_run(tmp_path / "run")), "set_table")


def test_equal_names_in_different_folders_are_told_apart(tmp_path):
    found = resolve_all([str(make_run(tmp_path / place / "run", 1)) for place in ("a", "b")])
    assert [p.name for p in found] == ["a/run/0", "b/run/0"]


def test_nobody_is_named_twice(tmp_path):
    folder = make_run(tmp_path / "run")
    assert len(resolve_all([str(folder), f"{folder}/1", "random", "random"])) == 3


def test_a_changed_policy_is_no_longer_the_partner_it_was(tmp_path):
    folder = make_run(tmp_path / "run")
    (before,) = resolve(f"{folder}/1")
    save_policy(folder / "stage1" / "members" / "01", Policy(TINY, seed=9), {})
    with pytest.raises(ValueError, match="is not the policy it was"):
        load(before)


def test_chance_takes_every_action_equally_often_and_repeats_itself():
    acting = load(resolve("random")[0])
    memory = acting.initial_memory(50_000)
    first, again = (acting.act({}, memory, generator=torch.Generator().manual_seed(5)).action for _ in range(2))
    assert torch.equal(first, again)
    assert np.bincount(first.numpy(), minlength=25) == pytest.approx(np.full(25, 2000), abs=250)


def test_a_users_function_acts_on_what_it_asks_for(monkeypatch):
    monkeypatch.syspath_prepend("tests/agents")
    acting = load(Agent("mine", "function", "test_partners:forward"))
    assert acting.config.observations == ("state", "predicates")
    seen = {"state": torch.zeros(3, 18), "predicates": torch.zeros(3, 57)}
    assert acting.act(seen, acting.initial_memory(3)).action.tolist() == [21] * 3


def test_a_users_function_that_gives_no_action_is_told(monkeypatch):
    monkeypatch.syspath_prepend("tests/agents")
    acting = load(Agent("mine", "function", "test_partners:wrong"))
    with pytest.raises(ValueError, match=r"test_partners:wrong.*actions"):
        acting.act({"state": torch.zeros(3, 18)}, acting.initial_memory(3))


@pytest.mark.parametrize(("place", "told"), [("nowhere_at_all:x", "no module"), ("test_partners:not_callable", "no function")])
def test_a_function_that_is_not_there_is_told(place, told, monkeypatch):
    monkeypatch.syspath_prepend("tests/agents")
    with pytest.raises(ValueError, match=told):
        resolve(place)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A run that came from somebody else: its lists name a function beside it, which tells when it is run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "NAMED", set())
    folder = make_run(tmp_path / "runs" / "evil")
    (folder / "payload.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\ndef act(seen): ...\n"
    )
    friend = Agent("friend", "function", "runs.evil.payload:act")
    for place in ("stage1/population.json", "stage2/partners.json"):
        registry.write_partners(folder / place, [friend], folder)
    yield folder
    sys.modules.pop("runs.evil.payload", None)


def test_a_list_in_a_file_cannot_name_a_function(hostile, tmp_path):
    for place in ("stage1/population.json", "stage2/partners.json"):
        with pytest.raises(ValueError, match=r"'runs.evil.payload:act'.*--allow.*runs.evil.payload:act"):
            registry.read_partners(hostile / place, hostile)
    with pytest.raises(ValueError, match="a file may not run code"):
        resolve("runs/evil")
    assert not (tmp_path / "ran").exists()


def test_a_function_in_a_file_is_read_where_somebody_has_named_it(hostile, tmp_path):
    registry.allow(["runs.evil.payload:act", "runs/evil"])
    assert [p.kind for p in registry.read_partners(RunFolder(hostile).partners, hostile)] == ["function"]
    assert not (tmp_path / "ran").exists()
    assert {"runs.evil.payload:act"} == registry.NAMED


@pytest.mark.parametrize("place", ["../x:y", "a/b:c", ":x", "x:", "x.:y", "x:y:z"])
def test_what_cannot_be_a_function_is_no_function(place):
    with pytest.raises(ValueError, match=r"write the partner as package\.module:function|no module"):
        resolve(place)


@pytest.mark.parametrize("kind", ["random", "script", "learned"])
def test_the_name_of_a_partner_in_a_file_is_never_run(hostile, tmp_path, kind):
    where = "runs.evil.payload:act"
    partner = Agent(where, kind, where, script="solo" if kind == "script" else "")
    with suppress(ValueError):
        named([partner])
    assert not (tmp_path / "ran").exists()


def test_everything_below_a_marked_folder_is_a_holdout(tmp_path):
    folder = make_run(tmp_path / "run")
    assert not is_holdout(resolve(f"{folder}/0")[0])
    (tmp_path / "holdout.json").write_text("{}")
    assert is_held_out(folder)
    assert is_holdout(resolve(f"{folder}/0")[0])


@pytest.mark.parametrize(("name", "held"), [("noop", True), ("first_half", True), ("second_half", True), ("solo", False)])
def test_the_three_scripts_of_the_evaluation_are_holdouts(name, held):
    assert is_holdout(resolve(f"script/{name}")[0]) == held


def test_a_damaged_list_of_partners_is_told(tmp_path):
    (tmp_path / "population.json").write_text("[{")
    with pytest.raises(ValueError, match="is damaged"):
        read_partners(tmp_path / "population.json", tmp_path)


def test_a_name_of_agents_and_held_out_partners_means_the_agents():
    assert [p.name for p in resolve("pretrained/bdp-tidy_house-state")] == ["tidy_house/examples/bdp-tidy_house-state-0"]
    held_out = resolve("pretrained/bdp-tidy_house-state-100")
    assert len(held_out) == 8
    assert all(p.meta["holdout"] for p in held_out)

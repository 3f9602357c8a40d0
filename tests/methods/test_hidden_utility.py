"""Hidden-utility play: who has which preference, what is charged, and held-out populations."""

import numpy as np
import pytest

from helpers.batches import episodes, home
from helpers.learners import TINY
from helpers.small_runs import small_run
from housemates.agents.agent import Agent, latents, learned, write_partners
from housemates.evaluation.holdouts import learned_holdouts, mark, measure, members, ship
from housemates.evaluation.suite import family_of
from housemates.methods.hidden_utility import MANIPULATION, NEUTRAL, PREFERENCES, HiddenUtility, HiddenUtilitySettings
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.run_folder import RunFolder
from housemates.tasks.actions import ACTION_TABLE, ACTIONS
from housemates.training.store import Store

NAMES = [preference.name for preference in PREFERENCES]
STATE = PolicyConfig.state(hidden=8, features=8)


def store_of(latent: int, metres: float = 10.0, steps: int = 7) -> Store:
    """Each action once, chosen by one latent while its partner is so far away."""
    size = STATE.shape("state")
    store = Store({"state": (size, np.float32)}, 4, len(ACTIONS))
    store.append(len(ACTIONS))
    store.action[:], store.latent[:], store.duration[:] = np.arange(len(ACTIONS)), latent, steps
    store.observations["state"][:, -2] = metres
    return store


def slow_charge(name: str, verb: str, entity: str, kind: str, near: bool) -> bool:
    """What the preference of that name dislikes, said once more."""
    said = {
        "neutral": False,
        "leaves_first": entity.endswith("0") and kind in ("navigate", "manipulate") and entity[:3] in ("obj", "goa"),
        "leaves_second": entity.endswith("1") and entity[:3] in ("obj", "goa"),
        "leaves_opening": verb == "open",
        "hates_waiting": verb == "no-op",
        "hates_detours": verb in ("move-forward", "turn-left", "turn-right"),
        "stays_put": verb == "nav",
        "keeps_away": near,
    }
    return bool(said[name])


@pytest.mark.parametrize("metres", [1.0, 10.0])
@pytest.mark.parametrize("latent", range(len(PREFERENCES)))
def test_each_step_of_a_disliked_decision_is_charged(latent, metres):
    method = HiddenUtility(TINY, settings=HiddenUtilitySettings(charge=0.5))
    paid = method.bonus(0, store_of(latent, metres))
    for action, number in zip(ACTION_TABLE, paid, strict=True):
        disliked = slow_charge(NAMES[latent], action.verb, action.entity, action.kind, metres < 3)
        steps = MANIPULATION if action.kind == "manipulate" else 7
        assert number == pytest.approx(-0.5 * steps * disliked)


def test_one_robot_of_every_home_is_neutral_and_all_preferences_occur():
    slots = HiddenUtility(TINY).pairs(0, np.random.default_rng(0), 500, 2)
    assert ((slots.latent == NEUTRAL).any(axis=1)).all()
    assert set(slots.latent.ravel().tolist()) == set(range(len(PREFERENCES)))
    assert slots.learns.all()


def test_what_is_disliked_is_logged():
    method = HiddenUtility(TINY)
    method.bonus(0, store_of(NAMES.index("stays_put"), steps=1))
    manipulations = sum(action.kind == "manipulate" for action in ACTION_TABLE)
    moves = sum(action.kind == "navigate" for action in ACTION_TABLE)
    expected = moves / (len(ACTIONS) - manipulations + MANIPULATION * manipulations)
    assert method.after_update([], {})["disliked"] == pytest.approx(expected)


@pytest.mark.parametrize("wrong", [{"charge": 0.0}, {"charge": float("nan")}, {"redraw": 0}])
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HiddenUtilitySettings(**wrong)


def test_one_robot_alone_is_refused():
    with pytest.raises(ValueError, match="robots"):
        HiddenUtility(TINY, robots=1)


def test_held_out_members_of_a_population_are_measured_with_copies_of_themselves_and_shipped_by_number(tmp_path):
    run = tmp_path / "holdouts" / "sp-200"
    mark(run)
    small_run(run, "sp", 200, members=3)
    mark(run, measure(run, episodes(), [home()], count=2))
    places = ship(run, tmp_path / "package", [0, 2])
    assert sorted(place.name for place in places) == ["sp-200-0", "sp-200-2"]
    assert all(family_of(partner) == "populations" for partner in members(run))
    with pytest.raises(ValueError, match="member 3"):
        ship(run, tmp_path / "other", [3])


def test_a_policy_with_latents_is_shipped_once_and_all_its_latents_are_partners(tmp_path):
    run = tmp_path / "holdouts" / "hidden_utility-200"
    mark(run)
    small_run(run, "hidden_utility", 200, members=1)
    place = RunFolder(run).member(0)
    config = HiddenUtility(STATE).policies[0].config
    save_policy(place, Policy(config, seed=1), learned(place, "0").meta)
    told = learned(place, "0").meta
    listed = [Agent(f"z{z}", "latent", str(place), z, meta=told) for z in range(len(PREFERENCES))]
    write_partners(RunFolder(run).population, listed, run)
    found = [p for p in learned_holdouts("tidy_house", [run.parent]) if p.path == str(place.resolve())]
    assert [p.latent for p in found] == list(range(len(PREFERENCES)))
    assert {family_of(p) for p in found} == {"preferences"}
    mark(run, measure(run, episodes(), [home()], count=2))
    assert [folder.name for folder in ship(run, tmp_path / "package")] == ["hidden_utility-200"]
    there = latents(tmp_path / "package" / "tidy_house" / "holdouts" / "hidden_utility-200", "x")
    assert [p.meta["preference"] for p in there] == [preference.name for preference in PREFERENCES]
    assert [p.meta["alone"] for p in there] == [p.meta["alone"] for p in members(run)]
    assert all("latents" not in p.meta and p.meta["run"] == "hidden_utility-200" for p in there)

"""The look-ahead as agents have it: which decisions it leaves alone, which it replaces; games depend on nobody else."""

import numpy as np
import pytest
import torch

from helpers.batches import EPISODES, episodes, home, make, put
from helpers.fates import slow_fate
from housemates.agents.actors import Actor, Actors, load_actors
from housemates.agents.agent import Agent, looking, read_partners, resolve, scripted, write_partners
from housemates.agents.functions import FunctionPolicy
from housemates.evaluation.crossplay import Pair, crossplay
from housemates.evaluation.play import play
from housemates.lookahead import model, search
from housemates.lookahead.model import own_path, way_left
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import VARIANTS, LookAhead, settings, split_name
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.robots import DEFAULT
from housemates.sim.rules import COLLISION
from housemates.sim.state import state_type
from housemates.tasks.actions import MOVE_FORWARD, NO_OP, TURN_LEFT

AHEAD = LookAhead()
FLAT = np.zeros((1, 25))


def facing(metres: float):
    """Robot 0 stands and faces robot 1, so many metres ahead, in the open hall."""
    batch = make()
    put(batch, 0, (2.5, 4.0), 0.0)
    put(batch, 1, (2.5 + metres, 4.0), np.pi)
    batch.state.spawn[:] = batch.state.pose
    # Nobody has moved for long.
    batch.state.clock[:] = 60
    batch.state.window[0, :, :, :2] = batch.state.pose[0, :, None, :2]
    return batch


def revised(batch, wanted: int, ahead: LookAhead = AHEAD, logits: np.ndarray = FLAT) -> int:
    planner = Planner(batch, ahead)
    return int(planner.revise(np.array([0]), logits, np.array([wanted]), np.full((1, 2), -1))[0])


def approaching(metres: float):
    """Robot 1 drives straight at robot 0."""
    batch = facing(metres)
    s = batch.state
    for k in range(40):
        s.window[0, 1, (60 - 1 - k) % 40, 0] = s.pose[0, 1, 0] + 0.15 * k
    return batch


def test_far_from_everybody_a_decision_is_left_alone():
    assert revised(facing(3.9), MOVE_FORWARD, LookAhead(near=2.0)) == MOVE_FORWARD


def test_standing_beside_a_partner_that_stands_is_left_alone():
    assert revised(facing(0.9), TURN_LEFT) == TURN_LEFT


def test_driving_into_a_partner_is_replaced():
    assert revised(facing(0.7), MOVE_FORWARD) != MOVE_FORWARD


@pytest.mark.parametrize("variant", ["guess", "velocity"])
def test_standing_in_the_way_of_a_partner_is_replaced(variant: str):
    batch = approaching(1.6)
    planner = Planner(batch, LookAhead(variant))
    planner.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1))
    assert planner.counts.tolist() == [0, 0, 1, 0]


def test_contact_that_the_next_decision_can_still_avoid_is_left_to_it():
    """A partner 2.4 metres away needs 12 steps; a robot that stands decides again after one."""
    assert revised(approaching(2.4), NO_OP, LookAhead("velocity", react=8, haste=0.0)) == NO_OP
    assert revised(approaching(2.4), NO_OP, LookAhead("velocity", react=15, haste=0.0)) != NO_OP


def test_a_manoeuvre_is_held_for_several_decisions():
    batch = approaching(1.8)
    planner = Planner(batch, AHEAD)
    for _ in range(3):
        planner.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1))
    assert planner.counts[1] >= 1


def test_a_robot_that_looks_ahead_survives_a_partner_that_does_not_give_way():
    """A partner that drives ahead whatever comes, and a robot that would stand."""
    batch = approaching(3.4)
    planner = Planner(batch, LookAhead("velocity"))
    for _ in range(22):
        chosen = planner.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1))
        step = batch.tick(np.array([[int(chosen[0]), MOVE_FORWARD]]))
        assert not step.done[0]
    assert batch.state.pose[0, 1, 0] < 3.0


def test_what_a_robot_does_is_the_same_whoever_else_looks_ahead():
    batch = make(size=EPISODES)
    rng = np.random.default_rng(0)
    logits, wanted = rng.normal(size=(2 * EPISODES, 25)), rng.integers(0, 25, 2 * EPISODES)
    decided, rows = np.full((EPISODES, 2), -1), np.arange(2 * EPISODES)
    together = Planner(batch, LookAhead(near=50.0)).revise(rows, logits, wanted, decided)
    alone = [
        Planner(batch, LookAhead(near=50.0)).revise(rows[k : k + 1], logits[k : k + 1], wanted[k : k + 1], decided)[0]
        for k in rows
    ]
    assert together.tolist() == alone


def test_looking_ahead_changes_nothing_in_the_homes():
    batch = make(size=EPISODES)
    before = batch.save()["state"].tobytes()
    Planner(batch, LookAhead(near=50.0)).revise(
        np.arange(2 * EPISODES), np.zeros((2 * EPISODES, 25)), np.zeros(2 * EPISODES, int), np.full((EPISODES, 2), -1)
    )
    assert batch.save()["state"].tobytes() == before


def test_a_new_episode_begins_without_a_plan():
    batch = approaching(1.6)
    planner = Planner(batch, AHEAD)
    planner.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1))
    assert planner.plans["held"].any()
    batch.reset(np.zeros(1, int))
    planner.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1))
    assert planner.plans["age"][0, 0] <= 1


def test_a_planner_of_another_version_is_not_continued():
    planner = Planner(approaching(1.8), AHEAD)
    with pytest.raises(ValueError, match="another version"):
        planner.load({name: array for name, array in planner.state().items() if name != "version"})


def test_a_planner_continues_exactly():
    batch = approaching(1.8)
    one, other = Planner(batch, AHEAD), Planner(batch, AHEAD)
    one.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1))
    other.load(one.state())
    again = [p.revise(np.array([0]), FLAT, np.array([NO_OP]), np.full((1, 2), -1)).tolist() for p in (one, other)]
    assert again[0] == again[1]


def drives(obs):
    return np.full(len(obs["state"]), MOVE_FORWARD)


def test_the_engine_carries_out_what_was_revised_and_reports_what_was_wanted():
    batch = facing(0.7)
    actors = Actors(batch, [Actor(FunctionPolicy(drives, ("state",)), look_ahead=AHEAD)])
    actors.actor[0, 0] = 0
    out = np.full((1, 2), -1)
    (decisions,) = actors.decide(np.array([[True, False]]), out)
    assert decisions.action[0] == MOVE_FORWARD != out[0, 0]


def test_a_blindfolded_robot_does_not_look_ahead():
    batch = facing(0.7)
    actors = Actors(batch, [Actor(FunctionPolicy(drives, ("state",)), look_ahead=AHEAD)])
    actors.actor[0, 0], actors.blind[:] = 0, True
    out = np.full((1, 2), -1)
    actors.decide(np.array([[True, False]]), out)
    assert out[0, 0] == MOVE_FORWARD


def tiny(seed: int) -> Policy:
    return Policy(PolicyConfig.state(hidden=8, features=8), seed=seed)


def test_a_game_with_look_ahead_depends_on_nobody_else():
    one, other = tiny(0), tiny(1)
    looks = Actor(one, look_ahead=AHEAD)
    teams = [
        [looks, Actor(other)],
        [Actor(one), Actor(other)],
        [looks, "solo"],
        [Actor(other, look_ahead=LookAhead("velocity")), looks],
    ]
    which = np.arange(6)
    together = play(episodes(), [home()], teams, which=which, slots=9)
    for t, team in enumerate(teams):
        alone = play(episodes(), [home()], [team], which=which, slots=2)
        mine = together.team == t
        for name in ("outcome", "steps", "travelled", "decisions"):
            assert (getattr(together, name)[mine] == getattr(alone, name)).all()


def test_a_policy_plays_other_games_when_it_looks_ahead():
    teams = [[Actor(tiny(0)), "solo"], [Actor(tiny(0), look_ahead=LookAhead(near=10.0)), "solo"]]
    played = play(episodes(), [home()], teams, which=np.arange(12))
    assert (played.steps[played.team == 0] != played.steps[played.team == 1]).any()


def test_names_end_with_the_look_ahead():
    assert split_name("runs/bdp/agent+lookahead") == ("runs/bdp/agent", LookAhead("guess"))
    assert split_name("random+lookahead-velocity") == ("random", LookAhead("velocity"))
    assert split_name("random") == ("random", None)


def test_an_unknown_look_ahead_says_which_there_are():
    with pytest.raises(ValueError, match="velocity"):
        resolve("random+lookahead-crystal_ball")


def test_scripts_cannot_look_ahead():
    with pytest.raises(ValueError, match="cannot look ahead"):
        resolve("script/solo+lookahead")


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "mind"])
def test_any_agent_by_name_looks_ahead(variant: str):
    (agent,) = resolve(f"random+lookahead-{variant}")
    assert load_actors([agent])[agent].look_ahead == LookAhead(variant)


def test_rows_name_an_agent_that_looks_ahead_by_its_own_method():
    random = Agent("random", "random")
    pairs = [Pair(agent, (scripted("solo"),)) for agent in (random, looking(random, AHEAD))]
    rows = crossplay(pairs, episodes(), [home()], count=2).to_pylist()
    assert {(row["agent"], row["method"]) for row in rows} == {
        ("random", "random"),
        ("random + look-ahead", "random + look-ahead"),
    }


def test_lists_of_partners_keep_the_look_ahead(tmp_path):
    agents = [Agent("random", "random"), looking(Agent("random", "random"), LookAhead("velocity"))]
    write_partners(tmp_path / "partners.json", agents, tmp_path)
    assert read_partners(tmp_path / "partners.json", tmp_path) == agents
    assert "look_ahead" not in (tmp_path / "partners.json").read_text().split("random")[1]


def test_settings_out_of_range_are_refused():
    for wrong in (
        {"horizon": 0},
        {"risk": 1.0},
        {"near": -1.0},
        {"hold": -1},
        {"react": -1},
        {"haste": -1.0},
        {"variant": "sight"},
    ):
        with pytest.raises(ValueError, match=" - "):
            LookAhead(**wrong)


def test_torch_draws_are_not_touched_by_looking_ahead():
    state = torch.random.get_rng_state()
    revised(approaching(1.6), NO_OP)
    assert torch.equal(state, torch.random.get_rng_state())


def slow_costs(batch, plan, paths, weights, logits, extra):
    """What a plan of robot 0 costs, from the rules in words; in Tidy House work begins at one of the two objects."""
    own, scratch, s = np.zeros((AHEAD.horizon, 2)), np.zeros(1, state_type(DEFAULT.joints)), batch.records[0]
    scratch[0] = s
    driving = own_path(batch.world, s, scratch[0], batch.numbers, 0, plan, own)
    cost, ends = 0.0, []
    for path, weight in zip(paths, weights, strict=True):
        still = np.abs(path - path[0]).max() < 1e-9
        touching, level = COLLISION + AHEAD.margin, int(s["level"][0])
        hit, least, stop, _ = slow_fate(own, path, touching, batch.rules, level, driving, still)
        ends.append(stop)
        cost += weight * search.ROOM * max(AHEAD.clearance - least, 0)
        cost += weight * search.HIT * search.LATER**hit if hit < AHEAD.horizon else 0.0
    end = ends[int(np.argmax(weights))]
    return cost + extra + search.WAY * way_left(batch.world, s, own, end, int(np.argmax(logits[:2])))


@pytest.mark.parametrize("metres", [0.9, 1.6, 2.4])
def test_the_cheapest_candidate_agrees_with_a_slow_twin(metres: float):
    batch, rng = approaching(metres), np.random.default_rng(int(10 * metres))
    logits = rng.normal(size=25)
    planner, scratch = Planner(batch, AHEAD), np.zeros(1, state_type(DEFAULT.joints))
    own, paths, weights, counts, trial, best = planner._room
    scratch[0], s = batch.records[0], batch.records[0]
    counts[1] = search.predict(batch.world, s, scratch[0], batch.numbers, 1, 0, -1, np.zeros(15), paths[1], weights[1])
    found = search.best_plan(
        batch.world,
        s,
        scratch[0],
        batch.numbers,
        0,
        settings(AHEAD),
        logits,
        int(np.argmax(logits[:2])),
        paths,
        weights,
        counts,
        own,
        trial[0],
        best,
    )
    shown, likely = paths[1, : counts[1]], weights[1, : counts[1]]
    costs, plan = [], np.zeros(1, model.PLAN)
    for action in range(25):
        model.own_action(plan[0], action)
        extra = search.UNLIKE * min(logits.max() - logits[action], search.UNLIKE_MOST)
        costs.append(slow_costs(batch, plan[0], shown, likely, logits, extra))
    for row in model.MANOEUVRES.tolist():
        for last in (int(np.argmax(logits[:2])), NO_OP):
            model.set_plan(plan[0], *row, last, False)
            costs.append(slow_costs(batch, plan[0], shown, likely, logits, search.UNLIKE * search.UNLIKE_MOST))
    assert found == pytest.approx(min(costs))

"""What the look-ahead tells of a decision: the same decision, the fates of all candidates, and nothing is changed by asking."""

import numpy as np
import pytest

from helpers.batches import make
from helpers.fates import slow_fate
from housemates.lookahead.explain import CANDIDATES, Explainer, Explanation
from housemates.lookahead.model import PLAN
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead
from housemates.sim.rules import COLLISION
from housemates.tasks.actions import NO_OP, PICK, TURN_LEFT, TURN_RIGHT
from lookahead.test_search import FLAT, approaching, facing
from lookahead.test_wishes import SOFA, just_come

NOBODY = np.full((1, 2), -1)


def explained(batch, wanted: int, planner: Planner | None = None, logits: np.ndarray = FLAT) -> Explanation:
    planner = planner or Planner(batch, LookAhead())
    return Explainer(planner).explain(0, logits[0], wanted, NOBODY, planner.plans)


def test_far_from_everybody_there_is_nothing_to_explain():
    batch = facing(3.9)
    planner = Planner(batch, LookAhead(near=2.0))
    found = explained(batch, 0, planner)
    assert (found.became, found.action, found.partners, found.own) == ("unchecked", 0, {}, None)


def test_a_safe_decision_is_shown_with_its_path_and_nothing_else():
    found = explained(facing(0.9), TURN_LEFT)
    assert found.became == "own"
    assert found.chosen is None
    assert found.others == ()
    assert found.own.risk <= found.limit
    assert np.allclose(found.own.path, found.start[0])


def test_a_dangerous_decision_is_shown_with_all_candidates_and_the_one_that_is_done():
    batch = approaching(1.6)
    found = explained(batch, NO_OP)
    planner = Planner(batch, LookAhead())
    done = planner.revise(np.array([0]), FLAT, np.array([NO_OP]), NOBODY)
    assert (found.became, found.reason) == ("changed", "contact")
    assert found.action == done[0] == found.chosen.parts[0][0]
    assert found.own.contact >= 0
    assert found.own.risk > found.limit
    assert found.chosen.risk < found.own.risk
    # All skills of one step but the first leave the robot where it is.
    assert len(found.others) == CANDIDATES - (NO_OP - PICK)


@pytest.mark.parametrize("variant", ["guess", "velocity"])
def test_contacts_are_those_of_a_slow_model(variant: str):
    batch = approaching(1.6)
    planner = Planner(batch, LookAhead(variant))
    found = explained(batch, NO_OP, planner)
    paths = [path for _, path in found.partners[1]]
    assert sum(weight for weight, _ in found.partners[1]) == pytest.approx(1.0)
    manoeuvres = [c for c in found.others if c.parts[0][0] in (TURN_LEFT, TURN_RIGHT) and len(c.parts) == 2]
    assert manoeuvres
    for candidate in manoeuvres:
        touching, never = COLLISION + planner.ahead.margin, planner.ahead.horizon
        hits = [slow_fate(candidate.path, path, touching, batch.rules, 9, never, False)[0] for path in paths]
        soonest = min(hits)
        assert candidate.contact == (soonest if soonest < planner.ahead.horizon else -1)


def test_a_manoeuvre_that_is_held_is_told_as_such():
    batch = approaching(1.8)
    planner = Planner(batch, LookAhead())
    planner.revise(np.array([0]), FLAT, np.array([NO_OP]), NOBODY)
    found = explained(batch, NO_OP, planner)
    assert found.became == "held"
    assert found.chosen.parts
    assert found.others == ()
    assert found.action == planner.revise(np.array([0]), FLAT, np.array([NO_OP]), NOBODY)[0]


def test_a_robot_that_is_sent_off_instead_of_waiting_is_told_where_to():
    batch, logits = facing(4.0), np.full((1, 25), -9.0)
    logits[0, NO_OP], logits[0, 1] = 0.0, -1.0
    found = explained(batch, NO_OP, logits=logits)
    assert (found.became, found.reason, found.action, found.chosen.parts) == ("changed", "waiting", 1, ((1, 0),))


def test_a_decision_that_its_policy_finds_unlikely_is_told_as_such():
    batch, logits = just_come(4.0), np.full((1, 25), -9.0)
    logits[0, 1] = 0.0
    found = explained(batch, 0, logits=logits)
    assert (found.became, found.reason, found.action) == ("changed", "unlikely", 1)


def test_a_detour_is_told_as_such_also_if_the_work_is_the_likeliest():
    batch, logits = just_come(4.0), np.full((1, 25), -9.0)
    logits[0, 1], logits[0, SOFA] = 0.0, -0.5
    found = explained(batch, SOFA, logits=logits)
    assert (found.became, found.reason, found.action) == ("changed", "detour", 1)
    assert explained(batch, 1, logits=logits).reason == ""


def test_asking_changes_nothing():
    batch = approaching(1.6)
    planner, before = Planner(batch, LookAhead()), batch.records.tobytes()
    explained(batch, NO_OP, planner)
    assert batch.records.tobytes() == before
    assert planner.plans.tobytes() == np.zeros((1, 2), PLAN).tobytes()
    assert planner.counts.tolist() == [0, 0, 0, 0]


def test_every_decision_of_many_random_states_is_explained_as_it_is_taken():
    batch = make(size=16)
    rng = np.random.default_rng(1)
    planner = Planner(batch, LookAhead(near=50.0))
    explainer = Explainer(planner)
    for _ in range(12):
        logits, wanted = rng.normal(size=(32, 25)), rng.integers(0, 25, 32)
        decided, before = np.full((16, 2), -1), planner.plans.copy()
        found = [explainer.explain(row, logits[row], int(wanted[row]), decided, before) for row in range(32)]
        done = planner.revise(np.arange(32), logits, wanted, decided)
        assert [e.action for e in found] == done.tolist()
        batch.tick(np.where(batch.decide, done.reshape(16, 2), -1))

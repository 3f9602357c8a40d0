"""Theory of mind: labels against a slow twin, the same bits for a seed, files that do not fit are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.batches import episodes, home, make
from housemates.agents.actors import Actor, load_actors
from housemates.agents.agent import learned, looking, resolve, scripted
from housemates.evaluation.play import play
from housemates.lookahead.mind import (
    AHEAD,
    FILE,
    FOLDER,
    HEADS,
    NOWHERE,
    NUMBERS,
    OUTPUTS,
    SOON,
    TRACKED,
    head,
    load_mind,
    save_mind,
)
from housemates.lookahead.search import Planner
from housemates.lookahead.settings import LookAhead
from housemates.mind.fit import Fit, balance_of, balanced, by_rules, calibration_error, fit, judge, labels_of, loss, reliability
from housemates.mind.record import UNKNOWN, Samples, Track, actions_soon, joined, places_later, record
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.sim.rules import Rules
from housemates.tasks.actions import NO_OP, PICK
from housemates.training.disturbances import Disturbances

SMALL = Fit(hidden=16, epochs=2, batch=64)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(PolicyConfig.state(hidden=8, features=8), seed=0)


def recorded(policy: Policy, seed: int = 0) -> Samples:
    partners = [scripted("solo_first"), scripted("solo_second"), *resolve("tidy_house/examples/gt_coord-tidy_house-state-0-0")]
    how = Disturbances(share=0.5, ramp=0.0)
    return record(policy, partners, episodes(), [home()], rules=Rules(), steps=120, num_envs=6, seed=seed, disturbances=how)


@pytest.fixture(scope="module")
def samples(policy: Policy) -> Samples:
    return recorded(policy)


@pytest.fixture(scope="module")
def folder(policy: Policy, samples: Samples, tmp_path_factory):
    place = tmp_path_factory.mktemp("agent")
    save_policy(place, policy, {"task": "tidy_house"})
    save_mind(place, fit(samples, SMALL), learned(place, "agent").meta["sha256"], {"seed": 0})
    return place


def slow_soon(executed, episode, t, e):
    """What the partner does in the next SOON steps of the same episode, from a list of them."""
    last = t
    while last + 1 < len(episode) and episode[last + 1, e] == episode[t, e]:
        last += 1
    # The step that ends an episode is one of its own.
    steps = [int(a) for a in executed[t + 1 : min(last + 2, len(executed), t + SOON + 1), e]]
    navigations = [a for a in steps if a < PICK]
    whole = len(steps) == SOON
    return steps[0] if steps else UNKNOWN, navigations[0] if navigations else (NOWHERE if whole else UNKNOWN)


def test_labels_agree_with_a_slow_twin():
    rng = np.random.default_rng(0)
    executed = np.where(rng.random((80, 3)) < 0.05, rng.integers(0, PICK, (80, 3)), NO_OP)
    episode = np.cumsum(rng.random((80, 3)) < 0.05, axis=0)
    found = [actions_soon(executed, episode, t, e) for t in range(80) for e in range(3)]
    assert found == [slow_soon(executed, episode, t, e) for t in range(80) for e in range(3)]
    assert {going for _, going in found} > {NOWHERE, UNKNOWN}


def test_places_are_told_as_the_robot_faces_and_only_within_an_episode():
    place = np.zeros((50, 1, 2))
    place[:, 0, 0] = 0.1 * np.arange(50)
    track = Track(np.zeros((50, 1)), place, np.zeros((50, 1), int), {})
    ahead = places_later(track, 0, 0, 0.0)
    assert ahead[:, 0] == pytest.approx(0.1 * np.array(AHEAD))
    assert ahead[:, 1] == pytest.approx(0, abs=1e-6)
    # Who faces -z, a quarter to the left, has the way along x on its right.
    assert places_later(track, 0, 0, np.pi / 2)[0] == pytest.approx([0, 0.5], abs=1e-6)
    track.episode[15:] = 1
    assert np.isnan(places_later(track, 0, 0, 0.0)[2:]).all()


def test_recordings_repeat_exactly_for_a_seed(policy: Policy, samples: Samples):
    again = recorded(policy)
    assert all(np.array_equal(getattr(again, name), values, equal_nan=True) for name, values in vars(samples).items())


def test_another_seed_records_other_games(policy: Policy, samples: Samples):
    assert not np.array_equal(recorded(policy, seed=1).inputs[:5], samples.inputs[:5])


def test_samples_hold_the_memory_and_known_labels(policy: Policy, samples: Samples):
    assert samples.inputs.shape[1] == TRACKED + policy.config.memory_size
    assert np.isfinite(samples.inputs).all()
    assert set(np.unique(samples.reacts)) <= {0.0, 1.0}
    assert (samples.going != UNKNOWN).mean() > 0.5


def test_learning_repeats_exactly_for_a_seed(samples: Samples):
    one, same, other = fit(samples, SMALL, 3), fit(samples, SMALL, 3), fit(samples, SMALL, 4)
    assert all(np.array_equal(a, b) for a, b in zip(one.arrays, same.arrays, strict=True))
    assert not np.array_equal(one.first, other.first)


def test_what_inputs_tell_is_learnt():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(2000, TRACKED + 4)).astype(np.float32)
    going = np.where(inputs[:, 0] > 0, 2, NOWHERE)
    place = by_rules(inputs)[:, head("place")].reshape(-1, 4, 2) + np.repeat(inputs[:, None, 1:3], 4, axis=1)
    labels = {"action": going, "going": going, "place": place, "subgoals": np.full((2000, 6), UNKNOWN, np.float32)}
    more = {"reacts": (inputs[:, 3] > 0).astype(np.float32), "velocity": np.zeros((2000, 2)), "home": np.arange(2000)}
    made = Samples(inputs=inputs, **labels, **more)
    told = judge(
        fit(made.take(np.arange(1500)), Fit(hidden=16, epochs=15, batch=64, learning_rate=0.01)),
        made.take(np.arange(1500, 2000)),
    )
    assert told["going"] > 0.9
    assert told["reacts"] > 0.9
    assert told["place_5"] < 0.5 * np.linalg.norm(inputs[:, 1:3], axis=1).mean()


def test_the_network_answers_as_torch_would(samples: Samples):
    mind = fit(samples, SMALL)
    hidden = np.maximum((samples.inputs - mind.mean) / mind.scale @ mind.first + mind.first_bias, 0)
    answers = (hidden @ mind.second + mind.second_bias + by_rules(samples.inputs)) * mind.sharpness
    assert mind.answers(samples.inputs) == pytest.approx(answers, abs=1e-5)


def test_rules_are_the_guess_and_constant_velocity(samples: Samples):
    rules = by_rules(samples.inputs)
    places = rules[:, head("place")].reshape(-1, len(AHEAD), 2)
    straight = samples.velocity[:, None] * np.minimum(AHEAD, 20)[None, :, None]
    assert places == pytest.approx(straight, abs=1e-3)
    assert np.exp(rules[:, head("going")]).sum(1) == pytest.approx(1, abs=0.01)
    rest = [k for name in HEADS if name not in ("going", "place") for k in range(OUTPUTS)[head(name)]]
    assert not rules[:, rest].any()


def test_a_network_that_learns_nothing_says_what_the_rules_say(samples: Samples):
    told = judge(fit(samples, Fit(hidden=4, epochs=1, learning_rate=0.0)), samples)
    assert told["going"] == told["guess"]
    assert [told[f"place_{k}"] for k in AHEAD] == pytest.approx([told[f"place_{k}_velocity"] for k in AHEAD], abs=1e-3)


def test_a_network_that_reads_no_memory_does_not(samples: Samples):
    mind = fit(samples, Fit(hidden=16, epochs=2, batch=64, forget=1.0))
    other = samples.inputs.copy()
    other[:, TRACKED:] = 7.0
    assert np.array_equal(mind.answers(other), mind.answers(samples.inputs))
    assert not np.array_equal(fit(samples, SMALL).answers(other), fit(samples, SMALL).answers(samples.inputs))


def test_the_epoch_that_others_like_best_is_kept():
    """What is learnt from some is wrong for the others, so the sooner one stops the better for them."""
    one, other = told_apart(0, 1.0), told_apart(1, -1.0)
    config, labels = Fit(hidden=16, epochs=6, batch=64, learning_rate=0.01), labels_of(other)
    balance, losses = balance_of(labels["reacts"]).double(), []
    for judges in (other, one):
        mind = replace(fit(one, config, 0, judges), sharpness=np.ones(OUTPUTS))
        losses.append(float(loss(torch.from_numpy(mind.answers(other.inputs)), labels, 0.5, balance)))
    assert losses[0] < losses[1]


def told_apart(seed: int, sign: float) -> Samples:
    """Samples whose first input tells the destination, one way or the other."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(600, TRACKED + 4)).astype(np.float32)
    going = np.where(sign * inputs[:, 0] > 0, 2, NOWHERE)
    labels = {"action": going, "going": going, "place": np.full((600, 4, 2), np.nan, np.float32)}
    more = {"subgoals": np.full((600, 6), UNKNOWN, np.float32), "reacts": (inputs[:, 3] > 0).astype(np.float32)}
    return Samples(inputs=inputs, **labels, **more, velocity=np.zeros((600, 2)), home=np.arange(600))


def test_probabilities_that_are_too_sure_are_calibrated_on_others():
    """A destination that the input tells in training, and for the others in seven of ten cases."""
    one, other = told_apart(0, 1.0), told_apart(1, 1.0)
    wrong = np.random.default_rng(2).random(600) < 0.3
    other.going = np.where(wrong, np.where(other.going == 2, NOWHERE, 2), other.going)
    mind = fit(one, Fit(hidden=16, epochs=6, batch=64, learning_rate=0.01), 0, other)
    told, before = judge(mind, other), judge(replace(mind, sharpness=np.ones(OUTPUTS)), other)
    assert told["going_log_loss"] < before["going_log_loss"]
    assert told["going"] == before["going"]
    assert mind.sharpness[head("going")][0] < 1
    assert (mind.sharpness[head("place")] == 1).all()


def test_partners_that_react_and_that_do_not_count_the_same():
    weights = balance_of(torch.tensor([1.0, 1.0, 1.0, 0.0]))
    assert weights.tolist() == pytest.approx([2.0, 2 / 3])
    assert balanced(np.array([True] * 4), np.array([1, 1, 1, 0])) == 0.5
    assert balanced(np.array([True]), np.array([1])) is None


def test_heads_cover_all_outputs_once():
    assert sorted(k for name in HEADS for k in range(OUTPUTS)[head(name)]) == list(range(OUTPUTS))


def test_a_mind_is_read_as_it_was_written(folder, samples: Samples):
    mind = load_mind(folder)
    assert all(np.array_equal(a, b) for a, b in zip(mind.arrays, fit(samples, SMALL).arrays, strict=True))


def test_the_mind_of_another_policy_is_refused(folder):
    with pytest.raises(ValueError, match="another policy"):
        load_mind(folder, "0" * 64)


def test_a_damaged_mind_is_refused(folder, tmp_path):
    for name in (NUMBERS, FILE):
        (tmp_path / FOLDER).mkdir(exist_ok=True)
        (tmp_path / FOLDER / name).write_bytes((folder / FOLDER / name).read_bytes())
    weights = bytearray((tmp_path / FOLDER / NUMBERS).read_bytes())
    weights[-1] ^= 1
    (tmp_path / FOLDER / NUMBERS).write_bytes(bytes(weights))
    with pytest.raises(ValueError, match="damaged"):
        load_mind(tmp_path)
    told = json.loads((tmp_path / FOLDER / FILE).read_text())
    (tmp_path / FOLDER / FILE).write_text(json.dumps(told | {"policy": "changed"}))
    with pytest.raises(ValueError, match=" - "):
        load_mind(tmp_path)


def test_an_agent_without_a_mind_says_how_to_train_one(policy: Policy, tmp_path):
    save_policy(tmp_path / "plain", policy, {})
    agent = looking(learned(tmp_path / "plain", "plain"), LookAhead("mind"))
    with pytest.raises(FileNotFoundError, match="housemates mind"):
        load_actors([agent])
    with pytest.raises(ValueError, match="theory of mind"):
        load_actors(resolve("random+lookahead-mind"))


def test_a_game_with_a_theory_of_mind_depends_on_nobody_else(folder):
    agent = looking(learned(folder, "agent"), LookAhead("mind", near=10.0))
    me = load_actors([agent])[agent]
    teams = [[me, "solo"], [Actor(me.policy), "solo"], [me, Actor(me.policy)]]
    together = play(episodes(), [home()], teams, which=np.arange(5), slots=7)
    for t, team in enumerate(teams):
        alone = play(episodes(), [home()], [team], which=np.arange(5), slots=2)
        assert (together.steps[together.team == t] == alone.steps).all()
    assert (together.steps[together.team == 0] != together.steps[together.team == 1]).any()


def test_of_a_partner_that_is_far_away_the_place_is_guessed(folder):
    """A theory of mind says nothing of it; a robot that would wait looks ahead all the same."""
    agent = looking(learned(folder, "agent"), LookAhead("mind", near=0.5))
    me = load_actors([agent])[agent]
    batch = make()
    planner, logits = Planner(batch, me.look_ahead, me.mind), np.full((1, 25), -30.0)
    logits[0, NO_OP], logits[0, 1] = 0.0, -1.0
    memory = me.policy.initial_memory(1).numpy()
    planner.revise(np.array([0]), logits, np.array([NO_OP]), np.full((1, 2), -1), memory)
    assert planner.counts.tolist()[:3] in ([1, 0, 0], [0, 0, 1])


def test_samples_name_the_home_they_were_played_in(samples: Samples):
    assert (samples.home == 0).all()
    assert len(joined([samples, samples])) == 2 * len(samples)


def test_a_reliability_table_counts_what_was_right():
    table = reliability(np.array([0.05, 0.95, 0.95]), np.array([False, True, False]))
    assert table == [[1, pytest.approx(0.05), 0.0], [2, pytest.approx(0.95), 0.5]]
    assert calibration_error(table) == pytest.approx((0.05 + 2 * 0.45) / 3)

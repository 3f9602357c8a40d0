"""One game without clock or network: what a person's commands do, and how a recording continues with another partner."""

import numpy as np
import pytest
import torch

from helpers import batches, pages
from housemates.agents.agent import Agent, learned, scripted
from housemates.policies.checkpoint import save_policy
from housemates.policies.config import PolicyConfig
from housemates.policies.policy import Policy
from housemates.recordings.recording import SCRIPTED, replay
from housemates.sim.batch import Batch
from housemates.sim.state import MUST_DECIDE
from housemates.tasks.actions import ACTIONS, ENTITIES
from housemates.web.game import PERSON, Game, new_game, swap
from housemates.web.messages import Refused

NOBODY = scripted("noop")


def begin(*team: Agent, episode: int = pages.EPISODE, task: str = "tidy_house") -> Game:
    return new_game(batches.episodes(task), [batches.home()], episode, team)


def entity(name: str) -> int:
    return ENTITIES.index(name)


def play(game: Game, most: int = 400) -> Game:
    for _ in range(most):
        if game.over:
            break
        game.tick()
    return game


def until_free(game: Game) -> None:
    """Play on until the person's robot has nothing to do any more."""
    game.tick()
    while not game.over and (game.batch.state.action[0, game.human] != MUST_DECIDE or game.queue):
        game.tick()


def same(one: np.ndarray, other: np.ndarray) -> list[str]:
    """Fields of two states that differ."""
    return [name for name in one.dtype.names or () if not np.array_equal(one[name], other[name], equal_nan=True)]


@pytest.fixture(scope="module")
def policy(tmp_path_factory) -> Agent:
    folder = tmp_path_factory.mktemp("policies") / "tiny"
    config = PolicyConfig(("state", "predicates"), "vector", features=16, hidden=16)
    save_policy(folder, Policy(config, seed=1), {})
    return learned(folder, "tiny")


def test_a_person_who_asks_for_nothing_stands_still():
    game = begin(PERSON, NOBODY)
    before = game.batch.state.pose[0, 0].copy()
    play(game, 5)
    assert np.array_equal(game.batch.state.pose[0, 0], before)


def test_clicks_alone_tidy_the_house():
    game = begin(PERSON, scripted("noop"), episode=4)
    for name in ("obj0", "goal0", "obj1", "goal1"):
        game.click(entity(name))
        until_free(game)
    assert game.result()["outcome"] == "success"
    assert game.result()["done_by"] == [0, 0, 0, 0]


def test_clicks_alone_set_the_table():
    game = begin(PERSON, scripted("noop"), task="set_table", episode=1)
    for name in ("drawer_right", "obj0", "goal0", "fridge", "obj1", "goal1"):
        game.click(entity(name))
        until_free(game)
    assert game.result()["done_by"] == [0] * 6


def test_a_click_on_something_far_goes_there_first():
    game = begin(PERSON, NOBODY, episode=0)
    game.click(entity("obj0"))
    game.tick()
    assert ACTIONS[game.batch.state.action[0, 0]] == "nav obj0"


def test_a_click_on_something_near_does_it_at_once():
    game = begin(PERSON, NOBODY)
    batches.put_at_reach(game.batch, 0, game.batch.state.thing[0, 1], 1.5)
    game.click(entity("obj1"))
    game.tick()
    assert game.batch.state.held[0, 0] == 1


def test_a_click_on_a_goal_without_its_object_only_goes_there():
    game = begin(PERSON, NOBODY)
    game.click(entity("goal0"))
    assert game.queue == [entity("goal0")]


def test_a_person_may_change_his_mind():
    game = begin(PERSON, NOBODY)
    game.act(entity("obj0"))
    play(game, 3)
    game.act(entity("sofa"))
    game.tick()
    assert ACTIONS[game.batch.state.action[0, 0]] == "nav sofa"


def test_a_key_is_repeated_until_it_is_released():
    game = begin(PERSON, NOBODY)
    game.key("left", True)
    play(game, 4)
    game.key("left", False)
    play(game, 3)
    turned = [int(a) for a in game.recorder.finish().frames["executed"][1:, 0]]
    assert [ACTIONS[a] for a in turned] == ["turn-left"] * 4 + ["no-op"] * 3


def test_two_keys_take_turns():
    game = begin(PERSON, NOBODY)
    game.key("forward", True)
    game.key("right", True)
    play(game, 4)
    executed = {ACTIONS[int(a)] for a in game.recorder.finish().frames["executed"][1:, 0]}
    assert executed == {"move-forward", "turn-right"}


def test_a_key_cuts_a_running_skill():
    game = begin(PERSON, NOBODY)
    game.act(entity("obj0"))
    play(game, 2)
    game.key("right", True)
    game.tick()
    assert ACTIONS[game.batch.state.executed[0, 0]] == "turn-right"


def test_stop_ends_a_running_skill():
    game = begin(PERSON, NOBODY)
    game.act(entity("obj0"))
    play(game, 2)
    game.stop()
    play(game, 2)
    assert game.batch.state.action[0, 0] == MUST_DECIDE


def test_a_person_is_not_interrupted_by_a_near_partner():
    game = begin(PERSON, NOBODY)
    assert not game.batch.state.interruptible[0, 0]


def test_a_policy_is_interrupted_by_a_near_partner(policy):
    assert begin(PERSON, policy).batch.state.interruptible[0, 1]


def test_scripts_in_a_game_do_what_they_do_in_a_batch():
    game = play(begin(scripted("first_half"), scripted("second_half")))
    assert game.recorder.finish().header["digest"] == pages.scripted().header["digest"]


def test_the_game_of_a_person_plays_again_bit_for_bit(policy):
    game = begin(PERSON, policy, episode=2)
    for name in ("obj0", "sofa", "goal0"):
        game.click(entity(name))
        play(game, 30)
    kept = game.recorder.finish()
    assert replay(kept, batches.home()).header["digest"] == kept.header["digest"]


def test_solo_steps_are_those_of_a_scripted_robot_alone_from_the_persons_start():
    episodes = batches.episodes()
    assert episodes.spawn is not None
    alone = Batch(episodes, [batches.home()], 1, 1, autoreset=False, stored_spawns=True)
    alone.script(0, batches.script("solo"))
    alone.reset(np.array([5]))
    alone.step(np.full((1, 1), -1))
    assert begin(PERSON, NOBODY, episode=5).solo_steps == alone.ended.steps[0]


def test_a_policy_tells_how_likely_its_actions_were(policy):
    game = play(begin(policy, NOBODY), 1)
    assert game.recorder.finish().probabilities[0].sum() == pytest.approx(1, abs=1e-5)
    assert len(game.thoughts[0]["top"]) == 5


@pytest.mark.parametrize("frame", [0, 1, 17, 40])
def test_a_swap_starts_from_the_exact_state(frame):
    kept = pages.scripted()
    batch = batches.make(size=1, autoreset=False, stored_spawns=True)
    batches.scripted(batch, "first_half", "second_half")
    batch.reset(np.array([pages.EPISODE]))
    for _ in range(frame):
        batch.tick()
    found = swap(kept, frame, [None, PERSON], batches.home()).batch.records
    # Who sits at robot 1 has changed, and the episode is the only one of its set; the rest is the same to the last bit.
    changed = {"controllable", "interruptible", "script", "plan", "plan_at", "episode"}
    assert set(same(batch.records[0], found[0])) <= changed


@pytest.mark.parametrize("frame", [3, 25])
def test_a_swap_that_swaps_nobody_has_the_same_future(frame):
    kept = pages.scripted()
    again = play(swap(kept, frame, [None, None], batches.home())).recorder.finish()
    assert np.array_equal(again.frames["pose"], kept.frames["pose"][frame:])
    assert again.header["outcome"] == kept.header["outcome"]


def test_a_swapped_script_begins_its_own_plan():
    kept = pages.scripted(names=("first_half", "noop"))
    game = swap(kept, 10, [None, scripted("second_half")], batches.home())
    assert play(game).result()["done_by"] == [0, 0, 1, 1]


def test_a_policy_remembers_the_episode_it_is_swapped_into(policy):
    game = play(begin(scripted("first_half"), policy), 30)
    memory, kept = game.actors.memory_of(0)[1].clone(), game.recorder.finish()
    again = swap(kept, kept.steps, [None, policy], batches.home())
    assert torch.equal(again.actors.memory_of(0)[1], memory)


def test_a_policy_that_joins_late_has_seen_the_episode_so_far(policy):
    kept = pages.scripted()
    decisions = kept.decisions[(kept.decisions["robot"] == 1) & (kept.decisions["tick"] < 20)]
    assert (decisions["source"] == SCRIPTED).all()
    memory = swap(kept, 20, [None, policy], batches.home()).actors.memory_of(0)[1]
    assert bool(memory.any()) == bool(len(decisions))


def test_nobody_can_go_on_after_the_end():
    kept = pages.scripted()
    with pytest.raises(Refused, match="the episode is over"):
        swap(kept, kept.steps, [None, PERSON], batches.home())


def test_a_robot_that_nobody_knows_must_be_given_to_somebody(policy):
    kept = play(begin(policy, NOBODY), 10).recorder.finish()
    with pytest.raises(Refused, match="robot 0"):
        swap(kept, 5, [None, PERSON], batches.home())


def test_a_swap_needs_somebody_for_every_robot():
    with pytest.raises(Refused, match="2 robots"):
        swap(pages.scripted(), 5, [PERSON], batches.home())

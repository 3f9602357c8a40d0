"""Recordings: what is written down, that it plays again bit for bit, and how damaged ones are refused."""

import json
import os
import random
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from helpers import batches
from housemates.recordings.recording import (
    CHANGED,
    FRAMES,
    GIVEN,
    SCRIPTED,
    Recorder,
    Recording,
    load_recording,
    record_batch,
    replay,
    resume,
    save_recording,
)
from housemates.sim.batch import Batch
from housemates.sim.rules import Reward, Rules
from housemates.tasks.actions import ACTIONS, NO_OP, PICK


def scripted(task: str = "tidy_house", episode: int = 0, **more) -> Batch:
    batch = batches.make(task, size=3, autoreset=False, stored_spawns=True, **more)
    for robot, name in enumerate(("first_half", "second_half")):
        batch.script(robot, batches.script(name))
    batch.reset(np.array([episode, 1, 2]))
    return batch


def random_robots(seed: int):
    """Decide at random, and say how likely and how good it seemed."""
    rng = np.random.default_rng(seed)

    def decide(batch, which):
        likely = rng.dirichlet(np.ones(len(ACTIONS)), which.shape)
        return np.where(which, likely.argmax(axis=-1), -1), likely, rng.normal(size=which.shape)

    return decide


@pytest.fixture(scope="module")
def wild() -> Recording:
    """Two robots that decide at random and get in each other's way."""
    batch = batches.make(size=1, autoreset=True, rules=Rules(horizon=300), seed=4)
    return record_batch(batch, decide=random_robots(1))


@pytest.mark.parametrize("task", ["tidy_house", "set_table", "prepare_groceries"])
def test_a_scripted_episode_plays_again_bit_for_bit(task):
    kept = record_batch(scripted(task))
    again = replay(kept, batches.home())
    assert again.header["digest"] == kept.header["digest"]


@pytest.mark.parametrize("name", list(FRAMES))
def test_random_robots_play_again_in_every_frame(wild, name):
    assert np.array_equal(replay(wild, batches.home()).frames[name], wild.frames[name])


@pytest.mark.parametrize("robots", [1, 3, 4])
def test_any_number_of_robots_plays_again_bit_for_bit(robots):
    kept = record_batch(batches.make(robots=robots, rules=Rules(horizon=60)), decide=random_robots(robots))
    assert replay(kept, batches.home()).header["digest"] == kept.header["digest"]


def test_the_recorded_poses_are_those_of_the_batch_itself():
    batch = scripted()
    kept = record_batch(batch)
    poses = [batch.state.pose[0].copy()]
    while not batch.state.over[0]:
        batch.tick()
        poses.append(batch.state.pose[0].copy())
    assert np.array_equal(kept.frames["pose"], np.array(poses, np.float32))


def test_recording_leaves_the_batch_as_it_is():
    batch = scripted()
    before = batch.records.copy()
    record_batch(batch)
    assert all(np.array_equal(batch.records[name], before[name], equal_nan=True) for name in before.dtype.names)


def test_the_events_of_a_replay_are_the_recorded_ones(wild):
    assert replay(wild, batches.home()).events == wild.events


def test_a_loaded_recording_plays_again(wild, tmp_path):
    save_recording(tmp_path / "wild.npz", wild)
    assert replay(load_recording(tmp_path / "wild.npz"), batches.home()).header["digest"] == wild.header["digest"]


@pytest.mark.parametrize("part", ["decisions", "probabilities", "value", "wanted", "start"])
def test_a_file_gives_back_what_was_recorded(wild, tmp_path, part):
    save_recording(tmp_path / "wild.npz", wild)
    before, after = getattr(wild, part), getattr(load_recording(tmp_path / "wild.npz"), part)
    assert np.array_equal(before, after)


def test_a_file_gives_back_the_header(wild, tmp_path):
    save_recording(tmp_path / "wild.npz", wild)
    assert load_recording(tmp_path / "wild.npz").header == wild.header


def test_the_rules_come_back_as_they_were(tmp_path):
    rules = Rules(speed="fast", thresholds=(1.5, 0.9), reward=Reward(collision="timeout"))
    save_recording(tmp_path / "r.npz", record_batch(scripted(rules=rules), most=3))
    assert load_recording(tmp_path / "r.npz").rules == rules


def test_an_episode_of_hundreds_of_steps_takes_less_than_fifty_kilobytes(wild, tmp_path):
    save_recording(tmp_path / "wild.npz", wild)
    assert (tmp_path / "wild.npz").stat().st_size < 50_000


def test_the_header_is_plain_json_for_the_page(wild, tmp_path):
    save_recording(tmp_path / "wild.npz", wild)
    with np.load(tmp_path / "wild.npz", allow_pickle=False) as data:
        found = json.loads(bytes(data["header"]), parse_constant=pytest.fail)
    assert found["home_hash"] == batches.home().content_hash


def test_nothing_is_left_beside_the_file(wild, tmp_path):
    save_recording(tmp_path / "wild.npz", wild)
    assert [path.name for path in tmp_path.iterdir()] == ["wild.npz"]


def test_every_subgoal_is_an_event_with_its_robot():
    kept = record_batch(scripted("set_table"))
    found = [(e["robot"], e["what"]) for e in kept.events if e["kind"] == "subgoal"]
    halves = [
        (0, "open drawer_right"), (0, "pick obj0"), (0, "place obj0"), (1, "open fridge"), (1, "pick obj1"), (1, "place obj1"),
    ]  # fmt: skip
    assert set(found) <= set(halves)
    assert found


def test_the_end_is_the_last_event_and_stands_in_the_header(wild):
    assert (wild.events[-1]["kind"], wild.events[-1]["tick"]) == (wild.header["outcome"], wild.steps)


def test_an_infeasible_choice_is_an_event():
    batch = batches.make(autoreset=False)
    recorder = Recorder(batch)
    recorder.tick(np.array([[ACTIONS.index("place goal0"), NO_OP]]))
    assert recorder.finish().events == [{"tick": 1, "kind": "infeasible", "robot": 0, "what": "place goal0"}]


def test_a_skill_cut_by_a_near_partner_is_an_event():
    batch = batches.make(autoreset=False)
    batches.put(batch, 0, (3.0, 4.0))
    batches.put(batch, 1, batches.FAR)
    recorder = Recorder(batch)
    recorder.tick(np.array([[ACTIONS.index("nav sofa"), NO_OP]]))
    batch.state.pose[0, 1, :2] = batch.state.pose[0, 0, :2] + (1.0, 0.0)
    recorder.tick(np.array([[-1, NO_OP]]))
    assert {(e["kind"], e["robot"], e["what"]) for e in recorder.finish().events} == {("interruption", 0, "nav sofa")}


def test_arriving_is_no_interruption():
    kept = record_batch(scripted(rules=Rules(interruption="off")))
    assert [e for e in kept.events if e["kind"] == "interruption"] == []


def test_decisions_name_where_they_came_from():
    batch = batches.make(autoreset=False)
    batch.script(1, batches.script("noop"))
    batch.reset(np.zeros(1, int))
    recorder = Recorder(batch)
    recorder.tick(np.array([[ACTIONS.index("nav fridge"), -1]]))
    recorder.assign(0, ACTIONS.index("turn-left"))
    found = recorder.finish().decisions
    assert [(d["robot"], d["source"]) for d in found] == [(0, GIVEN), (1, SCRIPTED), (0, CHANGED)]


def test_a_change_of_mind_plays_again():
    batch = batches.make(autoreset=False)
    recorder = Recorder(batch)
    for tick in range(12):
        if tick == 5:
            recorder.assign(0, ACTIONS.index("nav sofa"))
        recorder.tick(np.array([[ACTIONS.index("nav fridge"), ACTIONS.index("turn-right")]]))
    kept = recorder.finish()
    assert replay(kept, batches.home()).header["digest"] == kept.header["digest"]


def test_another_decision_is_noticed_by_the_replay(wild):
    decisions = wild.decisions.copy()
    decisions["action"][0] = ACTIONS.index(
        "turn-left" if decisions["action"][0] != ACTIONS.index("turn-left") else "turn-right"
    )
    with pytest.raises(ValueError, match=r"plays differently here from step 1 on"):
        replay(replace(wild, decisions=decisions), batches.home())


def test_another_home_is_refused(wild):
    header = wild.header | {"home_hash": "0" * 24}
    with pytest.raises(ValueError, match="is not the home of this recording"):
        replay(replace(wild, header=header), batches.home())


@pytest.mark.parametrize("tick", [0, 7, 20])
def test_a_resumed_episode_goes_on_exactly(tick):
    kept = record_batch(scripted())
    batch = resume(kept, tick, batches.home())
    poses = [batch.state.pose[0].copy()]
    while not batch.state.over[0]:
        batch.tick()
        poses.append(batch.state.pose[0].copy())
    assert np.array_equal(np.array(poses, np.float32), kept.frames["pose"][tick:])


def test_a_step_that_was_not_played_cannot_be_resumed(wild):
    with pytest.raises(ValueError, match=f"choose 0 to {wild.steps}"):
        resume(wild, wild.steps + 1, batches.home())


def test_what_policies_thought_is_kept(wild):
    likely = wild.probabilities[wild.decisions["source"] == GIVEN]
    assert np.array_equal(likely.argmax(axis=1), wild.decisions["action"])


def test_recording_can_stop_early():
    assert record_batch(scripted(), most=5).steps == 5


def test_names_default_to_the_scripts():
    assert record_batch(scripted(), most=1).header["robots"] == ["first_half", "second_half"]


def test_a_batch_with_autoreset_is_refused():
    with pytest.raises(ValueError, match="autoreset=False"):
        Recorder(batches.make())


def test_a_home_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="choose 0 to 0"):
        Recorder(batches.make(autoreset=False), home=1)


def test_nothing_is_recorded_after_the_end():
    batch = batches.make(autoreset=False, rules=Rules(horizon=1))
    recorder = Recorder(batch)
    recorder.tick()
    with pytest.raises(ValueError, match="ended after 1 steps"):
        recorder.tick()


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="housemates watch --scripted --record"):
        load_recording(tmp_path / "none.npz")


def test_a_cut_file_is_refused(wild, tmp_path):
    path = tmp_path / "wild.npz"
    save_recording(path, wild)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is damaged"):
        load_recording(path)


def test_a_flipped_bit_is_refused_in_one_line_or_changes_nothing(wild, tmp_path):
    path, rng, refused = tmp_path / "wild.npz", random.Random(0), []
    save_recording(path, wild)
    whole = path.read_bytes()
    for _ in range(200):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        try:
            found = load_recording(path)
        except ValueError as error:
            refused.append(str(error))
        else:
            assert found.header == wild.header
            assert all(np.array_equal(found.frames[name], wild.frames[name], equal_nan=True) for name in FRAMES)
    assert len(refused) > 100
    assert not [text for text in refused if len(text.splitlines()) != 1]


def test_an_array_whose_name_is_damaged_is_not_passed_over(wild, tmp_path):
    path = tmp_path / "wild.npz"
    save_recording(path, wild)
    before, name, after = path.read_bytes().rpartition(b"decisions/probabilities")
    path.write_bytes(before + name.replace(b"prob", b"qrob") + after)
    with pytest.raises(ValueError, match="is damaged"):
        load_recording(path)


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match="is no file"):
        load_recording(tmp_path / "pipe.npz")


def test_an_episode_that_is_too_long_is_not_written(wild, tmp_path):
    events = [{"tick": 1, "kind": "infeasible", "robot": 0, "what": "x" * 50}] * 15_000
    with pytest.raises(ValueError, match="too long to be kept"):
        save_recording(tmp_path / "long.npz", replace(wild, header=wild.header | {"events": events}))
    assert not list(tmp_path.iterdir())


def test_a_file_without_frames_is_refused(wild, tmp_path):
    path, less = tmp_path / "wild.npz", tmp_path / "less.npz"
    save_recording(path, wild)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(less, "w") as new:
        for name in old.namelist():
            if not name.startswith("frames/pose"):
                new.writestr(name, old.read(name))
    with pytest.raises(ValueError, match="is damaged"):
        load_recording(less)


def test_another_format_is_refused(wild, tmp_path):
    save_recording(tmp_path / "wild.npz", replace(wild, header=wild.header | {"format": 99}))
    with pytest.raises(ValueError, match=r"format.*99.*1"):
        load_recording(tmp_path / "wild.npz")


def test_picks_are_never_interruptions(wild):
    assert all(ACTIONS.index(e["what"]) < PICK for e in wild.events if e["kind"] == "interruption")


def test_the_same_game_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        # Memory that was used before, so that bytes nobody writes differ.
        dirt = [np.full(size, ord(name), np.uint8) for size in range(1000, 6000)]
        del dirt
        save_recording(tmp_path / name, record_batch(scripted(), most=20))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_flipped_bit_is_refused_in_one_line(wild, tmp_path, share):
    save_recording(tmp_path / "a.npz", wild)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[int(share * len(content))] ^= 16
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz.*damaged.*episode"):
        load_recording(tmp_path / "a.npz")

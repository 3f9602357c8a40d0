"""Messages: what is understood, what is refused, and how a frame is laid out."""

import json

import numpy as np
import pytest

from helpers import batches, pages
from housemates.web.connection import as_json, long_json
from housemates.web.messages import FLAGS, LARGEST, MESSAGES, PIXELS, Refused, encode_frame, frame_layout, frame_type, parse

GOOD = [
    {"type": "hello", "depth": True},
    {"type": "new_game", "task": "tidy_house", "episode": 3, "robots": ["person", "script/solo"], "hz": 12.5, "consent": True},
    {"type": "swap", "recording": "abc", "frame": 12, "robots": [None, "random"]},
    {"type": "join", "game": "abc", "key": "def"},
    {"type": "leave"},
    {"type": "overlay", "look_ahead": True},
    {"type": "ack", "frame": 7, "id": 3},
    {"type": "action", "action": 24},
    {"type": "click", "entity": 13},
    {"type": "key", "key": "left", "down": False},
    {"type": "stop"},
    {"type": "pause", "paused": True},
    {"type": "step"},
    {"type": "speed", "hz": 30},
    {"type": "consent", "consent": False},
    {"type": "view", "view": "top"},
    {"type": "study_enter", "participant": "P07"},
    {"type": "study_game", "participant": "P07"},
    {"type": "study_answer", "participant": "P07", "part": 3, "answers": [1, 7]},
]
BAD = [
    "",
    "null",
    "[]",
    '"hello"',
    "{",
    "[" * 4000,
    '{"type": "hello", "depth": NaN}',
    '{"type": 3}',
    '{"type": "shutdown"}',
    '{"type": "hello", "path": "/etc/passwd"}',
    '{"type": "hello", "depth": 1}',
    '{"type": "action", "action": 25}',
    '{"type": "action", "action": -1}',
    '{"type": "action", "action": 1.5}',
    '{"type": "action", "action": true}',
    '{"type": "action", "action": 1e400}',
    '{"type": "action"}',
    '{"type": "ack", "frame": 1, "id": "x"}',
    '{"type": "key", "key": "up", "down": true}',
    '{"type": "view", "view": "../x"}',
    '{"type": "overlay", "look_ahead": 1}',
    '{"type": "key", "key": ["left"], "down": true}',
    '{"type": "new_game", "task": "tidy_house", "episode": 100, "robots": ["person"]}',
    '{"type": "new_game", "task": "tidy_house", "episode": 1, "robots": []}',
    '{"type": "new_game", "task": "tidy_house", "episode": 1, "robots": [null]}',
    '{"type": "new_game", "task": "tidy_house", "episode": 1, "robots": ["a", "b", "c", "d", "e"]}',
    '{"type": "study_answer", "participant": "P07", "part": 3, "answers": [8]}',
    '{"type": "study_answer", "participant": "P07", "part": 3, "answers": [true]}',
    '{"type": "study_answer", "participant": "P07", "part": 3, "answers": 4}',
    json.dumps({"type": "study_answer", "participant": "P07", "part": 3, "answers": [1] * 31}),
    json.dumps({"type": "join", "game": "x" * 201}),
    '{"type": "join", "game": "' + "x" * LARGEST + '"}',
]


@pytest.mark.parametrize("message", GOOD, ids=lambda m: m["type"])
def test_a_message_is_understood(message):
    assert message.items() <= parse(json.dumps(message)).items()


def test_all_kinds_of_messages_are_tried_here():
    assert {message["type"] for message in GOOD} == set(MESSAGES)


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_is_no_message_is_refused(text):
    with pytest.raises(Refused):
        parse(text)


def test_missing_fields_have_their_defaults():
    assert parse('{"type": "new_game", "task": "a", "episode": 0, "robots": ["b"]}')["hz"] == 10


def test_an_error_names_the_field_and_what_it_must_be():
    with pytest.raises(Refused, match=r"action.*action.*0.*24"):
        parse('{"type": "action", "action": "jump"}')


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_a_frame_is_read_back_with_the_table_that_the_page_gets(robots):
    batch = batches.make(robots=robots)
    pictures = np.arange(robots * PIXELS * PIXELS).astype(np.uint8).reshape(robots, PIXELS, PIXELS)
    frame = encode_frame(batch.state, np.arange(robots), 4, FLAGS["pictures"], 9)
    found = pages.unpack(frame.tobytes() + pictures.tobytes())
    assert (found["number"], found["robots"], found["flags"], found["rest"]) == (9, robots, 2, pictures.nbytes)
    for name in ("pose", "arm", "thing", "thing_yaw", "door", "held", "action", "executed"):
        assert np.array_equal(found[name], getattr(batch.state, name)[0].astype(found[name].dtype)), name
    assert found["possible"].tolist() == list(range(robots))
    assert found["done_by"].tolist() == [-1, -1, -1, -1, -2, -2]
    assert np.array_equal(found["depth"], pictures)


@pytest.mark.parametrize("robots", [1, 2, 3, 4])
def test_fields_of_a_frame_neither_overlap_nor_lie_across_their_own_size(robots):
    table = frame_layout(robots)
    ends = [field["offset"] + int(np.prod(field["shape"])) * int(field["type"][1]) for field in table]
    assert all(end <= after["offset"] for end, after in zip(ends, table[1:], strict=False))
    assert all(field["offset"] % int(field["type"][1]) == 0 for field in table)  # as typed arrays of a browser need it
    assert table[-1]["offset"] == frame_type(robots).itemsize


def test_a_very_late_step_does_not_run_over():
    batch = batches.make()
    batch.state.clock[0] = 70_000
    assert int(encode_frame(batch.state, np.arange(2), 4)["step"]) == 65_535


def test_a_long_answer_in_pieces_is_the_same_json():
    values = {"a": list(range(1001)), "b": [{"x": None, "y": "\u00e9"}] * 201, "c": [], "d": "text", "e": {"f": [1] * 500}}
    assert long_json(values) == as_json(values)

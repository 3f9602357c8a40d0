"""The page's own files: short lines, no words, colours or layouts that the server sends."""

import re
from pathlib import Path

import pytest

from housemates.recordings.palette import THEMES, named_colours
from housemates.tasks.actions import ACTIONS
from housemates.tasks.tasks import TASKS
from housemates.web import server

FILES = sorted(path for path in server.STATIC.iterdir() if path.suffix in (".js", ".css"))
LONGEST = 128


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lines_are_short(path: Path):
    assert [n for n, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LONGEST] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_of_the_page_names_neither_task_nor_colour_nor_action(path: Path):
    colours = {colour for theme in THEMES for colour in named_colours(theme).values()}
    actions = {name for name in ACTIONS if " " in name}
    text = path.read_text()
    assert not [name for name in TASKS if name in text]
    assert not colours & set(re.findall(r"#[0-9a-f]{6}\b", text.lower()))
    assert not [name for name in actions if f'"{name}"' in text]

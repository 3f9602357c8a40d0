"""Checksums: what was written is read, anything else is refused in one line."""

import json
import random
import subprocess
import sys

import pytest

from helpers.damage import damaged
from housemates.agents.agent import SHIPPED
from housemates.io import file_digest, read_json, reading, unseal, write_json

VALUES = {"name": "a", "numbers": [1, 2.5, -3e-9], "deep": {"yes": True, "nothing": None}}


@pytest.fixture
def file(tmp_path):
    write_json(tmp_path / "a.json", VALUES)
    return tmp_path / "a.json"


def test_what_was_written_is_read(file):
    assert read_json(file, "mend it") == VALUES


def test_every_flipped_bit_that_changes_a_value_is_refused(file):
    whole, told = file.read_bytes(), set()
    for at in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << (at % 8)
        file.write_bytes(changed)
        try:
            found = read_json(file, "mend it")
        except ValueError as error:
            told.add(str(error).partition(" (")[0])
            continue
        assert found == VALUES  # white space was hit
    assert told == {f"{file} is damaged"}


def test_a_file_under_another_name_is_refused(file):
    with pytest.raises(ValueError, match="it is not what was written"):
        read_json(file.rename(file.with_name("b.json")), "mend it")


def test_a_changed_file_says_what_to_do_if_it_was_on_purpose(file):
    file.write_text(file.read_text().replace("2.5", "2.6"))
    with pytest.raises(ValueError, match="sha256"):
        read_json(file, "mend it")


def test_a_file_without_checksum_is_taken_with_a_note(file):
    file.write_text(json.dumps(VALUES))
    with pytest.warns(UserWarning, match=r"a\.json.*checksum"):
        assert read_json(file, "mend it") == VALUES


def test_deep_brackets_are_damage(file):
    file.write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"a\.json is damaged"):
        read_json(file, "mend it")


def test_a_file_that_may_not_be_read_is_not_called_damaged(file):
    told = r"a\.json may not be read \(Permission denied\) - change its permissions"
    with pytest.raises(PermissionError, match=told), reading(file, "mend it"):
        raise PermissionError(13, "Permission denied", str(file))


def test_the_digest_of_a_file_is_that_of_its_bytes(file):
    before = file_digest(file)
    file.write_bytes(damaged(file.read_bytes(), "flip", random.Random(0)))
    assert file_digest(file) != before


def test_a_file_that_was_changed_on_purpose_can_be_given_its_checksum_again(file):
    before = file.read_text()
    file.write_text(before.replace("2.5", "2.6"))
    subprocess.run([sys.executable, "-m", "housemates.io", str(file)], check=True, capture_output=True)
    assert read_json(file, "mend it") == VALUES | {"numbers": [1, 2.6, -3e-9]}
    lines = zip(before.splitlines(), file.read_text().splitlines(), strict=True)
    assert next(a for a, b in lines if a != b).strip() == "2.5,"


def test_everything_that_comes_with_the_package_has_its_checksum():
    found = [path for path in SHIPPED.rglob("*.json") if path.name != "index.json"]
    assert found
    for path in found:
        assert unseal(path.name, json.loads(path.read_text())), f"{path} - python -m housemates.io {path}"

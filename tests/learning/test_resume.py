"""Resume points: whole or not at all, and never lost to a full disk or a damaged file."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from housemates.learning import resume
from housemates.learning.distributed import Group

ARRAYS = {"a": np.arange(5), "b": np.zeros((2, 3), np.float32)}
META = {"rng": 2**100, "share": 0.1}


@pytest.fixture
def saved(tmp_path):
    resume.save(tmp_path, 1, ARRAYS, META, Group())
    return tmp_path


def test_what_was_saved_is_loaded(saved):
    arrays, meta = resume.load(saved, Group())
    assert meta == META
    assert all((arrays[name] == values).all() and arrays[name].dtype == values.dtype for name, values in ARRAYS.items())


def test_an_empty_folder_has_no_resume_point(tmp_path):
    assert resume.load(tmp_path, Group()) is None


def test_only_the_newest_resume_point_is_kept(saved):
    resume.save(saved, 2, ARRAYS, META | {"share": 0.2}, Group())
    assert sorted(p.name for p in saved.iterdir()) == ["00000002", "LATEST"]
    assert resume.load(saved, Group())[1]["share"] == 0.2


def test_a_half_written_point_is_not_found(saved):
    (saved / ".00000002").mkdir()
    (saved / ".00000002" / "0.json").write_text("{")
    assert resume.load(saved, Group())[1] == META


def test_a_truncated_file_is_told(saved):
    file = saved / "00000001" / "0.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"00000001 is damaged .* delete"):
        resume.load(saved, Group())


def test_an_edited_file_is_told(saved):
    file = saved / "00000001" / "0.json"
    described = json.loads(file.read_text())
    described["meta"]["share"] = 0.9
    file.write_text(json.dumps(described))
    with pytest.raises(ValueError, match=r"0\.json: it is not what was written"):
        resume.load(saved, Group())


def test_a_flipped_bit_is_told(saved):
    file = saved / "00000001" / "0.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is not what was written"):
        resume.load(saved, Group())


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_full_disk_keeps_the_old_resume_point(saved, monkeypatch, call):
    calls, real = 0, resume.write

    def full(path, content):
        nonlocal calls
        calls += 1
        if calls == call:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(resume, "write", full)
    with pytest.raises(OSError, match="No space left on device - free it and use --resume; the last is kept"):
        resume.save(saved, 2, ARRAYS, META | {"share": 0.2}, Group())
    assert resume.load(saved, Group())[1] == META
    assert not [p for p in saved.iterdir() if p.name.startswith(".")]


def test_a_log_is_cut_but_never_lengthened(tmp_path):
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    resume.truncate(log, 4)
    resume.truncate(log, 100)
    assert log.read_text() == "one\n"


def test_a_log_on_a_full_disk_is_told():
    with pytest.raises(OSError, match="cannot write /dev/full: No space left on device - free it"):
        resume.append(Path("/dev/full"), {"update": 1})

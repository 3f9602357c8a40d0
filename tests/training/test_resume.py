"""Resume points: whole or not at all, and never lost to a full disk or a damaged file."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.learners import trainer
from housemates.training import checkpoint as resume
from housemates.training.distributed import Group

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
    with pytest.raises(ValueError, match=r"0\.json"):
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
    calls, real = 0, resume.write_synced

    def full(path, content):
        nonlocal calls
        calls += 1
        if calls == call:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(resume, "write_synced", full)
    with pytest.raises(OSError, match=r"No space left on device.*--resume"):
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
    with pytest.raises(OSError, match=r"/dev/full.*No space left on device"):
        resume.append(Path("/dev/full"), {"update": 1})


def test_points_without_the_file_that_names_the_newest_are_not_begun_anew(saved):
    (saved / "LATEST").unlink()
    with pytest.raises(ValueError, match=r"LATEST.*00000001"):
        resume.load(saved, Group())


@pytest.mark.parametrize("name", ["00000007", "", "00000001/..", "\x00"])
def test_a_newest_point_that_is_not_there_is_told(saved, name):
    (saved / "LATEST").write_text(name)
    with pytest.raises(ValueError, match=r"LATEST.*00000001"):
        resume.load(saved, Group())


def test_a_run_killed_before_its_first_point_is_named_begins_anew(tmp_path, monkeypatch):
    written = []

    def killed(path: Path, content: bytes) -> None:
        written.append(content)
        if len(written) == 2:
            raise KeyboardInterrupt
        path.write_bytes(content)

    monkeypatch.setattr(resume, "write_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        resume.save(tmp_path, 1, ARRAYS, META, Group())
    assert (tmp_path / "00000001").is_dir()
    assert resume.load(tmp_path, Group()) is None


def test_what_depends_on_the_clock_is_kept_apart(tmp_path):
    for name, seconds in (("a", 1.0), ("b", 22.5)):
        resume.save(tmp_path / name, 1, ARRAYS, META | {"seconds": seconds, "metrics_bytes": 7}, Group())
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / name / "00000001").iterdir()} for name in "ab")
    assert {name for name in one if one[name] != two[name]} == {"0.time.json"}
    assert resume.load(tmp_path / "b", Group())[1] == META | {"seconds": 22.5, "metrics_bytes": 7}


def test_two_equal_runs_leave_the_same_bytes(tmp_path):
    # Memory that was used before, so that bytes nobody writes differ.
    dirt = [np.full(200_000, value, np.uint8) for value in range(1, 200)]
    del dirt
    for name in ("a", "b"):
        trainer(tmp_path / name, decisions=200).run()
        dirt = [np.full(40_000, 255, np.uint8) for _ in range(500)]
        del dirt
    one, two = (
        {p.relative_to(tmp_path / name).as_posix(): p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()}
        for name in ("a", "b")
    )
    timed = {name for name in one if name.endswith(".time.json") or name == "metrics.jsonl" or "tensorboard" in name}
    assert {name for name in one if name.endswith((".safetensors", "0.json"))} - timed
    assert one.keys() == two.keys()
    assert [name for name in one if name not in timed and one[name] != two[name]] == []


def test_two_processes_do_not_train_one_run(tmp_path):
    code = "import sys, pathlib; from housemates.training.checkpoint import held\n"
    code += "with held(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "held\n"
        told = rf"is being trained by process {other.pid} on \S+ - wait until it is done, or stop it first"
        with pytest.raises(ValueError, match=told), resume.held(tmp_path):
            pass
    finally:
        other.kill()
        other.wait()
    with resume.held(tmp_path):  # the lock has ended with its process
        pass

"""The library: which files are found, what may be uploaded, and that nothing else can be reached."""

import io
import json
import os
import tempfile
import tracemalloc
import zipfile

import numpy as np
import pytest

from helpers import batches, pages
from housemates.recordings.recording import save_recording
from housemates.web import library as library_module
from housemates.web.library import Library
from housemates.web.messages import Refused


@pytest.fixture
def folder(tmp_path, recording):
    save_recording(tmp_path / "run" / "evaluation" / "one.npz", recording)
    save_recording(tmp_path / "elsewhere" / "secret.npz", recording)
    np.savez(tmp_path / "run" / "numbers.npz", a=np.zeros(3))
    (tmp_path / "run" / "broken.npz").write_bytes(b"no zip")
    return tmp_path


def content(folder) -> bytes:
    return (folder / "elsewhere" / "secret.npz").read_bytes()


def test_recordings_in_folders_of_a_run_are_found_and_other_files_are_not(folder):
    assert [e.path.name for e in Library([folder / "run"]).entries() if e.path] == ["one.npz"]


def test_a_link_out_of_the_folder_is_not_followed(folder):
    (folder / "run" / "link.npz").symlink_to(folder / "elsewhere" / "secret.npz")
    assert len(Library([folder / "run"]).entries()) == 1


def test_a_new_recording_is_found_later(folder, recording):
    found = Library([folder / "run"])
    save_recording(folder / "run" / "two.npz", recording)
    found.refresh()
    assert len(found.entries()) == 2


def test_a_recording_that_was_written_anew_is_shown_once(folder, recording):
    found = Library([folder / "run"])
    place = folder / "run" / "evaluation" / "one.npz"
    save_recording(place, recording)
    os.utime(place, (1, 1))
    found.refresh()
    assert len(found.entries()) == 1


def test_an_id_is_no_path(folder):
    for name in ("../elsewhere/secret.npz", str(folder / "elsewhere" / "secret.npz"), "one.npz", ""):
        with pytest.raises(Refused, match="no such recording"):
            Library([folder / "run"]).recording(name)


def test_what_is_dropped_can_be_shown(folder, recording):
    found = Library()
    name = found.upload(content(folder))
    assert found.recording(name).header == recording.header


def test_dropping_leaves_no_file(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "run"))
    before = sorted(tmp_path.rglob("*"))
    Library().upload(content(folder))
    assert sorted(tmp_path.rglob("*")) == before


def bomb() -> bytes:
    """A small file that holds 3 MB of zeros."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.npy", bytes(3_000_000))
    return file.getvalue()


def liar() -> bytes:
    """An array that says it has more numbers than any machine."""
    file = io.BytesIO()
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("header.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    return file.getvalue()


def changed(folder, **arrays: np.ndarray | bytes) -> bytes:
    """A recording with some of its arrays replaced."""
    found, file = np.load(folder / "elsewhere" / "secret.npz"), io.BytesIO()
    np.savez_compressed(file, **{name: found[name] for name in found.files} | arrays)
    return file.getvalue()


def told(recording, **more) -> np.ndarray:
    """The header of a recording with more in it."""
    return np.frombuffer(json.dumps(recording.header | more).encode(), np.uint8)


def test_what_no_recorder_writes_is_not_kept(folder, recording):
    found = Library()
    events = [{**event, "more": "x" * 1000} for event in recording.events]
    made = changed(folder, header=told(recording, x=[{}] * 5000, game={"id": 1}, events=events), other=np.zeros(10**6))
    assert found.recording(found.upload(made)).header == recording.header


@pytest.mark.parametrize("more", [{"x": "y" * 1_000_000}, {"x": [{}] * 22_000}, {"rules": {"reward": {"success": [1]}}}])
def test_a_header_that_no_recorder_writes_is_refused(folder, recording, more):
    with pytest.raises(Refused, match="no recording that can be shown"):
        Library().upload(changed(folder, header=told(recording, **more)))


def test_a_small_file_cannot_take_much_memory(folder, recording):
    bombs = [
        changed(folder, header=told(recording, x=[{}] * 8_000_000)),
        changed(
            folder, **{f"decisions/{name}": np.zeros(7_000_000, np.int8) for name in ("tick", "robot", "action", "source")}
        ),
        changed(folder, **{"frames/pose": np.zeros((2_000_000, 2, 3), np.float32)}),
    ]
    tracemalloc.start()
    try:
        for made in bombs:
            with pytest.raises(Refused):
                Library().upload(made)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_what_is_dropped_takes_so_much_memory_and_no_more(folder, recording, monkeypatch):
    found = Library()
    played = found.add(recording, "game", human=0)
    one = library_module.recording_bytes(recording)
    monkeypatch.setattr(library_module, "MOST_BYTES", 3 * one + one // 2)
    names = [found.upload(changed(folder, header=told(recording, seed=k))) for k in range(6)]
    assert [e.id for e in found.entries()] == [played, *names[3:]]
    with pytest.raises(Refused, match="no such recording"):
        found.recording(names[0])


def crowded() -> bytes:
    """A table of contents of 5 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for k in range(20_000):
            packed.writestr(f"{k}{'x' * 100}", b"")
    return file.getvalue()


def repacked(how: int) -> bytes:
    """Zeros packed in a way of which a few bytes may unpack to very many."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as packed:
        packed.writestr("header.npy", bytes(500_000))
    return file.getvalue()


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_file_packed_in_another_way_is_not_unpacked(how):
    with pytest.raises(Refused, match="packed in a way"):
        Library().upload(repacked(how))


def test_a_file_of_very_many_files_is_refused_before_they_are_listed():
    with pytest.raises(Refused, match="table of contents"):
        Library().upload(crowded())


def test_a_pipe_in_a_folder_is_passed_over(folder):
    os.mkfifo(folder / "run" / "pipe.npz")
    assert len(Library([folder / "run"]).entries()) == 1


def pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, header=np.array([{"a": 1}], object))
    return file.getvalue()


@pytest.mark.parametrize("made", [bytes, bomb, liar, pickled, lambda: b"PK\x03\x04", lambda: bytes(9_000_000)])
def test_what_is_no_recording_is_refused(made):
    with pytest.raises(Refused):
        Library().upload(made())


def test_half_a_recording_is_refused(folder):
    with pytest.raises(Refused, match="no recording that can be shown"):
        Library().upload(content(folder)[:4000])


def test_an_error_does_not_tell_where_files_are(folder):
    with pytest.raises(Refused) as error:
        Library().upload(b"PK\x03\x04")
    assert "/" not in str(error.value)


def test_only_so_many_are_kept_in_memory(recording, monkeypatch):
    monkeypatch.setattr(library_module, "IN_MEMORY", 3)
    found = Library()
    names = [found.add(recording, "game", human=k) for k in range(5)]
    assert [e.id for e in found.entries()] == names[2:]


def test_a_home_that_has_changed_is_refused(recording):
    found = Library()
    found._homes["another"] = batches.home()
    with pytest.raises(Refused, match="is not here"):
        found.home(pages.scripted(episode=1))

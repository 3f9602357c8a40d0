"""The shelf: which files are found, what may be dropped on it, and that nothing else can be reached."""

import io
import os
import zipfile

import numpy as np
import pytest

import batches
import pages
from housemates.sim.recording import save_recording
from housemates.web import shelf as shelf_module
from housemates.web.messages import Refused
from housemates.web.shelf import Shelf


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
    assert [e.path.name for e in Shelf([folder / "run"]).entries() if e.path] == ["one.npz"]


def test_a_link_out_of_the_folder_is_not_followed(folder):
    (folder / "run" / "link.npz").symlink_to(folder / "elsewhere" / "secret.npz")
    assert len(Shelf([folder / "run"]).entries()) == 1


def test_a_new_recording_is_found_later(folder, recording):
    found = Shelf([folder / "run"])
    save_recording(folder / "run" / "two.npz", recording)
    found.look()
    assert len(found.entries()) == 2


def test_a_recording_that_was_written_anew_is_shown_once(folder, recording):
    found = Shelf([folder / "run"])
    place = folder / "run" / "evaluation" / "one.npz"
    save_recording(place, recording)
    os.utime(place, (1, 1))
    found.look()
    assert len(found.entries()) == 1


def test_an_id_is_no_path(folder):
    for name in ("../elsewhere/secret.npz", str(folder / "elsewhere" / "secret.npz"), "one.npz", ""):
        with pytest.raises(Refused, match="no such recording"):
            Shelf([folder / "run"]).recording(name)


def test_what_is_dropped_can_be_shown(folder, recording):
    found = Shelf()
    name = found.drop(content(folder))
    assert found.recording(name).header == recording.header


def test_dropping_leaves_no_file(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(shelf_module.tempfile, "tempdir", str(tmp_path / "run"))
    before = sorted(tmp_path.rglob("*"))
    Shelf().drop(content(folder))
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


def pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, header=np.array([{"a": 1}], object))
    return file.getvalue()


@pytest.mark.parametrize("made", [bytes, bomb, liar, pickled, lambda: b"PK\x03\x04", lambda: bytes(9_000_000)])
def test_what_is_no_recording_is_refused(made, monkeypatch):
    monkeypatch.setattr(shelf_module, "LARGEST_CONTENT", 2_000_000)
    with pytest.raises(Refused):
        Shelf().drop(made())


def test_half_a_recording_is_refused(folder):
    with pytest.raises(Refused, match="no recording that can be shown"):
        Shelf().drop(content(folder)[:4000])


def test_an_error_does_not_tell_where_files_are(folder):
    with pytest.raises(Refused) as error:
        Shelf().drop(b"PK\x03\x04")
    assert "/" not in str(error.value)


def test_only_so_many_are_kept_in_memory(recording, monkeypatch):
    monkeypatch.setattr(shelf_module, "IN_MEMORY", 3)
    found = Shelf()
    names = [found.keep(recording, "game", human=k) for k in range(5)]
    assert [e.id for e in found.entries()] == names[2:]


def test_a_home_that_has_changed_is_refused(recording):
    found = Shelf()
    found._homes["another"] = batches.home()
    with pytest.raises(Refused, match="is not here"):
        found.home(pages.scripted(episode=1))

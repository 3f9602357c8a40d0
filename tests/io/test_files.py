"""Files are there whole or not at all."""

import errno
import io
import os
import resource
import signal
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

from housemates.io import WriteError, check_place, read_arrays, whole_folder, write_files, write_whole


def half(file):
    file.write(b"half")
    raise OSError("disk full")


def test_what_was_filled_stands_at_the_path(tmp_path):
    write_whole(tmp_path / "new" / "a.bin", lambda file: file.write(b"whole"))
    assert (tmp_path / "new" / "a.bin").read_bytes() == b"whole"


def test_nothing_is_left_beside_the_file(tmp_path):
    write_whole(tmp_path / "a.bin", lambda file: file.write(b"whole"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_a_failure_leaves_no_file(tmp_path):
    with pytest.raises(OSError, match="disk full"):
        write_whole(tmp_path / "a.bin", half)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file_as_it_was(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"old")
    with pytest.raises(OSError, match="disk full"):
        write_whole(tmp_path / "a.bin", half)
    assert (tmp_path / "a.bin").read_bytes() == b"old"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_mode_is_what_the_umask_leaves(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "a.bin", lambda file: file.write(b""))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == mode


def test_the_temporary_file_has_the_suffix_and_the_folder_of_its_place(tmp_path):
    names = []
    write_whole(tmp_path / "a.mp4", lambda file: names.append(file.name))
    assert names[0].startswith(str(tmp_path))
    assert names[0].endswith(".mp4")


def test_a_place_in_a_folder_still_to_be_made_is_accepted(tmp_path):
    check_place(tmp_path / "new" / "deep" / "a.bin")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_place_for_a_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder - name a file in it"):
        check_place(tmp_path)


def test_nothing_is_left_where_a_place_was_tried(tmp_path):
    check_place(tmp_path / "a.bin")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
def test_a_folder_that_takes_no_files_is_refused_whoever_asks():
    with pytest.raises(
        ValueError, match=r"^/proc/new/a.png cannot be written: /proc takes no files .* - choose another place$"
    ):
        check_place(Path("/proc/new/a.png"))


def test_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a device or a pipe, which would be replaced - choose another place"):
        check_place(tmp_path / "pipe")


def test_a_full_disk_is_found_before_the_work(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda path, mode: Full())
    with pytest.raises(ValueError, match="No space left on device"):
        check_place(tmp_path / "a.bin")


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(ValueError, match="choose another place"):
        check_place(tmp_path / ("a" * 300))


def test_a_place_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ValueError, match="choose another place"):
        check_place(tmp_path / "file" / "a.bin")


@pytest.fixture
def full_disk():
    """No file of this process may become longer than 20 kB, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_told_with_the_file_and_a_remedy(tmp_path):
    arrays = {name: np.zeros(5000) for name in "abc"}
    with pytest.raises(OSError, match=r"a\.npz.*File too large"):
        write_whole(tmp_path / "a.npz", lambda file: np.savez(file, **arrays))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("full_disk")
def test_a_full_cache_names_the_setting_that_moves_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSEMATES_CACHE", str(tmp_path))
    with pytest.raises(OSError, match="HOUSEMATES_CACHE"):
        write_whole(tmp_path / "homes" / "a.bin", lambda file: file.write(bytes(50_000)))


@pytest.mark.usefixtures("full_disk")
def test_an_array_that_does_not_fit_is_a_full_disk(tmp_path):
    with pytest.raises(OSError, match=r"a\.npy.*No space left on device"):
        write_whole(tmp_path / "a.npy", lambda file: np.save(file, np.zeros(50_000)))


def test_an_error_that_hides_the_full_disk_is_told_by_its_cause(tmp_path):
    def fill(file):
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        finally:
            raise ValueError("I/O operation on closed file.")

    with pytest.raises(OSError, match=r"a\.bin.*No space left on device"):
        write_whole(tmp_path / "a.bin", fill)


def test_errors_about_other_files_stay_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        write_whole(tmp_path / "a.bin", lambda file: Path("/elsewhere/b.bin").read_bytes())
    with pytest.raises(ValueError, match="nobody plays"):
        write_whole(tmp_path / "a.bin", lambda file: int("nobody plays"))


def test_the_disk_has_the_file_and_its_name_before_it_is_called_written(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(str(Path(f"/proc/self/fd/{handle}").readlink())))
    write_whole(tmp_path / "a.bin", lambda file: file.write(b"whole"))
    assert len(synced) == 2
    assert synced[0].endswith(".bin")
    assert synced[1] == str(tmp_path)


def test_arrays_are_read_to_their_checksum(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.arange(100_000), b=np.zeros(3))
    assert np.array_equal(read_arrays(tmp_path / "a.npz")["a"], np.arange(100_000))
    whole = (tmp_path / "a.npz").read_bytes()
    # numpy reads one number of many and never comes to the checksum.
    (tmp_path / "a.npz").write_bytes(whole.replace(b"(100000,)", b"(     1,)"))
    assert np.load(tmp_path / "a.npz")["a"].tolist() == [0]
    with pytest.raises(zipfile.BadZipFile, match="Bad CRC-32"):
        read_arrays(tmp_path / "a.npz")


def test_a_folder_appears_whole(tmp_path):
    with whole_folder(tmp_path / "a" / "new") as temporary:
        (temporary / "inside").mkdir()
        (temporary / "inside" / "file").write_bytes(b"x")
        assert not (tmp_path / "a" / "new").exists()
    assert (tmp_path / "a" / "new" / "inside" / "file").read_bytes() == b"x"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["new"]


def test_a_failure_leaves_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError), whole_folder(tmp_path / "new") as temporary:
        (temporary / "file").write_bytes((tmp_path / "missing").read_bytes())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_not_replaced(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    with pytest.raises(WriteError), whole_folder(tmp_path / "old") as temporary:
        (temporary / "other").touch()
    assert [p.name for p in (tmp_path / "old").iterdir()] == ["file"]


def test_what_a_killed_process_left_is_removed_but_nothing_of_others(tmp_path):
    left, other = tmp_path / ".new-0123abcd.tmp", tmp_path / ".new-er-0123abcd.tmp"
    left.mkdir()
    other.mkdir()
    with whole_folder(tmp_path / "new"):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == [other.name, "new"]


def test_files_that_belong_together_replace_the_old_ones_or_none(tmp_path, monkeypatch):
    write_files(tmp_path / "pair", {"a": b"1", "b": b"1"})
    write_files(tmp_path / "pair", {"a": b"2", "b": b"2"})
    assert {p.name: p.read_bytes() for p in (tmp_path / "pair").iterdir()} == {"a": b"2", "b": b"2"}

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("housemates.io.sync", full)
    with pytest.raises(WriteError, match="No space left"):
        write_files(tmp_path / "pair", {"a": b"3", "b": b"3"})
    assert {p.name: p.read_bytes() for p in (tmp_path / "pair").iterdir()} == {"a": b"2", "b": b"2"}
    assert [p.name for p in tmp_path.iterdir()] == ["pair"]

"""Files are there whole or not at all."""

import errno
import io
import os
import stat
from pathlib import Path

import pytest

from housemates.kernels.files import check_place, write_whole


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
    with pytest.raises(ValueError, match=r"\(No space left on device\) - free some space, or choose another place"):
        check_place(tmp_path / "a.bin")


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(ValueError, match="choose another place"):
        check_place(tmp_path / ("a" * 300))


def test_a_place_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ValueError, match="choose another place"):
        check_place(tmp_path / "file" / "a.bin")

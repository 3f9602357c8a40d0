"""The line on stderr while kernels compile."""

import numpy as np
from numba import njit

from housemates.geometry.sight import sees
from housemates.parallel import announce, on_disk

FREE = np.ones((3, 3), bool)


def test_a_kernel_that_was_never_compiled_is_announced_in_one_line(capsys):
    announce("test", [njit(lambda x: x)], 7)
    assert capsys.readouterr().err == "Compiling test kernels, once (about 7 s)...\n"


def test_kernels_are_announced_once_a_process(capsys):
    for _ in range(3):
        announce("other", [njit(lambda x: x)], 7)
    assert capsys.readouterr().err.count("other") == 1


def test_compiled_kernels_are_silent(capsys):
    sees(FREE, 0, 0, 2, 2)
    announce("compiled", [sees], 7)
    assert capsys.readouterr().err == ""


def test_a_kernel_on_disk_counts_as_compiled_in_a_new_process():
    sees(FREE, 0, 0, 2, 2)
    fresh = njit(cache=True, nogil=True)(sees.py_func)
    assert not fresh.signatures
    assert on_disk(fresh)


def test_a_plain_function_is_not_compiled():
    assert not on_disk(np.hypot.__call__)


def test_kernels_that_wait_for_their_first_use_are_announced_once(capsys):
    waiting = njit(lambda x: x)
    assert announce("waiting", [waiting], 7)
    assert not announce("waiting", [waiting], 7)
    assert len(capsys.readouterr().err.splitlines()) == 1

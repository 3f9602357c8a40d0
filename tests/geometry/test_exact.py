"""Exact functions: near the true values, the same in Python, in arrays and in kernels, and made of fixed operations alone."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from numba import njit

from housemates.geometry import exact

ANGLES = np.concatenate(
    [
        np.random.default_rng(0).uniform(-30, 30, 2000),
        np.arange(-8, 9) * np.pi / 4,
        [0.0, 1e-300, -1e-9, 1e-5, 1000.0, -123456.7],
    ]
)
UPSTREAM = Path(exact.__file__).parents[1]
MAKES_HOMES = [
    *(f"homes/{n}.py" for n in ("decor", "furniture", "generate", "home", "kitchen", "layout", "navigation", "objects")),
    *(f"homes/{n}.py" for n in ("pieces", "plan", "solids")),
    *(f"geometry/{n}.py" for n in ("distance", "exact", "paths", "shapes", "sight")),
    *(f"tasks/{n}.py" for n in ("episodes", "generate", "place", "task")),
]
LAST_BIT = {"sin", "cos", "tan", "arctan2", "atan2", "arcsin", "arccos", "exp", "log", "hypot", "einsum", "dot", "matmul"}
"""Functions of numpy, math and the C library whose last bit depends on the processor."""


def ulps(value: float, true: mpf) -> float:
    """How many units in the last place a number is from the truth."""
    return abs(float((mpf(float(value)) - true) / mpf(float(np.spacing(abs(float(true)) or 1e-300)))))


@pytest.mark.parametrize(("mine", "true"), [(exact.sin, mp.sin), (exact.cos, mp.cos)], ids=["sin", "cos"])
def test_sine_and_cosine_are_within_two_units_of_the_truth(mine, true):
    with mp.workprec(200):
        assert max(ulps(v, true(mpf(float(x)))) for v, x in zip(mine(ANGLES), ANGLES, strict=True)) < 2


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_arc_tangents_are_within_three_units_of_the_truth(y, x):
    with mp.workprec(200):
        true = mp.atan2(mpf(y), mpf(x)) if (x, y) != (0.0, 0.0) else mpf(0)
        assert exact.atan2(y, x) == pytest.approx(float(true), rel=3 * 2**-52, abs=1e-300)


def test_arc_tangents_keep_their_quadrant():
    points = [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (0, 0)]
    assert [exact.atan2(y, x) for y, x in points] == pytest.approx([math.atan2(y, x) for y, x in points], abs=1e-15)


def test_numbers_arrays_and_kernels_give_the_same_bits():
    @njit
    def kernel(x, out):
        for i in range(len(x)):
            out[i, 0], out[i, 1], out[i, 2] = exact.sin(x[i]), exact.cos(x[i]), exact.hypot(x[i], 2.5)

    out = np.empty((len(ANGLES), 3))
    kernel(ANGLES, out)
    arrays = np.stack([exact.sin(ANGLES), exact.cos(ANGLES), exact.hypot(ANGLES, 2.5)], axis=1)
    numbers = [[exact.sin(float(x)), exact.cos(float(x)), exact.hypot(float(x), 2.5)] for x in ANGLES]
    assert out.tobytes() == arrays.tobytes() == np.array(numbers, float).tobytes()


def test_products_are_matrix_products():
    rng = np.random.default_rng(1)
    a, b, v = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 3, 2)), rng.normal(size=3)
    assert exact.product(a, b) == pytest.approx(a @ b)
    assert exact.product(a[0], v) == pytest.approx(a[0] @ v)
    assert not np.signbit(exact.product(np.array([[-1.0, 0.0]]), np.array([0.0, 0.0]))).any()


def test_draws_are_those_of_numpy():
    one, two = np.random.default_rng(5), np.random.default_rng(5)
    assert exact.uniform(one, -2.0, 3.0) == pytest.approx(two.uniform(-2.0, 3.0), abs=1e-15)
    drawn = [exact.normal(one, 0.5) for _ in range(20_000)]
    assert drawn == pytest.approx([two.normal(0.0, 0.5) for _ in range(20_000)], abs=1e-9)
    assert any(abs(d) > 0.5 * exact.TAIL for d in drawn)


@pytest.mark.parametrize("name", MAKES_HOMES)
def test_what_makes_homes_and_episodes_uses_no_function_with_a_free_last_bit(name):
    for node in ast.walk(ast.parse((UPSTREAM / name).read_text())):
        assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)), f"{name}:{node.lineno} uses @"
        if isinstance(node, ast.Attribute) and node.attr in LAST_BIT | {"uniform", "normal"}:
            source = getattr(node.value, "id", "")
            assert source not in ("np", "math", "rng"), f"{name}:{node.lineno} uses {source}.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            assert not LAST_BIT & {alias.name for alias in node.names}, f"{name}:{node.lineno} imports from math"

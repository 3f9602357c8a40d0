"""Matrix products inside numba kernels: the sgemm of a BLAS library that is in the process already.

torch brings one along (MKL, or OpenBLAS on Arm), numpy another. Kernels call it by the name SYMBOL, which is bound to an
address when this module is imported, so compiled kernels can be cached on disk whichever library it is.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

SYMBOL = "housemates_sgemm"
CHOICE = "HOUSEMATES_GEMM"
"""Environment variable that names the library to use: `torch`, `numpy` or `none`; the first that is there without it."""
ALIGNED = 64
"""Bytes: arrays for products begin at multiples of it, so that the same shapes always give the same bits."""
NORMAL, TRANSPOSED = ord("N"), ord("T")


def _torch_libraries() -> Iterator[Path]:
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib", "torch_cpu.dll"):
        yield folder / name


def _numpy_libraries() -> Iterator[Path]:
    folder = Path(np.__file__).parent
    for place in (folder.parent / "numpy.libs", folder / ".dylibs"):
        yield from sorted(place.glob("*openblas*"))


LIBRARIES = {
    "torch": (_torch_libraries, ("sgemm_",), ()),
    "numpy": (
        _numpy_libraries,
        ("scipy_sgemm_64_", "scipy_sgemm_", "sgemm_64_", "sgemm_"),
        ("scipy_openblas_set_num_threads64_",),
    ),
}
"""Where to look, in this order: files, names of the product, names of what limits the library to one thread. torch's threads
are set by torch itself; it comes first because it is up to twice as fast at the shapes of small networks."""


def _find(library: str) -> int | None:
    """Address of the product of the named library, None if it has none."""
    files, names, limits = LIBRARIES[library]
    for path in files():
        try:
            opened = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in names:
            if hasattr(opened, name):
                for limit in limits:
                    if hasattr(opened, limit):
                        getattr(opened, limit)(1)
                return ctypes.cast(getattr(opened, name), ctypes.c_void_p).value
    return None


def bind(choice: str = "") -> str:
    """Bind SYMBOL to the chosen library or to the first that is there; returns its name, empty if there is none."""
    if choice not in ("", "none", *LIBRARIES):
        raise ValueError(f"{CHOICE} = {choice} - choose one of: {', '.join(LIBRARIES)}, none")
    for library in () if choice == "none" else (choice,) if choice else LIBRARIES:
        address = _find(library)
        if address is not None:
            llvm.add_symbol(SYMBOL, address)
            return library
    return ""


SOURCE = bind(os.environ.get(CHOICE, ""))
"""Which library multiplies, empty for none; kernels that multiply must not be called then."""


def available() -> bool:
    """Whether kernels can multiply matrices here."""
    return bool(SOURCE)


def empty(*shape: int) -> np.ndarray:
    """A float32 array for products, aligned, of zeros."""
    count = int(np.prod(shape))
    room = np.zeros(count + ALIGNED // 4, np.float32)
    start = (-room.ctypes.data % ALIGNED) // 4
    return room[start : start + count].reshape(shape)


@intrinsic
def _sgemm(typing, ta, tb, m, n, k, a, b, beta, c):
    """Fortran's sgemm on 2-d float32 arrays: c = op(a) op(b) + beta c. Leading dimensions are the arrays' strides."""

    def build(context, builder, signature, args):
        long, byte = ir.IntType(64), ir.IntType(8).as_pointer()

        def number(at):
            # The library may read 32 or 64 bits: small numbers are the same in both.
            value = context.cast(builder, args[at], signature.args[at], types.int64)
            return builder.bitcast(cgutils.alloca_once_value(builder, value), byte)

        def real(value):
            return builder.bitcast(cgutils.alloca_once_value(builder, value), byte)

        def array(at):
            made = context.make_array(signature.args[at])(context, builder, args[at])
            stride = builder.extract_value(made.strides, 0)
            leading = builder.sdiv(stride, ir.Constant(long, 4))
            return builder.bitcast(made.data, byte), builder.bitcast(cgutils.alloca_once_value(builder, leading), byte)

        (left, lda), (right, ldb), (out, ldc) = array(5), array(6), array(8)
        one = real(ir.Constant(ir.FloatType(), 1.0))
        keep = real(context.cast(builder, args[7], signature.args[7], types.float32))
        kind = ir.FunctionType(ir.VoidType(), [byte] * 13)
        function = cgutils.get_or_insert_function(builder.module, kind, SYMBOL)
        builder.call(
            function,
            [number(0), number(1), number(2), number(3), number(4), one, left, lda, right, ldb, keep, out, ldc],
        )
        return context.get_dummy_value()

    return types.void(ta, tb, m, n, k, a, b, beta, c), build


@njit(cache=True, nogil=True, _nrt=False)
def product(x, weight, beta, y):
    """y [m, n] = x [m, k] weight [n, k]^T + beta y: a layer's outputs from a torch layer's weight."""
    if y.size:
        _sgemm(TRANSPOSED, NORMAL, y.shape[1], y.shape[0], x.shape[1], weight, x, beta, y)


@njit(cache=True, nogil=True, _nrt=False)
def plain(x, weight, beta, y):
    """y [m, n] = x [m, k] weight [k, n] + beta y: outputs from a transposed weight, and gradients of inputs from a weight."""
    if y.size:
        _sgemm(NORMAL, NORMAL, y.shape[1], y.shape[0], x.shape[1], weight, x, beta, y)


@njit(cache=True, nogil=True, _nrt=False)
def outer(dy, x, beta, dweight):
    """dweight [n, k] = dy [m, n]^T x [m, k] + beta dweight: gradients of a weight over m rows."""
    if dweight.size:
        _sgemm(NORMAL, TRANSPOSED, dweight.shape[1], dweight.shape[0], x.shape[0], x, dy, beta, dweight)

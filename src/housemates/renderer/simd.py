"""Eight numbers at once, in numba: three small types (floats, ints, truths) and the operations the rasteriser needs.

Numba offers no vector type of its own, and its automatic vectoriser turns `z[i] = max(z[i], v)` into masked stores that are
several times slower than the one instruction meant. Each function here becomes one or two LLVM vector instructions.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

WIDTH = 8
kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
"""Compiles a kernel that allocates nothing: without numba's reference counts, which cost more than a small kernel's work."""
inner = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
"""The same for a piece of a kernel that must not become a call."""
spliced = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, inline="always")
"""The same for a piece that calls large kernels: it is never compiled by itself, which would compile all those once more."""
ZERO, ONE, THREE, SIX, EIGHT = (np.int64(value) for value in (0, 1, 3, 6, 8))
"""Numba compiles a kernel again for every literal it is called with, unless the literal has a type."""
_F32, _I32 = ir.FloatType(), ir.IntType(32)
_VF, _VI, _VB = ir.VectorType(_F32, WIDTH), ir.VectorType(_I32, WIDTH), ir.VectorType(ir.IntType(1), WIDTH)
_KINDS = {"float32x8": _VF, "int32x8": _VI, "bool8": _VB}


class Lanes(types.Type):
    """Eight values side by side in one vector register."""


F8, I8, B8 = (Lanes(name) for name in _KINDS)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _KINDS[kind.name])


def _constant(values) -> ir.Constant:
    return ir.Constant(_VF, [ir.Constant(_F32, float(v)) for v in values])


def _broadcast(builder, value, vector):
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)


@intrinsic
def splat(typing, value):
    """The same float in all lanes."""

    def build(context, builder, signature, args):
        return _broadcast(builder, context.cast(builder, args[0], signature.args[0], types.float32), _VF)

    return F8(value), build


@intrinsic
def splat_int(typing, value):
    """The same int in all lanes."""

    def build(context, builder, signature, args):
        return _broadcast(builder, context.cast(builder, args[0], signature.args[0], types.int32), _VI)

    return I8(value), build


@intrinsic
def count_up(typing):
    """0.0, 1.0, ... 7.0."""
    return F8(), lambda context, builder, signature, args: _constant(range(WIDTH))


def _pointer(context, builder, signature, args, element, vector):
    """Address of `array[index]` as a pointer to eight elements."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], signature.args[1], types.intp)
    data = builder.bitcast(array.data, element.as_pointer())
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _loader(kind, element, vector):
    def typed(typing, array, index):
        def build(context, builder, signature, args):
            found = builder.load(_pointer(context, builder, signature, args, element, vector))
            found.align = 4
            return found

        return kind(array, index), build

    return typed


def _storer(kind, element, vector):
    def typed(typing, array, index, value):
        def build(context, builder, signature, args):
            builder.store(args[2], _pointer(context, builder, signature, args, element, vector), align=4)
            return context.get_dummy_value()

        return types.void(array, index, kind), build

    return typed


@intrinsic
def load(typing, array, index):
    """array[index : index + 8] of a flat float32 array."""
    return _loader(F8, _F32, _VF)(typing, array, index)


@intrinsic
def load_int(typing, array, index):
    """array[index : index + 8] of a flat int32 array."""
    return _loader(I8, _I32, _VI)(typing, array, index)


@intrinsic
def store(typing, array, index, value):
    """array[index : index + 8] = value, for a flat float32 array."""
    return _storer(F8, _F32, _VF)(typing, array, index, value)


@intrinsic
def store_int(typing, array, index, value):
    """array[index : index + 8] = value, for a flat int32 array."""
    return _storer(I8, _I32, _VI)(typing, array, index, value)


def _narrow_store(bits):
    """Store eight int lanes, cut to `bits`, at a byte offset of a flat uint8 array."""

    def typed(typing, array, index, value):
        def build(context, builder, signature, args):
            narrow = ir.VectorType(ir.IntType(bits), WIDTH)
            place = _pointer(context, builder, signature, args, ir.IntType(8), narrow)
            value = builder.trunc(args[2], narrow) if bits < 32 else args[2]
            builder.store(value, place, align=1)
            return context.get_dummy_value()

        return types.void(array, index, I8), build

    return typed


@intrinsic
def store_u8(typing, array, index, value):
    """Eight uint8 values into a flat uint8 array at byte `index`."""
    return _narrow_store(8)(typing, array, index, value)


@intrinsic
def store_u16(typing, array, index, value):
    """Eight uint16 values into a flat uint8 array at byte `index`."""
    return _narrow_store(16)(typing, array, index, value)


@intrinsic
def store_f32(typing, array, index, value):
    """Eight float32 values into a flat uint8 array at byte `index`."""

    def build(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, signature, args, ir.IntType(8), _VF), align=1)
        return context.get_dummy_value()

    return types.void(array, index, F8), build


def _call(name, count, *flags):
    def build(context, builder, signature, args):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VF, [_VF] * count), f"llvm.{name}.v8f32")
        return builder.call(function, args, fastmath=flags)

    return build


# Not a comparison and a choice: LLVM makes masked stores of those, slow on AMD. With `nnan` these are one instruction.
@intrinsic
def vmax(typing, a, b):
    """The larger, lane by lane."""
    return F8(F8, F8), _call("maxnum", 2, "nnan")


@intrinsic
def vmin(typing, a, b):
    """The smaller, lane by lane."""
    return F8(F8, F8), _call("minnum", 2, "nnan")


@intrinsic
def fma(typing, a, b, c):
    """a * b + c, rounded once."""
    return F8(F8, F8, F8), _call("fma", 3)


@intrinsic
def ceil8(typing, a):
    """Round up."""
    return F8(F8), _call("ceil", 1)


@intrinsic
def floor8(typing, a):
    """Round down."""
    return F8(F8), _call("floor", 1)


@intrinsic
def abs8(typing, a):
    """Absolute value."""
    return F8(F8), _call("fabs", 1)


@intrinsic
def to_int(typing, a):
    """Floats to ints, rounding towards zero."""
    return I8(F8), lambda context, builder, signature, args: builder.fptosi(args[0], _VI)


@intrinsic
def select(typing, mask, yes, no):
    """`yes` where the mask is true, else `no`; floats or ints."""
    return yes(B8, yes, yes), lambda context, builder, signature, args: builder.select(*args)


@intrinsic
def bits(typing, mask):
    """The mask as a whole number, lane 0 in bit 0."""

    def build(context, builder, signature, args):
        return builder.zext(builder.bitcast(args[0], ir.IntType(8)), ir.IntType(64))

    return types.int64(B8), build


@intrinsic
def lowest(typing, number):
    """Index of the lowest set bit of a number that is not zero."""

    def build(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), build


@intrinsic
def add(typing, a, b):
    """a + b."""
    return F8(F8, F8), lambda context, builder, signature, args: builder.fadd(*args)


@intrinsic
def subtract(typing, a, b):
    """a - b."""
    return F8(F8, F8), lambda context, builder, signature, args: builder.fsub(*args)


@intrinsic
def multiply(typing, a, b):
    """a * b."""
    return F8(F8, F8), lambda context, builder, signature, args: builder.fmul(*args)


@intrinsic
def divide(typing, a, b):
    """a / b."""
    return F8(F8, F8), lambda context, builder, signature, args: builder.fdiv(*args)


@intrinsic
def negative(typing, a):
    """-a."""
    return F8(F8), lambda context, builder, signature, args: builder.fneg(args[0])


@intrinsic
def less(typing, a, b):
    """a < b."""
    return B8(F8, F8), lambda context, builder, signature, args: builder.fcmp_ordered("<", *args)


@intrinsic
def less_equal(typing, a, b):
    """a <= b."""
    return B8(F8, F8), lambda context, builder, signature, args: builder.fcmp_ordered("<=", *args)


@intrinsic
def both(typing, a, b):
    """a and b."""
    return B8(B8, B8), lambda context, builder, signature, args: builder.and_(*args)


@intrinsic
def either(typing, a, b):
    """a or b."""
    return B8(B8, B8), lambda context, builder, signature, args: builder.or_(*args)


def _operator(symbol, kind, function):
    @overload(symbol)
    def _(a, b):
        return (lambda a, b: function(a, b)) if a is kind and b is kind else None


_operator(operator.add, F8, add)
_operator(operator.sub, F8, subtract)
_operator(operator.mul, F8, multiply)
_operator(operator.truediv, F8, divide)
_operator(operator.lt, F8, less)
_operator(operator.le, F8, less_equal)
_operator(operator.and_, B8, both)
_operator(operator.or_, B8, either)


@overload(operator.neg)
def _negative(a):
    return (lambda a: negative(a)) if a is F8 else None

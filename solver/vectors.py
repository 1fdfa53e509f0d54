"""Explicit vectors for numba: sixteen float32 lanes as one value.

Plain numba loops over lanes do not vectorise when arrays might alias, which is the difference between a slow solver and
a fast one. These intrinsics emit LLVM's `<16 x float>` directly; the backend maps it to whatever the machine has (one
AVX-512 register, two of AVX, four of NEON). Everything hot in `kernels.py` is written on them.

Arrays are flat, C-contiguous float32; an index counts elements. Nothing is checked: callers keep 16 elements from the
index on inside the array. Multiplications and additions may be fused (`contract`), nothing else is relaxed.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.extending import intrinsic, register_model

LANES = 16

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INDEX = ir.IntType(32)
_BYTE_POINTER = ir.IntType(8).as_pointer()
_FLAGS = ("contract", "nsz")


class _Vec16(types.Type):
    def __init__(self):
        super().__init__(name="vec16f32")


vec16 = _Vec16()


@register_model(_Vec16)
class _Vec16Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _VECTOR)


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index], inbounds=True), _VECTOR.as_pointer())


def _constant(indices):
    return ir.Constant(ir.VectorType(_INDEX, LANES), list(indices))


@intrinsic
def load(typingctx, array, index):
    """`array[index : index + 16]`."""

    def codegen(context, builder, signature, args):
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1]), align=4)

    return vec16(array, types.intp), codegen


@intrinsic
def store(typingctx, array, index, value):
    """`array[index : index + 16] = value`."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, signature.args[0], args[0], args[1]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, vec16), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of `array[index]`, which may lie outside the array."""

    def codegen(context, builder, signature, args):
        pointer = builder.bitcast(_pointer(context, builder, signature.args[0], args[0], args[1]), _BYTE_POINTER)
        kinds = [_BYTE_POINTER, _INDEX, _INDEX, _INDEX]
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0i8"
        )
        read, keep, data = (ir.Constant(_INDEX, value) for value in (0, 3, 1))
        builder.call(function, [pointer, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


def _arithmetic(operation, doc):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return getattr(builder, operation)(args[0], args[1], flags=_FLAGS)

        return vec16(vec16, vec16), codegen

    function.__doc__ = doc
    return function


add = _arithmetic("fadd", "`a + b`")
sub = _arithmetic("fsub", "`a - b`")
mul = _arithmetic("fmul", "`a * b`")
div = _arithmetic("fdiv", "`a / b`")


@intrinsic
def splat(typingctx, value):
    """The float32 `value` in every lane."""

    def codegen(context, builder, signature, args):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        single = builder.insert_element(undefined, args[0], ir.Constant(_INDEX, 0))
        return builder.shuffle_vector(single, undefined, _constant([0] * LANES))

    return vec16(types.float32), codegen


@intrinsic
def larger(typingctx, a, b):
    """The larger of each lane; `b` where they are equal or unordered."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[0], args[1])

    return vec16(vec16, vec16), codegen


@intrinsic
def if_positive(typingctx, test, a, b):
    """Lanes of `a` where `test` > 0, of `b` elsewhere."""

    def codegen(context, builder, signature, args):
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return vec16(vec16, vec16, vec16), codegen


def _turned(builder, rows):
    """Sixteen vectors as the columns of sixteen others, by four rounds of shuffles."""
    distance = LANES // 2
    while distance:
        low = _constant(lane if not lane & distance else LANES + lane - distance for lane in range(LANES))
        high = _constant(lane + distance if not lane & distance else LANES + lane for lane in range(LANES))
        for i in range(LANES):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                rows[i] = builder.shuffle_vector(a, b, low)
                rows[i + distance] = builder.shuffle_vector(a, b, high)
        distance //= 2
    return rows


def _row_pointers(context, builder, array_type, array, first, stride):
    """The addresses of sixteen rows, `stride` apart."""
    for number in range(LANES):
        index = builder.add(first, builder.mul(stride, ir.Constant(stride.type, number)))
        yield _pointer(context, builder, array_type, array, index)


def _placed_pointers(context, builder, array_type, array, places_type, places, at, width, lane):
    """The addresses of lane `lane` of the sixteen rows `places[at : at + 16]`, each `width` long."""
    data = context.make_array(places_type)(context, builder, places).data
    for number in range(LANES):
        place = builder.load(builder.gep(data, [builder.add(at, ir.Constant(at.type, number))], inbounds=True))
        row = builder.sext(place, width.type)
        yield _pointer(context, builder, array_type, array, builder.add(builder.mul(row, width), lane))


@intrinsic
def scatter_columns(typingctx, source, at, target, places, first, width, lane):
    """Column j of the 16×16 tile `source[at:]` to lane `lane` of row `places[first + j]` of `target` [row, width]."""

    def codegen(context, builder, signature, args):
        source, at, target, places, first, width, lane = args
        types_of = signature.args
        stride = ir.Constant(at.type, LANES)
        rows = [builder.load(p, align=4) for p in _row_pointers(context, builder, types_of[0], source, at, stride)]
        pointers = _placed_pointers(context, builder, types_of[2], target, types_of[3], places, first, width, lane)
        for row, pointer in zip(_turned(builder, rows), pointers, strict=True):
            builder.store(row, pointer, align=4)
        return context.get_dummy_value()

    return types.void(source, types.intp, target, places, types.intp, types.intp, types.intp), codegen


@intrinsic
def gather_columns(typingctx, source, places, first, width, lane, target, to):
    """The inverse of `scatter_columns`: lane `lane` of those rows of `source` to the 16×16 tile `target[to:]`."""

    def codegen(context, builder, signature, args):
        source, places, first, width, lane, target, to = args
        types_of = signature.args
        pointers = _placed_pointers(context, builder, types_of[0], source, types_of[1], places, first, width, lane)
        rows = _turned(builder, [builder.load(pointer, align=4) for pointer in pointers])
        stride = ir.Constant(to.type, LANES)
        for row, pointer in zip(rows, _row_pointers(context, builder, types_of[5], target, to, stride), strict=True):
            builder.store(row, pointer, align=4)
        return context.get_dummy_value()

    return types.void(source, places, types.intp, types.intp, types.intp, target, types.intp), codegen

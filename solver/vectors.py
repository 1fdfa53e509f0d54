"""Explicit vectors for numba: sixteen float32 lanes as one value.

Plain numba loops over lanes do not vectorise when arrays might alias, which is the difference between a slow solver and
a fast one. These intrinsics emit LLVM's `<16 x float>` directly; the backend maps it to whatever the machine has (one
AVX-512 register, two of AVX, four of NEON). Everything hot in `kernels.py` is written on them.

Arrays are flat, C-contiguous float32; an index counts elements. Nothing is checked: callers keep 16 elements from the
index on inside the array. Multiplications and additions may be fused (`contract`), nothing else is relaxed.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.extending import intrinsic, register_model

LANES = 16

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INDEX = ir.IntType(32)
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


@intrinsic
def transpose(typingctx, source, at, stride, target, to, target_stride):
    """Sixteen rows of sixteen, `source[at + i * stride + j]`, to columns, `target[to + j * target_stride + i]`."""

    def codegen(context, builder, signature, args):
        source, at, stride, target, to, target_stride = args

        def row(array_type, array, first, step, number):
            index = builder.add(first, builder.mul(step, ir.Constant(step.type, number)))
            return _pointer(context, builder, array_type, array, index)

        rows = [builder.load(row(signature.args[0], source, at, stride, i), align=4) for i in range(LANES)]
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
        for i in range(LANES):
            builder.store(rows[i], row(signature.args[3], target, to, target_stride, i), align=4)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, target, types.intp, types.intp), codegen

"""Sixteen vectors of sixteen numbers, turned: vectors over hands become vectors over lanes, and back."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from solver.kernels.tiles import turned
from solver.kernels.vectors import LANES, vector_at

_LONG = ir.IntType(64)


def rows_at(context, builder, array_type, array, at, step):
    for number in range(LANES):
        index = builder.add(at, builder.mul(step, ir.Constant(_LONG, number)))
        yield vector_at(context, builder, array_type, array, index)


@intrinsic
def turn(typingctx, source, at, step, target, to, stride):
    """Vectors at `source[at + i * step]` to `target[to + k * stride]`.

    Number k of vector i becomes number i of vector k. All sixteen are read before any is written.
    """

    def codegen(context, builder, signature, args):
        source, at, step, target, to, stride = args
        kinds = signature.args
        rows = [builder.load(place, align=4) for place in rows_at(context, builder, kinds[0], source, at, step)]
        for row, place in zip(
            turned(builder, rows), rows_at(context, builder, kinds[3], target, to, stride), strict=True
        ):
            builder.store(row, place, align=4)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(source, whole, whole, target, whole, whole), codegen

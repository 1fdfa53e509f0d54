"""Explicit vectors that `solver.kernels.vectors` has not: eight points at a time, and 32 strengths of 16 bits at a
time.

POINTS points are a tile: float32 [dimension][POINTS], so that the coordinates of a tile in one dimension are
neighbours. A row of POINTS vectors has one vector for each point of a tile and one lane for each of sixteen centres.

HANDS strengths, uint16, are one vector of 32 lanes. Addresses and indices count elements; nothing is checked.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from solver.kernels.vectors import LANES, VECTOR, _Row, element_at, filler, integers, loader, vector_at

POINTS = 8
HANDS = 32

load_tile, fill_tile, load_one = loader(POINTS), filler(POINTS), loader(1)
_ROW = _Row(POINTS)
_INDEX = ir.IntType(32)
_HALVES = ir.VectorType(ir.IntType(16), HANDS)
_WHOLES = ir.VectorType(_INDEX, HANDS)
_FIRST = integers([0] * LANES)


def _row_of(builder, emit):
    row = ir.Constant(ir.ArrayType(VECTOR, POINTS), ir.Undefined)
    for number in range(POINTS):
        row = builder.insert_value(row, emit(number), number)
    return row


@intrinsic
def coordinates(typingctx, array, index):
    """`array[index + p]` in all lanes of vector p."""

    def codegen(context, builder, signature, args):
        first = element_at(context, builder, signature.args[0], args[0], args[1])
        undefined = ir.Constant(VECTOR, ir.Undefined)

        def emit(number):
            value = builder.load(builder.gep(first, [ir.Constant(_INDEX, number)]))
            single = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
            return builder.shuffle_vector(single, undefined, _FIRST)

        return _row_of(builder, emit)

    return _ROW(array, types.intp), codegen


@intrinsic
def centres(typingctx, array, index):
    """The same sixteen numbers from `array[index]` on in every vector."""

    def codegen(context, builder, signature, args):
        place = vector_at(context, builder, signature.args[0], args[0], args[1])
        vector = builder.load(place, align=4)
        return _row_of(builder, lambda number: vector)

    return _ROW(array, types.intp), codegen


@intrinsic
def exchange(typingctx, array, low, high):
    """Of the vectors of strengths at two places, the smaller of each lane to `low` and the larger to `high`."""

    def codegen(context, builder, signature, args):
        places = [vector_at(context, builder, signature.args[0], args[0], place, _HALVES) for place in args[1:]]
        first, second = (builder.load(place, align=2) for place in places)
        ordered = builder.icmp_unsigned("<", first, second)
        builder.store(builder.select(ordered, first, second), places[0], align=2)
        builder.store(builder.select(ordered, second, first), places[1], align=2)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), codegen


@intrinsic
def gather_weight(typingctx, sums, array, index, weight):
    """Add `weight` times the strengths at `array[index]` to the 32 sums, int32."""

    def codegen(context, builder, signature, args):
        place = vector_at(context, builder, signature.args[0], args[0], ir.Constant(args[2].type, 0), _WHOLES)
        found = vector_at(context, builder, signature.args[1], args[1], args[2], _HALVES)
        wide = builder.zext(builder.load(found, align=2), _WHOLES)
        undefined = ir.Constant(_WHOLES, ir.Undefined)
        single = builder.insert_element(undefined, builder.trunc(args[3], _INDEX), ir.Constant(_INDEX, 0))
        factor = builder.shuffle_vector(single, undefined, ir.Constant(_WHOLES, [0] * HANDS))
        total = builder.add(builder.load(place, align=4), builder.mul(wide, factor))
        builder.store(total, place, align=4)
        return context.get_dummy_value()

    return types.void(sums, array, types.intp, types.intp), codegen

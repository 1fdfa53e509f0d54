"""Sixteen vectors of sixteen numbers, turned: vectors over hands become vectors over lanes, and back.

Each intrinsic turns one 16×16 tile with shuffles. All arguments are addresses or integers; `source` and `target` must
not alias anything else. `scatter` and `gather` go between the rows of a block, [slot][hand], and rows of lanes,
[hand][lane], wherever these stand; `turn` between rows that stand at equal distances.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from solver.kernels.vectors import BLOCK, LANES, element_at, integers, vector_at

_LONG = ir.IntType(64)


def turned(builder, rows):
    """Sixteen vectors as the columns of sixteen others, by four rounds of shuffles."""
    distance = LANES // 2
    while distance:
        low = integers(lane if not lane & distance else LANES + lane - distance for lane in range(LANES))
        high = integers(lane + distance if not lane & distance else LANES + lane for lane in range(LANES))
        for i in range(LANES):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                rows[i] = builder.shuffle_vector(a, b, low)
                rows[i + distance] = builder.shuffle_vector(a, b, high)
        distance //= 2
    return rows


def _slots(context, builder, array_type, array, first):
    """The addresses of sixteen hands at sixteen slots, one block after another."""
    for number in range(LANES):
        index = builder.add(first, ir.Constant(_LONG, number * BLOCK))
        yield vector_at(context, builder, array_type, array, index)


def _lanes(context, builder, array_type, array, places_type, places, first, width, lane):
    """The addresses of sixteen lanes from `lane` on of the rows `places[first : first + 16]`, each `width` long."""
    for number in range(LANES):
        hand = builder.add(first, ir.Constant(_LONG, number))
        row = builder.sext(builder.load(element_at(context, builder, places_type, places, hand)), _LONG)
        yield vector_at(context, builder, array_type, array, builder.add(builder.mul(row, width), lane))


@intrinsic
def scatter(typingctx, source, at, target, places, first, width, lane):
    """Sixteen slots of `source`, the first at `at`, to rows `places[hand]` of `target`, hands from `first` on."""

    def codegen(context, builder, signature, args):
        source, at, target, places, first, width, lane = args
        kinds = signature.args
        rows = [builder.load(place, align=4) for place in _slots(context, builder, kinds[0], source, at)]
        lanes = _lanes(context, builder, kinds[2], target, kinds[3], places, first, width, lane)
        for row, place in zip(turned(builder, rows), lanes, strict=True):
            builder.store(row, place, align=4)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(source, whole, target, places, whole, whole, whole), codegen


@intrinsic
def gather(typingctx, source, places, first, width, lane, target, to):
    """The inverse: from rows `places[hand]` of `source` to sixteen slots of `target`, the first at `to`."""

    def codegen(context, builder, signature, args):
        source, places, first, width, lane, target, to = args
        kinds = signature.args
        lanes = _lanes(context, builder, kinds[0], source, kinds[1], places, first, width, lane)
        rows = turned(builder, [builder.load(place, align=4) for place in lanes])
        for row, place in zip(rows, _slots(context, builder, kinds[5], target, to), strict=True):
            builder.store(row, place, align=4)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(source, places, whole, whole, whole, target, whole), codegen


def rows_at(context, builder, array_type, array, at, step):
    """The addresses of sixteen vectors, `step` numbers apart."""
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

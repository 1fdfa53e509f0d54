"""Sixteen rows of sixteen numbers: vectors over hands or buckets are summed, picked from, or turned in part."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic

from solver.kernels.tiles import rows_at, turned
from solver.kernels.vectors import LANES, ROW, VECTOR, as_row, element_at, integers, vector_at

_LONG, _INT, _BIT = ir.IntType(64), ir.IntType(32), ir.IntType(1)
_INTEGERS, _BITS = ir.VectorType(_INT, LANES), ir.VectorType(_BIT, LANES)


def _permutes(context):
    """Whether the processor that is compiled for picks any of sixteen numbers for each lane in one instruction.

    It need not be the one we run on: `NUMBA_CPU_FEATURES` says what else to compile for.
    """
    return "+avx512f" in context.codegen()._tm_features.split(",")


def _sums(builder, rows):
    """Number i of the vector is the sum of vector i: halves of two rows are added at a time, so that one holds both."""
    half = LANES // 2
    while half:
        low = integers(
            place + start
            for group in range(0, LANES, 2 * half)
            for start in (0, LANES)
            for place in range(group, group + half)
        )
        high = integers(
            place + start + half
            for group in range(0, LANES, 2 * half)
            for start in (0, LANES)
            for place in range(group, group + half)
        )
        count = len(rows) // 2
        rows = [
            builder.fadd(
                builder.shuffle_vector(a, b, low),
                builder.shuffle_vector(a, b, high),
                flags=("contract", "nsz", "reassoc"),
            )
            for a, b in zip(rows[:count], rows[count:], strict=True)
        ]
        half //= 2
    return rows[0]


@intrinsic
def weigh(typingctx, values, at, step, weights, to, buckets, hand, width, mask, place):
    """For sixteen hands from `hand` on the sum over lanes of value × weight × mask.

    The values of hand number i are at `values[at + i * step]`, its weights in row `buckets[hand + i]` of `weights[to]`.
    """

    def codegen(context, builder, signature, args):
        values, at, step, weights, to, buckets, hand, width, mask, place = args
        kinds = signature.args
        masked = builder.load(vector_at(context, builder, kinds[8], mask, place), align=4)
        rows = []
        for number, found in enumerate(rows_at(context, builder, kinds[0], values, at, step)):
            bucket = builder.load(
                element_at(context, builder, kinds[5], buckets, builder.add(hand, ir.Constant(_LONG, number)))
            )
            row = builder.add(to, builder.mul(builder.sext(bucket, _LONG), width))
            weight = builder.load(vector_at(context, builder, kinds[3], weights, row), align=4)
            rows.append(builder.fmul(builder.fmul(builder.load(found, align=4), weight), masked))
        return as_row(builder, [_sums(builder, rows)])

    whole = types.intp
    return ROW(values, whole, whole, weights, whole, buckets, whole, whole, mask, whole), codegen


@intrinsic
def pick(typingctx, source, at, places, first):
    """The vector whose lane i is `source[at + places[first + i]]`, places from 0 to 15."""

    def codegen(context, builder, signature, args):
        kinds = signature.args
        row = builder.load(vector_at(context, builder, kinds[0], args[0], args[1]), align=4)
        wanted = builder.load(vector_at(context, builder, kinds[2], args[2], args[3], _INTEGERS), align=4)
        if _permutes(context):
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(VECTOR, [VECTOR, _INTEGERS]), "llvm.x86.avx512.permvar.sf.512"
            )
            return as_row(builder, [builder.call(function, [row, wanted])])
        picked = ir.Constant(VECTOR, ir.Undefined)
        for lane in range(LANES):
            place = ir.Constant(_INT, lane)
            number = builder.extract_element(row, builder.extract_element(wanted, place))
            picked = builder.insert_element(picked, number, place)
        return as_row(builder, [picked])

    return ROW(source, types.intp, places, types.intp), codegen


@intrinsic
def turn_some(typingctx, source, at, step, target, to, stride, count):
    """`turn`, but only the first `count` numbers of each vector are written: others may be another thread's."""

    def codegen(context, builder, signature, args):
        source, at, step, target, to, stride, count = args
        kinds = signature.args
        rows = [builder.load(place, align=4) for place in rows_at(context, builder, kinds[0], source, at, step)]
        undefined = ir.Constant(_INTEGERS, ir.Undefined)
        single = builder.insert_element(undefined, builder.trunc(count, _INT), ir.Constant(_INT, 0))
        most = builder.shuffle_vector(single, undefined, integers([0] * LANES))
        mask = builder.icmp_signed("<", integers(range(LANES)), most)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [VECTOR, VECTOR.as_pointer(), _INT, _BITS]),
            "llvm.masked.store.v16f32.p0v16f32",
        )
        places = rows_at(context, builder, kinds[3], target, to, stride)
        for row, place in zip(turned(builder, rows), places, strict=True):
            builder.call(function, [row, place, ir.Constant(_INT, 4), mask])
        return context.get_dummy_value()

    whole = types.intp
    return types.void(source, whole, whole, target, whole, whole, whole), codegen

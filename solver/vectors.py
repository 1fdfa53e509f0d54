"""Explicit vectors for numba: float32 lanes as one value, sixteen of them or a whole row.

Plain numba loops over lanes do not vectorise when arrays might alias, which is the difference between a slow solver and
a fast one. These intrinsics emit LLVM's vector types directly; the backend maps them to whatever the machine has (for
sixteen lanes one AVX-512 register, two of AVX, four of NEON). Everything hot in `kernels.py` and `sweeps.py` is written
on them.

Arrays are flat and C-contiguous, or the address of one; an index counts elements. Nothing is checked: callers keep all
lanes inside the array. Multiplications and additions may be fused (`contract`), nothing else is relaxed.

`read` and `write` also take uint16 arrays, which hold bfloat16: the upper half of a float32. Rounding is dithered, up
with the probability of the part cut off, so that sums of many small steps stay right in the mean: a running sum rounded
to nearest stops moving. The dither comes from a linear congruential generator in each lane (`Noise`), seeded by the
caller, so that results repeat.
"""

from __future__ import annotations

from functools import lru_cache

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.core.extending import intrinsic, register_model

LANES = 16

_FLOAT = ir.FloatType()
_INDEX = ir.IntType(32)
VECTOR = ir.VectorType(_FLOAT, LANES)
_INTEGERS = ir.VectorType(_INDEX, LANES)
_HALVES = ir.VectorType(ir.IntType(16), LANES)
_BYTE_POINTER = ir.IntType(8).as_pointer()
FLAGS = ("contract", "nsz")


class _Vector(types.Type):
    def __init__(self):
        super().__init__(name="vector16f32")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, VECTOR)


class _Row(types.Type):
    """Several vectors as one value. (LLVM's own wide vectors are slow unless their length is a power of two.)"""

    def __init__(self, vectors):
        self.vectors = vectors
        super().__init__(name=f"row{vectors}")


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.ArrayType(VECTOR, fe_type.vectors))


def _parts(builder, kind, value):
    """The vectors of a row, or the one vector."""
    return [builder.extract_value(value, n) for n in range(kind.vectors)] if isinstance(kind, _Row) else [value]


def _whole(builder, kind, parts):
    """The inverse."""
    if not isinstance(kind, _Row):
        return parts[0]
    value = ir.Constant(ir.ArrayType(VECTOR, kind.vectors), ir.Undefined)
    for number, part in enumerate(parts):
        value = builder.insert_value(value, part, number)
    return value


class _Noise(types.Type):
    def __init__(self):
        super().__init__(name="noise16")


@register_model(_Noise)
class _NoiseModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _INTEGERS)


class _Address(types.Type):
    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"address({dtype})")


@register_model(_Address)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


vec16 = _Vector()
noise16 = _Noise()


def element_at(context, builder, array_type, array, index):
    """A pointer to an element of an array, or to one beyond an address."""
    is_address = isinstance(array_type, _Address)
    data = array if is_address else context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def pointer_to(context, builder, array_type, array, index, vector=VECTOR):
    return builder.bitcast(element_at(context, builder, array_type, array, index), vector.as_pointer())


@intrinsic
def address(typingctx, array, index):
    """Where the element is that has this index in the flattened array, which must outlive the address.

    Inner loops take addresses: passing arrays costs an atomic count of references each.
    """
    if array.layout != "C":
        raise TypingError(f"address of an array of layout {array.layout}: expected C")

    def codegen(context, builder, signature, args):
        return element_at(context, builder, signature.args[0], args[0], args[1])

    return _Address(array.dtype)(array, types.intp), codegen


@intrinsic
def beyond(typingctx, start, index):
    """The address of the element so many after that of another address."""

    def codegen(context, builder, signature, args):
        return element_at(context, builder, signature.args[0], args[0], args[1])

    return start(start, types.intp), codegen


@intrinsic
def item(typingctx, array, index):
    """The integer at `index` from an address on."""

    def codegen(context, builder, signature, args):
        found = builder.load(element_at(context, builder, signature.args[0], args[0], args[1]))
        return builder.sext(found, args[1].type)

    return types.intp(array, types.intp), codegen


def integers(indices):
    return ir.Constant(ir.VectorType(_INDEX, LANES), list(indices))


@lru_cache
def loader(vectors):
    """An intrinsic: a row of so many vectors from `array[index]` on."""
    kind = _Row(vectors)

    @intrinsic
    def load_row(typingctx, array, index):
        def codegen(context, builder, signature, args):
            first = pointer_to(context, builder, signature.args[0], args[0], args[1])
            parts = [
                builder.load(builder.gep(first, [ir.Constant(_INDEX, number)]), align=4) for number in range(vectors)
            ]
            return _whole(builder, kind, parts)

        return kind(array, types.intp), codegen

    return load_row


@lru_cache
def zeros(vectors):
    """An intrinsic: a row of zeros."""
    kind = _Row(vectors)

    @intrinsic
    def zero_row(typingctx):
        def codegen(context, builder, signature, args):
            return _whole(builder, kind, [ir.Constant(VECTOR, [0.0] * LANES)] * vectors)

        return kind(), codegen

    return zero_row


@intrinsic
def load(typingctx, array, index):
    """`array[index : index + 16]`, float32."""

    def codegen(context, builder, signature, args):
        return builder.load(pointer_to(context, builder, signature.args[0], args[0], args[1]), align=4)

    return vec16(array, types.intp), codegen


@intrinsic
def store(typingctx, array, index, value):
    """A vector or a row to `array[index]` and what follows, float32."""

    def codegen(context, builder, signature, args):
        first = pointer_to(context, builder, signature.args[0], args[0], args[1])
        for number, part in enumerate(_parts(builder, signature.args[2], args[2])):
            builder.store(part, builder.gep(first, [ir.Constant(_INDEX, number)]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), codegen


def _splat_bits(builder, value):
    undefined = ir.Constant(_INTEGERS, ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(single, undefined, integers([0] * LANES))


def _times_plus(builder, state, factor, plus):
    product = builder.mul(state, ir.Constant(_INTEGERS, [factor] * LANES))
    return builder.add(product, ir.Constant(_INTEGERS, plus))


@intrinsic
def noise(typingctx, seed):
    """The generators of sixteen lanes from one integer."""

    def codegen(context, builder, signature, args):
        seeds = _splat_bits(builder, builder.trunc(args[0], _INDEX))
        state = _times_plus(builder, seeds, 0x9E3779B1, [(lane * 0x85EBCA6B) & 0xFFFFFFFF for lane in range(LANES)])
        high = builder.lshr(state, integers([15] * LANES))
        return _times_plus(builder, builder.xor(state, high), 0x2C1B3C6D, [0x297A2D39] * LANES)

    return noise16(types.int64), codegen


@intrinsic
def read(typingctx, array, index):
    """Sixteen numbers of an array of float32, or of bfloat16 in uint16."""
    halves = array.dtype == types.uint16

    def codegen(context, builder, signature, args):
        kind = _HALVES if halves else VECTOR
        found = builder.load(pointer_to(context, builder, signature.args[0], args[0], args[1], kind), align=2)
        if not halves:
            return found
        bits = builder.shl(builder.zext(found, _INTEGERS), integers([16] * LANES))
        return builder.bitcast(bits, VECTOR)

    return vec16(array, types.intp), codegen


@intrinsic
def write(typingctx, array, index, value, state):
    """The inverse of `read`, dithered for bfloat16; returns the next state of the noise."""
    halves = array.dtype == types.uint16

    def codegen(context, builder, signature, args):
        array_type, (array, index, value, state) = signature.args[0], args
        if not halves:
            builder.store(value, pointer_to(context, builder, array_type, array, index), align=2)
            return state
        sixteen = integers([16] * LANES)
        dithered = builder.add(builder.bitcast(value, _INTEGERS), builder.lshr(state, sixteen))
        kept = builder.trunc(builder.lshr(dithered, sixteen), _HALVES)
        builder.store(kept, pointer_to(context, builder, array_type, array, index, _HALVES), align=2)
        return _times_plus(builder, state, 1664525, [1013904223] * LANES)

    return noise16(array, types.intp, vec16, noise16), codegen


@intrinsic
def take_ticket(typingctx, tickets):
    """`tickets[0]`, and one more for the next that asks, from whatever thread."""

    def codegen(context, builder, signature, args):
        pointer = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(tickets), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of `array[index]`, which may lie outside the array."""

    def codegen(context, builder, signature, args):
        pointer = pointer_to(context, builder, signature.args[0], args[0], args[1])
        pointer = builder.bitcast(pointer, _BYTE_POINTER)
        kinds = [_BYTE_POINTER, _INDEX, _INDEX, _INDEX]
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0i8"
        )
        read, keep, data = (ir.Constant(_INDEX, value) for value in (0, 3, 1))
        builder.call(function, [pointer, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


def _arithmetic(operation, doc, flags=FLAGS):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, signature, args):
            pairs = zip(_parts(builder, a, args[0]), _parts(builder, a, args[1]), strict=True)
            return _whole(builder, a, [getattr(builder, operation)(x, y, flags=flags) for x, y in pairs])

        return a(a, a), codegen

    function.__doc__ = doc
    return function


add = _arithmetic("fadd", "`a + b`")
sub = _arithmetic("fsub", "`a - b`")
mul = _arithmetic("fmul", "`a * b`")
div = _arithmetic(
    "fdiv",
    "`a / b`, from an estimate of 1 / b and a Newton step: right to a few units of the last place.",
    FLAGS + ("arcp",),
)


@intrinsic
def splat(typingctx, value):
    """The float32 `value` in every lane."""

    def codegen(context, builder, signature, args):
        undefined = ir.Constant(VECTOR, ir.Undefined)
        single = builder.insert_element(undefined, args[0], ir.Constant(_INDEX, 0))
        return builder.shuffle_vector(single, undefined, integers([0] * LANES))

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
        zero = ir.Constant(VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return vec16(vec16, vec16, vec16), codegen

"""Explicit vectors for numba: rows of float32 lanes as one value, some whole number of sixteens.

Plain numba loops over lanes do not vectorise when arrays might alias, which is the difference between a slow solver and
a fast one. These intrinsics emit LLVM's `<16 x float>` directly; the backend maps it to whatever the machine has (one
AVX-512 register, two of AVX, four of NEON). Everything hot in the solver is written on them. A row is several vectors
because LLVM's own wider ones are slow unless their length is a power of two.

Arrays are flat and C-contiguous, or the address of one; an index counts elements. Nothing is checked: callers keep all
lanes inside the array. Multiplications and additions may be fused (`contract`), nothing else is relaxed.

Hands come in *blocks* of `BLOCK`. `read` and `write` move a block of regrets or averages, of float32 arrays or of
uint16 arrays, which hold bfloat16: the upper half of a float32. Rounding is dithered, up with the probability of the
part cut off, so that sums of many small steps stay right in the mean: a running sum rounded to nearest stops moving.

The dither is no random number but a place on the golden-ratio sequence: where each number starts on it is hashed from
its place, and every iteration moves it on by one step (`noise`). The errors of one number over the iterations then
nearly cancel, where those of random dither add up: an average that changes little would drift like a random walk.
"""

from __future__ import annotations

from functools import lru_cache

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.core.extending import intrinsic, register_model

LANES = 16
BLOCK = 16
"""Hands in a block: one vector. Blocks of two were no faster."""

_FLOAT = ir.FloatType()
_INDEX = ir.IntType(32)
VECTOR = ir.VectorType(_FLOAT, LANES)
_INTEGERS = ir.VectorType(_INDEX, LANES)
_HALVES = ir.VectorType(ir.IntType(16), LANES)
_BYTE_POINTER = ir.IntType(8).as_pointer()
_LINE_BYTES = 64
_FLAGS = ("contract", "nsz")


class _Row(types.Type):
    def __init__(self, vectors):
        self.vectors = vectors
        super().__init__(name=f"row{vectors}")


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.ArrayType(VECTOR, fe_type.vectors))


class _Noise(types.Type):
    def __init__(self):
        super().__init__(name="noise")


@register_model(_Noise)
class _NoiseModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _INTEGERS)


class _Address(types.Type):
    layout = "C"

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"address({dtype})")


@register_model(_Address)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


ROW = _Row(BLOCK // LANES)
_NOISE = _Noise()


def _vectors(builder, kind, row):
    return [builder.extract_value(row, number) for number in range(kind.vectors)]


def as_row(builder, vectors):
    """Vectors as the value of one row."""
    row = ir.Constant(ir.ArrayType(VECTOR, len(vectors)), ir.Undefined)
    for number, vector in enumerate(vectors):
        row = builder.insert_value(row, vector, number)
    return row


def element_at(context, builder, array_type, array, index):
    """A pointer to an element of an array, or to one beyond an address."""
    is_address = isinstance(array_type, _Address)
    data = array if is_address else context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def vector_at(context, builder, array_type, array, index, vector=VECTOR):
    """The same, as a pointer to a vector."""
    return builder.bitcast(element_at(context, builder, array_type, array, index), vector.as_pointer())


def integers(values):
    """A constant vector."""
    return ir.Constant(_INTEGERS, list(values))


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
def item(typingctx, array, index):
    """The integer at `index` from an address on."""

    def codegen(context, builder, signature, args):
        found = builder.load(element_at(context, builder, signature.args[0], args[0], args[1]))
        return builder.sext(found, args[1].type)

    return types.intp(array, types.intp), codegen


@lru_cache
def loader(vectors):
    """An intrinsic: a row of so many vectors from `array[index]` on."""

    @intrinsic
    def load_row(typingctx, array, index):
        def codegen(context, builder, signature, args):
            first = vector_at(context, builder, signature.args[0], args[0], args[1])
            places = [builder.gep(first, [ir.Constant(_INDEX, number)]) for number in range(vectors)]
            return as_row(builder, [builder.load(place, align=4) for place in places])

        return _Row(vectors)(array, types.intp), codegen

    return load_row


@lru_cache
def filler(vectors):
    """An intrinsic: a row with the same float32 in every lane."""

    @intrinsic
    def fill_row(typingctx, value):
        def codegen(context, builder, signature, args):
            undefined = ir.Constant(VECTOR, ir.Undefined)
            single = builder.insert_element(undefined, args[0], ir.Constant(_INDEX, 0))
            return as_row(builder, [builder.shuffle_vector(single, undefined, integers([0] * LANES))] * vectors)

        return _Row(vectors)(types.float32), codegen

    return fill_row


@lru_cache
def repeater(vectors):
    """An intrinsic: a row of so many vectors, each of which is the one of another row."""

    @intrinsic
    def repeat_row(typingctx, row):
        def codegen(context, builder, signature, args):
            return as_row(builder, [builder.extract_value(args[0], 0)] * vectors)

        return _Row(vectors)(row), codegen

    return repeat_row


@intrinsic
def together(typingctx, row):
    """The sum of a row's vectors, as a row of one."""

    def codegen(context, builder, signature, args):
        vectors = _vectors(builder, row, args[0])
        while len(vectors) > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=False)
            odd = vectors[len(vectors) // 2 * 2 :]
            vectors = [builder.fadd(a, b, flags=_FLAGS) for a, b in pairs] + odd
        return as_row(builder, vectors)

    return _Row(1)(row), codegen


load = loader(BLOCK // LANES)
splat = filler(BLOCK // LANES)


@intrinsic
def store(typingctx, array, index, row):
    """A row to `array[index]` and what follows, float32."""

    def codegen(context, builder, signature, args):
        first = vector_at(context, builder, signature.args[0], args[0], args[1])
        for number, vector in enumerate(_vectors(builder, row, args[2])):
            builder.store(vector, builder.gep(first, [ir.Constant(_INDEX, number)]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, row), codegen


def _elementwise(count, doc, emit):
    """An intrinsic that does the same to every vector of `count` rows."""

    def typed(*rows):
        def codegen(context, builder, signature, args):
            columns = zip(*[_vectors(builder, rows[0], row) for row in args], strict=True)
            return as_row(builder, [emit(builder, *column) for column in columns])

        return rows[0](*rows), codegen

    if count == 1:

        @intrinsic
        def function(typingctx, a):
            return typed(a)

    elif count == 2:

        @intrinsic
        def function(typingctx, a, b):
            return typed(a, b)

    else:

        @intrinsic
        def function(typingctx, a, b, c):
            return typed(a, b, c)

    function.__doc__ = doc
    return function


def _is_larger(builder, a, b):
    return builder.fcmp_ordered(">", a, b)


_ZERO = ir.Constant(VECTOR, [0.0] * LANES)

add = _elementwise(2, "`a + b`", lambda builder, a, b: builder.fadd(a, b, flags=_FLAGS))
sub = _elementwise(2, "`a - b`", lambda builder, a, b: builder.fsub(a, b, flags=_FLAGS))
mul = _elementwise(2, "`a * b`", lambda builder, a, b: builder.fmul(a, b, flags=_FLAGS))
div = _elementwise(2, "`a / b`", lambda builder, a, b: builder.fdiv(a, b, flags=_FLAGS))
larger = _elementwise(
    2,
    "The larger of each lane; `b` where they are equal or unordered.",
    lambda builder, a, b: builder.select(_is_larger(builder, a, b), a, b),
)
if_positive = _elementwise(
    3,
    "Lanes of `b` where `a` > 0, of `c` elsewhere.",
    lambda builder, a, b, c: builder.select(_is_larger(builder, a, _ZERO), b, c),
)


def _constant(value):
    return ir.Constant(VECTOR, [value] * LANES)


def _root(builder, a):
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(VECTOR, [VECTOR]), f"llvm.sqrt.v{LANES}f32"
    )
    return builder.call(function, [a])


# Adding this rounds to a whole number, which then stands in the lowest bits.
_ROUNDS = 1.5 * 2**23
_LOG2_E = 1.44269504
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXPONENTIAL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""Of (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, as in the Cephes library."""


def _exponential(builder, a):
    shifted = builder.fadd(builder.fmul(a, _constant(_LOG2_E)), _constant(_ROUNDS))
    whole = builder.fsub(shifted, _constant(_ROUNDS))
    rest = builder.fsub(a, builder.fmul(whole, _constant(_LN2_HIGH), flags=_FLAGS), flags=_FLAGS)
    rest = builder.fsub(rest, builder.fmul(whole, _constant(_LN2_LOW), flags=_FLAGS), flags=_FLAGS)
    series = _constant(_EXPONENTIAL[0])
    for factor in (*_EXPONENTIAL[1:], 1.0, 1.0):
        series = builder.fadd(builder.fmul(series, rest, flags=_FLAGS), _constant(factor), flags=_FLAGS)
    exponent = builder.shl(builder.bitcast(shifted, _INTEGERS), integers([23] * LANES))
    power = builder.bitcast(builder.add(exponent, integers([0x3F800000] * LANES)), VECTOR)
    return builder.fmul(series, power)


root = _elementwise(1, "The square root of each lane.", _root)
exponential = _elementwise(1, "`exp(a)` to about 1e-7 of it, for lanes from -87 to 88 and no others.", _exponential)


def _times_plus(builder, state, factor, plus):
    product = builder.mul(state, integers([factor] * LANES))
    return builder.add(product, integers(plus))


@intrinsic
def noise(typingctx, seed):
    """Counters of sixteen lanes. The upper half of the number says where they begin, the lower how far they are."""

    def codegen(context, builder, signature, args):
        def splat_bits(value):
            undefined = ir.Constant(_INTEGERS, ir.Undefined)
            single = builder.insert_element(undefined, builder.trunc(value, _INDEX), ir.Constant(_INDEX, 0))
            return builder.shuffle_vector(single, undefined, integers([0] * LANES))

        begin = splat_bits(builder.lshr(args[0], ir.Constant(args[0].type, 32)))
        state = _times_plus(builder, begin, 0x9E3779B1, [(lane * 0x85EBCA6B) & 0xFFFFFFFF for lane in range(LANES)])
        for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
            high = builder.lshr(state, integers([shift] * LANES))
            state = builder.mul(builder.xor(state, high), integers([factor] * LANES))
        return builder.add(state, splat_bits(args[0]))

    return _NOISE(types.int64), codegen


@intrinsic
def read(typingctx, array, index):
    """A block of an array of float32, or of bfloat16 in uint16."""
    halves = array.dtype == types.uint16

    def codegen(context, builder, signature, args):
        first = vector_at(context, builder, signature.args[0], args[0], args[1], _HALVES if halves else VECTOR)
        vectors = []
        for number in range(ROW.vectors):
            found = builder.load(builder.gep(first, [ir.Constant(_INDEX, number)]), align=2)
            if halves:
                bits = builder.shl(builder.zext(found, _INTEGERS), integers([16] * LANES))
                found = builder.bitcast(bits, VECTOR)
            vectors.append(found)
        return as_row(builder, vectors)

    return ROW(array, types.intp), codegen


@intrinsic
def write(typingctx, array, index, row, state):
    """The inverse of `read`, dithered for bfloat16; returns the next state of the noise."""
    halves = array.dtype == types.uint16

    def codegen(context, builder, signature, args):
        array, index, row, state = args
        first = vector_at(context, builder, signature.args[0], array, index, _HALVES if halves else VECTOR)
        for number, vector in enumerate(_vectors(builder, ROW, row)):
            if halves:
                sixteen = integers([16] * LANES)
                dithered = builder.add(builder.bitcast(vector, _INTEGERS), builder.lshr(state, sixteen))
                vector = builder.trunc(builder.lshr(dithered, sixteen), _HALVES)
                state = builder.add(state, integers([0xC13FA9A9] * LANES))
            builder.store(vector, builder.gep(first, [ir.Constant(_INDEX, number)]), align=2)
        return state

    return _NOISE(array, types.intp, ROW, _NOISE), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache lines of a block of an array, which may lie outside it."""
    lines = max(1, BLOCK * array.dtype.bitwidth // 8 // _LINE_BYTES)

    def codegen(context, builder, signature, args):
        first = element_at(context, builder, signature.args[0], args[0], args[1])
        first = builder.bitcast(first, _BYTE_POINTER)
        kinds = [_BYTE_POINTER, _INDEX, _INDEX, _INDEX]
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0i8"
        )
        reading, keep, data = (ir.Constant(_INDEX, value) for value in (0, 3, 1))
        for line in range(lines):
            place = builder.gep(first, [ir.Constant(_INDEX, line * _LINE_BYTES)])
            builder.call(function, [place, reading, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def fetch_add(typingctx, counters, index, value):
    """`counters[index]`, to which `value` is added, as one step whatever other threads do."""

    def codegen(context, builder, signature, args):
        place = element_at(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return types.int64(counters, types.intp, types.int64), codegen


@intrinsic
def fetch(typingctx, counters, index):
    """`counters[index]` as other threads left it."""

    def codegen(context, builder, signature, args):
        place = element_at(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "seq_cst", align=8)

    return types.int64(counters, types.intp), codegen


@intrinsic
def publish(typingctx, counters, index, value):
    """`counters[index] = value`, after all that was written before."""

    def codegen(context, builder, signature, args):
        place = element_at(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "seq_cst", align=8)
        return context.get_dummy_value()

    return types.void(counters, types.intp, types.int64), codegen


@intrinsic
def yield_core(typingctx):
    """Let another thread run on this core."""

    def codegen(context, builder, signature, args):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), codegen

"""Sixteen hands by sixteen lanes: between the rows of a block, [slot][16 hands], and rows of lanes, [hand][lane].

Each intrinsic turns one 16×16 tile with shuffles, and does on the way what would otherwise be one more pass over memory:
adding to the totals by card, or taking compatible totals off. `totals` is [card row][lane], as in `solver.sweeps`, with
`width` lanes a row; `cards` [hand, 2] says which rows a hand belongs to. All arguments are addresses or integers;
`source` and `target` must not alias anything else.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from solver.vectors import FLAGS, LANES, element_at, integers, pointer_to

TOTAL_ROW = 54
"""The row of `totals` that holds the sum over all hands."""


def _turned(builder, rows):
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


class _Tile:
    """Emits the loads and stores of one tile."""

    def __init__(self, context, builder, signature, args, names):
        self._context, self._builder = context, builder
        self._type = dict(zip(names, signature.args, strict=True))
        self._value = dict(zip(names, args, strict=True))

    def number(self, value):
        return ir.Constant(ir.IntType(64), value)

    def argument(self, name):
        return self._value[name]

    def pointer(self, name, index):
        return pointer_to(self._context, self._builder, self._type[name], self._value[name], index)

    def load(self, name, index):
        return self._builder.load(self.pointer(name, index), align=4)

    def store(self, name, index, value):
        self._builder.store(value, self.pointer(name, index), align=4)

    def item(self, name, index):
        found = self._builder.load(element_at(self._context, self._builder, self._type[name], self._value[name], index))
        return self._builder.sext(found, ir.IntType(64))

    def hand(self, number):
        """The number of the tile's hand."""
        return self._builder.add(self._value["first"], self.number(number))

    def at(self, row):
        """Where the tile's lanes of a row of lanes begin."""
        return self._builder.add(self._builder.mul(row, self._value["width"]), self._value["lane"])

    def slot(self, name, number):
        """Where one of sixteen rows of a block begins, `name` being where the first does."""
        return self._builder.add(self._value[name], self.number(number * LANES))

    def cards(self, number):
        """Where the tile's lanes of the totals of a hand's two cards begin."""
        builder = self._builder
        first = builder.mul(self.hand(number), self.number(2))
        return [self.at(self.item("cards", builder.add(first, self.number(k)))) for k in range(2)]

    def add(self, a, b):
        return self._builder.fadd(a, b, flags=FLAGS)

    def sub(self, a, b):
        return self._builder.fsub(a, b, flags=FLAGS)

    def mul(self, a, b):
        return self._builder.fmul(a, b, flags=FLAGS)

    def compatible(self, total, number):
        """The total without hands that hold one of the hand's two cards."""
        first, second = self.cards(number)
        return self.sub(self.sub(total, self.load("totals", first)), self.load("totals", second))

    def from_slots(self):
        return _turned(self._builder, [self.load("source", self.slot("at", n)) for n in range(LANES)])

    def to_slots(self, rows):
        for number, row in enumerate(_turned(self._builder, rows)):
            self.store("target", self.slot("to", number), row)


def _arguments(kinds):
    """The types of an intrinsic's arguments: whatever it is given for addresses, integers for the rest."""
    return [types.intp if isinstance(kind, types.Integer) else kind for kind in kinds]


@intrinsic
def scatter(typingctx, source, at, target, places, first, width, lane):
    """Sixteen slots to rows `places[hand]` of `target`, for the hands from `first` on."""
    names = ("source", "at", "target", "places", "first", "width", "lane")

    def codegen(context, builder, signature, args):
        tile = _Tile(context, builder, signature, args, names)
        for number, row in enumerate(tile.from_slots()):
            tile.store("target", tile.at(tile.item("places", tile.hand(number))), row)
        return context.get_dummy_value()

    return types.void(*_arguments((source, at, target, places, first, width, lane))), codegen


@intrinsic
def scatter_and_count(typingctx, source, at, target, first, width, lane, cards, totals):
    """Sixteen slots to rows of `target`, and added to the totals."""
    names = ("source", "at", "target", "first", "width", "lane", "cards", "totals")

    def codegen(context, builder, signature, args):
        tile = _Tile(context, builder, signature, args, names)
        rows = tile.from_slots()
        for number, row in enumerate(rows):
            tile.store("target", tile.at(tile.hand(number)), row)
            for place in tile.cards(number):
                tile.store("totals", place, tile.add(tile.load("totals", place), row))
        while len(rows) > 1:
            rows = [tile.add(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True)]
        total = tile.at(tile.number(TOTAL_ROW))
        tile.store("totals", total, tile.add(tile.load("totals", total), rows[0]))
        return context.get_dummy_value()

    return types.void(*_arguments((source, at, target, first, width, lane, cards, totals))), codegen


@intrinsic
def gather_won(typingctx, source, places, first, width, lane, cards, totals, chips, target, to):
    """Chips × (rows `places[hand]` of `source` − all compatible), to sixteen slots."""
    names = ("source", "places", "first", "width", "lane", "cards", "totals", "chips", "target", "to")

    def codegen(context, builder, signature, args):
        tile = _Tile(context, builder, signature, args, names)
        total, paid = tile.load("totals", tile.at(tile.number(TOTAL_ROW))), tile.load("chips", tile.argument("lane"))
        rows = []
        for number in range(LANES):
            ahead = tile.load("source", tile.at(tile.item("places", tile.hand(number))))
            rows.append(tile.mul(tile.sub(ahead, tile.compatible(total, number)), paid))
        tile.to_slots(rows)
        return context.get_dummy_value()

    return types.void(*_arguments((source, places, first, width, lane, cards, totals, chips, target, to))), codegen


@intrinsic
def gather_folds(typingctx, source, twins, first, width, lane, cards, totals, chips, target, to):
    """Chips × (all compatible + row `twins[hand]` of `source`), to sixteen slots.

    A hand's twin, the same cards with the opponent, is taken off for both cards; twins are row numbers, of a row of
    zeros where there is none.
    """
    names = ("source", "twins", "first", "width", "lane", "cards", "totals", "chips", "target", "to")

    def codegen(context, builder, signature, args):
        tile = _Tile(context, builder, signature, args, names)
        total, paid = tile.load("totals", tile.at(tile.number(TOTAL_ROW))), tile.load("chips", tile.argument("lane"))
        rows = []
        for number in range(LANES):
            twin = tile.load("source", tile.at(tile.item("twins", tile.hand(number))))
            rows.append(tile.mul(tile.add(tile.compatible(total, number), twin), paid))
        tile.to_slots(rows)
        return context.get_dummy_value()

    return types.void(*_arguments((source, twins, first, width, lane, cards, totals, chips, target, to))), codegen

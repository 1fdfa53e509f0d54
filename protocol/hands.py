"""The hands of a deck in their fixed order, which of them cards rule out, and what is equal up to the suits' names.

The hands of every game stand in one order, the colex order over the sorted deck: by their highest card, then by the
next. `hands_of(game)` gives them, and says which hands hold a card, which hands a board or other dead cards leave, and
which two hands can be held at once. Of a full deck with two hole cards there are 1,326:

    hand index   hi * (hi - 1) // 2 + lo for the cards hi > lo: the pairs of cards in order of hi, then lo. So 0 is
                 2d2c, 1,325 is AsAh, and the hands of the first n cards are the first C(n, 2) indices.
    hand class   13 * row + column for ranks 0-12: a suited hand has its high rank as row and its low rank as column, an
                 offsuit hand the reverse, a pair its rank twice. So 0 is 22, 168 is AA, 167 is AKs and 155 is AKo.

Every array, file and table of the project that has a hand or class axis uses these orders.

Nothing in hold'em depends on which suit is which, so what one of the 24 permutations of the suits turns into another is
the same to a strategy. A permutation is a tuple: suit s becomes permutation[s]. Of the boards (unordered sets of cards)
that are equal up to a permutation, the canonical one is that whose four suits, each seen as a mask of 13 ranks, ascend
from clubs to spades. With a hole they ascend by board first, then by hole, so that the board is canonical too.
Ascending, because a small ACPC deck keeps the last suits: its canonical cards stay in the deck. Equal suits keep their
order, which makes the permutation unique as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, NewType, TypeVar, overload

from machine.errors import quote
from protocol.cards import NUM_CARDS, RANKS, Card, CardError, cards_text, deck, parse_cards, rank_of, suit_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from protocol.arrays import F32
    from protocol.game import Game

_Array = TypeVar("_Array", bound="NDArray[Any]")

Hand = tuple[Card, ...]
"""The hole cards of a player, ascending."""

HandIndex = NewType("HandIndex", int)
HandClass = NewType("HandClass", int)
SuitPermutation = tuple[int, int, int, int]

NUM_HANDS = 1326
NUM_CLASSES = 169

# In lexicographic order: the first one changes nothing.
SUIT_PERMUTATIONS: tuple[SuitPermutation, ...] = tuple((a, b, c, d) for a, b, c, d in permutations(range(4)))


class DeckHands(Sequence[Hand]):
    """All hands that a player can be dealt from a deck, in order. Its arrays are made when first asked for, and stay.

    A hand's number in this order is its *column*: the place that it has in policies, ranges and tables.
    """

    def __init__(self, num_suits: int, num_ranks: int, num_hole_cards: int) -> None:
        self.deck = tuple(sorted(deck(num_suits, num_ranks)))
        self._hands = tuple(sorted(combinations(self.deck, num_hole_cards), key=lambda hand: hand[::-1]))

    def __len__(self) -> int:
        return len(self._hands)

    def __iter__(self) -> Iterator[Hand]:
        return iter(self._hands)

    @overload
    def __getitem__(self, column: int) -> Hand: ...
    @overload
    def __getitem__(self, column: slice) -> tuple[Hand, ...]: ...
    def __getitem__(self, column: int | slice) -> Hand | tuple[Hand, ...]:
        return self._hands[column]

    def column(self, hole: Iterable[Card]) -> int:
        """The column of the hand of these cards, in any order."""
        column = self._columns.get(tuple(sorted(hole)))
        if column is None:
            raise CardError(f"{cards_text(hole)} is no hand of {len(self[0])} cards of this deck")
        return column

    def live(self, dead: Iterable[int]) -> NDArray[np.bool_]:
        """[hand] whether it holds none of the dead cards, such as those of a board; read-only."""
        return _live(self, tuple(dead))

    def meeting(self, dead: Iterable[int]) -> NDArray[np.bool_]:
        """[hand] whether it holds one of the dead cards; made anew, for whoever keeps it in a way of his own."""
        import numpy as np

        meeting = np.zeros(len(self), np.bool_)
        for card in dead:
            meeting |= self.holding[card]
        return meeting

    @cached_property
    def cards(self) -> NDArray[np.uint8]:
        """[hand, hole card] ascending in each hand; read-only."""
        import numpy as np

        return _frozen(np.array(self._hands, np.uint8))

    @cached_property
    def holding(self) -> NDArray[np.bool_]:
        """[card of 52, hand] whether the hand holds the card; read-only."""
        import numpy as np

        holding = np.zeros((NUM_CARDS, len(self)), np.bool_)
        for cards in self.cards.T:
            holding[cards, np.arange(len(self))] = True
        return _frozen(holding)

    @cached_property
    def compatible(self) -> F32:
        """[hand, hand] 1 where two hands share no card, and so can be held at once, else 0; read-only."""
        import numpy as np

        holding = self.holding.astype(np.float32)
        return _frozen((holding.T @ holding == 0).astype(np.float32))

    @cached_property
    def _columns(self) -> dict[Hand, int]:
        return {hand: column for column, hand in enumerate(self)}


@lru_cache(maxsize=256)
def _live(hands: DeckHands, dead: tuple[int, ...]) -> NDArray[np.bool_]:
    import numpy as np

    return _frozen(np.logical_not(hands.meeting(dead)))


@cache
def _hands_of_deck(num_suits: int, num_ranks: int, num_hole_cards: int) -> DeckHands:
    return DeckHands(num_suits, num_ranks, num_hole_cards)


def hands_of(game: Game) -> DeckHands:
    """All hands of a game. Games with the same deck and as many hole cards share them."""
    return _hands_of_deck(game.num_suits, game.num_ranks, game.num_hole_cards)


def holdem_hands() -> DeckHands:
    """The 1,326 hands of hold'em with a full deck."""
    return _hands_of_deck(4, 13, 2)


def hand_index(a: Card, b: Card) -> HandIndex:
    """The index of the hand of two different cards, in either order."""
    high, low = (a, b) if a > b else (b, a)
    if high == low:
        raise CardError(f"a hand has two different cards, not {cards_text([a, b])}")
    return HandIndex(high * (high - 1) // 2 + low)


def hand_cards(index: HandIndex) -> tuple[Card, Card]:
    """The hand's cards, the higher first."""
    low, high = holdem_hands()[index]
    return high, low


def hand_text(index: HandIndex) -> str:
    """`AsKh`: the higher card first."""
    return cards_text(hand_cards(index))


def parse_hand(text: str) -> HandIndex:
    """The hand that two cards spell, in either order."""
    cards = parse_cards(text)
    if len(cards) != 2:
        raise CardError(f"{quote(text)} is not a hand: expected two cards, as in AsKh")
    return hand_index(*cards)


def hand_class(index: HandIndex) -> HandClass:
    """The class of a hand: its ranks, and whether it is suited."""
    high, low = hand_cards(index)
    if suit_of(high) == suit_of(low):
        return HandClass(13 * rank_of(high) + rank_of(low))
    return HandClass(13 * rank_of(low) + rank_of(high))


def class_text(hand_class: HandClass) -> str:
    """`QQ`, `AKs`, `T9o`."""
    row, column = divmod(hand_class, 13)
    if row == column:
        return RANKS[row] * 2
    return f"{RANKS[row]}{RANKS[column]}s" if row > column else f"{RANKS[column]}{RANKS[row]}o"


def parse_class(text: str) -> HandClass:
    """The class that `text` spells, exactly as `class_text` writes it."""
    found = _class_of_text().get(text)
    if found is None:
        raise CardError(f"{quote(text)} is not a class of hands: expected the like of QQ, AKs or T9o")
    return found


@cache
def _class_of_text() -> dict[str, HandClass]:
    return {class_text(HandClass(index)): HandClass(index) for index in range(NUM_CLASSES)}


@cache
def hand_cards_array() -> NDArray[np.uint8]:
    """The cards of every hand, the higher first: uint8[1326, 2], read-only."""
    import numpy as np

    return _frozen(np.ascontiguousarray(holdem_hands().cards[:, ::-1]))


@cache
def hand_classes_array() -> NDArray[np.uint8]:
    """The class of every hand: uint8[1326], read-only."""
    import numpy as np

    return _frozen(np.array([hand_class(HandIndex(index)) for index in range(NUM_HANDS)], np.uint8))


def permute_cards(cards: Sequence[Card], permutation: SuitPermutation) -> tuple[Card, ...]:
    """The same cards with their suits renamed, in the order given."""
    return tuple([Card(card & ~3 | permutation[card & 3]) for card in cards])


@cache
def hand_permutation(permutation: SuitPermutation) -> NDArray[np.int16]:
    """The hand that every hand becomes: int16[1326], read-only."""
    import numpy as np

    hands = [hand_index(*permute_cards(cards, permutation)) for cards in holdem_hands()]
    return _frozen(np.array(hands, np.int16))


def canonical_hole_board(
    hole: Sequence[Card], board: Sequence[Card]
) -> tuple[tuple[Card, ...], tuple[Card, ...], SuitPermutation]:
    """The canonical hole and board, each ascending, and the permutation that leads to them."""
    if len({*hole, *board}) != len(hole) + len(board):
        raise CardError(f"{cards_text(hole)} and {cards_text(board)} hold the same card twice")
    masks = [0, 0, 0, 0]
    for card in board:
        masks[suit_of(card)] |= 1 << 13 + rank_of(card)
    for card in hole:
        masks[suit_of(card)] |= 1 << rank_of(card)
    new_suit = [0, 0, 0, 0]
    for place, suit in enumerate(sorted(range(4), key=masks.__getitem__)):
        new_suit[suit] = place
    permutation: SuitPermutation = (new_suit[0], new_suit[1], new_suit[2], new_suit[3])
    return (
        tuple(sorted(permute_cards(hole, permutation))),
        tuple(sorted(permute_cards(board, permutation))),
        permutation,
    )


@cache
def canonical_board_keys(num_cards: int) -> NDArray[np.uint64]:
    """The keys of all canonical boards of up to five cards, ascending: uint64[n], read-only.

    The key of a board is its canonical form, the masks of the four suits in 13 bits each, spades highest.
    There are 1 of no card, then 13, 169, 1,755, 16,432 and 134,459. Less a card of its highest rank, each is equal to a
    canonical board: so all of the larger are found by adding to the smaller ones every card that is not below theirs.
    """
    import numpy as np

    if not 0 <= num_cards <= 5:
        raise CardError(f"a board has up to five cards, not {num_cards}")
    if num_cards == 0:
        return _frozen(np.zeros(1, np.uint64))
    shifts = 13 * np.arange(4, dtype=np.uint64)
    smaller = (canonical_board_keys(num_cards - 1)[:, None] >> shifts & np.uint64(0x1FFF)).astype(np.uint16)
    cards = np.arange(NUM_CARDS)
    rank_bits, suits = (1 << (cards >> 2)).astype(np.uint16), cards & 3
    new = (2 * rank_bits > smaller.max(axis=1)[:, None]) & (smaller[:, suits] & rank_bits == 0)
    board, card = np.nonzero(new)
    larger = smaller[board]
    larger[np.arange(len(card)), suits[card]] |= rank_bits[card]
    larger.sort(axis=1)
    keys = np.bitwise_or.reduce(larger.astype(np.uint64) << shifts, axis=1)
    keys.sort()  # and not np.unique, which keeps the interpreter to itself all the while
    return _frozen(keys[np.concatenate([[True], keys[1:] > keys[:-1]])])


@cache
def canonical_boards(num_cards: int) -> NDArray[np.uint8]:
    """All canonical boards of up to five cards, each ascending: uint8[n, b], read-only, by ascending key."""
    import numpy as np

    keys = canonical_board_keys(num_cards)
    # Bit 13 * suit + rank of a key is a card.
    card_of_bit = np.array([4 * (bit % 13) + bit // 13 for bit in range(NUM_CARDS)], np.uint8)
    held = keys[:, None] >> np.arange(NUM_CARDS, dtype=np.uint64) & np.uint64(1)
    boards = card_of_bit[np.nonzero(held)[1]].reshape(len(keys), num_cards)
    boards.sort(axis=1)
    return _frozen(boards)


def _frozen(array: _Array) -> _Array:
    """Arrays that are computed once and handed to everyone cannot be written to."""
    array.flags.writeable = False
    return array

"""Boards that a change of suits makes alike, against brute force over permutations of suits and ways to deal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from solver_tables import average, decisions, matched, moved
from variants import some_of

from protocol.cards import Card, parse_cards
from protocol.game import Game, load_game, parse_game
from protocol.hands import SUIT_PERMUTATIONS, SuitPermutation, hands_of, permute_cards
from protocol.state import CALL, State, apply, start
from solver.algorithms import CFR
from solver.boards import SolvedBoard, boards_of, permutation_of
from solver.menu import parse_menu
from solver.subgame import Subgame
from solver.subgame_solver import Solver

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
SHORT_DECK = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 4\nblind 100 50\nstack 1000 1000\nfirstPlayer 2 1 1 1\n"
    "numSuits 3\nnumRanks 4\nnumHoleCards 2\nnumBoardCards 0 3 1 1\nend gamedef"
).game
TWO_FLOPS = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 3\nblind 1 1\nstack 20 20\nfirstPlayer 1 1 1\n"
    "numSuits 4\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 1 2 2\nend gamedef"
).game
"""Two streets below the root that deal two cards each."""

FLOPS = {
    "7c4c2c": "monotone",
    "Kc7c2d": "two-tone",
    "Kc7d2h": "rainbow",
    "Kc7d7h": "rainbow, paired",
    "7c7d2c": "two-tone, paired",
    "7c7d7h": "trips",
}
Street = list[SolvedBoard]


def everything(game: Game) -> list[np.ndarray]:
    return [np.ones(len(hands_of(game)))] * 2


def solved(
    game: Game, street: int, board: Sequence[Card], ranges: list[np.ndarray] | None = None, *, alike: bool = True
) -> list[Street]:
    return boards_of(game, street, tuple(board), ranges or everything(game), alike=alike)


def keeping(game: Game, board: Sequence[Card], ranges: Sequence[np.ndarray]) -> list[SuitPermutation]:
    """Changes of suits that leave the deck, the board and both ranges alone, hand by hand."""
    hands = hands_of(game)
    found = []
    for suits in SUIT_PERMUTATIONS:
        if {*permute_cards(game.deck(), suits)} != {*game.deck()} or {*permute_cards(board, suits)} != {*board}:
            continue
        weights = [dict(zip(map(frozenset, hands), each.tolist(), strict=True)) for each in ranges]
        live = [hand for hand in hands if not set(hand) & set(board)]
        if all(of[frozenset(permute_cards(hand, suits))] == of[frozenset(hand)] for of in weights for hand in live):
            found.append(suits)
    return found


def deals(game: Game, street: int, board: Sequence[Card], to: int) -> Iterator[tuple[frozenset[Card], ...]]:
    """Every way to deal the streets after the root's, each street a set."""
    if street == to:
        yield ()
        return
    left = [card for card in game.deck() if card not in board]
    for cards in combinations(left, game.num_board_cards[street + 1]):
        for after in deals(game, street + 1, (*board, *cards), to):
            yield (frozenset(cards), *after)


def orbits(game: Game, street: int, board: Sequence[Card], to: int, ranges: Sequence[np.ndarray]) -> int:
    """How many classes all ways to deal fall into."""
    group = keeping(game, board, ranges)
    classes = {
        min(tuple([tuple(sorted(permute_cards(tuple(cards), suits))) for cards in deal]) for suits in group)
        for deal in deals(game, street, board, to)
    }
    return len(classes)


@pytest.mark.parametrize("flop", FLOPS, ids=FLOPS.values())
def test_as_many_turns_and_rivers_are_solved_as_there_are_classes(flop: str) -> None:
    board = parse_cards(flop)
    streets = solved(HOLDEM, 1, board)
    expected = [orbits(HOLDEM, 1, board, to, everything(HOLDEM)) for to in (1, 2, 3)]
    assert [len(street) for street in streets] == expected


def test_numbers_of_turn_cards_known_by_counting() -> None:
    """The ranks of the suits that may change places count once, other cards each."""
    turns = {name: len(solved(HOLDEM, 1, parse_cards(flop))[1]) for flop, name in FLOPS.items()}
    assert turns == {
        "monotone": 10 + 13,
        "two-tone": 11 + 12 + 13,
        "rainbow": 49,
        "rainbow, paired": 12 + 12 + 13,  # of the pair's suits; of the king's; of the one that is missing
        "two-tone, paired": 11 + 12 + 13,
        "trips": 12 + 13,
    }


def test_1755_flops() -> None:
    """The number of flops that differ by more than the names of suits."""
    game = parse_game(
        "nolimit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nstack 9 9\nfirstPlayer 1 1\n"
        "numSuits 4\nnumRanks 13\nnumHoleCards 2\nnumBoardCards 0 3\nend gamedef"
    ).game
    streets = solved(game, 0, ())
    assert len(streets[1]) == 1755
    assert sum(len(board.images) for board in streets[1]) == 22100


CASES = [
    (HOLDEM, 1, "7c4c2c"),
    (HOLDEM, 1, "Kc7d7h"),
    (HOLDEM, 2, "7c4c2cKc"),
    (HOLDEM, 2, "7c4c7d4d"),
    (HOLDEM, 3, "7c4c7d4dAs"),
    (SHORT_DECK, 1, "5d4d3d"),
    (SHORT_DECK, 1, "5d4h3s"),
    (TWO_FLOPS, 0, "2c"),
]


def cards_of(game: Game, text: str) -> tuple[Card, ...]:
    """A board, in a short deck with the same pattern: lowest ranks and suits of the text become the deck's lowest."""
    board = parse_cards(text)
    if set(board) <= set(game.deck()):
        return board
    suits, ranks = sorted({card & 3 for card in game.deck()}), sorted({card >> 2 for card in game.deck()})
    lowest_rank, lowest_suit = min(card >> 2 for card in board), min(card & 3 for card in board)
    return tuple([Card(ranks[(card >> 2) - lowest_rank] << 2 | suits[(card & 3) - lowest_suit]) for card in board])


@pytest.mark.parametrize(("game", "street", "text"), CASES, ids=[text for _, _, text in CASES])
def test_every_way_to_deal_is_one_image_of_one_board(game: Game, street: int, text: str) -> None:
    """Below each solved board; and what the suits of an image become is the solved board, street by street."""
    root = cards_of(game, text)
    streets = solved(game, street, root)
    group = keeping(game, root, everything(game))
    assert streets[0] == [SolvedBoard(root, 0, ((root, (0, 1, 2, 3)),))]
    for later, (before, boards) in enumerate(pairwise(streets), street + 1):
        below: list[Counter[frozenset[Card]]] = [Counter() for _ in before]
        cuts = [game.board_cards_by(each) for each in range(street, later + 1)]
        for board in boards:
            assert board.images[0] == (board.cards, (0, 1, 2, 3))
            assert board.cards[: cuts[-2]] == before[board.before].cards
            for cards, suits in board.images:
                assert cards[: cuts[-2]] == board.cards[: cuts[-2]]
                below[board.before][frozenset(cards[cuts[-2] :])] += 1
                assert suits in group
                changed = permute_cards(cards, suits)
                assert [set(changed[:cut]) for cut in cuts] == [set(board.cards[:cut]) for cut in cuts]
        for found, earlier in zip(below, before, strict=True):
            left = [card for card in game.deck() if card not in earlier.cards]
            assert found == Counter(map(frozenset, combinations(left, game.num_board_cards[later])))


@pytest.mark.parametrize(("game", "street", "text"), CASES, ids=[text for _, _, text in CASES])
def test_without_merging_every_way_to_deal_is_a_board(game: Game, street: int, text: str) -> None:
    root = cards_of(game, text)
    streets = solved(game, street, root, alike=False)
    for later, boards in enumerate(streets, street):
        assert len(boards) == len(list(deals(game, street, root, later)))
        assert all(board.images == ((board.cards, (0, 1, 2, 3)),) for board in boards)


def unlike(hand: str, change: float, *, both: bool = False) -> list[np.ndarray]:
    """Full ranges but for the weight of one hand of the first player, or of both."""
    ranges = [np.ones(1326), np.ones(1326)]
    number = hands_of(HOLDEM).index(tuple(sorted(parse_cards(hand))))
    for weights in ranges[: 1 + both]:
        weights[number] += change
    return ranges


def test_one_weight_that_looks_at_suits_keeps_boards_apart() -> None:
    """However little it looks, and whichever player's; but not if the board makes the hand impossible."""
    flop = parse_cards("7c4c2c")
    for ranges, group in (
        (unlike("KhQh", 1e-15), 2),  # diamonds and spades may still change places
        (unlike("KhQd", 0.5), 1),
        (unlike("KhQd", 0.5, both=True), 1),
        (unlike("KhQd", 0.5)[::-1], 1),
        (unlike("KhKd", 0.5), 2),  # the pair itself is left alone by hearts ↔ diamonds
        (unlike("AcKc", 0.5), 6),
        (unlike("7cKh", 0.5), 6),  # blocked
    ):
        assert len(keeping(HOLDEM, flop, ranges)) == group
        streets = solved(HOLDEM, 1, flop, ranges)
        expected = [orbits(HOLDEM, 1, flop, to, ranges) for to in (1, 2, 3)]
        assert [len(street) for street in streets] == expected


def test_random_ranges_merge_nothing() -> None:
    rng = np.random.default_rng(1)
    ranges = [rng.random(1326), rng.random(1326)]
    streets = solved(HOLDEM, 1, parse_cards("7c4c2c"), ranges)
    assert [len(street) for street in streets] == [1, 49, 49 * 48]


@pytest.mark.parametrize("suits", SUIT_PERMUTATIONS)
def test_hands_are_numbered_as_their_cards_change_suits(suits: SuitPermutation) -> None:
    hands = hands_of(HOLDEM)
    number = {frozenset(hand): number for number, hand in enumerate(hands)}
    expected = [number[frozenset(permute_cards(hand, suits))] for hand in hands]
    assert permutation_of(hands, suits).tolist() == expected


def at_flop(game: Game) -> State:
    state = start(game)
    while state.street == 0:
        state = apply(state, CALL)
    return state


def random_regrets(given: int, betting: str, hand: Sequence[Card], board: Sequence[Card]) -> list[float]:
    """Two numbers from -100 to 100 that no change of suits alters."""
    looks = [
        (
            sorted(permute_cards(hand, suits)),
            sorted(permute_cards(board[:given], suits)),
            [sorted(permute_cards([card], suits)) for card in board[given:]],
        )
        for suits in SUIT_PERMUTATIONS
    ]
    source = Random(f"{betting} {min(looks)}")
    return [source.uniform(-100, 100) for _ in range(2)]


@pytest.mark.parametrize("text", some_of(["5d4d3d", "5d5h3s", "5d5h5s"]))
def test_merging_boards_changes_nothing_of_a_flop_subgame(text: str) -> None:
    """Iterations on merged boards, and on all of them, from the same regrets: what best responses win, and policies.

    Regrets begin at random: from nothing, many stay zero but for rounding, which then decides what is played.
    """
    root, board, ranges = at_flop(SHORT_DECK), cards_of(SHORT_DECK, text), everything(SHORT_DECK)
    merged, full = [
        Solver(Subgame(root, board, ranges, parse_menu("a"), alike=alike), CFR(), threads=1) for alike in (True, False)
    ]
    boards = [[len(street) for street in solver.subgame.boards] for solver in (merged, full)]
    assert boards[0][1] < boards[1][1] == 9
    assert boards[0][2] < boards[1][2] == 72
    for solver in (merged, full):
        tables: dict[tuple[int, int], np.ndarray] = {}
        for decision in decisions(solver.subgame):
            key = decision.player, decision.board_number
            table = tables.setdefault(key, solver.table(*key, regrets=True))
            for column, hand in enumerate(solver.subgame.hands[decision.player]):
                regrets = random_regrets(len(board), decision.betting, hand, decision.board)
                table[decision.edge : decision.edge + 2, column] = regrets
        for (player, number), table in tables.items():
            solver.set_table(player, number, table, regrets=True)
        solver.iterate(3)
    found, wanted = merged.exploitability(), full.exploitability()
    assert found.best_response == pytest.approx(wanted.best_response, rel=1e-5)
    for player in range(2):
        assert merged.root_values(player) == pytest.approx(full.root_values(player), rel=1e-4, abs=1e-3)
    policy = {
        (decision.player, decision.betting, decision.board[len(board) :]): matched(average(full, decision))
        for decision in decisions(full.subgame)
    }
    compared = 0
    for decision in decisions(merged.subgame):
        strategy = matched(average(merged, decision))
        hands = merged.subgame.hands[decision.player]
        for cards, suits in decision.images:
            expected = policy.pop((decision.player, decision.betting, cards[len(board) :]))
            alive = np.array([set(hand).isdisjoint(cards) for hand in hands])
            assert strategy[:, moved(hands, suits)][:, alive] == pytest.approx(expected[:, alive], abs=1e-4)
            compared += int(alive.sum())
    assert not policy
    assert compared > 1000

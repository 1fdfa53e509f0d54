"""Memory of the solver: what 16 bits keep, what is left out, what it costs; and kernels stay inside their arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import numpy as np
import pytest
from numba import njit
from solver_tables import everyone

from protocol.cards import parse_cards
from protocol.game import Game, load_game, parse_game
from protocol.hands import hands_of
from protocol.state import CALL, Raise, State, apply, start
from solver import engine, problem
from solver.algorithms import CFR
from solver.betting import ForestError
from solver.engine import SolverError
from solver.kernels.types import aligned_zeros
from solver.kernels.vectors import BLOCK, load, noise, read, store, write
from solver.menu import parse_menu
from solver.subgame import FULL, ROOT, Storage, Subgame, SubgameError, SubgameLimits, outline
from solver.subgame_solver import Solver

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
FLOP, TURN, RIVER = parse_cards("7h8cJs"), parse_cards("7h8cJsQd"), parse_cards("7h8cJsQd2c")
STORAGES = [Storage(bits, later) for bits in (32, 16) for later in (True, False)]


def game(text: str) -> Game:
    return parse_game(f"{text}\nend gamedef").game


KUHN = game(
    "limit\nnumPlayers 2\nnumRounds 1\nblind 1 1\nraiseSize 1\nmaxRaises 1\n"
    "numSuits 1\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0"
)
LEDUC = game(
    "limit\nnumPlayers 2\nnumRounds 2\nblind 1 1\nraiseSize 2 4\nmaxRaises 2 2\n"
    "numSuits 2\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1"
)
DECK_OF_12 = game(
    "nolimit\nnumPlayers 2\nnumRounds 4\nblind 100 50\nstack 1000 1000\nfirstPlayer 2 1 1 1\n"
    "numSuits 3\nnumRanks 4\nnumHoleCards 2\nnumBoardCards 0 3 1 1"
)
TWO_AT_A_TIME = game(
    "nolimit\nnumPlayers 2\nnumRounds 3\nblind 1 1\nstack 9 9\nfirstPlayer 1 1 1\n"
    "numSuits 3\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 2 2"
)
NO_BOARD = game(
    "nolimit\nnumPlayers 2\nnumRounds 3\nblind 1 1\nstack 9 9\nfirstPlayer 1 1 1\n"
    "numSuits 1\nnumRanks 5\nnumHoleCards 1\nnumBoardCards 0 0 0"
)
ONE_CARD = game(
    "nolimit\nnumPlayers 2\nnumRounds 3\nblind 1 1\nstack 9 7\nfirstPlayer 1 1 1\n"
    "numSuits 3\nnumRanks 3\nnumHoleCards 1\nnumBoardCards 0 1 1"
)


def at_street(game: Game, street: int, to: int | None = None) -> State:
    """The first state of a street after calls, or after one raise."""
    state = start(game)
    for action in ([Raise(to)] if to else []) + [CALL] * 8:
        if state.street == street:
            return state
        state = apply(state, action)
    raise AssertionError("the street is reached")


def some_hands(game: Game, count: int, seed: int, board: Sequence[int] = ()) -> np.ndarray:
    """So many hands that the board leaves possible, at random, or all."""
    hands, rng = hands_of(game), Random(seed)
    weights = np.zeros(len(hands))
    live = [number for number, hand in enumerate(hands) if not set(hand) & set(board)]
    for number in rng.sample(live, min(count, len(live))):
        weights[number] = rng.uniform(0.1, 1.0)
    return weights


def holdem(
    street: int, sizes: str = "100%,a", hands: tuple[int, int] = (40, 30), storage: Storage = FULL, to: int = 300
) -> Subgame:
    board = RIVER[: HOLDEM.board_cards_by(street)]
    ranges = [some_hands(HOLDEM, count, seed, board) for seed, count in enumerate(hands)]
    return Subgame(at_street(HOLDEM, street, to), board, ranges, parse_menu(sizes), storage=storage)


# What 16 bits keep


@njit
def _write_and_read(values, halves, back, seeds, found):
    """found[seed, value]: what is read after it was written."""
    for number in range(len(seeds)):
        state = noise(seeds[number])
        for at in range(0, values.size, BLOCK):
            state = write(halves, at, load(values, at), state)
            store(back, at, read(halves, at))
        for i in range(values.size):
            found[number, i] = back[i]


def written(values: Sequence[float], seeds: Sequence[int], blocks: int = 4) -> np.ndarray:
    """[seed, value, place] each value written with each seed, in all lanes of some blocks, and read again."""
    whole = np.repeat(np.array(values, np.float32), blocks * BLOCK)
    found = np.zeros((len(seeds), len(whole)), np.float32)
    arrays = np.zeros(len(whole), np.uint16), np.zeros(len(whole), np.float32)
    _write_and_read(whole, *arrays, np.array(seeds, np.int64), found)
    return found.reshape(len(seeds), len(values), -1)


def engine_seeds(count: int) -> list[int]:
    """Those with which the engine writes one place in iteration after iteration, somewhere on a later board."""
    solver = Solver(whole_game(KUHN), seed=3)
    return [seed + ((64 * 13 + 2) << 32) for seed in solver._seeds(range(1, count + 1), [1]).tolist()]


def neighbours(value: float) -> tuple[float, float]:
    """The two bfloat16 numbers around a float32, that nearer to zero first."""
    bits = int(np.float32(value).view(np.uint32)) & 0xFFFF0000
    near, far = np.array([bits, bits + 0x10000], np.uint32).view(np.float32).tolist()
    return near, far


UNEVEN = [1.001, 1.0055, -1.001, -3.14159, 1e-12, -1.2345e-30, 3e-40, 12345.678, -7.77e30]


def test_writing_16_bits_is_right_in_the_mean() -> None:
    """Between two neighbours: always one of them, and as often as it is near, in every lane and place."""
    seeds = engine_seeds(4000)
    for value, found in zip(UNEVEN, written(UNEVEN, seeds).transpose(1, 0, 2), strict=True):
        near, far = neighbours(value)
        assert set(np.unique(found).tolist()) == {near, far}
        chance = (float(np.float32(value)) - near) / (far - near)
        ups = (found == far).mean(axis=0)
        # Six standard deviations: one of these 576 counts is beyond by chance once in a million runs.
        assert np.abs(ups - chance).max() <= 6 * (chance * (1 - chance) / len(seeds)) ** 0.5
        assert abs(ups.mean() - chance) <= 0.01


def test_hands_are_not_rounded_together() -> None:
    """Each place goes up and down at times of its own: some pairs often together, some seldom, evenly on the whole."""
    ups = (written([1.0 + 0.4 * 2**-7], engine_seeds(4000), blocks=4)[:, 0] > 1.0).astype(float)
    together = np.corrcoef(ups.T)[~np.eye(4 * BLOCK, dtype=bool)]
    assert abs(together.mean()) < 0.05
    assert (np.abs(together) > 0.95).mean() < 0.1


def test_errors_of_one_place_cancel_over_the_iterations() -> None:
    """Random dither would be off by some 31 ups of 4,000 (one standard deviation); the golden ratio's by a few."""
    for share in (0.1, 0.4, 0.77):
        ups = written([1.0 + share * 2**-7], engine_seeds(4000), blocks=1)[:, 0] > 1.0
        off = np.cumsum(ups - share, axis=0)
        assert np.abs(off).max() < 5


def test_what_16_bits_hold_stays_as_it_is() -> None:
    exact = [0.0, -0.0, 1.0, -1.0, 1.5, -0.3359375, 2.0**-133, -(2.0**-126), 2.0**127, 3.3895313892515355e38, np.inf]
    found = written(exact, engine_seeds(50))
    assert (found == np.array(exact, np.float32)[None, :, None]).all()
    assert np.signbit(found[:, 1]).all()


def test_a_sum_of_small_steps_goes_on() -> None:
    """Steps of an eightieth of the gap between neighbours, which rounding to nearest would swallow."""
    total, step = np.ones(BLOCK, np.float32), np.float32(1e-4)
    halves = np.zeros(BLOCK, np.uint16)
    for seed in engine_seeds(10_000):
        found = np.zeros((1, BLOCK), np.float32)
        _write_and_read(total + step, halves, np.zeros(BLOCK, np.float32), np.array([seed]), found)
        total = found[0]
    # 10,000 steps: the standard deviation of a lane is at most half a gap times 100, the gap 1/128 to 1/64.
    assert total.mean() == pytest.approx(2.0, abs=0.3)
    assert (total > 1.2).all()


def whole_game(game: Game, storage: Storage = FULL, sizes: str = "100%,a") -> Subgame:
    return Subgame(start(game), (), everyone(game), parse_menu(sizes), storage=storage)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_leduc_in_16_bits(seed: int) -> None:
    """To a hundredth of the ante; more iterations do not help, since rounding then is as large as what is added."""
    solver = Solver(whole_game(LEDUC, Storage(bits=16)), seed=seed)
    assert solver.exploitability().mbb == pytest.approx(2373.6, abs=0.05)
    solver.iterate(500)
    assert solver.exploitability().chips < 1e-2
    assert solver.game_value(0) == pytest.approx(-0.0856, abs=1e-2)


def test_the_first_iteration_in_16_bits_is_that_in_32_but_for_one_rounding() -> None:
    """To a neighbour, and over all places as often to the farther one as the number is far from the nearer."""
    long, short = Solver(holdem(2)), Solver(holdem(2, storage=Storage(bits=16)), seed=1)
    long.iterate()
    short.iterate()
    # Player 0 met nobody's rounded regrets.
    exact, rounded = [np.concatenate([each.regrets[0], each.averages[1]]) for each in (long, short)]
    exact, rounded = exact[exact != 0], rounded[exact != 0]
    parts = exact.view(np.uint32)
    ups = rounded.astype(np.int64) - (parts >> 16)
    assert set(np.unique(ups).tolist()) == {0, 1}
    shares = (parts & 0xFFFF) / 0x10000
    assert len(shares) > 20_000
    for low in np.arange(0.0, 1.0, 0.1):
        inside = (shares >= low) & (shares < low + 0.1)
        assert inside.sum() > 1000
        # Numbers of one hand are rounded in one pass, with dither that need not be independent.
        assert ups[inside].mean() == pytest.approx(shares[inside].mean(), abs=0.1)
    assert ups.mean() == pytest.approx(shares.mean(), abs=0.02)


def test_a_turn_in_16_bits_is_as_good_as_in_32() -> None:
    """The value of the game lies between what both best responses leave: the intervals of both storages must meet."""
    found = []
    for storage in (FULL, Storage(bits=16)):
        solver = Solver(holdem(2, "50%,100%,a / 100%,a", storage=storage), seed=1)
        solver.iterate(300)
        best = solver.exploitability().best_response
        found.append((-best[1], best[0], solver.exploitability().pot_share))
    (low, high, share), (other_low, other_high, other_share) = found
    assert max(low, other_low) <= min(high, other_high)
    assert max(share, other_share) < 0.01  # of the pot; twice what both reach


@pytest.mark.parametrize("storage", STORAGES[::2], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("regrets", [True, False])
def test_tables_come_back_as_they_were_set(storage: Storage, regrets: bool) -> None:
    """All boards at once, so that no table is written over another's; 16 bits are rounded to the nearest."""
    solver = Solver(holdem(2, "50%,100%,a / 100%,a", storage=storage), threads=1)
    assert len(solver.subgame.forests[1].parts) > 1
    rng, tables = np.random.default_rng(1), {}
    for number in range(len(solver.problem.deals.street)):
        for player in range(2):
            shape = solver.table(player, number).shape
            tables[player, number] = (100 * rng.normal(size=shape)).astype(np.float32).astype(np.float64)
            solver.set_table(player, number, tables[player, number], regrets=regrets)
    for (player, number), table in tables.items():
        found = solver.table(player, number, regrets=regrets)
        if storage.bits == 32:
            assert (found == table).all()
        else:
            _, exponent = np.frexp(table)
            assert (np.abs(found - table) <= np.ldexp(1.0, exponent - 9)).all()
        assert not solver.table(player, number, regrets=not regrets).any()


# What is left out


@pytest.mark.parametrize("bits", [32, 16])
def test_without_later_averages_all_else_has_the_same_bits(bits: int) -> None:
    whole, part = [Solver(holdem(2, storage=Storage(bits, later)), seed=4, threads=1) for later in (True, False)]
    for solver in (whole, part):
        solver.iterate(20)
    for player in range(2):
        assert whole.regrets[player].tobytes() == part.regrets[player].tobytes()
        kept = part.averages[player]
        assert 0 < len(kept) < len(whole.averages[player])
        assert whole.averages[player][: len(kept)].tobytes() == kept.tobytes()
    places = [ROOT, whole.place([CALL]), whole.place([Raise(900), Raise(20000)])]
    for place in places:
        assert (whole.strategy(place) == part.strategy(place)).all()
        for player in range(2):
            assert (whole.reach(player, place) == part.reach(player, place)).all()


def test_without_later_averages_what_needs_them_is_refused_in_one_line() -> None:
    solver = Solver(holdem(2, storage=Storage(later_averages=False)))
    solver.iterate()
    river = solver.place([CALL, CALL], parse_cards("2c"))
    refused: list[Callable[[], object]] = [
        solver.exploitability,
        partial(solver.game_value, 0),
        partial(solver.root_values, 1),
        partial(solver.best_response_values, 0),
        partial(solver.values, 0),
        partial(solver.values, 1, river),
        partial(solver.action_values, ROOT),
        partial(solver.strategy, river),
        partial(solver.reach, 0, solver.place([CALL, CALL, CALL], parse_cards("2c"))),
        partial(solver.row_values, 0, 0, 0, [0]),
        partial(solver.table, 0, 1),
        partial(solver.table, 1, 48),
    ]
    for ask in refused:
        with pytest.raises(SolverError, match=r"^the averages of later streets were not kept[^\n]*$"):
            ask()
    assert solver.table(0, 1, regrets=True).any()
    assert solver.strategy(ROOT).shape == (3, 40)


def test_without_later_averages_none_can_be_set() -> None:
    solver = Solver(holdem(2, storage=Storage(later_averages=False)))
    with pytest.raises(SolverError, match="the averages of later streets were not kept"):
        solver.set_table(0, 1, solver.table(0, 1, regrets=True))


# What it costs


def memory(solver: Solver) -> int:
    """Bytes of all arrays."""
    watches = [array for watched in solver._watched for array in watched.watch]
    found = [
        *solver.problem.trees, *solver.problem.deals, *solver.problem.ranges, *solver.problem.weights,
        *solver.problem.compatible, *solver.regrets, *solver.averages, *solver._threads.top, *solver._results, *watches,
        *[array for scratch in solver._threads.scratch for array in scratch],
    ]  # fmt: skip
    return sum(array.nbytes for array in found)


PRICED = {
    "turn": partial(holdem, 2, "50%,100%,a / 100%,a"),
    "turn, wide ranges": partial(holdem, 2, hands=(1000, 900)),
    "turn, uneven ranges": partial(holdem, 2, hands=(5, 1000)),
    "river, many sizes": partial(holdem, 3, "20%,40%,60%,80%,100%,150%,200%,a / 50%,100%,a", hands=(1081, 1081)),
}


@pytest.mark.parametrize("storage", STORAGES, ids=str)
@pytest.mark.parametrize("name", PRICED)
def test_a_price_is_what_is_taken(name: str, storage: Storage) -> None:
    """Within a twentieth, for one thread."""
    subgame = PRICED[name](storage=storage)
    solver = Solver(subgame, threads=1)
    taken = memory(solver)
    assert taken > 1 << 20
    assert subgame.price.bytes == pytest.approx(taken, rel=0.05)
    count = sum(len(regrets) for regrets in solver.regrets)
    assert subgame.price.pairs == count
    assert sum(regrets.nbytes for regrets in solver.regrets) == count * storage.bits // 8
    assert subgame.price.boards == sum(len(street) for street in subgame.boards)


def test_a_flop_subgame_of_the_whole_deck_fits_and_runs() -> None:
    """To the end of the game, one bet size, two ranges of a hundred hands."""
    root, menu = at_street(HOLDEM, 1, 300), parse_menu("50%")
    ranges = [some_hands(HOLDEM, 100, seed, FLOP) for seed in (1, 2)]
    begun = time.monotonic()
    price = outline(root, FLOP, ranges, menu).price
    assert time.monotonic() - begun < 5.0
    assert 1 << 30 < price.bytes < 8 << 30
    assert price.boards == 1 + 49 + 49 * 48
    storage, limits = Storage(16, later_averages=False), SubgameLimits(bytes=1 << 30)
    solver = Solver(Subgame(root, FLOP, ranges, menu, storage=storage, limits=limits))
    solver.iterate(2)
    for player in range(2):
        assert np.isfinite(solver.table(player, 0, regrets=True)).all()
        assert np.isfinite(solver.table(player, 2000, regrets=True)).all()
    strategy = solver.strategy(ROOT)
    assert strategy.sum(axis=0) == pytest.approx(1.0)
    assert strategy.std() > 0.1


@pytest.mark.parametrize("bits", [0, 8, 64])
def test_there_are_32_and_16_bits(bits: int) -> None:
    with pytest.raises(SubgameError, match=f"{bits} bits: expected 32 or 16"):
        holdem(3, storage=Storage(bits))


@pytest.mark.parametrize("count", [1, 3])
def test_there_are_two_ranges(count: int) -> None:
    with pytest.raises(SubgameError, match=f"{count} ranges: expected two"):
        Subgame(at_street(HOLDEM, 3), RIVER, [np.ones(1326)] * count, parse_menu("a"))


@pytest.mark.parametrize("bound", [50, 400])
def test_a_tree_that_is_too_large_is_refused_with_the_bound(bound: int) -> None:
    """Whichever street it is that has too many decisions; the river here."""
    limits = SubgameLimits(nodes=bound)
    with pytest.raises(ForestError, match=f"more than {bound} decisions on one street: offer fewer sizes"):
        outline(at_street(HOLDEM, 2, 300), TURN, everyone(HOLDEM), parse_menu("50%,100%,a"), limits=limits)


# Staying inside


@dataclass(slots=True)
class Fence:
    """Makes arrays with guard zones around, whose every bit must stay."""

    filling: float
    """What guards hold: NaN would spread through sums if kernels read it; whole numbers can be read as indices."""
    guards: list[tuple[np.ndarray, bytes]] = field(default_factory=list)

    def around(self, array: np.ndarray) -> np.ndarray:
        """A copy, at the start of a cache line."""
        room = 1024 // array.itemsize
        raw = aligned_zeros(2 * 256 + -(-array.nbytes // 4)).view(array.dtype)
        size = array.size
        guards = [raw[:room], raw[room + size :]]
        for guard in guards:
            guard[:] = self.filling if array.dtype.kind == "f" else self.integer(array.dtype)
            self.guards.append((guard, guard.tobytes()))
        inside = raw[room : room + size].reshape(array.shape)
        inside[...] = array
        return inside

    def integer(self, dtype: np.dtype) -> int:
        """As bfloat16 the same, elsewhere 0 or 1."""
        if dtype == np.uint16:
            return int(np.float32(self.filling).view(np.uint32)) >> 16
        return int(np.isnan(self.filling))

    def check(self) -> int:
        """How many guards there are; fails if one was written to."""
        for guard, wanted in self.guards:
            assert guard.tobytes() == wanted, f"written outside an array of {guard.dtype}"
        return len(self.guards)


def fenced(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Subgame], fence: Fence, threads: int) -> Solver:
    """A solver of which every array has guards around it, problem and all."""
    subgame = make()
    subgame.trees = type(subgame.trees)(*[fence.around(array) for array in subgame.trees])
    subgame.deals = type(subgame.deals)(*[fence.around(array) for array in subgame.deals])
    subgame.ranges = (fence.around(subgame.ranges[0]), fence.around(subgame.ranges[1]))
    for module in (problem, engine):
        monkeypatch.setattr(module, "aligned_zeros", lambda count: fence.around(np.zeros(count, np.float32)))
    monkeypatch.setattr(engine, "aligned_halves", lambda count: fence.around(np.zeros(count, np.uint16)))
    return Solver(subgame, CFR(), threads=threads, seed=1)


def zoo() -> Iterator[tuple[str, Callable[[], Subgame]]]:
    """Subgames with something missing, or at the edge of something."""

    def short(street: int, sizes: str, count: int, to: int | None = None) -> Subgame:
        board = sorted(DECK_OF_12.deck())[2 : 2 + DECK_OF_12.board_cards_by(street)]
        ranges = [some_hands(DECK_OF_12, count, seed, board) for seed in (5, 6)]
        return Subgame(at_street(DECK_OF_12, street, to), board, ranges, parse_menu(sizes), storage=storage)

    def facing_all_in(game: Game, street: int) -> Subgame:
        board = sorted(game.deck())[3 : 3 + game.board_cards_by(street)]
        ranges = [some_hands(game, 20, seed, board) for seed in (1, 2)]
        root = apply(at_street(game, street), Raise(game.stack[0]))
        return Subgame(root, board, ranges, parse_menu("a"), storage=storage)

    def one_hand_each() -> Subgame:
        ranges = [np.zeros(1326), np.zeros(1326)]
        for weights, hand in zip(ranges, ("AhKh", "3c4c"), strict=True):
            weights[hands_of(HOLDEM).index(tuple(sorted(parse_cards(hand))))] = 1.0
        return Subgame(at_street(HOLDEM, 2, 300), TURN, ranges, parse_menu("a"), storage=storage)

    def alike() -> Subgame:
        board = [card for card in sorted(DECK_OF_12.deck()) if card & 3 == sorted(DECK_OF_12.deck())[0] & 3][:3]
        return Subgame(at_street(DECK_OF_12, 1), board, everyone(DECK_OF_12), parse_menu("a"), storage=storage)

    for storage in STORAGES:
        for name, make in {
            "kuhn": partial(whole_game, KUHN, storage),
            "leduc": partial(whole_game, LEDUC, storage),
            "one-card hands, three suits": partial(whole_game, ONE_CARD, storage, "100%,a"),
            "two cards at a time": partial(whole_game, TWO_AT_A_TIME, storage, "a"),
            "no board": partial(whole_game, NO_BOARD, storage, "50%,a"),
            "flop": partial(short, 1, "50%,a", 30),
            "flop, boards alike": alike,
            "flop, no raises": partial(short, 1, "-", 30),
            "no betting before the river": partial(short, 1, "flop -; turn -; river 100%,a", 30),
            "no betting after the flop": partial(short, 1, "flop 100%,a; turn -; river -", 30),
            "short stacks": partial(short, 2, "100%,a", 30, 800),
            "one hand each, which some rivers kill": one_hand_each,
            "one hand against many": partial(holdem, 2, "100%,a", (1, 200), storage),
            "sixteen against seventeen": partial(holdem, 2, "100%,a", (16, 17), storage),
            "river, checks alone": partial(holdem, 3, "-", (40, 30), storage),
            "river, everything": partial(holdem, 3, "20%,40%,60%,80%,100%,a / 50%,100%,a", (60, 30), storage),
            "river, facing an all-in": partial(facing_all_in, HOLDEM, 3),
            "turn, facing an all-in": partial(facing_all_in, HOLDEM, 2),
            "flop, facing an all-in": partial(facing_all_in, DECK_OF_12, 1),
            "turn in parts": partial(holdem, 2, "33%,66%,100%,a / 100%,a", (17, 40), storage),
        }.items():
            yield f"{name}, {storage.bits}, {storage.later_averages}", make


ZOO = dict(zoo())


@pytest.mark.parametrize("name", ZOO)
def test_kernels_stay_inside_their_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is found around the arrays, it stays there and does not matter."""
    found: list[list[bytes]] = []
    for filling, threads in ((np.nan, 1), (0.0, 2)):
        fence = Fence(filling)
        solver = fenced(monkeypatch, ZOO[name], fence, threads)
        problem = solver.problem
        boards = len(problem.deals.street)
        for player in range(2):
            last = {
                board: len(solver.subgame.forests[problem.deals.street[board]].parts) - 1 for board in (0, boards - 1)
            }
            solver.watch(player, [(board, part, 0) for board, part in last.items()] + [(0, 0, 0), (boards - 1, 0, 0)])
        solver.iterate(4)
        results = [*solver.regrets, *solver.averages]
        for player in range(2):
            results.append(solver.watched(player, range(3)))
            if problem.averaged.all():
                results += [solver.best_response_values(player), solver.root_values(player)]
        if problem.averaged.all():
            results.append(solver.action_values(ROOT))
        assert fence.check() > 60
        for array in results:
            numbers = (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else array
            assert np.isfinite(numbers).all()
        found.append([array.tobytes() for array in results])
        monkeypatch.undo()
    assert found[0] == found[1]

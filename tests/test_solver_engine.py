"""Iterations as such: the same bits whatever the threads, stopping, going on, running averages, and extreme ranges."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random

import numpy as np
import pytest
from clocks import timed_by_work
from reference import slow_places
from solver_tables import everyone
from variants import some_of

from protocol.cards import parse_cards
from protocol.game import Game, load_game, parse_game
from protocol.hands import hands_of
from protocol.state import CALL, Raise, State, apply, start
from solver import threads
from solver.algorithms import CFR, CFR_PLUS, DCFR, DCFR_PLUS, Algorithm, parse_algorithm
from solver.engine import SolveProgress, SolverError
from solver.menu import Menu, parse_menu
from solver.subgame import FULL, ROOT, Storage, Subgame, SubgameError
from solver.subgame_solver import Solver
from solver.threads import Pace

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
DECK_OF_12 = parse_game(
    "nolimit\nnumPlayers 2\nnumRounds 4\nblind 100 50\nstack 1000 1000\nfirstPlayer 2 1 1 1\n"
    "numSuits 3\nnumRanks 4\nnumHoleCards 2\nnumBoardCards 0 3 1 1\nend gamedef"
).game
SHORT = Storage(bits=16)
STORAGES = [Storage(bits, later) for bits in (32, 16) for later in (True, False)]


def at_street(game: Game, street: int, to: int | None = None) -> State:
    """The first state of a street after calls, or after one raise."""
    state = start(game)
    for action in ([Raise(to)] if to else []) + [CALL] * 8:
        if state.street == street:
            return state
        state = apply(state, action)
    raise AssertionError("the street is reached")


def some_hands(game: Game, count: int, seed: int) -> np.ndarray:
    weights = np.zeros(len(hands_of(game)))
    rng = Random(seed)
    for number in rng.sample(range(len(weights)), count):
        weights[number] = rng.uniform(0.1, 1.0)
    return weights


@cache
def turn(storage: Storage = FULL, sizes: str = "50%,100%,a / 100%,a", hands: int = 40) -> Subgame:
    """A turn subgame of the whole deck, whose rivers are cut into parts."""
    ranges = [some_hands(HOLDEM, hands, seed) for seed in (1, 2)]
    return Subgame(at_street(HOLDEM, 2, 300), parse_cards("7h8cJsQd"), ranges, parse_menu(sizes), storage=storage)


@cache
def flop(storage: Storage = FULL) -> Subgame:
    """A flop subgame of twelve cards."""
    board = sorted(DECK_OF_12.deck())[2:5]
    ranges = [some_hands(DECK_OF_12, 30, seed) for seed in (3, 4)]
    return Subgame(at_street(DECK_OF_12, 1), board, ranges, parse_menu("50%,a / a"), storage=storage)


SUBGAMES = pytest.mark.parametrize("make", [turn, flop])
BITS = pytest.mark.parametrize("storage", [FULL, SHORT], ids=["float32", "bfloat16"])


def bits(solver: Solver) -> list[bytes]:
    """All that a solver has found, padding and impossible hands too."""
    return [array.tobytes() for array in (*solver.regrets, *solver.averages)]


def solved(subgame: Subgame, iterations: int = 6, **options: object) -> Solver:
    solver = Solver(subgame, **options)  # type: ignore[arg-type]
    solver.iterate(iterations)
    return solver


# Threads


@SUBGAMES
@BITS
def test_the_number_of_threads_changes_no_bit(make: Callable[[Storage], Subgame], storage: Storage) -> None:
    subgame = make(storage)
    assert len(subgame.forests[-1].parts) > (make is turn)
    alone = solved(subgame, threads=1, seed=5)
    expected = bits(alone)
    values = [alone.exploitability(), alone.root_values(0).tobytes(), alone.root_values(1).tobytes()]
    for count in (2, 3, 2):
        together = solved(subgame, threads=count, seed=5)
        assert together.pace.most == count
        assert bits(together) == expected
        assert [
            together.exploitability(),
            together.root_values(0).tobytes(),
            together.root_values(1).tobytes(),
        ] == values
    changing = Solver(subgame, seed=5)  # one thread or all, as measured
    for _ in range(6):
        changing.iterate()
    assert bits(changing) == expected


@SUBGAMES
def test_the_seed_matters_to_short_storage_only(make: Callable[[Storage], Subgame]) -> None:
    for storage, same in ((FULL, True), (SHORT, False)):
        first, again, other, negative = [bits(solved(make(storage), seed=seed)) for seed in (1, 1, 2, -1)]
        assert first == again
        assert (first == other) is same
        assert (first == negative) is same


def test_simultaneous_updates_with_threads() -> None:
    for storage in (FULL, SHORT):
        one, two = [solved(turn(storage), threads=count, simultaneous=True, seed=3) for count in (1, 2)]
        assert bits(one) == bits(two)
        assert bits(one) != bits(solved(turn(storage), threads=1, seed=3))


@BITS
def test_solvers_do_not_disturb_each_other(storage: Storage) -> None:
    """Several at once on one subgame, each in a thread of its own, some with helpers."""
    subgame = turn(storage)
    expected = {seed: bits(solved(subgame, 12, threads=1, seed=seed)) for seed in range(4)}

    def work(seed: int) -> list[bytes]:
        solver = Solver(subgame, threads=1 + seed % 2, seed=seed)
        for _ in range(4):
            solver.iterate(3)
            solver.exploitability()
        return bits(solver)

    with ThreadPoolExecutor(4) as pool:
        assert dict(enumerate(pool.map(work, range(4)))) == expected


def scratched(subgame: Subgame, scale: float) -> Solver:
    """Solved with working memory that held random numbers."""
    solver = Solver(subgame, threads=1)
    for array in solver._threads.scratch[0]:
        if array.dtype == np.float32:
            array[:] = scale * np.random.default_rng(1).random(len(array), np.float32)
    solver.iterate(4)
    return solver


@SUBGAMES
@BITS
def test_what_working_memory_held_changes_no_bit(make: Callable[[Storage], Subgame], storage: Storage) -> None:
    """Not even of impossible hands and of padding: else these would depend on which thread did what before."""
    clean, dirty = [scratched(make(storage), scale) for scale in (0.0, 1000.0)]
    assert bits(clean) == bits(dirty)
    for player in range(2):
        assert clean.root_values(player).tobytes() == dirty.root_values(player).tobytes()


@pytest.mark.parametrize("count", [0, -1])
def test_no_threads_are_refused(count: int) -> None:
    with pytest.raises(SolverError, match="threads"):
        Solver(turn(), threads=count)


def test_the_faster_number_of_threads_is_used_and_the_other_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(threads.time, "perf_counter", lambda: now[0])
    pace, slow, used = Pace(4, fixed=False), {4: 3.0, 1: 2.0}, []
    for _ in range(100):
        count = pace.threads()
        used.append(count)
        with pace.measure(count, 10):
            now[0] += 10 * slow[count]
    assert used[:4] == [4, 4, 1, 1]  # the first may have had to compile: it does not count
    assert used.count(4) == 2 + 100 // 32
    assert pace.seconds() == 2.0
    assert pace.shared
    slow[1] = 5.0
    for _ in range(64):
        count = pace.threads()
        used.append(count)
        with pace.measure(count, 10):
            now[0] += 10 * slow[count]
    assert used[-30:].count(4) >= 29
    assert not pace.shared
    assert Pace(4, fixed=True).threads() == 4
    assert Pace(1, fixed=False).threads() == 1


# Stopping


@pytest.fixture
def solver() -> Solver:
    return solved(turn(), 1, threads=1)


def test_it_stops_at_whatever_comes_first(solver: Solver) -> None:
    assert solver.solve(iterations=5).iterations == solver.iterations == 6
    assert solver.solve(iterations=5, seconds=60.0, target=0.0).iterations == 11
    assert solver.solve(iterations=0).iterations == 11
    found = solver.solve(iterations=10_000, seconds=60.0, target=1e6)
    assert found.exploitability is not None
    assert found.exploitability.chips <= 1e6
    assert found.iterations == 11 + 8  # where it is first measured
    begun = time.monotonic()
    found = solver.solve(iterations=10**9, seconds=0.4)
    assert 0.4 <= found.seconds <= time.monotonic() - begun
    assert solver.solve(seconds=0.0).iterations == found.iterations


@pytest.mark.parametrize("target", [None, -1e9])
def test_it_stops_soon_after_its_time(solver: Solver, target: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many iterations it does between two looks at the clock, they take a twentieth of a second."""
    pairs = sum(len(regrets) for regrets in solver.regrets)
    clock = timed_by_work(monkeypatch, 0.002 / pairs)
    begun = clock.now_s
    found = solver.solve(iterations=10**9, seconds=0.4, target=target)
    assert 0.4 <= found.seconds == clock.now_s - begun <= 0.46
    assert 200 <= found.iterations <= 231


def test_a_target_is_reached_and_believed(solver: Solver) -> None:
    target = 0.02 * solver.subgame.root.pot
    found = solver.solve(iterations=5000, target=target)
    assert found.iterations < 5000
    assert found.exploitability is not None
    assert found.exploitability.chips <= target
    assert solver.exploitability() == found.exploitability


def test_stopping_changes_no_bit() -> None:
    """How often somebody looks does not matter to what is found."""
    one, many = Solver(turn(SHORT), seed=1), Solver(turn(SHORT), seed=1)
    one.iterate(30)
    for count in (1, 7, 2):
        many.solve(iterations=count, on_progress=lambda _: None)
    many.solve(iterations=20, target=-1e9)
    assert bits(one) == bits(many)


def test_progress_never_goes_back() -> None:
    told: list[SolveProgress] = []
    solver = Solver(turn(hands=10), threads=1)
    last = solver.solve(iterations=400, on_progress=told.append)
    assert told[0].iterations == 0
    assert told[0].exploitability is None
    assert told[-1].iterations == last.iterations == 400
    assert told[-1].exploitability == last.exploitability == solver.exploitability()
    assert [each.iterations for each in told] == sorted({each.iterations for each in told})
    assert [each.seconds for each in told] == sorted(each.seconds for each in told)
    measured = [id(each.exploitability) for each in told if each.exploitability]
    assert 5 < len(set(measured)) <= 1 + 400 / 8  # an eighth of the work


def test_without_later_averages_there_is_progress_but_no_exploitability() -> None:
    told: list[SolveProgress] = []
    solver = Solver(turn(Storage(later_averages=False)))
    with pytest.raises(
        SolverError, match=r"^a target needs the averages of all streets: expected iterations or seconds$"
    ):
        solver.solve(iterations=3, target=1.0)
    assert solver.solve(iterations=3, on_progress=told.append).exploitability is None
    assert [each.exploitability for each in told] == [None] * len(told)
    with pytest.raises(SolverError, match=r"^nothing to stop at: expected iterations, seconds or a target$"):
        solver.solve()


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_leaves_a_solver_that_goes_on(count: int) -> None:
    solver = Solver(turn(SHORT), threads=count, seed=1)

    def stop(progress: SolveProgress) -> None:
        if progress.iterations >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.solve(iterations=1000, on_progress=stop)
    done = solver.iterations
    assert 10 <= done < 1000
    assert np.isfinite(solver.exploitability().chips)
    solver.iterate(5)
    assert solver.iterations == done + 5
    assert bits(solver) == bits(solved(turn(SHORT), done + 5, threads=1, seed=1))


def test_ctrl_c_loses_no_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes out of compiled code when all iterations of a batch are done."""
    solver, lead = Solver(turn(SHORT), threads=1, seed=1), threads.lead
    solver.iterate(3)

    def interrupted(*arguments: object) -> None:
        lead(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "lead", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solver.iterate()
    with pytest.raises(KeyboardInterrupt):
        solver.exploitability()
    monkeypatch.undo()
    assert solver.iterations == 4
    solver.iterate(2)
    assert bits(solver) == bits(solved(turn(SHORT), 6, threads=1, seed=1))


@SUBGAMES
@pytest.mark.parametrize("storage", STORAGES, ids=str)
@pytest.mark.parametrize("algorithm", [DCFR(), DCFR_PLUS(1.5, 7), CFR_PLUS()], ids=str)
def test_going_on_from_kept_numbers_is_as_never_stopping(
    make: Callable[[Storage], Subgame], storage: Storage, algorithm: Algorithm
) -> None:
    subgame = make(storage)
    solver = solved(subgame, 5, algorithm=algorithm, seed=2)
    kept = [[array.copy() for array in pair] for pair in (solver.regrets, solver.averages)]
    solver.iterate(5)
    later = Solver(subgame, algorithm, seed=2)
    for pair, old in zip((later.regrets, later.averages), kept, strict=True):
        for array, numbers in zip(pair, old, strict=True):
            array[:] = numbers
    later.iterations = 5
    later.iterate(5)
    assert bits(later) == bits(solver)


# Running averages of values

WATCHED = [DCFR(), CFR(), CFR_PLUS(3), DCFR(1, 1, 1)]


def rows_of(subgame: Subgame) -> Iterator[tuple[int, int, list[int]]]:
    """Board, part, rows: the root, leaves of the first street, and nodes of the first and last part of some boards."""
    part = subgame.forests[0].parts[0]
    slots = len(part.nodes) + part.showdown_lanes + part.fold_lanes
    yield 0, 0, [0, len(part.nodes) - 1, slots, slots + part.num_next]
    for board in (1, 2, sum(map(len, subgame.boards)) - 1):
        street = int(subgame.deals.street[board])
        parts = subgame.forests[street].parts
        yield board, 0, [0, len(parts[0].nodes) - 1]
        yield board, len(parts) - 1, [0]


@SUBGAMES
@pytest.mark.parametrize("algorithm", WATCHED, ids=str)
@pytest.mark.parametrize("begin", [0, 4])
def test_watched_values_are_the_average_of_those_of_each_iteration(
    make: Callable[[Storage], Subgame], algorithm: Algorithm, begin: int
) -> None:
    """Each iteration's are asked of a second solver that plays the regrets; player 1 meets the new ones of player 0."""
    subgame = make(FULL)
    solver, asked = solved(subgame, begin, algorithm=algorithm, threads=2), Solver(subgame)
    rows = list(rows_of(subgame))
    for player in range(2):
        backwards = [(board, part, number) for board, part, numbers in rows for number in numbers][::-1]
        solver.watch(player, backwards)
    boards = sorted({board for board, _, _ in rows})
    expected: dict[tuple[int, int], np.ndarray] = {}
    total = 0.0
    for _ in range(7):
        before = [regrets.copy() for regrets in solver.regrets]
        solver.iterate()
        weights = algorithm.weights(solver.iterations)
        total = total * weights.keep_average + weights.add_average
        for player, played in enumerate(([before[0], before[1]], [solver.regrets[0], before[1]])):
            for averages, regrets in zip(asked.averages, played, strict=True):
                averages[:] = regrets
            for board in boards:
                values = np.concatenate(
                    [asked.row_values(player, board, part, numbers) for each, part, numbers in rows if each == board]
                )
                old = expected.get((player, board), np.zeros_like(values))
                expected[player, board] = old * weights.keep_average + values * weights.add_average
    assert total > 0
    for (player, board), sums in expected.items():
        cards = [each.cards for street in subgame.boards for each in street][board]
        alive = [set(hand).isdisjoint(cards) for hand in subgame.hands[player]]
        found = solver.watched(player, [n for n, row in enumerate(backwards) if row[0] == board][::-1])[:, alive]
        wanted = sums[:, alive] / total
        assert found.shape[0] == len(sums)
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5 * np.abs(wanted).max())
        assert np.abs(wanted).max() > 0


def test_kept_values_at_places_on_images() -> None:
    """Where one board stands for others a place reads its own hands."""
    game = DECK_OF_12
    deck = sorted(game.deck())
    board = [deck[0], deck[3], deck[7], deck[8]]  # a pair in the two suits that may change places
    subgame, each = [
        Subgame(at_street(game, 2), board, everyone(game), parse_menu("a"), alike=alike) for alike in (True, False)
    ]
    assert len(subgame.boards[1]) < len(each.boards[1]) == 8
    solver, full = Solver(subgame, CFR(), simultaneous=True), Solver(each, CFR(), simultaneous=True)
    line = [CALL, CALL]
    cards = [card for card in sorted(game.deck()) if card not in board]
    for each in (solver, full):
        for player in range(2):
            each.keep_values(player, [each.place([]), *[each.place(line, [card]) for card in reversed(cards)]])
        each.iterate()  # uniform play: later, rounding would decide between actions that are worth the same
    for player in range(2):
        for card in cards:
            found = solver.kept_values(player, solver.place(line, [card]))
            wanted = full.kept_values(player, full.place(line, [card]))
            alive = [card not in hand for hand in subgame.hands[player]]
            assert np.abs(wanted[alive]).max() > 100
            assert found[alive] == pytest.approx(wanted[alive], rel=1e-4, abs=1e-2)


def test_values_by_action_are_kept() -> None:
    """They are what the places after the actions are worth."""
    solver = Solver(turn(), CFR(), simultaneous=True)
    card = min(set(solver.subgame.root.game.deck()) - set(solver.subgame.board))
    decisions = {solver.place([]): ([], []), solver.place([CALL, CALL], [card]): ([CALL, CALL], [card])}
    after = {
        (place, number): solver.place([*line, action], dealt)
        for place, (line, dealt) in decisions.items()
        for number, action in enumerate(solver.node(place).actions)
        if isinstance(action, Raise)
    }
    player = int(solver.node(ROOT).state.actor or 0)
    solver.keep_values(player, [*after.values()], [*decisions])
    solver.iterate(3)
    assert len(after) > 3
    for (place, number), child in after.items():
        values = solver.kept_action_values(player, place)
        assert len(values) == len(solver.node(place).actions)
        alive = [set(hand).isdisjoint(solver.subgame.cards(place)) for hand in solver.subgame.hands[player]]
        assert values[number][alive] == pytest.approx(solver.kept_values(player, child)[alive], rel=1e-5)


def test_the_places_named_last_are_kept() -> None:
    solver, wanted = Solver(turn(), CFR(), threads=1), Solver(turn(), CFR(), threads=1)
    first, second = [solver.place(line) for line in ([CALL], [])]
    solver.keep_values(0, [first])
    solver.keep_values(0, [second])
    wanted.keep_values(0, [second])
    for each in (solver, wanted):
        each.iterate(2)
    assert solver.kept_values(0, second) == pytest.approx(wanted.kept_values(0, second))


# Extreme ranges

ALGORITHMS = ["cfr", "cfr+", "cfr+:20", "lcfr", "dcfr", "dcfr:1.5,0.5,4", "dcfr+:1.5,20"]
TURN, RIVER = at_street(HOLDEM, 2, 300), at_street(HOLDEM, 3, 300)
BOARD = parse_cards("7h8cJsQd2c")


def only(*hands: str, weight: float = 1.0) -> np.ndarray:
    weights = np.zeros(1326)
    for hand in hands:
        weights[hands_of(HOLDEM).index(tuple(sorted(parse_cards(hand))))] = weight
    return weights


def mixed(seed: int, weight: float) -> np.ndarray:
    """Sixty hands, half of them with next to no weight."""
    weights = some_hands(HOLDEM, 60, seed)
    weights[np.flatnonzero(weights)[::2]] *= weight
    return weights


def holding(*cards: str) -> np.ndarray:
    """All hands with one of the cards."""
    held = {card for text in cards for card in parse_cards(text)}
    return np.array([float(not held.isdisjoint(hand)) for hand in hands_of(HOLDEM)])


EXTREMES = {
    "one hand each": [only("AhAd"), only("KsKh")],
    "one hand each, equal": [only("AhKd"), only("AsKh")],
    "one hand against many": [only("AhAd"), some_hands(HOLDEM, 60, 1)],
    "tiny": [some_hands(HOLDEM, 60, 1) * 1e-30, some_hands(HOLDEM, 60, 2)],
    "huge": [some_hands(HOLDEM, 60, 1) * 1e30, some_hands(HOLDEM, 60, 2) * 1e-30],
    "mixed 1e-6": [mixed(1, 1e-6), mixed(2, 1e-6)],
    "mixed 1e-12": [mixed(1, 1e-12), mixed(2, 1e-12)],
    "all but one blocked": [only("AhKh"), holding("Ah", "Kh") + only("6c5c")],
    "each blocks all but one": [holding("Ah") + only("KdKh"), holding("Ah") + only("QsQh")],
    "a river kills a range": [only("AhKh"), only("3c4c")],
}
DENORMAL = {
    "mixed 1e-30": [mixed(1, 1e-30), mixed(2, 1e-30)],
    "mixed 1e-40": [mixed(1, 1e-40), mixed(2, 1e-40)],
}


def finite(solver: Solver) -> bool:
    for number in range(len(solver.problem.deals.street)):
        for player in range(2):
            if not np.isfinite(solver.table(player, number, regrets=True)).all():
                return False
            if (solver.problem.averaged.all() or number == 0) and not np.isfinite(solver.table(player, number)).all():
                return False
    return True


def check_sane(root: State, ranges: Sequence[np.ndarray], menu: Menu, storage: Storage, algorithm: str) -> None:
    board = BOARD[: HOLDEM.board_cards_by(root.street)]
    subgame = Subgame(root, board, ranges, menu, storage=storage)
    solver = Solver(subgame, parse_algorithm(algorithm))
    solver.iterate(50)
    assert finite(solver)
    place = solver.place([])
    assert np.isfinite(solver.strategy(place)).all()
    assert solver.strategy(place).sum(axis=0) == pytest.approx(1.0)
    if not storage.later_averages:
        return
    assert np.isfinite(solver.action_values(place)).all()
    for player in range(2):
        assert np.isfinite(solver.root_values(player)).all()
        assert np.isfinite(solver.best_response_values(player)).all()
    # Sums over all hands of the opponent are rounded; over the hands that can be met they must be right.
    met = subgame.total / (subgame.weights[0].sum() * subgame.weights[1].sum())
    slack = 1e-6 * max(HOLDEM.stack) / met
    assert abs(solver.game_value(0) + solver.game_value(1)) < slack
    assert solver.exploitability().chips > -slack


@pytest.mark.parametrize("name", some_of(EXTREMES, every=2))
@pytest.mark.parametrize("root", [TURN, RIVER], ids=["turn", "river"])
def test_extreme_ranges_give_numbers(name: str, root: State) -> None:
    """No infinities, no NaN, and what one player wins the other loses: every algorithm and storage in turn."""
    for number, algorithm in enumerate(ALGORITHMS):
        storages = STORAGES if algorithm == "dcfr" else [STORAGES[number % 4]]
        for storage in storages:
            check_sane(root, EXTREMES[name], parse_menu("100%,a"), storage, algorithm)


@pytest.mark.parametrize("name", DENORMAL)
def test_weights_at_the_end_of_float32_give_numbers(name: str) -> None:
    for storage in (FULL, SHORT):
        check_sane(RIVER, DENORMAL[name], parse_menu("100%,a"), storage, "dcfr")
        check_sane(TURN, DENORMAL[name], parse_menu("50%,100%,a / 100%,a"), storage, "dcfr")


@pytest.mark.parametrize("algorithm", [DCFR(0, 0, 2), DCFR(-1, 0, 2), DCFR_PLUS(0)], ids=str)
def test_regrets_that_fade_away_give_numbers(algorithm: Algorithm) -> None:
    ranges = [some_hands(HOLDEM, 100, seed) for seed in (1, 2)]
    solver = Solver(Subgame(RIVER, BOARD, ranges, parse_menu("100%,a")), algorithm)
    solver.iterate(400)
    assert finite(solver)
    assert np.isfinite(solver.exploitability().chips)


def test_only_proportions_of_weights_count() -> None:
    """A power of two changes no bit, other factors none that matters."""
    ranges = [some_hands(HOLDEM, 60, seed) for seed in (1, 2)]
    found = []
    for factors in ((1.0, 1.0), (2.0**-100, 2.0**90), (1e30, 1e-30)):
        scaled = [weights * factor for weights, factor in zip(ranges, factors, strict=True)]
        solver = Solver(Subgame(TURN, BOARD[:4], scaled, parse_menu("100%,a")), threads=1)
        solver.iterate(10)
        found.append(solver)
    assert bits(found[0]) == bits(found[1])
    assert found[2].exploitability().chips == pytest.approx(found[0].exploitability().chips, rel=1e-4)


def test_ranges_that_block_each_other_are_refused() -> None:
    for ranges in (
        [only("AhKh"), holding("Ah", "Kh")],
        [only("AhKh"), only("AhKh")],
        [holding("Ah"), holding("Ah")],
    ):
        with pytest.raises(SubgameError, match="block each other"):
            Subgame(TURN, BOARD[:4], ranges, parse_menu("100%,a"))


def test_a_player_without_hands_on_a_board_wins_and_loses_nothing_there() -> None:
    """On the rivers that are in a player's only hand: values mean nothing, but spoil nothing."""
    solver = Solver(Subgame(TURN, BOARD[:4], EXTREMES["a river kills a range"], parse_menu("100%,a")))
    solver.iterate(500)
    assert solver.game_value(0) > 0  # AhKh is ahead
    assert solver.exploitability().pot_share < 0.02
    dead = [n for n, board in enumerate(solver.subgame.boards[1]) if set(board.cards) & set(parse_cards("AhKh3c4c"))]
    assert len(dead) == 4
    for number in dead:
        for player, hand in ((0, "AhKh"), (1, "3c4c")):
            if set(parse_cards(hand)) & set(solver.subgame.boards[1][number].cards):
                assert not solver.table(player, 1 + number).any()


# The end of the hand


def after(state: State, to: int) -> State:
    return apply(state, Raise(to))


@pytest.mark.parametrize("street", [2, 3, pytest.param(1, marks=pytest.mark.proof)])
def test_facing_an_all_in_there_is_fold_or_call(street: int) -> None:
    """The only decision of the subgame: calling is worth the equity over all boards to come, hand by hand."""
    root = after(at_street(HOLDEM, street, 300), 20000)
    board, me = BOARD[: HOLDEM.board_cards_by(street)], int(root.actor or 0)
    solver = Solver(Subgame(root, board, [some_hands(HOLDEM, 5, seed) for seed in (1, 2)], parse_menu("a")))
    solver.iterate(500)
    subgame, place = solver.subgame, solver.place([])
    assert [len(forest.nodes) for forest in subgame.forests] == [1] + [0] * (3 - street)
    values = solver.action_values(place)
    assert values[0] == pytest.approx(-root.committed[me], rel=1e-5)
    against = dict(zip(subgame.hands[1 - me], subgame.weights[1 - me].tolist(), strict=True))
    called = apply(root, CALL)
    for hand, value, strategy in zip(subgame.hands[me], values[1], solver.strategy(place).T, strict=True):
        equity = slow_places.value(called, subgame.menu, {}, me, hand, against, board)
        assert equity is not None
        assert value == pytest.approx(equity, abs=0.05)
        assert strategy[int(equity > -root.committed[me])] > 0.99
    assert solver.exploitability().chips < 1.0

"""Both forms of sampling, on games small enough to be solved, and against walks that are written down plainly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from chi_square import assert_frequencies
from reference.slow_sampling import AllDeals, Numbers, SlowExternal, Stream, by_edge, deal, zeros
from trained import KUHN, THIRD, Apart, Case, case, endgame, kuhn, leduc, no_limit_leduc, short_deck

from blueprints.cards.exact import ExactCards
from blueprints.cards.features import FLOP, RIVER, TURN, keys
from blueprints.cards.kernels import places
from blueprints.train import paths, samples
from blueprints.train.exploit import exploitability
from blueprints.train.external import ExternalSampling
from blueprints.train.public import PublicSampling
from blueprints.train.single import SingleHands, canonical, chance_of
from blueprints.train.walk import Training
from blueprints.tree import TreeError
from machine.errors import ConfigError
from protocol.game import DEFAULT_GAME, load_game
from protocol.hands import NUM_HANDS, SUIT_PERMUTATIONS, hand_index, hands_of
from solver.algorithms import CFR
from solver.subgame import Subgame
from solver.subgame_solver import Solver

KUHN_VALUE, LEDUC_VALUE = -1 / 18, -0.0856
"""Of player 0. Kuhn 1950; Southey et al. 2005 and open_spiel for Leduc."""

PUBLIC, EXTERNAL = "public", "external"


def make(here: Case, form: str, **settings: int) -> PublicSampling | ExternalSampling:
    return here.public(**settings) if form == PUBLIC else here.external(**settings)


# --- They converge --------------------------------------------------------------------------------------------------


def fall(here: Case, form: str, walks: int, checkpoints: tuple[int, ...]) -> tuple[list[float], float]:
    """Exploitability as a share of the pot after so many periods of linear weights, and the value at the end."""
    trainer, measure, shares = make(here, form), here.measure(), []
    for period in range(1, checkpoints[-1] + 1):
        assert trainer.period(period, float(period), walks) > 0
        if period in checkpoints:
            shares.append(measure.exploitability(trainer.averages()).pot_share)
    return shares, measure.value(trainer.averages())


@pytest.mark.parametrize(("form", "walks"), [(PUBLIC, 100), (EXTERNAL, 500)])
def test_kuhn(form: str, walks: int) -> None:
    shares, value = fall(kuhn(), form, walks, (2, 100))
    assert shares[-1] < 0.005
    assert shares[-1] < shares[0] / 2
    assert value == pytest.approx(KUHN_VALUE, abs=0.002)


@pytest.mark.parametrize(("form", "walks"), [(PUBLIC, 100), (EXTERNAL, 3_000)])
def test_leduc(form: str, walks: int) -> None:
    here = leduc()
    sets = [here.cards.counts[int(street)] for street in here.tree.street]
    assert sum(sets) == 288
    shares, value = fall(here, form, walks, (5, 30, 100))
    assert shares[-1] < 0.02
    assert all(later < earlier for earlier, later in pairwise(shares))
    assert value == pytest.approx(LEDUC_VALUE, abs=0.02)


@pytest.mark.parametrize(("form", "walks"), [(PUBLIC, 100), (EXTERNAL, 10_000)])
def test_short_deck_flop_holdem(form: str, walks: int) -> None:
    shares, _ = fall(short_deck(), form, walks, (10, 30, 100))
    assert shares[-1] < 0.02
    assert all(later < earlier for earlier, later in pairwise(shares))


@pytest.mark.parametrize(("form", "walks"), [(PUBLIC, 100), (EXTERNAL, 10_000)])
def test_an_endgame_with_ranges(form: str, walks: int) -> None:
    here = endgame()
    shares, value = fall(here, form, walks, (3, 10, 30))
    assert shares[-1] < 0.02
    assert all(later < earlier for earlier, later in pairwise(shares))
    solver = Solver(Subgame(here.root, here.board, here.ranges or (), here.menu), threads=1)
    solver.iterate(500)
    expected = float(solver.values(0) @ solver.subgame.chance(solver.subgame.weights[0], 0))
    assert value == pytest.approx(expected, abs=0.02 * here.root.pot)


# --- Identity buckets -----------------------------------------------------------------------------------------------


def one_iteration(
    here: Case, trainer: PublicSampling, regrets: np.ndarray, *, follows: bool = False
) -> tuple[np.ndarray, np.ndarray, float]:
    """What walks over all boards add to regrets and to averages, each playing by these regrets; the value.

    With `follows` these regrets are only played by, and what is learnt goes elsewhere.
    """
    added, averages = np.zeros(regrets.shape), np.zeros(regrets.shape)
    value = 0.0
    for board in combinations(sorted(here.game.deck()), sum(here.game.num_board_cards)):
        before = np.zeros_like(regrets) if follows else regrets
        learnt, average = before.copy(), np.zeros_like(regrets)
        played = regrets if follows else learnt
        training = Training(learnt, average, np.float32(1.0), True)
        walked = trainer._walker.walk(trainer._walker.ready(board), (played, played), training=training)
        added += learnt.astype(np.float64) - before
        averages += average
        value += float(walked.values[0].sum())
    return added, averages, value


@pytest.mark.parametrize("make_case", [leduc, no_limit_leduc, short_deck])
def test_public_chance_sampling_over_all_boards_is_full_cfr(make_case: Callable[[], Case]) -> None:
    """Ten iterations, each over all boards, against the production solver, which knows no buckets."""
    here = make_case()
    trainer, measure = here.public(), here.measure()
    solver = Solver(
        Subgame(here.root, (), [np.ones(len(hands_of(here.game)))] * 2, here.menu), CFR(), threads=1, simultaneous=True
    )
    regrets, averages = np.zeros_like(trainer._regrets), np.zeros(trainer._regrets.shape)
    for iteration in range(1, 11):
        added, average, _ = one_iteration(here, trainer, regrets)
        regrets += added.astype(np.float32)
        averages += average
        solver.iterate()
        if iteration in (1, 3, 10):
            ours = measure.exploitability(trainer._tables.unpacked(averages.astype(np.float32)))
            theirs = solver.exploitability()
            assert ours.best_response == pytest.approx(theirs.best_response, rel=1e-3, abs=1e-5 * ours.pot)


@pytest.mark.parametrize(("make_case", "menu"), [(leduc, "a"), (short_deck, "100%")])
def test_identity_buckets_are_no_abstraction(make_case: Callable[[], Case], menu: str) -> None:
    """What a bucket of alike hands regrets is the sum of what its hands do, each in a bucket of its own."""
    here = make_case()
    cards = Apart(here.game)
    apart = case(here.game, menu, cards)
    found = []
    for each in (here, apart):
        trainer = each.public()
        added, averages, _ = one_iteration(each, trainer, np.zeros_like(trainer._regrets))
        found.append([trainer._tables.unpacked(numbers.astype(np.float32)) for numbers in (added, averages)])
    lengths = [here.game.board_cards_by(street) for street in range(here.game.num_rounds)]
    for street, length in enumerate(lengths):
        summed = [np.zeros(found[0][kind][street].shape) for kind in range(2)]
        for board in combinations(sorted(here.game.deck()), length):
            dead = [bool(set(hand) & set(board)) for hand in hands_of(here.game)]
            for bucket, single in zip(
                here.cards.buckets(board)[~np.array(dead)], cards.buckets(board)[~np.array(dead)], strict=True
            ):
                for kind in range(2):
                    summed[kind][:, bucket] += found[1][kind][street][:, single]
        for kind in range(2):
            assert found[0][kind][street] == pytest.approx(summed[kind], rel=1e-4, abs=1e-3)


def test_external_sampling_solves_the_game_with_identity_buckets() -> None:
    """A bucket for every hand on every board, where the tests above have one for alike hands.

    The short deck has 14,520 of them on the flop: too many for as many walks as a test can do.
    """
    apart = case(leduc().game, "a", Apart(leduc().game))
    trainer = apart.external(seed=2)
    for period in range(1, 101):
        trainer.period(period, float(period), 20_000)
    assert apart.measure().exploitability(trainer.averages()).pot_share < 0.02


# --- Against plain walks --------------------------------------------------------------------------------------------


def some_regrets(here: Case, seed: int) -> Numbers:
    """As in the middle of a run: of both signs, sometimes none positive; exact in float32."""
    rng = np.random.default_rng(seed)
    found = zeros(here.tree, here.cards.counts)
    for numbers in found.values():
        numbers[:] = rng.integers(-40, 40, numbers.shape)
        numbers[rng.random(len(numbers)) < 0.2] = -1
    return found


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("make_case", [kuhn, leduc, no_limit_leduc, lambda: case(THIRD, "100%")])
def test_public_chance_sampling_adds_what_all_deals_add(make_case: Callable[[], Case], follows: bool) -> None:
    """Regrets, averages and the value of one iteration over all boards, from regrets out of nowhere."""
    here = make_case()
    trainer, start = here.public(), some_regrets(here, 1)
    slow = AllDeals(here.game, here.tree, here.cards, start)
    for board in slow.boards():
        slow.add(board)
    first = trainer._tables.packed(by_edge(here.tree, here.cards.counts, start))
    added, averages, value = one_iteration(here, trainer, first, follows=follows)
    assert value == pytest.approx(slow.value, rel=1e-4)
    for found, expected in ((added, slow.added), (averages, slow.reached)):
        for mine, other in zip(
            trainer._tables.unpacked(found.astype(np.float32)), by_edge(here.tree, here.cards.counts, expected),
            strict=True,
        ):  # fmt: skip
            assert mine == pytest.approx(other, rel=1e-4, abs=1e-3 * max(1.0, float(abs(other).max(initial=0.0))))


def stored(here: Case, trainer: ExternalSampling, numbers: Numbers) -> np.ndarray:
    """As the trainer lays them out."""
    found = np.zeros_like(trainer.regrets)
    for node, table in numbers.items():
        trainer._of_node(found, node)[:] = table
    return found


@pytest.mark.parametrize("skipping", [False, True])
@pytest.mark.parametrize("make_case", [kuhn, leduc, no_limit_leduc, short_deck])
def test_external_sampling_walks_as_written_down(make_case: Callable[[], Case], skipping: bool) -> None:
    """The same deals and draws: regrets and averages after many walks of weight 2."""
    here = make_case()
    most = float(here.tree.pays.max())
    trainer = here.external(seed=7, skipping=skipping, skip_from=3, skip_below=5 / most / 2)
    regrets = some_regrets(here, 2)
    trainer.regrets[:] = stored(here, trainer, regrets)
    slow = SlowExternal(
        here.game, here.tree, here.cards, regrets, zeros(here.tree, here.cards.counts), -5.0, 0.95 * skipping
    )
    for walk in range(300):
        slow.walk(Stream(7, 3, walk), 2.0)
    assert trainer.period(3, 2.0, 300) > 300
    for mine, other in ((trainer.regrets, slow.regrets), (trainer.sums, slow.sums)):
        expected = stored(here, trainer, other)
        assert mine == pytest.approx(expected, rel=1e-4, abs=1e-4 * float(abs(expected).max()))


# --- Deals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make_case", [kuhn, leduc, short_deck])
def test_single_hands_have_the_buckets_of_their_boards(make_case: Callable[[], Case]) -> None:
    here = make_case()
    deals = SingleHands.of(here.game, here.cards).deal(3, 2, 1000, 200)
    hands, streets = hands_of(here.game), here.game.num_rounds
    for walk in range(200):
        dealt = deal(here.game, Stream(3, 2, 1000 + walk))
        assert int(deals.sign[walk]) == dealt.sign
        whole = here.cards.deal(dealt.board)
        for player, hand in enumerate(dealt.hands):
            found = deals.buckets[walk, player * streets : (player + 1) * streets]
            assert found.tolist() == whole[:, hands.index(hand)].tolist()


def test_single_hands_of_full_holdem_have_the_buckets_of_their_boards() -> None:
    """By canonical board and live hand, as `places` spreads whole rows; the river's table is one row for all boards."""
    rng = np.random.default_rng(1)
    flops = rng.integers(0, 1000, (1755, 1176)).astype(np.uint16)
    turns = rng.integers(0, 1000, (16432, 1128)).astype(np.uint16)
    rivers = np.lib.stride_tricks.as_strided(np.arange(134459 + 1081, dtype=np.uint16), (134459, 1081), (2, 2))
    for table in (flops, turns, rivers):
        table.setflags(write=False)
    tables, game = canonical(flops, turns, rivers), load_game(DEFAULT_GAME).game
    hands = SingleHands(chance_of(game, (), None), tables, (0, 4))
    deals = hands.deal(5, 1, 0, 300)
    out = np.empty((4, NUM_HANDS), np.uint16)
    for walk in range(300):
        dealt = deal(game, Stream(5, 1, walk))
        board = np.array(dealt.board, np.uint8)
        places.deal_into(
            tables.classes, flops, turns, rivers, keys(FLOP), keys(TURN), keys(RIVER), board,
            np.array(SUIT_PERMUTATIONS, np.uint8), out,
        )  # fmt: skip
        assert int(deals.sign[walk]) == dealt.sign
        for player, hand in enumerate(dealt.hands):
            found = deals.buckets[walk, 4 * player : 4 * player + 4]
            assert found.tolist() == out[:, hand_index(*hand)].tolist()


def test_deals_are_as_likely_as_they_should_be() -> None:
    """Kuhn's six deals; hands of ranges, in proportion to both weights where they share no card."""
    deals = SingleHands.of(KUHN, ExactCards(KUHN)).deal(1, 1, 0, 30_000)
    seen = Counter(zip(deals.buckets[:, 0].tolist(), deals.buckets[:, 1].tolist(), strict=True))
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    assert_frequencies([seen[pair] for pair in pairs], [1 / 6] * 6)

    here = endgame()
    assert here.ranges is not None
    deals = SingleHands.of(here.game, here.cards, street=1, board=here.board, ranges=here.ranges).deal(1, 1, 0, 30_000)
    seen = Counter(zip(deals.buckets[:, 1].tolist(), deals.buckets[:, 3].tolist(), strict=True))
    hands, shares = hands_of(here.game), {}
    for (a, mine), (b, theirs) in product(enumerate(hands), repeat=2):
        if not set(mine) & set(theirs) and not {*mine, *theirs} & set(here.board):
            shares[a, b] = float(here.ranges[0][a] * here.ranges[1][b])
    total = sum(shares.values())
    assert set(seen) <= {pair for pair, share in shares.items() if share > 0}
    common = [pair for pair, share in shares.items() if share / total > 1e-3]
    rest = 1 - sum(shares[pair] for pair in common) / total
    counts = [seen[pair] for pair in common]
    assert_frequencies([*counts, 30_000 - sum(counts)], [*[shares[pair] / total for pair in common], rest])


# --- Skipping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make_case", "below", "fewer"), [(leduc, 20, 0.9), (short_deck, 10, 0.95)])
def test_with_and_without_skipping_the_same_is_learnt(make_case: Callable[[], Case], below: int, fewer: float) -> None:
    """Fewer updates, the same exploitability (within what runs of one form differ by) and value."""
    here = make_case()
    measure = here.measure()
    updates, shares, values = [], [], []
    for skipping in (False, True):
        trainer = here.external(skipping=skipping, skip_from=20, skip_below=below)
        updates.append(sum(trainer.period(period, float(period), 10_000) for period in range(1, 101)))
        shares.append(measure.exploitability(trainer.averages()).pot_share)
        values.append(measure.value(trainer.averages()) / here.root.pot)
    assert updates[1] < fewer * updates[0]
    assert max(shares) < 0.02
    assert values[0] == pytest.approx(values[1], abs=0.0025)


# --- Runs repeat ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [PUBLIC, EXTERNAL])
def test_same_seed_same_bits_and_resuming_changes_nothing(form: str) -> None:
    here = short_deck()
    whole, other, later = (make(here, form, seed=4) for _ in range(3))
    for period in (1, 2, 3):
        assert whole.period(period, float(period), 30) == other.period(period, float(period), 30)
        if period == 2:
            later.restore({name: array.copy() for name, array in other.state().items()})
    later.period(3, 3.0, 30)
    for each in (other, later):
        assert whole.state().keys() == each.state().keys()
        for name, array in whole.state().items():
            assert np.array_equal(array, each.state()[name]), name
    assert whole.regret() == later.regret() > 0
    different = make(here, form, seed=5)
    different.period(1, 1.0, 30)
    other = make(here, form, seed=4)
    other.period(1, 1.0, 30)
    assert not np.array_equal(different.state()["regrets"], other.state()["regrets"])


def test_public_chance_sampling_gives_the_same_bits_on_any_number_of_threads() -> None:
    """With three, one can deal the next board while another already helps."""
    here = short_deck()
    found = []
    for threads in (1, 2, 3):
        trainer = here.public(threads=threads)
        trainer.period(1, 1.0, 50)
        found.append(trainer.state())
    for name, array in found[0].items():
        assert np.array_equal(array, found[1][name]), name
        assert np.array_equal(array, found[2][name]), name


def test_external_sampling_on_two_threads_learns_too() -> None:
    here = leduc()
    trainer = here.external(threads=2)
    for period in range(1, 51):
        trainer.period(period, float(period), 6_000)
    assert here.measure().exploitability(trainer.averages()).pot_share < 0.02


def test_external_sampling_compiles_once() -> None:
    for here in (kuhn(), endgame()):
        here.external().period(1, 1.0, 10)
    assert len(paths.walk.signatures) == 1
    assert len(samples.deal_tables.signatures) == 1


# --- Refusals -------------------------------------------------------------------------------------------------------


def test_what_cannot_be_trained_or_measured_is_refused() -> None:
    here = leduc()
    with pytest.raises(ConfigError, match=r"^regrets float32\(\d+,\): expected float32\(\d+,\)$"):
        here.external().restore(kuhn().external().state())
    with pytest.raises(ConfigError, match="a board of 1 cards: expected 0 on street 0"):
        SingleHands.of(here.game, here.cards, board=here.game.deck()[:1])
    averages = here.external().averages()
    with pytest.raises(TreeError, match=r"^averages of street 0 of shape \(3, 3\): expected"):
        exploitability(here.game, here.menu, [averages[0][:3], averages[1]], here.cards, here.tree)
    here, fewer = no_limit_leduc(), case(no_limit_leduc().game, "100%").tree
    with pytest.raises(TreeError, match="the tree has no decision '' with 3 actions"):
        exploitability(here.game, here.menu, averages, here.cards, fewer)


def test_nothing_learnt_is_uniform() -> None:
    """Kuhn: against uniform play player 0 wins 0.5 and player 1 5/12, as can be worked out by hand."""
    here = kuhn()
    found = exploitability(here.game, here.menu, here.external().averages(), here.cards, here.tree)
    assert found.best_response == pytest.approx((0.5, 5 / 12), abs=1e-6)


@pytest.mark.parametrize("make_case", [no_limit_leduc, endgame])
def test_positive_regret_bounds_exploitability(make_case: Callable[[], Case]) -> None:
    """In the same units, also from a root with ranges; and it is no more than some times as much."""
    here = make_case()
    trainer = here.public()
    for number in range(1, 21):
        trainer.period(number, float(number), 100)
    exploitability = here.measure().exploitability(trainer.averages()).chips
    assert exploitability < trainer.regret() < 30 * exploitability

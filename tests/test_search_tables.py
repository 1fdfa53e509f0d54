"""The pieces of `studies.search_tables`: abstraction, trunks and their seams, nested search, translation, jobs."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from variants import some_of

from protocol.cards import Card
from protocol.hands import SUIT_PERMUTATIONS, hands_of, permute_cards
from protocol.ranking import hand_rank
from protocol.state import CALL, Raise, State, apply, start
from solver.algorithms import DCFR, Weights
from solver.gadget_kinds import Form
from solver.menu import Menu, parse_menu
from solver.subgame import Place, Subgame
from solver.subgame_solver import Solver
from studies.search_tables import bets, cards
from studies.search_tables.abstract import AbstractSolver, Buckets
from studies.search_tables.buckets import cluster, equities
from studies.search_tables.games import Field, flop_holdem, whole
from studies.search_tables.jobs import TableJob, TableSettings, jobs_of, known_rows, perform, run_all, waves
from studies.search_tables.nested import Arrival, tables_of
from studies.search_tables.report import BEGIN, END, insert, inversions, made, tables
from studies.search_tables.translation import Translation, pseudo_harmonic
from studies.search_tables.trunk import FLOP, Seam, Whole

TINY = flop_holdem(3, suits=2, flop=1)
MENU = parse_menu("preflop 100%; flop 100%; cap 1")
SMALL = flop_holdem(4, suits=2)
SIZES = bets.Sizes(bets=2)
DCFR_DEFAULT = DCFR()

Deal = tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]
"""Both hands and the board."""
Visited = dict[tuple[object, tuple[Card, ...], tuple[Card, ...]], np.ndarray]
"""What averages take in: by information set, hand and board."""


# --- Abstraction ----------------------------------------------------------------------------------------------------


def strength_bucket(hand: tuple[Card, ...], board: tuple[Card, ...]) -> int:
    """Three buckets of hands of three cards that no change of suits moves."""
    rank, levels = hand_rank((*hand, *board)), strengths()
    return sum(rank >= levels[len(levels) * third // 3] for third in (1, 2))


@cache
def strengths() -> list[int]:
    """All different ones."""
    return sorted({hand_rank(three) for three in combinations(sorted(TINY.deck()), 3)})


@cache
def flops() -> list[tuple[Card, ...]]:
    return list(combinations(sorted(TINY.deck()), 1))


@cache
def tiny_buckets() -> Buckets:
    subgame = whole(TINY, MENU)
    buckets = np.full((len(subgame.boards[1]), len(subgame.hands[0])), -1, np.int32)
    for number, board in enumerate(subgame.boards[1]):
        for place, hand in enumerate(subgame.hands[0]):
            if not set(hand) & set(board.cards):
                buckets[number, place] = strength_bucket(hand, board.cards)
    return buckets


class SlowAbstractCFR:
    """One deal at a time, in float64: information sets by name, of hands before the flop and of buckets after it."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        hands = hands_of(TINY)
        self.deals = [
            (first, second, board)
            for first in hands
            for second in hands
            for board in flops()
            if len({*first, *second, *board}) == 5
        ]
        self.bucket = {
            (hand, board): strength_bucket(hand, board)
            for hand in hands
            for board in flops()
            if not set(hand) & set(board)
        }
        self.regrets: defaultdict[object, np.ndarray] = defaultdict(lambda: np.zeros(3))
        self.sums: defaultdict[object, np.ndarray] = defaultdict(lambda: np.zeros(3))
        self.gained: dict[object, np.ndarray] = {}

    def name(self, state: State, hand: tuple[Card, ...], board: tuple[Card, ...]) -> object:
        return (state.betting, self.bucket[hand, board] if state.street else hand)

    def strategy(self, name: object, count: int) -> np.ndarray:
        positive = np.maximum(self.regrets[name][:count], 0)
        return positive / positive.sum() if positive.sum() > 0 else np.full(count, 1 / count)

    def iterate(self, weights: Weights) -> None:
        for me in (0, 1):
            self.gained = {}
            visited: Visited = {}
            for deal in self.deals:
                self.walk(start(TINY), me, deal, 1.0, visited)
            for name, gained in self.gained.items():
                old = self.regrets[name]
                kept = np.where(old > 0, weights.keep_positive, weights.keep_negative)
                self.regrets[name] = old * kept + gained
            fresh: defaultdict[object, np.ndarray] = defaultdict(lambda: np.zeros(3))
            for (name, _, _), added in visited.items():  # each hand on each board once, whatever is held against it
                fresh[name] += added
            for name, added in fresh.items():
                self.sums[name] = self.sums[name] * weights.keep_average + added * weights.add_average

    def walk(self, state: State, me: int, deal: Deal, reach: float, visited: Visited) -> float:
        """What `me` wins, times the opponent's reach."""
        if state.actor is None:
            chips = min(state.committed)
            if not state.showdown:
                return reach * (-chips if state.folded[me] else chips)
            ranks = [hand_rank((*deal[player], *deal[2])) for player in (me, 1 - me)]
            return reach * chips * ((ranks[0] > ranks[1]) - (ranks[0] < ranks[1]))
        actions, actor = self.menu.actions(state), state.actor
        name = self.name(state, deal[actor], deal[2])
        strategy = self.strategy(name, len(actions))
        if actor != me:
            member = (deal[actor], deal[2] if state.street else ())
            added = np.zeros(3)
            added[: len(actions)] = reach * strategy
            visited[(name, *member)] = added
        values = np.array(
            [
                self.walk(apply(state, action), me, deal, reach * (1.0 if actor == me else part), visited)
                for action, part in zip(actions, strategy, strict=True)
            ]
        )
        if actor != me:
            return float(values.sum())
        gained = self.gained.setdefault(name, np.zeros(3))
        gained[: len(actions)] += values - values @ strategy
        return float(values @ strategy)


def test_buckets_play_as_in_a_slow_solution_of_the_abstract_game() -> None:
    subgame, slow = whole(TINY, MENU), SlowAbstractCFR(MENU)
    fast = AbstractSolver(subgame, tiny_buckets(), DCFR_DEFAULT)
    for iteration in range(1, 5):
        slow.iterate(DCFR_DEFAULT.weights(iteration))
    fast.iterate(4)
    fast.finish()
    compared = 0
    for board in range(1 + len(subgame.boards[1])):
        street = min(board, 1)
        place_board = board - street
        cards_of = subgame.boards[street][place_board].cards
        for node, decision in enumerate(subgame.forests[street].nodes):
            player = int(decision.state.actor or 0)
            policy = fast.strategy(Place(street, node, place_board))
            for number, hand in enumerate(subgame.hands[player]):
                if set(hand) & set(cards_of):
                    continue
                sums = slow.sums[slow.name(decision.state, hand, cards_of)][: len(policy)]
                if sums.sum() > 1e-6:
                    np.testing.assert_allclose(policy[:, number], sums / sums.sum(), atol=2e-5)
                    compared += 1
    assert compared > 100


def test_a_bucket_for_every_hand_changes_nothing() -> None:
    subgame = whole(TINY, MENU)
    buckets = np.where(tiny_buckets() >= 0, np.arange(tiny_buckets().size).reshape(tiny_buckets().shape), -1)
    fast, plain = AbstractSolver(subgame, buckets.astype(np.int32)), Solver(subgame, threads=1)
    for solver in (fast, plain):
        solver.iterate(10)
    fast.finish()
    for player in range(2):
        np.testing.assert_allclose(fast.averages[player], plain.averages[player], rtol=1e-5, atol=1e-6)
    assert fast.exploitability().mbb == pytest.approx(plain.exploitability().mbb, rel=1e-4)


def test_members_of_a_bucket_play_alike() -> None:
    subgame = whole(TINY, MENU)
    solver = AbstractSolver(subgame, tiny_buckets())
    solver.iterate(7)
    solver.finish()
    for player in range(2):
        tables = np.array([solver.table(player, 1 + flop) for flop in range(len(subgame.boards[1]))])
        for bucket in (0, 1, 2):
            members = tables.transpose(0, 2, 1)[tiny_buckets() == bucket]
            assert len(members) > 5
            assert (members == members[0]).all()


def test_equities_count_wins_and_half_of_ties() -> None:
    subgame = whole(SMALL, MENU)
    points, hands, board = equities(subgame), subgame.hands[0], subgame.boards[1][3].cards
    live = [number for number, hand in enumerate(hands) if not set(hand) & set(board)]
    assert (points[3, :, 0] >= 0).nonzero()[0].tolist() == live
    compatible = hands_of(SMALL).compatible
    for number in live[::5]:
        others = [other for other in live if compatible[number, other]]
        ours = hand_rank((*hands[number], *board))
        won = [(1 + np.sign(ours - hand_rank((*hands[other], *board)))) / 2 for other in others]
        least, most = points[3, number].min(), points[3, number].max()
        assert least - 1e-5 <= np.mean(won) <= most + 1e-5  # a mean over kinds of hands lies between theirs


def test_clusters_respect_suits_and_their_number() -> None:
    subgame = whole(flop_holdem(3), MENU)
    points = equities(subgame)
    buckets = cluster(points, 20)
    assert ((buckets >= 0) == (points[:, :, 0] >= 0)).all()
    assert buckets.max() + 1 == 20
    numbers = {hand: number for number, hand in enumerate(subgame.hands[0])}
    alike = 0
    for suits in SUIT_PERMUTATIONS[1:]:
        moved = [numbers[tuple(sorted(permute_cards(hand, suits)))] for hand in subgame.hands[0]]
        for flop, board in enumerate(subgame.boards[1]):
            if set(permute_cards(board.cards, suits)) == set(board.cards):
                assert (buckets[flop] == buckets[flop][moved]).all()
                alike += 1
    assert alike > 10
    different = len(np.unique(points[points[:, :, 0] >= 0], axis=0))
    assert cluster(points, 10_000).max() + 1 == different


# --- Trunks and flops -----------------------------------------------------------------------------------------------


@cache
def trunk() -> tuple[Subgame, cards.Trunk]:
    """A poor one, so that there is something to gain."""
    subgame = whole(SMALL, parse_menu("preflop 100%; flop 100%; cap 2"))
    buckets = cluster(equities(subgame), 3)
    *_, found = cards.solve_trunk(subgame, buckets, DCFR_DEFAULT, 60)
    assert isinstance(found, cards.Trunk)
    return subgame, found


def test_values_on_all_flops_are_those_of_each() -> None:
    subgame, found = trunk()
    engine = cards.put_in(subgame, found.averages)
    solver = Solver(subgame, threads=1)
    for player in range(2):
        solver.averages[player][:] = engine.averages[player]
    for player in range(2):
        followed, best = (engine.flop_values(player, best=best) for best in (False, True))
        for flop, line in ((0, 0), (5, 1), (7, len(engine.lines) - 1)):
            place = Place(FLOP, subgame.forests[FLOP].root(line), flop)
            live = engine.possible(player, flop) > 0
            for mine, values in ((followed, False), (best, True)):
                expected = solver.values(player, place, best=values)
                np.testing.assert_allclose(mine[flop, line][live], expected[live], rtol=1e-3, atol=0.05)
        assert (best >= followed - 0.1).all()


def test_the_trunk_put_together_from_its_own_flops_is_the_trunk() -> None:
    subgame, found = trunk()
    whole_game, target = cards.put_in(subgame, found.averages), Whole(subgame)
    for us in range(2):
        target.set_table(us, 0, whole_game.table(us, 0))
        for flop, board in enumerate(subgame.boards[FLOP]):
            table, stitched = whole_game.table(us, 1 + flop), np.zeros_like(whole_game.table(us, 1 + flop))
            for line in whole_game.lines:
                small = Solver(Subgame(line, board.cards, [np.ones(28)] * 2, subgame.menu, alike=False), threads=1)
                seam = Seam.of(us, small.subgame.forests[0], subgame.forests[FLOP])
                index = small.subgame.hand_index[us]
                part = np.zeros_like(small.table(us, 0))
                part[seam.small] = table[np.ix_(seam.large, index)]
                small.set_table(us, 0, part)
                seam.copy(small.table(us, 0), stitched, index)
            live = whole_game.possible(us, flop) > 0
            assert np.array_equal(stitched[:, live], table[:, live])
            target.set_table(us, 1 + flop, stitched)
    assert target.exploitability().best_response == pytest.approx(whole_game.exploitability().best_response, rel=1e-6)


@pytest.mark.proof
def test_safe_search_is_safe_and_all_flops_together_are_least() -> None:
    subgame, found = trunk()
    before = cards.put_in(subgame, found.averages).exploitability().mbb
    after = {}
    for name in ("Resolve", "Maxmargin", "Reach-Estimate + Distributional (not split)", "Unsafe"):
        search = cards.Search(subgame, found, cards.METHODS[name], DCFR_DEFAULT, 60)
        assert list(search.run())[-1] == 1.0
        after[name] = search.exploitability().mbb
    together = []
    for us in range(2):
        solver = cards.Together(subgame, us, found, DCFR_DEFAULT)
        solver.iterate(150)
        together.append(bets.opponent_mbb(solver.exploitability(), us))
    assert all(after[name] < before for name in ("Resolve", "Maxmargin"))
    assert min(after.values()) > sum(together) / 2 - 1
    assert before > sum(together) / 2 + 20


def test_a_trunk_is_what_was_saved(tmp_path: Path) -> None:
    _, found = trunk()
    found.save(tmp_path / "trunk.npz")
    again = cards.Trunk.load(tmp_path / "trunk.npz")
    assert (again.estimate[1] == found.estimate[1]).all()
    assert (again.exact_gifts[0] == found.exact_gifts[0]).all()
    assert (np.array(found.exact_gifts) >= 0).all()


# --- Bets outside the tree ------------------------------------------------------------------------------------------


@cache
def blueprint() -> Whole:
    solver = Whole(whole(SMALL, SIZES.small))
    solver.iterate(300)
    return solver


def play(us: int, method: bets.BetMethod, sizes: bets.Sizes = SIZES, iterations: int = 100) -> bets.NestedPlay:
    averages = (blueprint().averages[0].view(np.float32), blueprint().averages[1].view(np.float32))
    played = bets.PlayedPayoffs(us, first_play(us).mixed, sizes.small) if method.played else None
    found = bets.NestedPlay(Field.of(SMALL), sizes, us, averages, method, DCFR_DEFAULT, iterations, played)
    assert list(found.run())[-1] == 1.0
    return found


@pytest.mark.parametrize("us", [0, 1])
def test_without_bets_outside_there_is_no_search(us: int) -> None:
    found = play(us, bets.METHODS["Resolve"], replace(SIZES, theirs=SIZES.ours))
    assert found.searches == 0
    expected = bets.opponent_mbb(blueprint().exploitability(), us)
    assert found.best_response_mbb() == pytest.approx(expected, abs=0.01)


@cache
def first_play(us: int) -> bets.NestedPlay:
    """By estimates."""
    return play(us, bets.METHODS["Maxmargin"])


@cache
def inside(us: int) -> float:
    solver = Whole(whole(SMALL, SIZES.mixed(us)))
    solver.iterate(400)
    return bets.opponent_mbb(solver.exploitability(), us)


@pytest.mark.parametrize(
    ("us", "name", "iterations", "most"),
    some_of([(1, "Reach-Maxmargin", 100, 7), (0, "Resolve", 100, 5), (1, "Reach-Maxmargin (expensive)", 60, 15)]),
)
def test_nested_search_comes_close_to_the_bet_in_the_tree(us: int, name: str, iterations: int, most: float) -> None:
    """As close as was measured, and a little more."""
    found = play(us, bets.METHODS[name], iterations=iterations)
    assert found.searches == 1 + len(found.mixed.subgame.boards[FLOP]) * 18  # three bets of each of six lines
    assert found.empty_ranges == 0
    assert inside(us) - 1 < found.best_response_mbb() < inside(us) + most


def test_payoffs_as_played_are_what_the_best_of_the_other_actions_wins() -> None:
    """As the solver says place by place, with our answers to bets outside the tree."""
    solver = first_play(0).mixed
    payoffs, estimate = bets.PlayedPayoffs(0, solver, SIZES.small), np.full(28, -7.0)
    compared = 0
    for street, forest in enumerate(solver.subgame.forests):
        for node in np.flatnonzero(forest.player == 1)[:: 1 + 2 * street].tolist():
            state = forest.nodes[node].state
            kept = [n for n, each in enumerate(forest.nodes[node].actions) if each in SIZES.small.actions(state)]
            assert 0 < len(kept) <= len(forest.nodes[node].actions)
            for flop in range(0, solver.flops if street else 1, 9):
                place = Place(street, node, flop)
                expected = solver.action_values(place, best=True)[kept].max(axis=0)
                reached = solver.subgame.opposing(1, solver.reach(0, place)) > 0
                live = solver.possible(1, flop) > 0 if street else np.ones(28, bool)
                found = payoffs.at(state, flop if street else None, estimate)
                expected = np.where(reached, expected, estimate)
                np.testing.assert_allclose(found[live], expected[live], rtol=1e-3, atol=0.05)
                compared += int((reached & live).sum())
    assert compared > 100


def test_search_with_payoffs_as_played_comes_as_close() -> None:
    found = play(1, bets.PLAYED["Maxmargin (payoffs as played)"], iterations=100)
    assert found.searches == 1 + len(found.mixed.subgame.boards[FLOP]) * 18
    assert inside(1) - 1 < found.best_response_mbb() < inside(1) + 7


def test_unsafe_search_runs() -> None:
    found = play(1, bets.METHODS["Unsafe (expensive)"], iterations=10)
    assert found.best_response_mbb() > inside(1)
    assert found.gaining == 0


def test_every_decision_of_ours_is_filled() -> None:
    found = play(0, bets.METHODS["Reach-Maxmargin"], iterations=5)
    forest = found.mixed.subgame.forests[FLOP]
    for flop in range(0, found.mixed.flops, 7):
        table = found.mixed.table(0, 1 + flop)
        for node in np.flatnonzero(forest.player == 0):
            edge = int(forest.edge[node])
            assert table[edge : edge + len(forest.nodes[node].actions)].sum() > 0


def test_a_gift_that_a_search_has_used_is_not_given_again() -> None:
    """What the opponent wins by the bet, and what is given on, are no more than the payoff and the gift together."""
    found = play(0, bets.METHODS["Reach-Maxmargin"], iterations=1)
    solver = blueprint()
    view = found._view(solver.subgame.forests[0], tables_of(solver, 0, 28), found._best(solver))
    gifts = np.linspace(0, 200, 28)
    view.walk(0, Arrival(np.ones(28), np.ones(28), gifts))
    (departure,) = view.departures
    found._iterations = 200
    searched = found._search(departure, None)
    assert searched is not None
    won, left = searched.best_response_values(1), found._arrival(searched, departure).gifts
    payoff = departure.value + gifts
    np.testing.assert_allclose(won + left, np.maximum(payoff, won), atol=1e-6)
    used = won > departure.value + 1
    assert used.any()
    assert (left[used] < gifts[used]).all()


def test_what_is_known_at_a_departure() -> None:
    found = play(0, bets.METHODS["Resolve"], iterations=1)
    solver = blueprint()
    view = found._view(solver.subgame.forests[0], tables_of(solver, 0, 28), found._best(solver))
    everything = Arrival(np.ones(28), np.ones(28), np.zeros(28))
    view.walk(0, everything)
    assert [(each.state.betting, each.bet) for each in view.departures] == [("", Raise(250))]
    np.testing.assert_allclose(view.departures[0].value, solver.best_response_values(1), rtol=1e-4)
    lines = {line: solver.arrivals(1)[line] for line in range(len(solver.lines))}
    assert view.arrivals.keys() == lines.keys()
    for line, reach in lines.items():
        np.testing.assert_allclose(view.arrivals[line].theirs, reach, rtol=1e-5)
        np.testing.assert_allclose(view.arrivals[line].ours, solver.arrivals(0)[line], rtol=1e-5)
        assert (view.arrivals[line].gifts >= 0).all()


# --- Translation ----------------------------------------------------------------------------------------------------


def test_the_mapping_makes_calls_as_frequent_as_the_bet_wants() -> None:
    """In the game of one bet a bet of x pots must be called with probability 1 / (1 + x)."""
    assert pseudo_harmonic(0.75, 0.5, 1.0) == pytest.approx(3 / 7)
    assert (pseudo_harmonic(0.5, 0.5, 1), pseudo_harmonic(1, 0.5, 1)) == (1, 0)
    for bet, smaller, larger in ((0.75, 0.5, 1), (1, 0.33, 2), (0.2, 0, 3)):
        share = pseudo_harmonic(bet, smaller, larger)
        assert share / (1 + smaller) + (1 - share) / (1 + larger) == pytest.approx(1 / (1 + bet))


@cache
def translated(us: int, smaller: float) -> tuple[Whole, float]:
    mixed = Whole(whole(SMALL, SIZES.mixed(us)))
    Translation(us, blueprint(), mixed, smaller).put_in()
    return mixed, bets.opponent_mbb(mixed.exploitability(), us)


def test_a_bet_is_answered_as_what_it_was_taken_for() -> None:
    answers = {}
    for smaller in (1.0, 0.0, 0.25):
        mixed, _ = translated(0, smaller)
        answers[smaller] = mixed.strategy(mixed.place([Raise(250)]))
    solver = blueprint()
    low, high = (solver.strategy(solver.place([Raise(to)])) for to in (200, 300))
    np.testing.assert_allclose(answers[1.0], low, atol=1e-6)
    np.testing.assert_allclose(answers[0.0], high, atol=1e-6)
    np.testing.assert_allclose(answers[0.25], 0.25 * low + 0.75 * high, atol=1e-6)


def test_what_a_bet_was_taken_for_is_kept() -> None:
    """On the flop the mixture is by what each of both would have called before."""
    mixed, _ = translated(0, 0.25)
    solver, flop = blueprint(), 4
    before = mixed.strategy(mixed.place([Raise(250), CALL], mixed.subgame.boards[FLOP][flop].cards))
    answers, calls = [], []
    for to in (200, 300):
        calls.append(solver.strategy(solver.place([Raise(to)]))[1])
        answers.append(solver.strategy(solver.place([Raise(to), CALL], solver.subgame.boards[FLOP][flop].cards)))
    weights = [0.25 * calls[0], 0.75 * calls[1]]
    reached = mixed.possible(0, flop) * sum(weights) > 1e-6
    expected = (weights[0] * answers[0] + weights[1] * answers[1])[:, reached] / sum(weights)[reached]
    np.testing.assert_allclose(before[:, reached], expected, atol=1e-5)


@pytest.mark.parametrize("us", [0, 1])
def test_translation_fills_the_tree_and_loses_by_it(us: int) -> None:
    mixed, mbb = translated(us, pseudo_harmonic(0.75, 0.5, 1.0))
    forest = mixed.subgame.forests[FLOP]
    table = mixed.table(us, 3)
    for node in np.flatnonzero(forest.player == us):
        edge = int(forest.edge[node])
        assert table[edge : edge + len(forest.nodes[node].actions)].sum() > 0
    assert mbb > inside(us) + 1


# --- Jobs and reports -----------------------------------------------------------------------------------------------


def test_jobs_are_done_once_and_reported(tmp_path: Path) -> None:
    settings = TableSettings(
        ranks=4, suits=2, buckets=(3,), trunk_iterations=4, flop_iterations=2, scales=(0.0, 1.0), scaled=3,
        sizes=SIZES, blueprint_iterations=4, nested_iterations=(2,), longer_iterations=3,
    )  # fmt: skip
    jobs = jobs_of(settings)
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names)
    assert all(names.index(need) < names.index(job.name) for job in jobs for need in job.needs)
    assert tables({}, settings).count("| Resolve |") == 3
    kinds: dict[str, TableJob] = {}
    for job in jobs:
        if kinds.setdefault(job.kind, job) is job or job.name.startswith(("flops-3-re", "nested-2-resolve")):
            shares: list[float] = []
            row = perform(job, settings, tmp_path, shares.append)
            assert shares == sorted(shares)
            assert "best_response_mbb" in row
    rows = known_rows(settings, tmp_path)
    assert set(kinds) == {"blueprint", "trunk", "inside", "translation", "nested", "together", "flops"}
    assert {job.name for job in kinds.values()} <= set(rows)
    assert rows["nested-2-resolve-payoffs-as-played-0"] != rows["nested-2-resolve-0"]
    assert known_rows(replace(settings, flop_iterations=3), tmp_path) == {}
    assert json.loads((tmp_path / "blueprint.json").read_text())["settings"] == settings.text()
    assert "| Resolve |" in tables(rows, settings)


def test_columns_say_how_many_buckets_there_are() -> None:
    """However many were asked for."""
    settings = TableSettings(buckets=(3, 5000))
    rows = {"trunk-5000": {"buckets": 1459, "best_response_mbb": [1.0, 2.0]}}
    text = tables(rows, settings)
    assert "| buckets | 3 | 1,459 | thesis 200 |" in text
    assert "- 1,459 buckets: 0 of 0 pairs" in text
    assert "5,000" not in text


def test_the_page_says_where_the_rows_are_from() -> None:
    rows = {
        "a": {"revision": "abc", "cpu": "fast", "seconds": 50.0},
        "b": {"revision": "abc", "cpu": "fast", "seconds": 13.0},
        "c": {"revision": "def", "cpu": "slow", "seconds": 7.0},
    }
    told = made(rows, "So it ends.")
    assert told.startswith("2 rows at revision abc on fast, ")
    assert "; 1 row at revision def on slow, " in told
    assert told.endswith(" together. So it ends.")
    assert made(rows, "").endswith(" together.")


def test_pairs_out_of_order_are_named() -> None:
    assert inversions({"a": 1.0, "b": 2.0, "c": None}, {"a": 5.0, "b": 6.0, "c": 1.0}) == (1, [])
    assert inversions({"a": 3.0, "b": 2.0}, {"a": 5.0, "b": 6.0}) == (1, [("a", "b")])


def test_tables_go_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert not insert(page, "new")
    page.write_text("before")
    assert not insert(page, "new")
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert insert(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


def test_forms_are_those_of_the_thesis() -> None:
    assert [name for name, method in cards.METHODS.items() if method.form is None] == ["Unsafe"]
    assert cards.METHODS["Estimate"].form is Form.RESOLVE
    assert not any(method.estimated and method.form is Form.MAXMARGIN for method in cards.METHODS.values())


def test_what_is_missing_is_done_that_which_others_need_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = TableSettings(
        ranks=4, suits=2, buckets=(3,), trunk_iterations=4, flop_iterations=2, scales=(0.0,), scaled=3, sizes=SIZES
    )
    jobs = jobs_of(settings)
    done = set[str]()
    for wave in waves(jobs):
        assert wave
        assert done.issuperset(need for job in wave for need in job.needs)
        done |= {job.name for job in wave}
    assert done == {job.name for job in jobs}
    missing = {"trunk-3", "flops-3-resolve", "together-3"}
    assert missing < done
    for name in done - missing:
        (tmp_path / f"{name}.json").write_text(json.dumps({"settings": settings.text()}))
    rows = run_all(settings, tmp_path, 1)
    assert {name for name, row in rows.items() if "best_response_mbb" in row} == missing
    assert run_all(settings, tmp_path, 2) == rows == known_rows(settings, tmp_path)
    assert f"{len(jobs)} of {len(jobs)} rows are there already" in capfd.readouterr().err
    for name in missing:
        (tmp_path / f"{name}.json").unlink()
    again = run_all(settings, tmp_path, 2)
    assert {name: row.get("best_response_mbb") for name, row in again.items()} == {
        name: row.get("best_response_mbb") for name, row in rows.items()
    }

"""`studies.route_play`: lines from a street on, over all pairs of hands, against one deal after another."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from dealer_tools.formats.records import PlayedHand
from machine.errors import ConfigError
from machine.journal import open_journal
from protocol.cards import Card, parse_cards
from protocol.game import DEFAULT_GAME, load_game
from protocol.hands import hands_of
from protocol.log import HandRecord
from protocol.ranking import hand_rank
from protocol.state import CALL, FOLD, Deal, Raise, State, apply, can_fold, raise_bounds, start, steps
from strategies.draws import Draws
from strategies.policy import Entry, Policy, round_columns
from strategies.store import StoredDecision
from strategies.strategy import Budget, Spot
from studies import route_play

GAME = load_game(DEFAULT_GAME).game
NAMES = ("paratus", "other")
HOLES = [[tuple(parse_cards(text)) for text in texts] for texts in (("AsAh", "7c6c", "QdJd"), ("AsKs", "7d7h", "QcJc"))]
"""With which they come to the street."""
BOARD = tuple(parse_cards("Kh7s2d3c8h"))


@cache
def shares(betting: str, board: tuple[Card, ...], seed: int, count: int) -> np.ndarray:
    """Each of the actions somewhat often."""
    return 0.2 + np.random.default_rng([seed, *betting.encode(), *board]).random((count, 1326))


class Shove:
    """Folds, calls and goes all-in."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        bounds = raise_bounds(spot.state)
        support: list[Entry] = [
            CALL,
            *([FOLD] if can_fold(spot.state) else []),
            *([Raise(bounds.high)] if bounds else []),
        ]
        return Policy(tuple(support), round_columns(shares(spot.state.betting, spot.board, self.seed, len(support))))


def came(street: int) -> PlayedHand:
    """A hand that is checked down, in which few hands of either player come to the street."""
    state, decisions = start(GAME), {name: dict[str, StoredDecision]() for name in NAMES}
    while state.actor is not None:
        weights = np.ones((2, 1326))
        if state.street == street - 1:
            weights[0] = 0.0
            weights[0, [hands_of(GAME).column(hole) for hole in HOLES[state.actor]]] = 1.0
        other = FOLD if can_fold(state) else Raise(raise_bounds(state).high)  # type: ignore[union-attr]
        policy = Policy((CALL, other), round_columns(weights))
        decisions[NAMES[state.actor]][state.betting] = StoredDecision(0, state.betting, "", "c", 0.0, policy)
        state = apply(state, CALL)
    record = HandRecord(0, state, Deal((HOLES[0][0], HOLES[1][1]), BOARD), (0, 0), NAMES)
    return PlayedHand("here", record, decisions)


Hands = tuple[tuple[Card, ...], ...]


@cache
def shown(board: tuple[Card, ...], hands: Hands) -> float:
    """What the first player wins of 1, on average over what is to come."""
    left = [card for card in GAME.deck() if card not in (*board, *hands[0], *hands[1])]
    results = [[hand_rank((*hand, *board, *rest)) for hand in hands] for rest in combinations(left, 5 - len(board))]
    return float(np.mean([(first > second) - (first < second) for first, second in results]))


def slow(state: State, board: tuple[Card, ...], hands: Hands, players: list[Shove], drawn: int) -> float:
    """What the first player wins with these hands, over the cards that are drawn."""
    if state.finished and not state.showdown:
        return -state.committed[0] if state.folded[0] else state.committed[1]
    if state.finished:
        return min(state.committed) * shown(board, hands)
    if len(board) < GAME.board_cards_by(state.street):
        left = [card for card in GAME.deck() if card not in board]
        come = [card for card in left[:drawn] if card not in (*hands[0], *hands[1])]
        total = sum(slow(state, (*board, card), hands, players, drawn) for card in come)
        return total * len(left) / min(drawn, len(left)) / (len(left) - 4)
    assert state.actor is not None
    policy = players[state.actor].policy(Spot(0, state.actor, state, board, ()), Budget(0, 0), Draws(0, "", 0, 0, ""))
    column = hands_of(GAME).column(hands[state.actor])
    return sum(
        float(policy.likelihood(action)[column]) * slow(apply(state, action), board, hands, players, drawn)
        for action in policy.support
    )


@pytest.mark.parametrize(("street", "drawn"), [(3, 4), (2, 48), (1, 2)])
def test_all_pairs_at_once_are_worth_what_each_is(street: int, drawn: int) -> None:
    players, played = [Shove(1), Shove(2)], came(street)
    begins = next(state for state, _ in steps(played.record.state) if state.street == street)
    spot = route_play._Spot(players[0], players[1], "other", played, begins, GAME.deck(), drawn)  # type: ignore[arg-type]
    pairs = [pair for pair in product(*HOLES) if not set(pair[0]) & set(pair[1])]
    assert len(pairs) == 8
    board = BOARD[: GAME.board_cards_by(street)]
    expected = np.mean([slow(begins, board, pair, players, drawn) for pair in pairs])
    assert spot.worth() == pytest.approx(expected, abs=1e-6 * 20_000)
    assert abs(expected) > 1


def test_what_is_no_match_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["route_play", "nothing-of-the-kind"])
    assert route_play.main() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("route_play: nothing-of-the-kind: ")
    assert err.count("\n") == 1


def test_unknown_kinds_are_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["route_play", "nothing-of-the-kind", "--kinds", "blueprint,rivers"])
    assert route_play.main() == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "--kinds: 'rivers': expected some of blueprint, river, turn" in err


def test_rows_are_kept_and_those_of_another_job_refused(tmp_path: Path) -> None:
    job = route_play.RouteJob("other", "river", ("blueprint", "river"), {"river": 3}, 1, 1)
    path, played = tmp_path / "rows", came(3)
    spots = [(number, played, played.record.state) for number in (1, 2)]
    assert kept(path, job, spots) == []
    row = {"where": "here", "pot": 200, "blueprint": 1.0, "river": 2.0}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    assert kept(path, job, spots) == [row]
    with path.open("a") as file:
        file.write(json.dumps(row)[:20])  # and killed
    assert kept(path, job, spots) == [row]
    assert path.read_text().endswith("}\n")
    with pytest.raises(ConfigError, match="or another file"):
        kept(path, replace(job, seed=2), spots)
    with pytest.raises(ConfigError, match="a row of here: expected one of there"):
        kept(path, job, [(1, replace(played, where="there"), played.record.state)])
    for other in (b"one line of notes", b"notes\nof two lines", b"\xff\xfe\n"):
        path.write_bytes(other)
        with pytest.raises(ConfigError, match="or another file"):
            kept(path, job, spots)
        assert path.read_bytes() == other


def kept(path: Path, job: route_play.RouteJob, spots: list[route_play.Numbered]) -> list[route_play.Row]:
    with open_journal(path, route_play._journal(job, spots)) as journal:
        return [*journal.results.values()]

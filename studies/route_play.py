"""What routes and kinds of search win on the streets of a match's hands: over all hands of both, line by line.

    python -m studies.route_play FOLDER… [--against slumbot-style] [--street river] [--spots 100]
                                    [--kinds blueprint,reach-maxmargin,unsafe]

FOLDERs are matches of `paratus` against that agent, with both stores. At random flops, turns or rivers of them both
ranges are what the stored policies left them. From there on every line is played out: our policies by agent `paratus`
of one kind, with a fixed number of iterations for each search, the opponent's by its own; and every pair of hands is
counted. So little of the cards' luck is left, and kinds are compared on the same spots. Earlier streets are solved
again as they were, with the iterations that were stored.

A kind is `blueprint` (nothing is searched), `river` (the river only), `turn` (and the river), `flop` (all three),
`flop-only`, `limited-turn` (`turn`, but depth-limited there), or a kind of subgame, which is `turn` with that kind.
After a street's betting some cards are drawn, the same for all lines and kinds; all-ins are exact. Prints a row for
each spot, then means over spots with their standard errors, less those of the first kind: in chips, in pots, and in
thousandths of a big blind for each hand of the match, of which not all come to the street.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.machine import describe
from blueprints.values.margins import margins_of, run_out_ranks
from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.holdings import ScoreError
from dealer_tools.scoring.sources import read_hands
from machine.cores import available_cores
from machine.errors import ParatusError, quote
from machine.journal import JournalFormat, open_journal
from machine.lots import Key, Lot, WorkerSpec, do_lots
from machine.processes import workers_for
from machine.progress import HandsBar
from protocol.arrays import F32, F64
from protocol.cards import Card
from protocol.game import DEFAULT_GAME, STREET_NAMES, Position, load_game
from protocol.hands import NUM_HANDS, hands_of, holdem_hands
from protocol.kernels import rank_board
from protocol.state import State, apply, steps
from solver.gadget_kinds import Kind
from strategies.draws import Draws
from strategies.players.router import Router
from strategies.policy import Policy
from strategies.registry import make_strategy
from strategies.search.settings import Effort
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Decided, Spot, Strategy

Row = dict[str, Any]

_US = "paratus"
_STREETS: Final = {name: street for street, name in enumerate(STREET_NAMES) if street}
_RIVER: Final = {"river": "nested"}
_TURN: Final = {"turn": "nested", **_RIVER}
_ROUTES: Final = {
    "blueprint": {},
    "river": _RIVER,
    "turn": _TURN,
    "flop": {"flop": "limited", **_TURN},
    "flop-only": {"flop": "limited"},
    "limited-turn": {"turn": "limited", **_RIVER},
}
"""Which streets are searched, and how."""
_RARE: Final = 1e-3
"""Lines that fewer pairs of hands take than this are checked down."""
_AMPLE_S: Final = 1e5
_HELD: Final = 4
"""Cards that a pair of hands holds: they cannot come."""


Numbered = tuple[int, PlayedHand, State]
"""A spot: its number, its hand, and the state in which the street began."""


@dataclass(frozen=True, slots=True)
class RouteJob:
    """What a process must know to play spots."""

    against: str
    street: str
    kinds: tuple[str, ...]
    iterations: dict[str, int]
    """Of searches, by street."""
    cards: int
    seed: int


def main() -> int:
    """Measure and print; 2, with a line that says why, if there is nothing to measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", metavar="FOLDER", type=Path, nargs="+")
    parser.add_argument("--against", default="slumbot-style", help="the other agent of the match")
    parser.add_argument("--street", choices=_STREETS, default="river", help="where spots begin")
    parser.add_argument("--spots", type=int, default=100)
    parser.add_argument("--kinds", default="blueprint,reach-maxmargin,unsafe")
    parser.add_argument("--iterations", type=int, default=300, help="of a search of the river")
    parser.add_argument("--turn-iterations", type=int, default=100)
    parser.add_argument("--flop-iterations", type=int, default=40)
    parser.add_argument("--cards", type=int, default=4, help="drawn after a street's betting, of 48 or 49")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of spots and cards")
    parser.add_argument("--cores", type=int, default=available_cores(), help="default: all")
    parser.add_argument("--rows", metavar="FILE", type=Path, help="keeps rows; the same command goes on with them")
    options = parser.parse_args()
    kinds = tuple(options.kinds.split(","))
    iterations = {"flop": options.flop_iterations, "turn": options.turn_iterations, "river": options.iterations}
    job = RouteJob(options.against, options.street, kinds, iterations, options.cards, options.seed)
    try:
        _check_kinds(kinds)
        spots, share = _spots(options.folders, job, options.spots)
        found = _rows(job, spots, options.cores, options.rows)
    except ParatusError as error:
        print(f"route_play: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = "" if options.rows is None else f"; the same command goes on with {options.rows}"
        print(f"route_play: stopped{kept}", file=sys.stderr)
        return 130
    compared = _compared(found, kinds, 1000 * share / load_game(DEFAULT_GAME).game.big_blind)
    asked = {key: value for key, value in vars(options).items() if key not in ("folders", "cores", "rows")}
    print(json.dumps({"machine": describe(), **asked, "share_of_hands": round(share, 4), **compared}, indent=1))
    return 0


def _check_kinds(kinds: Sequence[str]) -> None:
    known = [*_ROUTES, *Kind]
    for kind in kinds:
        if kind not in known:
            raise ScoreError(f"--kinds: {quote(kind)}: expected some of {', '.join(known)}")


def _rows(job: RouteJob, spots: Sequence[Numbered], cores: int, path: Path | None) -> list[Row]:
    """A row for each spot, printed when it is there; what the file has is not computed again."""
    lots = [Lot(place, spot) for place, spot in enumerate(spots)]
    workers = workers_for(WorkerSpec(_player, job, "plays spots"), cores)
    found = []
    with ExitStack() as opened:
        kept = opened.enter_context(open_journal(path, _journal(job, spots))) if path is not None else None
        bar = opened.enter_context(HandsBar(f"route_play of {job.street}s", len(spots), "spots"))
        for _, row in do_lots(workers, lots, kept=kept, tell=bar.show, in_order=True):
            print(json.dumps(row), flush=True)
            found.append(row)
    return found


def _journal(job: RouteJob, spots: Sequence[Numbered]) -> JournalFormat[Row]:
    """Of rows in the order of their spots; there may be more than are asked for."""

    def decode(place: int, row: Row) -> tuple[Key, Row]:
        if place < len(spots) and row["where"] != spots[place][1].where:
            raise ValueError(f"a row of {row['where']}: expected one of {spots[place][1].where}, or another file")
        return place, row

    return JournalFormat(
        asdict(job), lambda place, row: row, decode, "rows", "studies.route_play",
        expected="expected its own rows, or another file",
    )  # fmt: skip


def _player(job: RouteJob) -> Callable[[Numbered], Row]:
    logging.disable(logging.WARNING)  # of ranges that no model expected
    game = load_game(DEFAULT_GAME).game
    ours = {kind: make_strategy(_US, game, _settings(kind, job.street, job.iterations)) for kind in job.kinds}
    theirs = make_strategy(job.against, game)

    def play(spot: Numbered) -> Row:
        number, played, state = spot
        cards = np.random.default_rng((job.seed, number)).permutation(game.deck()).tolist()
        row: Row = {"where": played.where, "betting": state.betting, "pot": state.pot}
        for kind, strategy in ours.items():
            assert isinstance(strategy, Router)
            line = _Spot(strategy.another(), theirs, job.against, played, state, cards, job.cards)
            row[kind] = round(line.worth(), 2)
        return row

    return play


def _settings(kind: str, begins: str, iterations: dict[str, int]) -> StrategySettings:
    """Streets before the one that it begins with are as they were."""
    given = StrategySettings()
    efforts = {street: Effort(iterations=count, share=1.0) for street, count in iterations.items()}
    flop = efforts.pop("flop")
    changes: dict[str, Any] = {"threads": 1, "trusted_iterations": 0, **efforts}
    if kind not in _ROUTES:
        changes["kind"] = Kind(kind)
    routes = _ROUTES.get(kind, _TURN)
    left = [street for street, number in _STREETS.items() if number >= _STREETS[begins]]
    return StrategySettings(
        router=given.router.model_copy(update={street: routes.get(street, "blueprint") for street in left}),
        nested=given.nested.model_copy(update=changes),
        limited=given.limited.model_copy(update={"threads": 1, "flop": flop, "turn": efforts["turn"]}),
    )


def _spots(folders: Sequence[Path], job: RouteJob, count: int) -> tuple[list[Numbered], float]:
    """From hands in which we decided on the street, none of our decisions a fallback.

    And what share of all hands comes to such a decision.
    """
    found, came, street = [], 0, _STREETS[job.street]
    hands = read_hands(folders, _US, both=True).hands
    for played in hands:
        if job.against not in played.record.names:
            raise ScoreError(
                f"{played.where}: {' v '.join(played.record.names)}: expected a match against {job.against}"
            )
        begins = next((state for state, _ in steps(played.record.state) if state.street == street), None)
        ours = played.decisions.get(_US, {})
        if begins is None or not any(betting.count("/") == street for betting in ours):
            continue
        came += 1
        if not any(decided.policy.origin.is_fallback for decided in ours.values()):
            found.append((played, begins))
    if len(found) < 2:
        where = ", ".join(map(str, folders))
        raise ScoreError(f"{where}: {len(found)} hands in which {_US} searched there: expected 2 at least")
    order = np.random.default_rng(job.seed).permutation(len(found))[:count].tolist()
    chosen = [(number, _read(found[place][0]), found[place][1]) for number, place in enumerate(order, 1)]
    return chosen, came / len(hands)


def _read(played: PlayedHand) -> PlayedHand:
    """With its decisions in memory: a store cannot go to another process."""
    return replace(played, decisions={name: dict(each) for name, each in played.decisions.items()})


class _Spot:
    """One of them, and who plays it."""

    def __init__(
        self, ours: Strategy, theirs: Strategy, name: str, played: PlayedHand, begins: State, cards: Sequence[Card],
        drawn: int,
    ) -> None:  # fmt: skip
        """`cards` is the deck in some order, of which the first that a board allows, so many, come after a street."""
        record, self._game = played.record, begins.game
        self._strategies, self._their_name = (ours, theirs), name
        self._hand, self._begins = record.hand, begins
        self._board: tuple[Card, ...] = record.deal.board[: self._game.board_cards_by(begins.street)]
        self._position = Position(record.names.index(_US))
        live = hands_of(self._game).live(self._board).astype(np.float64)
        self._ours, self._theirs, self._past = live.copy(), live.copy(), list[Decided]()
        for state, action in steps(begins):
            mine = state.actor == self._position
            policy = played.decisions[_US if mine else name][state.betting].policy
            if mine:
                self._ours *= policy.likelihood(action)
                self._past.append(Decided(state, policy))
            else:
                self._theirs *= policy.likelihood(action)
        self._apart = holdem_hands().compatible
        self._pairs = float(self._ours @ self._apart @ self._theirs)
        self._cards, self._drawn = cards, drawn
        self._wins: dict[tuple[Card, ...], F32] = {}

    def _left(self, board: tuple[Card, ...]) -> list[Card]:
        """What may come, in the order in which it is drawn."""
        return [card for card in self._cards if card not in board]

    def _won(self, board: tuple[Card, ...]) -> F32:
        """[our hand, theirs] what all-ins win of 1, on average over what is to come."""
        if board not in self._wins:
            self._wins[board] = self._wins_on(board)
        return self._wins[board]

    def _wins_on(self, board: tuple[Card, ...]) -> F32:
        if len(board) == self._game.board_cards_by(_STREETS["flop"]):
            return margins_of(run_out_ranks(board), 1)
        if len(board) < self._game.board_cards_by(_STREETS["river"]):
            left = self._left(board)
            total = np.zeros_like(self._apart)
            for card in left:
                total += self._wins_on((*board, card))
            return total / np.float32(len(left) - _HELD)
        ranks, live = rank_board(np.array(board, np.uint8)).astype(np.int32), hands_of(self._game).live(board)
        wins = np.sign(ranks[:, None] - ranks).astype(np.float32) * self._apart
        wins[~live] = wins[:, ~live] = 0.0
        return wins

    def worth(self) -> float:
        """Chips that we win over the whole hand, on average over all pairs of hands that come here."""
        return self._worth(self._begins, self._board, self._past, self._ours, self._theirs) / self._pairs

    def _worth(self, state: State, board: tuple[Card, ...], past: Sequence[Decided], ours: F64, theirs: F64) -> float:
        pairs = float(ours @ self._apart @ theirs)
        mine, other = state.committed[self._position], state.committed[1 - self._position]
        if state.finished and not state.showdown:
            return pairs * (-mine if state.folded[self._position] else other)
        if state.finished or pairs < _RARE * self._pairs:
            return min(mine, other) * float(ours @ self._won(board) @ theirs)
        if self._game.board_cards_by(state.street) > len(board):
            left, total = self._left(board), 0.0
            for card in left[: self._drawn]:
                live = hands_of(self._game).live((*board, card))
                total += self._worth(state, (*board, card), past, ours * live, theirs * live)
            return total * len(left) / (min(self._drawn, len(left)) * (len(left) - _HELD))
        is_ours = state.actor == self._position
        policy = self._policy(state, board, past if is_ours else ())
        if is_ours:
            past = [*past, Decided(state, policy)]
        total = 0.0
        for action in policy.support:
            shares = np.broadcast_to(policy.likelihood(action), NUM_HANDS).astype(np.float64)
            after = (ours * shares, theirs) if is_ours else (ours, theirs * shares)
            if after[0].any() and after[1].any():
                total += self._worth(apply(state, action), board, past, *after)
        return total

    def _policy(self, state: State, board: tuple[Card, ...], past: Sequence[Decided]) -> Policy:
        assert state.actor is not None
        name = _US if state.actor == self._position else self._their_name
        strategy = self._strategies[0 if name == _US else 1]
        spot = Spot(self._hand, state.actor, state, board, tuple(past))
        budget = Budget(time.monotonic() + _AMPLE_S, _AMPLE_S)
        return strategy.policy(spot, budget, Draws(77, name, self._hand, len(state.actions), "strategy"))


def _compared(rows: Sequence[Row], kinds: Sequence[str], mbb: float) -> dict[str, Any]:
    """Means and standard errors of what each kind wins beyond the first."""
    pots = np.array([row["pot"] for row in rows])
    found = {}
    for kind in kinds[1:]:
        more = np.array([row[kind] - row[kinds[0]] for row in rows])
        found[f"{kind} less {kinds[0]}"] = {
            name: [round(float(each.mean()), 4), round(float(each.std(ddof=1) / np.sqrt(len(each))), 4)]
            for name, each in (("chips", more), ("pots", more / pots), ("mbb a hand", mbb * more))
        }
    return found


if __name__ == "__main__":
    sys.exit(main())

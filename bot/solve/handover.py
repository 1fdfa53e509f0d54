"""From a solved spot to a solve on a later street: what the opponent has there elsewhere, and our range.

Elsewhere our strategy so far goes on. What a hand of the opponent wins against it by responding best from the decision
on is its *exact* alternative payoff: a solve that leaves it no more is no worse than the strategy. What it wins by its
own average is an *estimate* of what it would win against better play, rough for hands that seldom come; hands that
never come have their best response there too.

A *gift* is what the opponent gave away with a hand at its earlier decisions on the line: what another action would have
won by responding best, less what the action taken would. The bound counts only actions that end the betting for good,
folds and last calls, whose worth no search elsewhere can change; the estimate counts all (5.1.3 of Brown's thesis).
Gifts of several decisions add up. In a solve that had a gadget itself only its own line counts, not that of before.

The solver knows only hands of the range it was given. What others win by responding best is found by one pass in a copy
of the subgame, in which the opponent has every hand and we play the same strategy.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bot.solve.endgames import BIG_BLIND
from bot.solve.lines import NodeLine
from bot.solve.payoffs import Payoffs, Where, write_payoffs
from bot.solve.report import chips_in
from bot.solve.safety import KINDS, every_hand, live_hands, opponent_of, with_range
from bot.solve.solutions import Solution
from bot.solve.solving import SolveSettings, bytes_text, find_price, make_solver
from bot.solve.spots import DEFAULT_MENU, PLAYERS, SolveSpot, read_menu
from machine.errors import ConfigError, ParatusError
from machine.files import check_can_write, whole_file
from protocol.arrays import F64
from protocol.cards import cards_text
from protocol.hands import NUM_HANDS, holdem_hands
from protocol.state import apply
from solver.menu import menu_text

if TYPE_CHECKING:
    from solver.subgame import Place
    from solver.subgame_solver import Solver

_WRITTEN: Final = 1e-5
"""Hands that share a card with all but this share of our range have no payoff: solves leave out a few more."""
BEST, AVERAGE = VALUES = ("best-response", "average")
BOUND, ESTIMATE = GIFTS = ("bound", "estimate")


class NowhereError(ParatusError):
    """A decision to which a strategy never comes."""


@dataclass(frozen=True, slots=True)
class Handover:
    """What to write for a solve at a decision where a street begins."""

    line: NodeLine
    opponent: int
    """Who will choose at the gadget."""
    payoffs: Path | None
    range: Path | None
    """Where our range goes."""
    values: str
    gifts: str

    @property
    def us(self) -> int:
        """Whose strategy is to be safe."""
        return 1 - self.opponent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to write."""
    group = parser.add_argument_group("for a solve on a later street, from the decision of --node")
    group.add_argument(
        "--save-payoffs", metavar="FILE", type=Path, help="what --opponent has there with each hand, for --payoffs"
    )
    group.add_argument(
        "--payoffs-of", choices=VALUES, help="by responding best (default; exact), or on average (an estimate)"
    )
    group.add_argument(
        "--gifts", choices=GIFTS, help="what it gave away on the way: a lower bound (default), or an estimate"
    )
    group.add_argument(
        "--save-range", metavar="FILE.npy", type=Path, help="the other player's range there, for --oop or --ip @FILE"
    )


def read_handover(options: argparse.Namespace, line: NodeLine) -> Handover | None:
    """What was asked for; refuse, before any work, what cannot be used."""
    if options.save_payoffs is None:
        for given, name in ((options.payoffs_of, "--payoffs-of"), (options.gifts, "--gifts")):
            if given is not None:
                raise ConfigError(f"{name} without --save-payoffs: expected a file to write")
        if options.save_range is None:
            return None
    else:
        check_can_write(options.save_payoffs, "--save-payoffs")
        if options.save_payoffs.suffix == ".npy":
            raise ConfigError(f"--save-payoffs {options.save_payoffs}: JSON is written: expected another name")
    if options.save_range is not None:
        check_can_write(options.save_range, "--save-range")
        if options.save_range.suffix != ".npy":
            raise ConfigError(f"--save-range {options.save_range}: expected a name that ends with .npy")
    if line.state.history[-1]:
        asked = "--save-range" if options.save_payoffs is None else "--save-payoffs"
        raise ConfigError(f"{asked}: after {line.text} the street has begun: expected a --node at which one begins")
    return Handover(
        line=line,
        opponent=opponent_of(options),
        payoffs=options.save_payoffs,
        range=options.save_range,
        values=options.payoffs_of or BEST,
        gifts=options.gifts or BOUND,
    )


def check_handover_memory(handover: Handover, spot: SolveSpot, own_bytes: int, most_bytes: int) -> None:
    """Refuse what would not fit, as far as that can be foretold. The copy has no regrets: 16 bits price it."""
    if handover.payoffs is None or _knows_all(spot, handover):
        return
    wide = with_range(spot, handover.opponent, every_hand())
    need = own_bytes + find_price(wide, 16, [spot.ranges[handover.opponent]]).bytes
    if need > most_bytes:
        raise ConfigError(
            f"--memory {bytes_text(most_bytes)}: solving and --save-payoffs, for every hand of "
            f"{PLAYERS[handover.opponent]}, need {bytes_text(need)}: expected fewer sizes or more memory"
        )


def _knows_all(spot: SolveSpot, handover: Handover) -> bool:
    """Whether every hand that the opponent could have there is in its range."""
    alive = holdem_hands().live((*spot.board, *handover.line.cards))
    return bool(spot.ranges[handover.opponent][alive].all())


def hand_over(handover: Handover, solution: Solution, marks: Sequence[F64]) -> list[str]:
    """Write the files, and say what is in them and how to go on. `marks` are those of the solution's subgame."""
    said = []
    if handover.range is not None:
        weights = our_range(handover, solution)
        with whole_file(handover.range) as file:
            np.save(file, weights.astype(np.float32))
        said.append(f"{handover.range}: range of {PLAYERS[handover.us]}, {np.count_nonzero(weights):,} hands")
    if handover.payoffs is not None:
        payoffs, on_average = find_payoffs(handover, solution, marks)
        write_payoffs(handover.payoffs, payoffs, _source(handover, solution))
        said.append(f"{handover.payoffs}: {_contents(handover, payoffs, on_average)}")
    return [*said, f"for a solve there: {_fragment(handover, solution.spot)}"]


def our_range(handover: Handover, solution: Solution) -> F64:
    """[hand of the 1,326] the weight with which the player that is to be safe comes."""
    solver, spot, us = solution.solver, solution.spot, handover.us
    place = solver.place(handover.line.actions, handover.line.cards)
    weights = np.zeros(NUM_HANDS)
    weights[solver.subgame.hand_index[us]] = solver.reach(us, place) * spot.largest[us]
    if not weights.any():
        raise NowhereError(f"--node {handover.line.text}: {PLAYERS[us]} never comes there: nothing is known about it")
    return weights


def find_payoffs(handover: Handover, solution: Solution, marks: Sequence[F64]) -> tuple[Payoffs, int]:
    """What the opponent has there, and how many hands have what they win on average."""
    line, opponent, spot = handover.line, handover.opponent, solution.spot
    ours = our_range(handover, solution)
    live = live_hands((*spot.board, *line.cards), ours, _WRITTEN)
    solver = solution.solver if _knows_all(spot, handover) else _for_any_hand(solution, opponent, marks)
    place = solver.place(line.actions, line.cards)
    chips = _best(solver, opponent, place, by_action=False)[0] + line.state.committed[opponent]
    on_average = np.zeros(NUM_HANDS, np.bool_)
    if handover.values == AVERAGE:
        known = solution.solver
        there = known.place(line.actions, line.cards)
        comes = known.reach(opponent, there) > 0
        hands = known.subgame.hand_index[opponent][comes]
        chips[hands] = known.values(opponent, there)[comes] + line.state.committed[opponent]
        on_average[hands] = live[hands]
    chips[~live] = np.nan
    gifts = np.where(live, _gifts(solver, opponent, place, estimate=handover.gifts == ESTIMATE), 0.0)
    return Payoffs(_where(handover, spot), chips, gifts), int(on_average.sum())


def _for_any_hand(solution: Solution, opponent: int, marks: Sequence[F64]) -> Solver:
    """A copy in which the opponent has every hand, and our average strategy is the same."""
    solver, us = solution.solver, 1 - opponent
    spot = with_range(solution.spot, opponent, every_hand())
    alike: list[NDArray[np.floating]] = [*marks, solution.spot.ranges[opponent]]  # so that the same boards are
    wide = make_solver(spot, SolveSettings(bits=solver.subgame.storage.bits), marks=alike)
    assert wide.subgame.boards == solver.subgame.boards
    for board in range(len(solver.subgame.deals.street)):
        wide.set_table(us, board, solver.table(us, board))
    return wide


def _gifts(solver: Solver, player: int, place: Place, *, estimate: bool) -> F64:
    """[hand of the 1,326] what it gave away on the way to a place."""
    from solver.gadgets import gift

    total = np.zeros(NUM_HANDS)
    step = solver.subgame.before(place)
    while step is not None:
        earlier, taken = step
        node = solver.node(earlier)
        if node.state.actor == player:
            ends = [number for number, action in enumerate(node.actions) if apply(node.state, action).finished]
            values = _best(solver, player, earlier, by_action=True)
            total += np.nan_to_num(gift(values, taken, None if estimate else ends))
        step = solver.subgame.before(earlier)
    return total


def _best(solver: Solver, player: int, place: Place, *, by_action: bool) -> F64:
    """[action, hand of the 1,326] net chips by responding best from a place on, or from each action; nan if unknown."""
    values = solver.action_values(place, best=True) if by_action else solver.values(player, place, best=True)[None]
    found = np.full((len(values), NUM_HANDS), np.nan)
    found[:, solver.subgame.hand_index[player]] = values
    return found


def _where(handover: Handover, spot: SolveSpot) -> Where:
    state = handover.line.state
    return Where(
        player=handover.opponent,
        board=(*spot.board, *handover.line.cards),
        pot=state.pot,
        stack=max(state.game.stack) - state.maximum,
    )


def _source(handover: Handover, solution: Solution) -> str:
    solve, text = solution.solve, handover.line.text
    return (
        f"{handover.values} against {PLAYERS[handover.us]}, gifts {handover.gifts}; {cards_text(solution.spot.board)} "
        f"{text or '(first decision)'}; {solve.algorithm}, {solve.iterations} iterations, "
        f"exploitability {solution.exploitability.chips:.6g} chips; paratus {solve.paratus}"
    )[:2000]


def _contents(handover: Handover, payoffs: Payoffs, on_average: int) -> str:
    count = int(np.count_nonzero(~np.isnan(payoffs.chips)))
    how = "by best response"
    if handover.values == AVERAGE:
        how = f"{on_average:,} on average, {count - on_average:,} never come and have best responses"
    assert payoffs.gifts is not None
    given = int(np.count_nonzero(payoffs.gifts))
    largest = chips_in(handover.line.state.pot)(float(payoffs.gifts.max()))
    gifts = f"gifts ({handover.gifts}) of {given:,} up to {largest} chips" if given else "no gifts"
    return f"payoffs of {PLAYERS[handover.opponent]}, {count:,} hands {how}; {gifts}"


def _fragment(handover: Handover, spot: SolveSpot) -> str:
    """Options of the solve that the files are for."""
    where, us = _where(handover, spot), PLAYERS[handover.us]
    words = ["--board", cards_text(where.board), "--pot", str(where.pot), "--stack", str(where.stack)]
    if spot.big_blind != BIG_BLIND:
        words += ["--big-blind", str(spot.big_blind)]
    menu = replace(spot.menu, extra=frozenset())  # bets added at states of this spot are at none of that
    if menu != read_menu(DEFAULT_MENU):
        words += ["--menu", menu_text(menu)]
    if handover.range is not None:
        words += [f"--{us}", f"@{handover.range}"]
    words += ["--opponent", PLAYERS[handover.opponent]]
    if handover.payoffs is not None:
        words += ["--gadget", KINDS[-1], "--payoffs", str(handover.payoffs)]
    return shlex.join(words)

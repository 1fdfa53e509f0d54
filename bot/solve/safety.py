"""Gadgets from the command line: the opponent chooses at the root, against what it has elsewhere (`solver.gadgets`).

A spot solved with both ranges given is right only if the opponent's range is. With a gadget the opponent may come with
any hand, each of weight 1, and holds an alternative payoff for each: what it would have against our strategy so far. A
solution that leaves no hand with more than its payoff is then no worse than that strategy, whatever the opponent does
elsewhere; the least *margin*, payoff less best response, says by how much it is better.

The safe side is normally the one that has to act, so that the opponent is by default in position: spots begin with
whoever is out of position to act.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bot.solve.answers import compatible_weights
from bot.solve.payoffs import Payoffs, PayoffsError, Where, read_payoffs
from bot.solve.spots import IP, PLAYERS, SolveSpot
from machine.errors import ConfigError
from protocol.arrays import F64
from protocol.cards import Card, cards_text
from protocol.hands import NUM_HANDS, HandIndex, hand_text, holdem_hands
from solver.gadget_kinds import Form, Kind

if TYPE_CHECKING:
    from protocol.arrays import I32
    from solver.gadgets import Gadget

KINDS: Final = tuple([str(kind) for kind in Kind])
_REACH: Final = "reach-"
_MOST_SCALE: Final = 1e6
_BARELY: Final = 1e-4
"""A hand that shares a card with all but this share of our range cannot be held: nothing depends on it, and what it is
worth, a quotient of float32 sums, would be noise that Maxmargin takes for the hand to pick."""


@dataclass(frozen=True, slots=True, eq=False)
class Safety:
    """A gadget before the spot, by hand of the 1,326."""

    kind: str
    opponent: int
    """Who chooses."""
    live: NDArray[np.bool_]
    """Hands that the opponent can hold beside the board and our range."""
    payoffs: F64
    """Net chips of the whole hand, gifts included where the kind adds them; 0 for other hands."""
    spreads: F64 | None
    """Standard deviations of the payoffs, if they are uncertain."""
    hedge: bool
    """How the opponent answers uncertain ones: as Hedge does, or by the latest value alone."""
    notes: tuple[str, ...]
    """What the user should know before the solve."""

    @property
    def picks(self) -> bool:
        """Whether the opponent chooses the hand to come with, and not with each hand whether to come."""
        return self.kind.endswith("maxmargin")

    @property
    def marks(self) -> list[F64]:
        """What boards must have alike beside the ranges, if one is to stand for another."""
        return [self.payoffs] if self.spreads is None else [self.payoffs, self.spreads]

    def gadget(self, hand_index: tuple[I32, I32]) -> Gadget:
        """For a subgame with these hands."""
        from solver.gadgets import Gadget

        hands = hand_index[self.opponent]
        spreads = None if self.spreads is None else self.spreads[hands]
        return Gadget(self.opponent, self.payoffs[hands], Form(self.kind.removeprefix(_REACH)), spreads, self.hedge)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to be safe."""
    group = parser.add_argument_group("safe solving")
    group.add_argument(
        "--gadget", metavar="KIND", choices=KINDS, help=f"one of {', '.join(KINDS)}; all but unsafe (default) need:"
    )
    group.add_argument("--payoffs", metavar="FILE", type=Path, help="what the opponent has with each hand elsewhere")
    group.add_argument(
        "--gift-scale", metavar="N", type=float, help="how many times its gifts the reach kinds give (default 1)"
    )
    group.add_argument(
        "--opponent", choices=PLAYERS, help="who chooses at the gadget, with any hand (default ip; the other is safe)"
    )


def wants_gadget(options: argparse.Namespace) -> bool:
    """Whether one was asked for."""
    return options.gadget not in (None, Kind.UNSAFE)


def opponent_of(options: argparse.Namespace) -> int:
    """Who chooses at the gadget; in files for one, who will."""
    return IP if options.opponent is None else PLAYERS.index(options.opponent)


def check_options(options: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    if not wants_gadget(options):
        if options.payoffs is not None:
            raise ConfigError(f"--payoffs without a gadget: expected --gadget {', '.join(KINDS[1:-1])} or {KINDS[-1]}")
        if options.opponent is not None and options.save_payoffs is None and options.save_range is None:
            raise ConfigError("--opponent without --gadget, --save-payoffs or --save-range: expected one of them")
        if options.gift_scale is not None:
            raise ConfigError("--gift-scale without a gadget: expected --gadget reach-resolve or reach-maxmargin")
        return
    if options.payoffs is None:
        raise ConfigError(
            f"--gadget {options.gadget} without --payoffs: expected a file, as --save-payoffs writes them"
        )
    scale = options.gift_scale
    if scale is not None and not options.gadget.startswith(_REACH):
        raise ConfigError(f"--gift-scale with --gadget {options.gadget}, which adds no gifts: expected a reach kind")
    if scale is not None and not 0 <= scale <= _MOST_SCALE:
        raise ConfigError(f"--gift-scale {scale:g}: expected a number from 0 to {_MOST_SCALE:g}")
    if options.save is not None:
        raise ConfigError(
            f"--save and --gadget {options.gadget}: solution files keep no gadget: expected one of the two"
        )


def with_any_hand(spot: SolveSpot, player: int) -> SolveSpot:
    """The spot with the range of a player who chooses: every hand but those that our range leaves no room for."""
    ours = spot.ranges[1 - player].astype(np.float64)
    held = live_hands(spot.board, ours) | ~holdem_hands().live(spot.board)
    return with_range(spot, player, held.astype(np.float32))


def with_range(spot: SolveSpot, player: int, weights: NDArray[np.float32]) -> SolveSpot:
    """The spot with another range of one player."""
    oop, ip = (weights if who == player else given for who, given in enumerate(spot.ranges))
    return replace(spot, ranges=(oop, ip))


def every_hand() -> NDArray[np.float32]:
    """All hands, each of weight 1."""
    return np.ones(NUM_HANDS, np.float32)


def read_safety(options: argparse.Namespace, spot: SolveSpot) -> Safety | None:
    """The gadget that was asked for, before a spot in which the opponent has any hand; refuse payoffs of another."""
    if not wants_gadget(options):
        return None
    kind, opponent, path = options.gadget, opponent_of(options), options.payoffs
    payoffs = read_payoffs(path)
    try:
        _check_where(payoffs.where, spot, opponent)
        safety = _safety(kind, opponent, payoffs, spot, 1.0 if options.gift_scale is None else options.gift_scale)
    except PayoffsError as error:
        raise PayoffsError(f"--payoffs {path}: {error}") from None
    return safety


def _check_where(where: Where | None, spot: SolveSpot, opponent: int) -> None:
    if where is None:
        return
    if where.player != opponent:
        raise PayoffsError(
            f"player = {PLAYERS[where.player]}: expected {PLAYERS[opponent]}, who chooses at the gadget: "
            f"--opponent {PLAYERS[where.player]} changes that"
        )
    if set(where.board) != set(spot.board):
        raise PayoffsError(f"board = {cards_text(where.board)}: expected that of the spot, {cards_text(spot.board)}")
    for key, held, wanted in (("pot_chips", where.pot, spot.pot), ("stack_chips", where.stack, spot.stack)):
        if held != wanted:
            raise PayoffsError(f"{key} = {held}: expected that of the spot, {wanted}")


def _safety(kind: str, opponent: int, payoffs: Payoffs, spot: SolveSpot, gift_scale: float) -> Safety:
    live, chips, notes = holdem_hands().live(spot.board) & (spot.ranges[opponent] > 0), payoffs.chips, []
    missing = np.flatnonzero(live & np.isnan(chips))
    if missing.size:
        example = hand_text(HandIndex(int(missing[-1])))
        raise PayoffsError(
            f"no payoff for {missing.size:,} of the {np.count_nonzero(live):,} hands that {PLAYERS[opponent]} can hold "
            f"({example} is one): expected one for each"
        )
    slack = 0.01 * spot.pot
    strange = live & ((chips > spot.pot + spot.stack + slack) | (chips < -spot.stack - slack))
    if strange.any():
        example = hand_text(HandIndex(int(np.flatnonzero(strange)[-1])))
        notes.append(
            f"--payoffs: {np.count_nonzero(strange):,} are more than can be won or lost, as {example}: expected "
            "chips from the spot on"
        )
    if kind.startswith(_REACH):
        if payoffs.gifts is None:
            raise PayoffsError(
                f"no gifts_chips, which {kind} adds: expected --gadget {kind.removeprefix(_REACH)}, or a file with them"
            )
        chips = chips + gift_scale * payoffs.gifts
    elif payoffs.gifts is not None and payoffs.gifts.any():
        notes.append(f"--payoffs: its gifts are not used: --gadget {_REACH}{kind} adds them")
    spreads = payoffs.spreads
    if spreads is not None and kind.endswith("maxmargin"):
        spreads = None
        notes.append("--payoffs: its spreads are not used: the resolve kinds know what to do with them")
    return Safety(
        kind=kind,
        opponent=opponent,
        live=live,
        payoffs=np.where(live, chips - spot.paid, 0.0),
        spreads=None if spreads is None else np.where(live, spreads, 0.0),
        hedge=payoffs.hedge,
        notes=tuple(notes),
    )


def live_hands(board: tuple[Card, ...], ours: F64, barely: float = _BARELY) -> NDArray[np.bool_]:
    """[hand] whether the opponent can hold it beside the board and more than a tiny share of our weights."""
    alive = holdem_hands().live(board)
    theirs, every = np.where(alive, ours, 0.0), np.arange(NUM_HANDS)
    held: NDArray[np.bool_] = alive & (compatible_weights(every, theirs, every) > barely * theirs.sum())
    return held

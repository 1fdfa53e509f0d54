"""`paratus solve`: one spot, solved or loaded, and what the strategies do in it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

from bot.solve import handover, safety
from bot.solve.answers import Answer, make_answer
from bot.solve.endgames import BIG_BLIND, read_endgame
from bot.solve.handover import Handover
from bot.solve.lines import LineError, NodeLine, parse_line
from bot.solve.margins import find_margins, margins_data, print_margins
from bot.solve.pictures import check_can_draw, draw
from bot.solve.progress import Goal
from bot.solve.records import SolveRecord, exploitability_record, recorded_spot, spot_record
from bot.solve.report import answer_data, print_answer
from bot.solve.safety import Safety
from bot.solve.solutions import Bits, Solution, load_solution, read_header, save_solution
from bot.solve.solving import (
    SolveSettings,
    bytes_text,
    check_memory,
    find_price,
    parse_memory,
    parse_target,
    parse_time,
    price_text,
    solve,
    usual_memory,
)
from bot.solve.spots import (
    DEFAULT_MENU,
    PLAYERS,
    SolveSpot,
    SpotError,
    check_ranges,
    menu_notes,
    parse_board,
    read_menu,
    read_range,
    root_state,
    spot_of_endgame,
)
from machine.errors import ConfigError, quote
from machine.files import check_can_write
from machine.progress import ShareBar, duration_text, short
from protocol.cards import cards_text
from protocol.hands import holdem_hands
from protocol.ranges import RangeError, parse_range
from solver.algorithms import Algorithm, AlgorithmError, algorithms_text, parse_algorithm

INTERRUPTED: Final = 130
_SPOT: Final = ("board", "pot", "stack", "oop", "ip", "menu", "big_blind", "endgame")
_SOLVE: Final = (
    "target",
    "iterations",
    "time",
    "algorithm",
    "seed",
    "bits",
    "price",
    "gadget",
    "payoffs",
    "gift_scale",
)
_DEFAULT_TARGET: Final = "0.5%"

_EPILOG: Final = """\
ranges    AA,KQs,T9o:0.5,AhKd,77+,A9s-A6s, or @FILE: range text, or a .npy array of 1,326 weights
menu      sizes of the first bet / of raises: 50% of the pot, 450c (chips on the street), 3x (the bet faced), min,
          a (all-in), - (none); by street and player too: "flop 33% / a; turn 50%,100% / a; river oop 50%,a / a"
node      actions and cards from the spot on, as "b50%,c,[Td],x": x check, c call, f fold, a all-in, b50% a bet or
          raise of half the pot after the call, b450 a bet of or raise to 450 chips on the street, [Td] the next card
gadgets   the opponent comes with any hand, or takes the payoff that a file has for it: maxmargin makes the least margin
          (payoff less best response) as large as it can be; reach- kinds add what the opponent gave away on the way;
          payoffs are chips as EVs are, hand by hand; docs/solver.md has the format
chips     EV counts from the decision shown: what a player takes out of the pot, less what it still puts in (fold: 0)

examples
  paratus solve --board "Ks 7h 2d 5c Jh" --pot 1000 --stack 9500 --oop "22+,A2s+,KTs+,QJs" --ip "TT+,AQ,KQs"
  paratus solve --endgame subgame3.txt --target 10mbb --save river.paratus --png river.png
  paratus solve --load river.paratus --node "b50%,c" --hand AhKd
  paratus solve --load turn.paratus --node "b50%,c,[Td]" --save-payoffs river.json --save-range oop.npy
  paratus solve --board Ks7h2d5cTd --pot 2000 --stack 9000 --oop @oop.npy --gadget reach-maxmargin --payoffs river.json

exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted (what was reached is shown)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to solve, how far, and what to show."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Solve a spot on the flop, turn or river, and show what the strategies do there."
    parser.epilog = _EPILOG
    spot = parser.add_argument_group("the spot")
    spot.add_argument("--board", metavar="CARDS", help='three to five cards, as "Ks 7h 2d"')
    spot.add_argument(
        "--pot", metavar="CHIPS", type=int, help="chips in the pot; an even number, half from each player"
    )
    spot.add_argument("--stack", metavar="CHIPS", type=int, help="chips behind, of the player who has fewer")
    spot.add_argument("--oop", metavar="RANGE", help="range of the player out of position, who acts first")
    spot.add_argument("--ip", metavar="RANGE", help="range of the player in position")
    spot.add_argument("--menu", metavar="SIZES", help=f"bets to consider (default {DEFAULT_MENU.replace('%', '%%')})")
    spot.add_argument("--big-blind", metavar="CHIPS", type=int, help=f"the smallest bet (default {BIG_BLIND})")
    spot.add_argument(
        "--endgame", metavar="FILE", type=Path, help="board, pot and ranges from a file of the Libratus endgames"
    )
    spot.add_argument("--load", metavar="FILE", type=Path, help="a solution that --save wrote, instead of a spot")
    safety.add_arguments(parser)
    solve = parser.add_argument_group("solving")
    solve.add_argument("--target", metavar="X", help="exploitability to stop at: 0.5%% of the pot (default), 5mbb, 20c")
    solve.add_argument("--iterations", metavar="N", type=int, help="stop after so many")
    solve.add_argument("--time", metavar="T", help="stop after 30s, 5m, 1h")
    solve.add_argument("--algorithm", metavar="NAME", help=algorithms_text().replace("%", "%%"))
    solve.add_argument("--threads", metavar="N", type=int, help="default: as many as measure faster")
    solve.add_argument("--bits", type=int, choices=(32, 16), help="of each number; 16 halves the memory (default 32)")
    solve.add_argument("--seed", metavar="S", type=int, help="of the rounding with --bits 16 (default 0)")
    solve.add_argument("--memory", metavar="SIZE", help="the most to use, as 8GB (default three quarters of all)")
    solve.add_argument("--price", action="store_true", default=None, help="say what it would cost, and stop")
    show = parser.add_argument_group("the answer")
    show.add_argument(
        "--node", metavar="LINE", default="", help='the decision to show, as "b50%%,c,[Td]" (default the first)'
    )
    show.add_argument("--hand", metavar="HANDS", help="show these hands one by one: AhKd, AK, 77+, …")
    show.add_argument("--json", action="store_true", help="print data instead of tables")
    show.add_argument("--png", metavar="FILE", type=Path, help="draw a grid for every action (needs matplotlib)")
    show.add_argument("--save", metavar="FILE", type=Path, help="keep the solution for --load")
    show.add_argument("--save-bits", type=int, choices=(8, 16), help="of each probability in the file (default 8)")
    handover.add_arguments(parser)


def run_command(options: argparse.Namespace) -> int:
    """Check everything, solve or load, show."""
    _check_combinations(options)
    if options.png is not None:
        check_can_draw()
        check_can_write(options.png, "--png")
    if options.save is not None:
        check_can_write(options.save, "--save")
    most_bytes = parse_memory(options.memory) if options.memory else usual_memory()
    if options.load is not None:
        return _load(options, most_bytes)
    spot = _spot(options)
    question = _question(options, spot)
    safe = safety.read_safety(options, spot)
    goal = _goal(options, spot)
    settings = SolveSettings(_algorithm(options.algorithm), options.bits or 32, options.threads, options.seed or 0)
    for note in [*menu_notes(spot), *_gadget_notes(options, safe)]:
        _say(note)
    price = find_price(spot, settings.bits, safe.marks if safe else ())
    _say(price_text(spot, price))
    if options.price:
        if options.json:
            _print_json({"spot": spot_record(spot).model_dump(), "price": asdict(price)})
        return 0
    check_memory(price, most_bytes)
    if question.handover:
        handover.check_handover_memory(question.handover, spot, price.bytes, most_bytes)
    solver, progress, finished = solve(spot, settings, goal, safe)
    if solver.pace.shared:
        _say("several threads were slower than one, which was used (--threads insists on a number)")
    found = progress.exploitability or solver.exploitability()
    if not finished:
        _say("interrupted: this is how far it came")
    elif goal.target_chips is not None and found.chips > goal.target_chips:
        _say(f"the target of {short(goal.target_chips)} chips was not reached")
    record = SolveRecord(
        algorithm=str(solver.algorithm),
        iterations=solver.iterations,
        seconds=round(progress.seconds, 3),
        bits=settings.bits,
        seed=settings.seed,
        paratus=version("paratus"),
        exploitability=exploitability_record(found),
    )
    _finish(options, Solution(spot, solver, record, record.exploitability), question, safe)
    return 0 if finished else INTERRUPTED


def _load(options: argparse.Namespace, most_bytes: int) -> int:
    """Everything about the question is checked as soon as the spot is known."""
    with ShareBar(f"reading {options.load}", "paratus solve") as bar:
        header = read_header(options.load)
        spot = recorded_spot(header.spot)
        question = _question(options, spot)
        if question.handover:
            handover.check_handover_memory(question.handover, spot, find_price(spot, 16).bytes, most_bytes)
        solution = load_solution(options.load, threads=options.threads, most_bytes=most_bytes, report=bar.show)
    _finish(options, solution, question, None)
    return 0


def _finish(options: argparse.Namespace, solution: Solution, question: Question, safe: Safety | None) -> None:
    """Save, draw, print, hand over."""
    if options.save is not None:
        solution = _save(options.save, solution, 16 if options.save_bits == 16 else 8)
    closing = _closing(solution, safe)
    margins = find_margins(solution.solver, safe, solution.spot) if safe else None
    answer = make_answer(solution.solver, solution.spot, question.line)
    if options.png is not None:
        draw(options.png, answer, closing)
        _say(f"{options.png}: written")
    places = question.places(answer)
    if options.json:
        _print_json(
            {
                "spot": spot_record(solution.spot).model_dump(),
                "solve": solution.solve.model_dump(),
                "exploitability": solution.exploitability.model_dump(),
                "answer": answer_data(answer, places),
                **({"gadget": margins_data(margins)} if margins else {}),
            }
        )
    else:
        console = Console(highlight=False)
        print_answer(console, answer, closing, places)
        if margins:
            console.print()
            print_margins(console, margins, grid=places is None)
    if question.handover:
        for text in handover.hand_over(question.handover, solution, safe.marks if safe else ()):
            _say(text)


def _save(path: Path, solution: Solution, bits: Bits) -> Solution:
    with ShareBar(f"writing {path}", "paratus solve") as bar:
        kept = save_solution(path, solution, bits, bar.show)
    before, after = solution.exploitability.mbb, kept.exploitability.mbb
    size = bytes_text(path.stat().st_size)
    _say(f"{path}: {size}; {bits} bits a probability: exploitability {short(before)} → {short(after)} mbb/g")
    return kept


@dataclass(frozen=True, slots=True)
class Question:
    """Where to look, at which hands, and what to write about the place."""

    line: NodeLine
    hands: tuple[int, ...] | None
    """Of the 1,326; None for all, by class."""
    handover: Handover | None

    def places(self, answer: Answer) -> list[int] | None:
        """Where those hands stand in an answer."""
        if self.hands is None:
            return None
        return [place for place, hand in enumerate(answer.hands.tolist()) if hand in self.hands]


def _question(options: argparse.Namespace, spot: SolveSpot) -> Question:
    try:
        line = parse_line(options.node, root_state(spot), spot.board, spot.menu)
    except LineError as error:
        raise ConfigError(f"--node: {error}") from None
    board = (*spot.board, *line.cards)
    try:
        check_ranges(board, spot.ranges)
    except SpotError as error:
        raise ConfigError(f"--node: {error}") from None
    later = handover.read_handover(options, line)
    if options.hand is None:
        return Question(line, None, later)
    try:
        named = np.flatnonzero(parse_range(options.hand))
    except RangeError as error:
        raise ConfigError(f"--hand: {error}") from None
    possible = holdem_hands().live(board)[named]
    if not possible.any():
        raise ConfigError(f"--hand {quote(options.hand)}: meets the board {cards_text(board)}: expected other cards")
    actor = line.state.actor
    assert actor is not None  # lines end at decisions
    held = named[possible & (spot.ranges[actor][named] > 0)]
    if not held.size:
        raise ConfigError(
            f"--hand {quote(options.hand)}: not in the range of {PLAYERS[actor]}, who acts: expected hands of it"
        )
    return Question(line, tuple(held.tolist()), later)


def _check_combinations(options: argparse.Namespace) -> None:
    if options.load is not None:
        for given in _given(options, _SPOT):
            raise ConfigError(f"--load and {given}: the file says that: expected one of the two")
        for given in _given(options, _SOLVE):
            raise ConfigError(f"--load and {given}: what is loaded is solved already: expected one of the two")
    safety.check_options(options)
    if options.load is None and options.endgame is not None:
        for given in _given(options, ("board", "pot", "oop", "ip")):
            raise ConfigError(f"--endgame and {given}: the file says that: expected one of the two")
    elif options.load is None:
        needed = ["board", "pot", "stack", "oop", "ip"]
        if safety.wants_gadget(options):
            needed.remove(PLAYERS[safety.opponent_of(options)])
        missing = [f"--{name}" for name in needed if getattr(options, name) is None]
        if missing:
            raise ConfigError(f"{', '.join(missing)} missing: expected a spot, or --endgame FILE, or --load FILE")
    if options.save_bits is not None and options.save is None:
        raise ConfigError("--save-bits without --save: expected a file to write")
    for name, least in (("iterations", 1), ("threads", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and not least <= value < 2**31:
            raise ConfigError(f"--{name} {value}: expected a number from {least} up")


def _given(options: argparse.Namespace, names: Sequence[str]) -> list[str]:
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is not None]


def _spot(options: argparse.Namespace) -> SolveSpot:
    menu = read_menu(options.menu or DEFAULT_MENU)
    big_blind = BIG_BLIND if options.big_blind is None else options.big_blind
    chooses = safety.opponent_of(options) if safety.wants_gadget(options) else None
    if options.endgame is not None:
        spot = spot_of_endgame(read_endgame(options.endgame), menu, options.stack, big_blind)
    else:
        texts = (options.oop, options.ip)
        oop, ip = (
            safety.every_hand() if player == chooses else read_range(texts[player], who)
            for player, who in enumerate(PLAYERS)
        )
        spot = SolveSpot(parse_board(options.board), options.pot, options.stack, (oop, ip), menu, big_blind)
    return spot if chooses is None else safety.with_any_hand(spot, chooses)


def _gadget_notes(options: argparse.Namespace, safe: Safety | None) -> list[str]:
    """What becomes of the opponent's range, and what else is to know."""
    if safe is None:
        return []
    who = PLAYERS[safe.opponent]
    unused = options.endgame is not None or getattr(options, who) is not None
    ignored = f"; the range given for {who} is not used" if unused else ""
    does = "picks the hand to come with" if safe.picks else "chooses with each hand whether to come"
    return [f"--gadget {safe.kind}: {who} {does}, each of weight 1, against {options.payoffs}{ignored}", *safe.notes]


def _goal(options: argparse.Namespace, spot: SolveSpot) -> Goal:
    target = options.target
    if target is None and options.iterations is None and options.time is None:
        target = _DEFAULT_TARGET
    return Goal(
        target_chips=None if target is None else parse_target(target, spot),
        iterations=options.iterations,
        seconds=None if options.time is None else parse_time(options.time),
    )


def _algorithm(text: str | None) -> Algorithm | None:
    if text is None:
        return None
    try:
        return parse_algorithm(text)
    except AlgorithmError as error:
        raise ConfigError(f"--{error}") from None


def _closing(solution: Solution, safe: Safety | None) -> str:
    solve, found = solution.solve, solution.exploitability
    measured = f"{short(found.chips)} chips = {short(found.mbb)} mbb/g = {short(100 * found.pot_share)}% of the pot"
    taken = f"{solve.algorithm}, {solve.iterations:,} iterations, {duration_text(solve.seconds)}"
    return f"exploitability {'of the gadget game ' if safe else ''}{measured}; {taken}"


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=1))


def _say(text: str) -> None:
    print(f"paratus solve: {text}", file=sys.stderr, flush=True)

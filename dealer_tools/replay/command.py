"""`paratus replay LOG --hand N`: a hand in the terminal."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dealer_tools.replay.steps import Replay, Step, by_class, frequencies, make_replay
from dealer_tools.scoring.holdings import ScoreError
from dealer_tools.scoring.sources import read_hands
from dealer_tools.scoring.valuing import READY, VALUES
from protocol.cards import cards_text
from protocol.game import STREET_NAMES
from protocol.hands import NUM_CLASSES, HandClass, class_text
from strategies.grids import RANGE_COLOUR, action_colour, grid, print_beside
from strategies.policy import support_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `paratus replay`."""
    parser.add_argument("path", metavar="LOG", type=Path, help="match folder, log, store, session or PHH")
    parser.add_argument("--hand", metavar="N", type=int, required=True, help="its number in the log")
    parser.add_argument("--player", metavar="NAME", help="whose eyes (default: the first whose policies are known)")
    parser.add_argument(
        "--values",
        metavar="NAME",
        default=READY,
        help=f"what luck is measured by, as in `paratus score`: one of {', '.join(VALUES)}, or a file that --fit wrote "
        "on other hands (default: ready, the best that needs no waiting)",
    )
    parser.add_argument("--blueprint", metavar="FILE", type=Path, help="the blueprint of `--values blueprint`")
    parser.add_argument("--brief", action="store_true", help="no grids")
    parser.add_argument("--as-json", "--json", action="store_true", help="print a document")


def run_command(options: argparse.Namespace) -> int:
    """Show the hand."""
    hands = read_hands([options.path], options.player, both=True)
    found = [played for played in hands.hands if played.record.hand == options.hand]
    if not found:
        numbers = [played.record.hand for played in hands.hands]
        raise ScoreError(f"--hand {options.hand}: {options.path} has hands {min(numbers)} to {max(numbers)}")
    for number, played in enumerate(found):  # the two of a duplicate match
        replay = make_replay(played, hands.player, options.values, options.blueprint)
        if options.as_json:
            print(json.dumps(replay.document(), indent=2))
        else:
            print("\n" * bool(number), end="")
            print_replay(replay, grids=not options.brief)
    return 0


def print_replay(replay: Replay, *, grids: bool) -> None:
    """To the terminal."""
    console = Console()
    record = replay.played.record
    console.print(Text(f"hand {record.hand}, {replay.played.where}", "bold"), soft_wrap=True)
    street = -1
    for step in replay.steps:
        if step.state.street > street:
            street = step.state.street
            console.rule(STREET_NAMES[street], align="left")
        _print_step(console, replay, step, grids=grids)
    console.rule(align="left")
    won = " ".join([f"{name} {value:+,.0f}" for name, value in zip(record.names, record.values, strict=True)])
    worth = f", worth {replay.mbb(replay.worth):+,.0f} mbb to {replay.player}" if replay.worth is not None else ""
    console.print(Text(f"{won}{worth} (values: {replay.values.name} {replay.values.digest})"), soft_wrap=True)
    if replay.why_not:
        console.print(Text(f"luck of decisions is not known: {replay.why_not}", "yellow"), soft_wrap=True)


def _print_step(console: Console, replay: Replay, step: Step, *, grids: bool) -> None:
    luck = "" if step.luck is None else f"   luck {replay.mbb(step.luck):+,.0f} mbb"
    colour = "" if not step.luck else ("green" if step.luck > 0 else "red")
    board = f"{cards_text(step.board)}  " if step.board else ""
    line = Text.assemble((f"{step.actor:12} ", "bold"), f"{step.outcome:12} ", f"{board}pot {step.state.pot:,}")
    console.print(Text.assemble(line, (luck, colour)), soft_wrap=True)
    if step.decision is None:
        return
    policy = step.decision.policy
    held = policy.probabilities(replay.column(step))
    whose = "range" if step.weights is not None else "all hands"
    words = [
        f"{support_text((entry,))} {100 * share:.1f}% ({whose} {100 * often:.1f}%)"
        for entry, share, often in zip(policy.support, held, frequencies(step), strict=True)
    ]
    origin = policy.origin
    how = f"{origin.route}{f', {origin.reason}' if origin.reason else ''}"
    thought = f", {origin.iterations} iterations" if origin.iterations else ""
    console.print(Text(f"{'':13}{', '.join(words)}"), soft_wrap=True)
    console.print(Text(f"{'':13}{how}{thought}, {step.decision.seconds:.3f} s", "dim"), soft_wrap=True)
    if grids and step.has_classes:
        _print_grids(console, step)


def _print_grids(console: Console, step: Step) -> None:
    """The range, and what each class does."""
    assert step.decision is not None
    found = by_class(step)
    names = {class_text(HandClass(each)): each for each in range(NUM_CLASSES)}
    shown = [grid("range", {names[name]: float(row["weight"]) for name, row in found.items()}, RANGE_COLOUR)]  # type: ignore[arg-type]
    for number, entry in enumerate(step.decision.policy.support):
        shares = {names[name]: row["policy"][number] for name, row in found.items()}  # type: ignore[index]
        shown.append(grid(support_text((entry,)), shares, action_colour(entry)))
    print_beside(console, shown)

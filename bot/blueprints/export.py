"""`paratus blueprint export FILE`: what a blueprint does in one spot, before the flop if no other is named."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.blueprints.arguments import add_file, file_of, open_whole
from machine.errors import ConfigError

if TYPE_CHECKING:
    from blueprints.storage import Blueprint
    from bot.blueprints.answers import Shown
    from protocol.cards import Card
    from protocol.state import State

_FORMATS: Final = ("text", "json", "png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The spot, and how to show it."""
    add_file(parser)
    parser.add_argument("--spot", metavar="BETTING", default="", help='the betting before it, as "r250c/cr300"')
    parser.add_argument("--board", metavar="CARDS", default="", help='the cards on the board, as "Ks7h2d"')
    parser.add_argument("--format", choices=_FORMATS, help="text (default), json, or png (a picture; needs --out)")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write there instead of to the terminal")
    parser.add_argument(
        "--tables", metavar="FOLDER", type=Path, help="of the tables of buckets (default: in the user's cache)"
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "betting is ACPC's: f fold, c call or check, r250 raise to 250 chips over the whole hand, / between streets.\n"
        "Bets that the blueprint does not know are taken for the likelier neighbour. A spot with a board needs tables\n"
        "of buckets, which are computed the first time (a minute)."
    )


def run_command(options: argparse.Namespace) -> int:
    """Check everything, look it up, show it."""
    form = options.format or ("json" if options.json else "text")
    if options.json and form != "json":
        raise ConfigError(f"--json and --format {form}: expected one of the two")
    _check_output(form, options.out)
    blueprint = open_whole(file_of(options))
    state, board = _spot(blueprint, options.spot, options.board)
    shown = _look_up(blueprint, state, board, options.tables)
    if form == "png":
        _draw(options.out, shown)
    elif form == "json":
        from bot.blueprints.answers import shown_data

        _write(options.out, json.dumps(shown_data(shown), indent=1) + "\n")
    else:
        _print(options.out, shown)
    return 0


def _check_output(form: str, out: Path | None) -> None:
    if form == "png":
        from bot.solve.pictures import check_can_draw

        if out is None:
            raise ConfigError("--format png without --out: expected a file to write")
        check_can_draw("--format png")
    if out is not None:
        from machine.files import check_can_write

        check_can_write(out, "--out")


def _spot(blueprint: Blueprint, betting: str, cards: str) -> tuple[State, tuple[Card, ...]]:
    from protocol.cards import CardError, cards_text, parse_cards
    from protocol.state import start
    from protocol.wire import WireError, read_betting

    game = blueprint.game
    try:
        state = read_betting(start(game), betting)
    except WireError as error:
        raise ConfigError(f"--spot: {error}") from None
    if state.actor is None:
        raise ConfigError(f"--spot {betting}: the hand is over: expected a decision")
    try:
        board = tuple(parse_cards(cards.replace(" ", "").replace(",", "")))
    except CardError as error:
        raise ConfigError(f"--board: {error}") from None
    wanted = game.board_cards_by(state.street)
    if len(board) != wanted or not set(board) <= set(game.deck()):
        given = cards_text(board) or "of no cards"
        raise ConfigError(f"--board {given}: expected {wanted} cards of the deck after {betting or 'no betting'}")
    return state, board


def _look_up(blueprint: Blueprint, state: State, board: tuple[Card, ...], tables: Path | None) -> Shown:
    from blueprints.lookup import Lookup
    from blueprints.shipped import tables_folder
    from bot.blueprints.answers import ClassesOnly, look_up

    if board or blueprint.header.card_kind == "exact":
        from machine.progress import ShareBar

        with ShareBar("tables of buckets", "paratus blueprint export") as bar:
            cards = blueprint.cards(
                tables or tables_folder(), lambda task, share, left_s: bar.show(share), rivers=False
            )
        return look_up(Lookup(blueprint, cards), state, board)
    return look_up(Lookup(blueprint, ClassesOnly(blueprint)), state, board)


def _draw(path: Path, shown: Shown) -> None:
    from bot.blueprints.answers import by_class, has_classes
    from bot.solve.pictures import Panel, draw_panels
    from protocol.cards import cards_text

    if not has_classes(shown):
        raise ConfigError("--format png: hands of this game have no classes: expected text or json")
    groups = by_class(shown)
    panels = [
        Panel(
            f"{words}: {100 * shown.frequencies[number]:.1f}%",
            action,
            {group.hand_class: float(group.frequencies[number]) for group in groups},
        )
        for number, (action, words) in enumerate(zip(shown.found.actions, shown.words, strict=True))
    ]
    board = cards_text(shown.board) or "before the flop"
    after = f" after {shown.state.betting}" if shown.state.betting else ""
    title = "\n".join(
        [
            f"{board}{after}: position {shown.state.actor} acts, pot {shown.state.pot:,}",
            f"{shown.blueprint.name} {shown.blueprint.digest}",
            *shown.notes,
        ]
    )
    draw_panels(path, title, panels)
    print(f"paratus blueprint export: {path}: written", file=sys.stderr)


def _write(path: Path | None, text: str) -> None:
    if path is None:
        print(text, end="")
        return
    from machine.files import whole_file

    with whole_file(path) as file:
        file.write(text.encode())


def _print(path: Path | None, shown: Shown) -> None:
    import io

    from rich.console import Console

    from bot.blueprints.grids import print_shown

    if path is None:
        print_shown(Console(highlight=False), shown)
        return
    kept = io.StringIO()
    print_shown(Console(file=kept, highlight=False, width=120), shown)
    _write(path, kept.getvalue())

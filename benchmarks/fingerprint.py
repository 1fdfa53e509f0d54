"""The fingerprint: one hash for each part of what Paratus does, and one over all. It changes when behaviour does.

    rules      random hands of every shipped game through states and wire text; a dealer's log and messages
    solver     a fixed number of iterations of every algorithm, storage and gadget: values and exploitabilities
    agents     a short match of every agent against `random`, searches by iterations: every policy and action
    scoring    AIVAT and its relatives on a stored match
    training   a few periods of configuration `tiny` with made-up buckets, and of external sampling on Leduc: averages,
               and what stands in the file

`benchmarks/fingerprint.json` has the hashes on record. A change that is meant to change none leaves them alone; one
that means to change behaviour records the new ones (`--record`) and says why in its commit.

Floats count as five digits, so that other processors, whose compiled code adds up in another order, come to the same
hashes. Rounding alone does not do that: some number always lies where two roundings meet. So the record has the numbers
too, and one that rounds to the number on record, or as good as, counts as that. An array counts as three
numbers: its mean, its root mean square, and its product with fixed random signs.

On a machine with AVX-512 the processor's own code and `NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx2,+bmi,+bmi2,+fma`
(with a `NUMBA_CACHE_DIR` of its own) give numbers that differ by 1e-7, and the same hashes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from machine.revision import ROOT
from protocol.arrays import F64
from protocol.cards import cards_text
from protocol.dealer import Dealer, DealerPhase, Effect, Logged, Report, Tell, Transacted
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Game, Position, load_game
from protocol.hands import hands_of
from protocol.log import Limits, MatchHeader
from protocol.state import CALL, FOLD, Action, Raise, State, action_text, apply, can_fold, payoffs, raise_bounds, start
from protocol.wire import MatchState, match_state_text, parse_match_state, view

RECORD: Final = Path(__file__).with_name("fingerprint.json")
SAMPLE: Final = ROOT / "tests" / "samples" / "experiment" / "matches" / "01-searcher-stranger-1"
_DIGITS: Final = 5
_TOLERANCE: Final = 6e-5
"""Of a number: half a unit of its fifth digit is 5e-5 of it at most."""
_LEAST: Final = 0.1
"""Numbers below this count by places after the point: noise is 1e-7 of what was added up."""
_GAMES: Final = (
    *("holdem.nolimit.2p.reverse_blinds", "holdem.limit.2p.reverse_blinds", "holdem.nolimit.3p", "holdem.limit.3p"),
    *("kuhn.limit.2p", "kuhn.limit.3p", "leduc", "leduc.limit.2p"),
)
_HANDS: Final = 200
_MATCH_HANDS: Final = 6
_ITERATIONS: Final = {"nested": 12, "limited": 6}


class Mark:
    """Adds up what a part says."""

    def __init__(self, known: Sequence[float] = ()) -> None:
        """`known`: the numbers on record, in order."""
        self.numbers: list[float] = []
        self._known = known
        self._hash = blake2b(digest_size=8)

    def add(self, *things: object) -> None:
        """Texts and whole numbers as they are, floats and arrays as numbers of five digits."""
        for thing in things:
            if isinstance(thing, np.ndarray):
                self._hash.update(str(thing.shape).encode())
                for number in _summary(np.nan_to_num(thing.astype(np.float64))):
                    self._number(number)
            elif isinstance(thing, float):
                self._number(thing)
            else:
                self._hash.update(f"{thing}\n".encode())

    def digest(self) -> str:
        """So far."""
        return self._hash.hexdigest()

    def _number(self, number: float) -> None:
        place, rounded = len(self.numbers), float(f"{number:.{_DIGITS}g}")
        if place < len(self._known):
            known = self._known[place]
            if abs(number - known) <= _TOLERANCE * max(abs(known), _LEAST):
                rounded = known
        self.numbers.append(rounded)
        self._hash.update(f"{rounded:.{_DIGITS}g}\n".encode())


def _summary(numbers: F64) -> tuple[float, float, float]:
    flat = numbers.ravel()
    signs = np.random.default_rng(flat.size).choice((-1.0, 1.0), flat.size)
    scale = float(np.sqrt(np.mean(flat**2))) if flat.size else 0.0
    # Means that nearly cancel have few true digits: they count by the size of what was added up.
    mean, product = (float(np.mean(each) / (scale or 1.0)) if flat.size else 0.0 for each in (flat, flat * signs))
    return mean, scale, product


# Rules


def _rules(mark: Mark) -> None:
    for name in _GAMES:
        game = load_game(name).game
        rng, stream = Random(name), CardStream(game, 7)
        for number in range(_HANDS):
            deal, state = stream.deal(), start(game)
            while state.actor is not None:
                text = match_state_text(MatchState(state.actor, number, state, view(state, deal, state.actor)))
                mark.add(text, match_state_text(parse_match_state(text, game)), raise_bounds(state))
                state = apply(state, _any_action(rng, state))
            mark.add(state.betting, payoffs(state, deal))
        _dealt(mark, game, Random(name))


def _any_action(rng: Random, state: State) -> Action:
    """Whatever the rules allow."""
    kinds: list[Action] = [CALL, *([FOLD] if can_fold(state) else [])]
    bounds = raise_bounds(state)
    if bounds is not None:
        kinds += [Raise(rng.randint(bounds.low, bounds.high)), Raise(bounds.low), Raise(bounds.high)]
    return rng.choice(kinds)


def _dealt(mark: Mark, game: Game, rng: Random) -> None:
    """A match at a dealer, whose players answer with anything, some of it wrong."""
    names = tuple(f"player{number}" for number in range(game.num_players))
    dealer, now = Dealer(game, MatchHeader("fingerprint", "game", 30, 3, Limits()), names), 0
    told: dict[int, str] = {}

    def hear(effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Tell(seat, text):
                    told[seat] = text
                    mark.add(seat, text)
                case Report(text) | Logged(text) | Transacted(text):
                    mark.add(text)

    while dealer.phase not in (DealerPhase.OVER, DealerPhase.FAILED):
        seat, now = dealer.acting_seat, now + 1000
        if dealer.phase is DealerPhase.GREETING:
            line = "VERSION:2.0.0"
        else:
            state = parse_match_state(told[seat], game).state
            answer = rng.choice(["c", "f", "r1", "r99999", "x"]) if rng.random() < 0.1 else None
            line = f"{told[seat]}:{answer or action_text(_any_action(rng, state), game)}"
        hear(dealer.receive(line, now))
        dealer.mark_sent(now)


# Solver


def _solver(mark: Mark) -> None:
    from benchmarks.solver import OWN, load_spots, make_subgame
    from solver.algorithms import parse_algorithm
    from solver.gadget_kinds import Form
    from solver.gadgets import Gadget
    from solver.subgame import Storage
    from solver.subgame_solver import Solver

    spots = load_spots(OWN)
    river, turn = make_subgame(spots["river-small-pot"], Storage()), make_subgame(spots["turn-small-pot"], Storage(16))

    def add(solver: Solver) -> None:
        mark.add(*[solver.root_values(player) for player in (0, 1)], solver.exploitability().mbb, solver.game_value(0))

    for name in ("cfr", "cfr+", "cfr+:5", "lcfr", "dcfr", "dcfr:1.5,0.5,4", "dcfr+:1.5,5"):
        for simultaneous in (False, True):
            solver = Solver(river, parse_algorithm(name), threads=1, simultaneous=simultaneous)
            solver.iterate(20)
            add(solver)
    for form in Form:
        payoffs_ = np.linspace(-200.0, 200.0, len(river.hands[1]))
        solver = Solver(river, threads=1, gadget=Gadget(1, payoffs_, form))
        solver.iterate(30)
        mark.add(solver.root_values(0), solver.margins())
    solver = Solver(turn, threads=1)
    solver.iterate(8)
    add(solver)


# Agents


def _agents(mark: Mark) -> None:
    from strategies.registry import AGENTS, make_strategy

    game = load_game(DEFAULT_GAME).game
    for name in AGENTS:
        strategy, other = make_strategy(name, game, _by_iterations()), make_strategy("random", game)
        mark.add(name)
        for seat in (0, 1):
            for said in _played(game, (strategy, other) if seat == 0 else (other, strategy), seat):
                mark.add(*said)


def _by_iterations() -> Any:
    """Searches that stop by their number of iterations alone, on one thread, with nothing kept from before."""
    from strategies.settings import StrategySettings

    nested = {"turn": {"iterations": _ITERATIONS["nested"]}, "river": {"iterations": 4 * _ITERATIONS["nested"]}}
    count = {"iterations": _ITERATIONS["limited"]}
    limited = {"preflop": count, "flop": count, "turn": count, "keep": False}
    no_table = {"rivers": False}  # which takes longest to build where there are no tables yet
    settings = {"blueprint": no_table, "slumbot_style": no_table, "nested": {**nested, "base": "blueprint"}}
    return StrategySettings.model_validate({**settings, "limited": limited}).one_thread()


def _played(game: Game, strategies: tuple[Any, Any], ours: int) -> Iterator[tuple[object, ...]]:
    """What one of two strategies says and does in a match, the players at fixed positions."""
    from strategies.draws import Draws
    from strategies.policy import check_policy, support_text
    from strategies.strategy import Budget, Decided, Spot

    stream, budget = CardStream(game, 5), Budget(time.monotonic() + 1e9, 1e9)
    for hand in range(_MATCH_HANDS):
        deal, state = stream.deal(), start(game)
        past: tuple[Decided, ...] = ()
        while state.actor is not None:
            position = state.actor
            board = deal.board[: game.board_cards_by(state.street)]
            spot = Spot(hand, Position(position), state, board, past if position == ours else ())
            seed = 11 + position
            policy = strategies[position].policy(spot, budget, Draws(seed, "", hand, len(state.actions), "strategy"))
            check_policy(policy, state, board)
            column = hands_of(game).column(deal.hole[position])
            action = policy.sample(column, Draws(seed, "", hand, len(state.actions), "action"))
            if position == ours:
                past = (*past, Decided(state, policy))
                origin = policy.origin
                yield (
                    state.betting, cards_text(board), action_text(action, game), origin.route, origin.reason,
                    origin.iterations, origin.model, support_text(policy.support), policy.weights / 65535.0,
                )  # fmt: skip
            state = apply(state, action)


# Scoring


def _scoring(mark: Mark) -> None:
    from dealer_tools.scoring.estimators import Scorer, available
    from dealer_tools.scoring.holdings import Holdings
    from dealer_tools.scoring.results import make_result
    from dealer_tools.scoring.sources import read_hands
    from dealer_tools.scoring.values import Equity

    hands = read_hands([SAMPLE])
    holdings, missing = Holdings(hands.game), available(hands.hands, hands.player)
    from dealer_tools.scoring.estimators import ESTIMATORS

    names = [name for name in ESTIMATORS if name not in missing]
    scorer = Scorer(holdings, Equity(holdings), names)
    chips = scorer.score_all(hands)
    for name, values in chips.items():
        mark.add(name, values)
    result = make_result(hands, scorer, chips)
    for row in result.rows:
        mark.add(row.name, row.estimate.observations, row.estimate.mean_mbb, row.estimate.se_mbb, row.share)


# Training


def _training(mark: Mark) -> None:
    from blueprints.cards.exact import ExactCards
    from blueprints.cards.made_up import made_up_tables
    from blueprints.settings import BlueprintSettings, load_settings
    from blueprints.storage import Blueprint, write_blueprint
    from blueprints.train.trainer import make_sampler
    from blueprints.tree import build_tree

    tiny = load_settings("tiny")
    leduc = BlueprintSettings.model_validate(
        {"name": "leduc", "game": "leduc.limit.2p", "menu": "100%", "trainer": {"sampling": "external", "walks": 2000}}
    )
    with tempfile.TemporaryDirectory() as folder:
        for settings in (tiny, leduc):
            game = settings.load_game()
            tree = build_tree(game, settings.load_menu())
            made = made_up_tables(settings.cards) if settings is tiny else ExactCards(game)
            sampler = make_sampler(settings, tree, made, 1)
            for period in (1, 2, 3):
                mark.add(
                    sampler.period(period, settings.trainer.weighting.weight(period), settings.trainer.walks),
                    sampler.regret(),
                )
            averages = sampler.averages()
            mark.add(tree.digest, made.digest, *averages)
            path = Path(folder) / f"{settings.name}.blueprint"
            cards = made.centroids if settings is tiny else made
            training = {"walks": 0, "updates": 0, "periods": 3, "core_seconds": 0.0}
            write_blueprint(
                path, settings=settings, game=game, tree=tree, cards=cards, averages=averages, training=training
            )
            blueprint = Blueprint.open(path)
            mark.add(*[blueprint.strategy(street) / 255 for street in range(game.num_rounds)])


PARTS: Final[dict[str, Callable[[Mark], None]]] = {
    "rules": _rules,
    "solver": _solver,
    "agents": _agents,
    "scoring": _scoring,
    "training": _training,
}


def fingerprint(names: Sequence[str] = tuple(PARTS), *, record: bool = False) -> dict[str, str]:
    """The hash of each part; of all of them also the one over all. With `record` they are written down."""
    known, found, numbers = recorded(), {}, {}
    for name in names:
        mark, begun = Mark(() if record else known.get("numbers", {}).get(name, ())), time.monotonic()
        PARTS[name](mark)
        found[name], numbers[name] = mark.digest(), mark.numbers
        print(f"fingerprint: {name} {found[name]}, {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
    if record:
        hashes = {name: found.get(name) or known["hashes"].get(name) for name in PARTS}
        kept = {"hashes": hashes, "numbers": {**known.get("numbers", {}), **numbers}}
        RECORD.write_text(json.dumps(kept) + "\n", "utf-8")
    if len(found) == len(PARTS):
        found["all"] = _over_all(found)
    return found


def _over_all(hashes: dict[str, str]) -> str:
    whole = Mark()
    whole.add(*[hashes[name] for name in PARTS])
    return whole.digest()


def recorded() -> dict[str, Any]:
    """What is on record: hashes and numbers by part."""
    known: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return known


def changed(found: dict[str, str]) -> list[str]:
    """The parts whose hashes are not those on record."""
    known = recorded()["hashes"]
    return [name for name in PARTS if name in found and found[name] != known.get(name)]


def run() -> dict[str, object]:
    """All parts, and which are not as recorded."""
    found = fingerprint()
    return {**found, "changed": changed(found)}


def main() -> int:
    """`python -m benchmarks.fingerprint [--record] [PART…]`."""
    parser = argparse.ArgumentParser(description="What Paratus does, as hashes; exit code 1 if one has changed.")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--record", action="store_true", help="write the hashes down as those that are expected")
    options = parser.parse_args()
    found = fingerprint(options.parts or tuple(PARTS), record=options.record)
    print(json.dumps(found, indent=2))
    wrong = changed(found)
    if wrong:
        print(f"fingerprint: changed: {', '.join(wrong)} ({RECORD.name} has others)", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

"""Search as a bot does it, in small games: every subgame that can be come to is solved on its own, from a blueprint.

The games have two rounds of betting with a public card between them, as Leduc, but hands and boards are worth what they
are worth at random, and there may be a way to leave at once, so that there are gifts. What is put together of the
solutions is judged by `reference.augmented_games` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from reference.augmented_games import Array, Place, Policy, Worth, best_response, normalised, places, reach, worths
from small_games import Rules, different

from solver.algorithms import CFR_PLUS
from solver.engine import Engine
from solver.gadget_kinds import Form
from solver.gadgets import Gadget, gift
from solver.small import Chance, Decision, Leaf, Node, Path, SmallGame

Round = Callable[[int], Node]
"""What follows a round of betting in which each player has put in so many chips."""


# --- Games ----------------------------------------------------------------------------------------------------------


def two_rounds(seed: int) -> Rules:
    """Four or five cards, one for each player; a public card or none, more likely with some hands than with others."""
    rng = np.random.default_rng(seed)
    cards = int(rng.integers(4, 6))
    joint = different(cards) * rng.uniform(0.5, 1.5, (cards, cards))
    leaves = rng.random() < 0.7

    def first(chips: int) -> Node:
        held = np.arange(cards)
        dealt: dict[str, Array] = {"none": rng.uniform(0.2, 1, (cards, cards))}
        for card in rng.permutation(cards)[: int(rng.integers(1, 3))].tolist():
            free = (held[:, None] != card) & (held != card)
            dealt[f"card {card}"] = free * rng.uniform(0.2, 1, (cards, cards))
        whole = np.sum(list(dealt.values()), axis=0)
        return Chance({name: (share / whole, betting(rng, chips, 1, last)) for name, share in dealt.items()})

    def last(chips: int) -> Node:
        strength = rng.normal(size=cards)
        ordered = np.sign(strength[:, None] - strength)
        return Leaf(chips * (ordered if rng.random() < 0.6 else rng.normal(size=(cards, cards))))

    def leave() -> Node | None:
        return Leaf(rng.normal(0, 1, (cards, cards))) if leaves and rng.random() < 0.7 else None

    return betting(rng, int(rng.integers(1, 3)), 1, first, leave), joint / joint.sum()


def betting(
    rng: np.random.Generator, chips: int, raises: int, after: Round, leave: Callable[[], Node | None] = lambda: None
) -> Node:
    """A round that a random player opens, with one size at a time."""
    opener = int(rng.integers(2))

    def act(actor: int, paid: tuple[int, int], left: int, acted: bool) -> Node:
        owed, called = paid[1 - actor] > paid[actor], max(paid)
        children: dict[str, Node] = {}
        if owed:
            children["f"] = Leaf(-paid[0] if actor == 0 else paid[1])
        children["c"] = after(called) if owed or acted else act(1 - actor, (called, called), left, True)
        if left:
            bigger = called + int(rng.integers(1, 4))
            children["r"] = act(1 - actor, (bigger, called) if actor == 0 else (called, bigger), left - 1, True)
        elsewhere = leave()
        return Decision(actor, children | ({"s": elsewhere} if elsewhere else {}))

    return act(opener, (chips, chips), raises, False)


def after_chance(root: Node) -> list[Path]:
    """The public subgames that begin with the public card."""
    found: list[Path] = []
    waiting: list[tuple[Path, Node]] = [((), root)]
    for path, node in waiting:
        if isinstance(node, Chance):
            found += [(*path, name) for name in node.children]
        elif isinstance(node, Decision):
            waiting += [((*path, name), child) for name, child in node.children.items()]
    return found


# --- Blueprints -----------------------------------------------------------------------------------------------------


def strategies(game: SmallGame, engine: Engine) -> dict[Path, Array]:
    """All averages."""
    return {path: game.strategy(engine, path) for path in game.decisions}


def blueprint(rules: Rules, iterations: int, noise: float, seed: int) -> dict[Path, Array]:
    """Both players' averages after some iterations (uniform after none), mixed with noise that forgets actions too."""
    rng, game = np.random.default_rng(seed), SmallGame(*rules)
    engine = Engine(game, CFR_PLUS(), threads=1)
    engine.iterate(iterations)
    policy = strategies(game, engine)
    wild = {path: normalised(rng.random(p.shape) ** 3 * (rng.random(p.shape) < 0.8)) for path, p in policy.items()}
    return {path: (1 - noise) * p + noise * wild[path] for path, p in policy.items()}


# --- Search ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Technique:
    """How a subgame is solved."""

    form: Form
    gifts: str = ""
    """None; "ends", the lower bounds of 5.1.3; "all", by the exact values of all actions."""

    def __str__(self) -> str:
        return f"{self.form}{'-' if self.gifts else ''}{self.gifts}"


SAFE = [Technique(form, gifts) for form in Form for gifts in ("", "ends", "all")]


@dataclass(slots=True, eq=False)
class Search:
    """Our solutions of subgames, each found alone, within the blueprint."""

    rules: Rules
    blueprint: Policy
    opponent: int
    iterations: int = 600
    policy: dict[Path, Array] = field(init=False)
    places: Mapping[Path, Place] = field(init=False)
    before: Mapping[Path, Worth] = field(init=False)
    """What places are worth to the opponent against the blueprint, if it responds best."""
    slack: float = 0.0
    """By how much more than in exact solutions the opponent may win of the whole game."""

    def __post_init__(self) -> None:
        self.policy = dict(self.blueprint)
        self.places = places(*self.rules)
        self.before = worths(*self.rules, self.blueprint, self.opponent)

    def solve(self, path: Path, technique: Technique, payoffs: Array | None = None) -> Engine | None:
        """One subgame with a gadget, by default with exact alternative payoffs; None where we never come."""
        if payoffs is None:
            payoffs = self.before[path].value + self.gifts(path, technique.gifts)
        return self._solve(path, Gadget(self.opponent, payoffs, technique.form))

    def solve_unsafely(self, path: Path) -> Engine | None:
        """One subgame for the blueprint's range of the opponent."""
        return self._solve(path, None)

    def _solve(self, path: Path, gadget: Gadget | None) -> Engine | None:
        weights = self.weights(path)
        if gadget is None:
            theirs = self._reach(self.opponent, path)
            weights = weights * (theirs[:, None] if self.opponent == 0 else theirs)
        if weights.sum() < 1e-9:
            return None
        game = SmallGame(self.places[path].node, weights / weights.sum())
        engine = Engine(game, threads=1, gadget=gadget)
        engine.iterate(self.iterations)
        for below, node in game.decisions.items():
            if node.player != self.opponent:
                self.policy[(*path, *below)] = game.strategy(engine, below)
        # The opponent wins at most twice the exploitability more than at the equilibrium, where it wins no more than
        # before; and what it wins in all subgames together is at most the sum of that.
        self.slack += float(weights.sum()) * (2 * engine.exploitability().chips + 1e-5)
        return engine

    def weights(self, path: Path) -> Array:
        """[hand of player 0, hand of player 1] chance times our reach."""
        ours = self._reach(1 - self.opponent, path)
        return self.places[path].chance * (ours if self.opponent == 0 else ours[:, None])

    def gifts(self, path: Path, which: str) -> Array:
        """[hand] what the opponent has given away on the way there."""
        total = np.zeros(len(self.before[()].value))
        for number, name in enumerate(path if which else ()):
            node = self.places[path[:number]].node
            if isinstance(node, Decision) and node.player == self.opponent:
                values = np.array([self.before[*path[:number], action].value for action in node.children])
                ends = [action for action, child in enumerate(node.children.values()) if isinstance(child, Leaf)]
                total += gift(values, list(node.children).index(name), ends if which == "ends" else None)
        return total

    def _reach(self, player: int, path: Path) -> Array:
        return reach(self.rules[0], self.blueprint, player, path, self.rules[1].shape[player])

    def exploited(self, policy: Policy | None = None) -> float:
        """What a best response to ours (or to another policy) wins."""
        return best_response(*self.rules, self.policy if policy is None else policy, self.opponent)

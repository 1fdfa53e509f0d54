"""Search in small games by linear programmes and float64 walks: what `solver.gadgets` must come to.

One player, here `opponent`, tries to do best against us, the other one. Its best response from a place on is worth

    u(end)      = sum over our hands of chance x our reach x what it wins
    u(ours)     = sum of u over our actions, as chance nodes
    u(its own)  = max of u over its actions, for each of its hands

Our side of that is linear in sequences (probabilities of all our actions so far, see `sequence_form.py`), so that
whatever is linear in u, once the max is written as >=, is a linear programme: the least margin (Maxmargin), what it
gets if it may take an alternative payoff instead of entering (Resolve), or the best response to the whole game. Random
alternative payoffs are many alternative payoffs. scipy's HiGHS solves them; nothing is shared with `solver` but the
dataclasses of public trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from reference.slow_small_game import Act, End, History, Nature, histories, picked
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import norm

from solver.small import Chance, Decision, Leaf, Node, Path

Array = npt.NDArray[np.float64]
Policy = Mapping[Path, Array]
"""[action, hand] probabilities by path."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Somewhere in a public tree."""

    node: Node
    chance: Array
    """[hand of player 0, hand of player 1] how probable the deal and public chance make it."""


def places(root: Node, joint: Array, path: Path = ()) -> dict[Path, Place]:
    """All of them, parents first."""
    found = {path: Place(root, joint)}
    match root:
        case Decision(_, children):
            for name, child in children.items():
                found |= places(child, joint, (*path, name))
        case Chance(outcomes):
            for name, (share, child) in outcomes.items():
                found |= places(child, np.where(joint > 0, joint * np.asarray(share, float), 0.0), (*path, name))
        case Leaf():
            pass
    return found


def reach(root: Node, policy: Policy, player: int, path: Path, hands: int) -> Array:
    """[hand] the probability that a player's own actions lead there."""
    node, product = root, np.ones(hands)
    for number, name in enumerate(path):
        assert not isinstance(node, Leaf)
        if isinstance(node, Decision) and node.player == player:
            product = product * policy[path[:number]][list(node.children).index(name)]
        node = node.children[name]
    return product


def against_us(numbers: Array, opponent: int) -> Array:
    """[opponent's hand, our hand]."""
    return numbers if opponent == 0 else numbers.T


def winnings(leaf: Leaf, shape: tuple[int, ...], opponent: int) -> Array:
    """[opponent's hand, our hand] what the opponent wins."""
    won = np.broadcast_to(np.asarray(leaf.payoff, float), shape)
    return won if opponent == 0 else -won.T


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """What a place is worth to the opponent."""

    value: Array
    """[hand] chips, if it is reached with the hand; zero where it cannot be."""
    weight: Array
    """[hand] the probability of that by chance and by our actions."""


def worths(
    node: Node, weights: Array, policy: Policy, opponent: int, path: Path = (), *, best: bool = True
) -> dict[Path, Worth]:
    """Of all places from `path` on, with `weights` [hand 0, hand 1], against our `policy`.

    The opponent responds best in every place (a counterfactual best response), or plays its part of the policy.
    """
    found: dict[Path, Worth] = {}

    def walk(node: Node, weights: Array, path: Path) -> Array:
        match node:
            case Leaf():
                total = (winnings(node, weights.shape, opponent) * against_us(weights, opponent)).sum(axis=1)
            case Chance(outcomes):
                shares = {
                    name: np.where(weights > 0, weights * np.asarray(p), 0.0) for name, (p, _) in outcomes.items()
                }
                total = sum([walk(child, shares[name], (*path, name)) for name, (_, child) in outcomes.items()])
            case Decision(player, children) if player == opponent:
                each = np.array([walk(child, weights, (*path, name)) for name, child in children.items()])
                total = each.max(axis=0) if best else (policy[path] * each).sum(axis=0)
            case Decision(_, children):
                ours = policy[path][:, :, None] if opponent == 1 else policy[path][:, None, :]
                pairs = zip(children.items(), ours, strict=True)
                total = sum([walk(child, weights * played, (*path, name)) for (name, child), played in pairs])
        weight = against_us(weights, opponent).sum(axis=1)
        found[path] = Worth(np.divide(total, weight, out=np.zeros_like(weight), where=weight > 0), weight)
        return np.asarray(total)

    walk(node, weights, path)
    return found


def best_response(root: Node, joint: Array, policy: Policy, opponent: int) -> float:
    """What the opponent wins by responding best in the whole game."""
    whole = worths(root, joint, policy, opponent)[()]
    return float(whole.value @ whole.weight)


# --- Linear programmes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The best that we can do."""

    value: float
    """Of what is optimised, in chips."""
    values: Array
    """[opponent's hand] what its best response to the policy found is worth; zero for one that cannot be."""
    policy: dict[Path, Array]
    """Ours."""


class Programme:
    """All of our strategies in a tree at once; those of the decisions in `fixed` do not change.

    `weights` [hand 0, hand 1] are chance times our reach before it, of any sum.
    """

    def __init__(self, root: Node, weights: Array, opponent: int, fixed: Policy | None = None) -> None:
        self.root, self.weights, self.opponent = root, weights, opponent
        self.weight = against_us(weights, opponent).sum(axis=1)
        """[opponent's hand]"""
        self._fixed = fixed or {}
        self._lower: list[float | None] = []
        self._equal, self._less = _Rows(), _Rows()
        self._sequences: dict[tuple[Path, str], range] = {}
        self._root = self._walk(root, weights, (), None)

    def least_margin(self, payoffs: Sequence[float] | Array) -> Optimum:
        """Maxmargin: the largest least difference between alternative payoffs and what entering is worth."""
        margin = self._variables(1, None)[0]
        for hand, (payoff, weight) in enumerate(zip(payoffs, self.weight, strict=True)):
            if weight > 0:
                self._less.add({margin: weight, self._root[hand]: 1.0}, payoff * weight)
        found = self._solve({margin: -1.0})
        return Optimum(-found.value, found.values, found.policy)

    def resolve(self, payoffs: Sequence[Sequence[float] | Array] | Array) -> Optimum:
        """Resolve: the least that the opponent wins on average if it may take `payoffs` [outcome, hand] instead.

        All outcomes are equally probable, and the opponent knows which it is before it chooses; one is Resolve itself.
        """
        goal, share = {}, 1 / self.weight.sum() / len(payoffs)
        for outcome in payoffs:
            for hand, (payoff, weight) in enumerate(zip(outcome, self.weight, strict=True)):
                if weight > 0:
                    taken = self._variables(1, payoff * weight)[0]
                    self._less.add({self._root[hand]: 1.0, taken: -1.0}, 0.0)
                    goal[taken] = share
        return self._solve(goal)

    def best_response(self) -> Optimum:
        """The least that the opponent wins on average by responding best. It maximises the sum of all margins too."""
        return self._solve(dict.fromkeys(self._root, 1 / self.weight.sum()))

    def _walk(self, node: Node, weights: Array, path: Path, before: range | None) -> range:
        """The variables [opponent's hand] of what a place is worth, after our sequence of variables `before`."""
        place = self._variables(len(self.weight), None)
        match node:
            case Leaf():
                pays = winnings(node, weights.shape, self.opponent) * against_us(weights, self.opponent)
                for hand, row in zip(place, pays, strict=True):
                    if before is None:
                        self._equal.add({hand: 1.0}, row.sum())
                    else:
                        self._equal.add({hand: -1.0} | dict(zip(before, row, strict=True)), 0.0)
            case Chance(outcomes):
                shares = {
                    name: np.where(weights > 0, weights * np.asarray(p), 0.0) for name, (p, _) in outcomes.items()
                }
                self._sum(
                    place, [self._walk(c, shares[name], (*path, name), before) for name, (_, c) in outcomes.items()]
                )
            case Decision(player, children) if player == self.opponent:
                for name, child in children.items():
                    for best, each in zip(place, self._walk(child, weights, (*path, name), before), strict=True):
                        self._less.add({each: 1.0, best: -1.0}, 0.0)
            case Decision(_, children):
                ours = [self._variables(weights.shape[1 - self.opponent], 0.0) for _ in children]
                self._split(ours, before, self._fixed.get(path))
                self._sequences |= {(path, name): each for name, each in zip(children, ours, strict=True)}
                pairs = zip(children.items(), ours, strict=True)
                self._sum(place, [self._walk(child, weights, (*path, name), each) for (name, child), each in pairs])
        return place

    def _variables(self, count: int, lower: float | None) -> range:
        self._lower += [lower] * count
        return range(len(self._lower) - count, len(self._lower))

    def _sum(self, place: range, parts: Sequence[range]) -> None:
        for hand, variable in enumerate(place):
            self._equal.add({variable: -1.0} | {part[hand]: 1.0 for part in parts}, 0.0)

    def _split(self, ours: Sequence[range], before: range | None, fixed: Array | None) -> None:
        """Our actions after a sequence: they add up to it, in given proportions if they are fixed."""
        for hand in range(len(ours[0])):
            for number, each in enumerate(ours if fixed is not None else ours[:1]):
                row = {each[hand]: 1.0} if fixed is not None else {every[hand]: 1.0 for every in ours}
                share = fixed[number, hand] if fixed is not None else 1.0
                if before is not None:
                    row[before[hand]] = -share
                self._equal.add(row, share if before is None else 0.0)

    def _solve(self, goal: Mapping[int, float]) -> Optimum:
        costs = np.zeros(len(self._lower))
        costs[list(goal)] = list(goal.values())
        answer = linprog(
            costs,
            **self._less.matrix("ub", len(costs)),
            **self._equal.matrix("eq", len(costs)),
            bounds=[(lower, None) for lower in self._lower],
            method="highs",
        )
        assert answer.success, answer.message
        policy = self._behaviour(np.maximum(answer.x, 0.0))
        values = worths(self.root, self.weights, policy, self.opponent)[()].value
        return Optimum(float(answer.fun), values, policy)

    def _behaviour(self, x: Array) -> dict[Path, Array]:
        """Probabilities of actions: in proportion to sequences, uniform where we never come."""
        by_path: dict[Path, list[Array]] = {}
        for (path, _), variables in self._sequences.items():
            by_path.setdefault(path, []).append(x[list(variables)])
        policy = {path: normalised(np.array(rows)) for path, rows in by_path.items()}
        return policy | dict(self._fixed)


class _Rows:
    """A sparse matrix and a right side, row by row."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, float]] = []
        self._right: list[float] = []

    def add(self, row: Mapping[int, float], right: float) -> None:
        self._entries += [(len(self._right), column, number) for column, number in row.items()]
        self._right.append(right)

    def matrix(self, name: str, columns: int) -> dict[str, object]:
        """As `linprog` takes it."""
        if not self._right:
            return {}
        rows, places, numbers = zip(*self._entries, strict=True)
        shape = (len(self._right), columns)
        return {f"A_{name}": coo_array((numbers, (rows, places)), shape=shape).tocsr(), f"b_{name}": self._right}


def normalised(sums: Array) -> Array:
    """[action, hand] in proportion to sums, uniform where there is nothing."""
    total = sums.sum(axis=0)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), 1 / len(sums))


# --- Alternative payoffs that are random ----------------------------------------------------------------------------


def outcomes_of_normals(means: Array, spreads: Array, count: int) -> Array:
    """[outcome, hand] equally probable stand-ins for normal distributions: the mean of each of `count` equal parts.

    A player that may choose never gains by knowing less, so with these Resolve is worth at most what it is worth with
    the normal distributions, and nearly that.
    """
    cuts = norm.pdf(norm.ppf(np.linspace(0, 1, count + 1)))
    units = count * (cuts[:-1] - cuts[1:])
    return np.asarray(means + spreads * units[:, None])


def with_a_choice(values: Array, means: Array, spreads: Array) -> Array:
    """[hand] the mean of max(X, value), X normal."""
    above = (values - means) / spreads
    return np.asarray(values * norm.cdf(above) + means * norm.cdf(-above) + spreads * norm.pdf(above))


# --- Gadgets as games of histories ----------------------------------------------------------------------------------


def resolve_histories(root: Node, weights: Array, payoffs: Array, opponent: int) -> History:
    """Resolve: after the deal the opponent enters with its hand, or takes the hand's payoff."""
    deal = histories(root, weights / weights.sum())
    assert isinstance(deal, Nature)
    hands = np.argwhere(weights > 0)[:, opponent].tolist()
    ends = [End(float(payoff if opponent == 0 else -payoff)) for payoff in payoffs]
    choices: list[tuple[float, History]] = [
        (p, Act(opponent, ("gadget", hand), [child, ends[hand]]))
        for hand, (p, child) in zip(hands, deal.outcomes, strict=True)
    ]
    return Nature(choices)


def maxmargin_histories(root: Node, weights: Array, payoffs: Array, opponent: int) -> History:
    """Maxmargin: the opponent picks the hand with which it enters, and pays its alternative payoff for that."""
    after = less(root, payoffs, opponent, weights.shape[1 - opponent])
    return picked(after, weights / weights.sum(), opponent, [0] * len(payoffs))


def less(node: Node, payoffs: Array, opponent: int, ours: int) -> Node:
    """The same tree with all that a hand of the opponent wins less its payoff; we have so many hands."""
    each = np.repeat(-payoffs[:, None], ours, axis=1) if opponent == 0 else np.repeat(payoffs[None], ours, axis=0)

    def walk(node: Node) -> Node:
        match node:
            case Leaf(payoff):
                return Leaf(np.asarray(payoff) + each)
            case Decision(player, children):
                return Decision(player, {name: walk(child) for name, child in children.items()})
            case Chance(outcomes):
                return Chance({name: (p, walk(child)) for name, (p, child) in outcomes.items()})

    return walk(node)

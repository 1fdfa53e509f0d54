"""Hands of local best response: against baselines, what they win on average, and what the agent is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import pytest
from agents import agent_of, make_quick

from dealer_tools.lbr import hand
from dealer_tools.lbr.hand import Played, Players
from dealer_tools.lbr.settings import Setting
from dealer_tools.results import Estimate
from protocol.cards import Card
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Game, load_game
from protocol.hands import hands_of
from protocol.state import Deal, Raise
from strategies.draws import Draws
from strategies.players.baselines import AlwaysCall, Random
from strategies.policy import Policy, round_columns
from strategies.registry import open_agent
from strategies.strategy import Budget, Spot, Strategy

HOLDEM = load_game(DEFAULT_GAME).game
LEDUC = load_game("leduc").game
CHIPS = ("chips", "mean_chips")


def deals(game: Game, count: int, seed: int = 3) -> list[Deal]:
    stream = CardStream(game, seed)
    return [stream.deal() for _ in range(count)]


def play(game: Game, setting: str, agent: str | Strategy, dealt: list[Deal]) -> list[tuple[Played, Played]]:
    opened = open_agent(agent, game) if isinstance(agent, str) else agent_of(agent, game)
    players = Players(Setting(setting), opened, 7)
    return [players.pair(number, deal) for number, deal in enumerate(dealt)]


def swapped(deal: Deal) -> Deal:
    return Deal((deal.hole[1], deal.hole[0]), deal.board)


# --- Baselines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["fcpa-late", "56-late", "56-flop", "modicum-a", "modicum-b"])
def test_always_fold_loses_750(setting):
    """With the big blind at once, with the small blind to the first bet: never more, never less."""
    pairs = play(HOLDEM, setting, "always-fold", deals(HOLDEM, 20))
    assert {(first.chips, second.chips) for first, second in pairs} == {(50.0, 100.0)}
    assert {(first.mean_chips, second.mean_chips) for first, second in pairs} == {(50.0, 100.0)}


def test_fold_or_call_wins_250_of_always_fold():
    """It never bets: what it wins is the small blind, every other hand; hands that are checked down are even."""
    dealt = deals(HOLDEM, 20)
    pairs = play(HOLDEM, "fc", "always-fold", [*dealt, *map(swapped, dealt)])
    assert {first.chips for first, _ in pairs} == {50.0}
    assert {second.betting for _, second in pairs} == {"cc/cc/cc/cc"}
    assert {abs(second.chips) for _, second in pairs} <= {0.0, 100.0}
    chips = math.fsum(played.chips for pair in pairs for played in pair)
    assert 1000 * chips / HOLDEM.big_blind / (2 * len(pairs)) == 250


def test_fold_or_call_wins_nothing_of_always_call():
    dealt = deals(HOLDEM, 20)
    pairs = play(HOLDEM, "fc", "always-call", [*dealt, *map(swapped, dealt)])
    assert math.fsum(played.chips for pair in pairs for played in pair) == 0


@pytest.mark.parametrize(("agent", "setting"), [("always-call", "fcpa-late"), ("random", "fc"), ("all-in", "fc")])
def test_baselines_lose(agent, setting):
    """By far more than chance, on average over what they could hold."""
    pairs = play(LEDUC, setting, agent, deals(LEDUC, 400))
    won = Estimate.of([sum(played.mean_chips for played in pair) for pair in pairs])
    assert won.mean_mbb > 6 * won.se_mbb


def test_ranges_are_never_empty(monkeypatch):
    """And the hand that the agent holds is always in its range, with a weight worth the name."""
    held, kept = [], []

    def narrowed(weights, policy, action):
        left = _after(weights, policy, action)
        kept.append(left[held[-1]])
        return left

    _after = hand.after
    monkeypatch.setattr(hand, "after", narrowed)
    for setting in Setting:
        for number, deal in enumerate(deals(HOLDEM, 10)):
            players = Players(setting, agent_of(Random(), HOLDEM), 7)
            for seat in (0, 1):
                held.append(hands_of(HOLDEM).column(deal.hole[1 - seat]))
                players._play(number, deal, seat)
    assert len(kept) > 100
    assert min(kept) == 1  # a strategy that does not look at its cards leaves all hands alike


# --- Imaginary observations -----------------------------------------------------------------------------------------


def all_deals(game: Game) -> list[Deal]:
    """Of Leduc."""
    return [Deal(((Card(a),), (Card(b),)), (Card(c),)) for a, b, c in permutations(game.deck(), 3)]


def test_imaginary_observations_have_the_same_mean_over_all_deals():
    pairs = play(LEDUC, "fcpa-late", AlwaysCall(), all_deals(LEDUC))
    assert len(pairs) == 120
    raw, mean = (math.fsum(getattr(each, name) for pair in pairs for each in pair) for name in CHIPS)
    assert raw == pytest.approx(mean)
    assert raw > 0
    assert any(each.chips != each.mean_chips for pair in pairs for each in pair)


def test_imaginary_observations_are_unbiased_and_vary_less():
    """Of an agent that looks at its cards; the difference within four standard errors.

    Hands vary less, pairs of them need not: what two hands with the same cards win cancels better for real.
    """
    pairs = play(LEDUC, "fcpa-late", Peeking(), deals(LEDUC, 600))
    apart = Estimate.of([sum(each.chips - each.mean_chips for each in pair) for pair in pairs])
    assert apart.sd_mbb > 0
    assert abs(apart.mean_mbb) < 4 * apart.se_mbb
    raw, mean = (Estimate.of([getattr(each, name) for pair in pairs for each in pair]) for name in CHIPS)
    assert 0 < mean.sd_mbb < raw.sd_mbb


class Peeking(Random):
    """Its last two cards raise more, its first two fold more, or call where it cannot fold."""

    name = "peeking"

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        policy = super().policy(spot, budget, draws)
        shares = np.repeat(policy.weights.astype(float), 6, axis=1)
        shares[0, :2] *= 4
        shares[-1, 4:] *= 3
        shares[:, [column for column, card in enumerate(sorted(LEDUC.deck())) if card in spot.board]] = 0
        return Policy(policy.support, round_columns(shares), policy.origin)


# --- The agent's chair ----------------------------------------------------------------------------------------------


@dataclass
class Listening:
    """Calls, and remembers what it was asked."""

    name = "listening"
    asked: list[tuple[Spot, int, int]] = field(default_factory=list)

    def identity(self) -> dict[str, str]:
        return {}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        self.asked.append((spot, draws.word(), draws.of_hand("translation 0").word()))
        return AlwaysCall().policy(spot, budget, draws)


def test_the_agent_is_asked_as_in_a_match():
    listening = Listening()
    deal = deals(HOLDEM, 1)[0]
    play(HOLDEM, "fc", listening, [deal])
    forward = [each for each in listening.asked if each[0].position == 1]
    assert [spot.state.betting for spot, _, _ in forward] == ["", "cc/c", "cc/cc/c", "cc/cc/cc/c"]
    for number, (spot, word, of_hand) in enumerate(forward):
        assert spot.board == deal.board[: (0, 3, 4, 5)[number]]
        assert [decided.state for decided in spot.past] == [before.state for before, _, _ in forward[:number]]
        draws = Draws(7, "lbr/forward", 0, len(spot.state.actions), "strategy")
        assert (word, of_hand) == (draws.word(), draws.of_hand("translation 0").word())


def test_bets_that_are_only_considered_have_draws_of_their_own():
    """Else it would bet the size that the agent is about to take for another one."""
    listening = Listening()
    play(HOLDEM, "fcpa-late", listening, deals(HOLDEM, 1))
    bets: dict[str, list[tuple[int, int]]] = {}
    for spot, word, of_hand in listening.asked:
        if spot.position == 1 and any(isinstance(action, Raise) for action in spot.state.actions):
            bets.setdefault(spot.state.betting, []).append((word, of_hand))
    assert {betting[-6:] for betting in bets} >= {"r20000"}
    assert {len(words) for words in bets.values()} == {3, 4}  # considered, and some of them made
    assert all(len({of_hand for _, of_hand in words}) == len(words) for words in bets.values())


def test_an_agent_that_fails_is_replaced_and_counted():
    class Failing(Listening):
        def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
            raise RuntimeError("no")

    ((first, second),) = play(HOLDEM, "fcpa-late", Failing(), deals(HOLDEM, 1))
    assert (first.chips, second.chips) == (50, 100)
    assert first.fallbacks == 1
    assert second.fallbacks >= 1


def test_a_search_with_fixed_iterations_repeats_itself():
    dealt = deals(HOLDEM, 1)
    once, again = (play(HOLDEM, "fcpa-late", make_quick("nested", HOLDEM), dealt) for _ in range(2))
    assert once == again
    assert sum(each.fallbacks for pair in once for each in pair) == 0

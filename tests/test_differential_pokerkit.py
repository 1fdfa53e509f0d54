"""Our showdowns against pokerkit's: random no-limit hold'em hands of two to six players, stacks unequal, pots aside.

Chips are the same whole numbers on both sides. pokerkit gives odd chips to the first winner, we split exactly; so its
division is replaced by an exact one (a parameter it offers) and its payoffs are fractions. Ours are doubles that may
differ from them by rounding alone.

Hands are walked in lockstep, so the betting is compared on the way: whose turn it is, fold, the bounds of a raise.
pokerkit plays by the rules of live tournaments, ours are those of the reference dealer. They part in three places, and
only there is the comparison loosened:

- After an all-in for less than a full raise, until the next full raise of the street: pokerkit adds the last full raise
  to that all-in, and does not let those who have acted raise again; the reference does neither (it keeps the minimum
  raise-to and lets everyone raise). Theirs must then be a part of ours, and the walk stays inside it.
- When nobody else could put in more than the maximum, stack and all: pokerkit forbids the raise, the reference allows
  it while two players have chips behind.
- In the same case a player who owes nothing before the flop (others are all-in for their blinds, or cannot cover his)
  is not asked by pokerkit; the reference asks, and we check.

Antes are left out: ACPC has no such word, and an ante given as a blind counts towards the smallest raise. So are the
cap of 64 actions and games that pokerkit cannot express: `test_differential_open_spiel` has them.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from differential_play import SHARES, note_showdown, random_action
from pokerkit import Automation, NoLimitTexasHoldem
from pokerkit import Card as TheirCard

from protocol.cards import Card, card_text, deck, parse_cards
from protocol.game import Game, GameError, Position
from protocol.ranking import hand_rank
from protocol.state import (
    CALL,
    Call,
    Deal,
    Fold,
    Raise,
    RaiseBounds,
    State,
    apply,
    can_fold,
    payoffs,
    raise_bounds,
    split_pots,
    start,
)

SHOWDOWNS = {2: 1_000, 3: 1_100, 4: 1_200, 5: 1_200, 6: 1_200}
"""Showdowns in lockstep, by the number of players, as a proof; see `SHARES`."""

SPLITS = 400
"""Showdowns in which only the pots are split, for each number of players, as a proof."""

AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)
THEIR_CARDS = {card: next(TheirCard.parse(card_text(card))) for card in deck()}
BROADWAY = parse_cards("AsKdQhJcTs")
"""A board that nearly everyone ties on."""


def exact_divmod(dividend, divisor):
    return Fraction(dividend, divisor), 0


# --- The two sides --------------------------------------------------------------------------------------------------


def random_deal(rng: random.Random, players: int) -> Deal:
    """Cards of one hand; often from five ranks or on a board that plays, for the sake of ties."""
    cards, board = list(deck()), ()
    style = rng.randrange(4)
    if style == 0:
        ranks = rng.sample(range(13), 5)
        cards = [card for card in cards if card // 4 in ranks]
    elif style == 1 and rng.random() < 0.3:
        board = BROADWAY
        cards = [card for card in cards if card not in board]
    drawn = rng.sample(cards, 2 * players + 5)
    hole = tuple((drawn[2 * player], drawn[2 * player + 1]) for player in range(players))
    return Deal(hole, board or tuple(drawn[-5:]))


def random_game(rng: random.Random, players: int) -> Game:
    """A table with unequal stacks, some too short for the blind."""
    small = rng.choice((1, 5, 50))
    big = 2 * small + rng.choice((0, 0, 1))
    blinds = [big, small] if players == 2 else [small, big] + [0] * (players - 2)
    straddle = players > 2 and rng.random() < 0.2
    if straddle:
        blinds[2] = 2 * big
    first = 1 if players == 2 else (2 + straddle) % players
    while True:
        deepest = big * rng.choice((3, 10, 40, 200))
        stacks = [rng.randint(1, deepest) if rng.random() < 0.9 else deepest for _ in range(players)]
        try:
            return Game(
                no_limit=True,
                num_players=players,
                num_rounds=4,
                blind=tuple(map(min, blinds, stacks)),
                stack=tuple(stacks),
                first_player=(Position(first), Position(0), Position(0), Position(0)),
                raise_size=(),
                max_raises=(255,) * 4,
                num_suits=4,
                num_ranks=13,
                num_hole_cards=2,
                num_board_cards=(0, 3, 1, 1),
            )
        except GameError:  # all-in by the blinds, every one of them
            continue


def pokerkit_hand(blinds: tuple[int, ...], stacks: tuple[int, ...], deal: Deal):
    """Their table, dealt and about to bet."""
    players = len(stacks)
    theirs = NoLimitTexasHoldem.create_state(
        AUTOMATIONS,
        False,
        0,
        blinds[::-1] if players == 2 else blinds,  # heads-up it names the button's blind first
        max(blinds),
        stacks,
        players,
        divmod=exact_divmod,
    )
    for hole in deal.hole:
        theirs.deal_hole([THEIR_CARDS[card] for card in hole])
    return theirs


def deal_boards(theirs, board: tuple[Card, ...]) -> None:
    """As many streets as they ask for now."""
    while theirs.can_burn_card():
        theirs.burn_card("??")
        known = sum(map(len, theirs.board_cards))
        theirs.deal_board([THEIR_CARDS[card] for card in board[known : known + (3 if known == 0 else 1)]])


def their_raise_bounds(theirs, before_street: int) -> RaiseBounds | None:
    """As raise-to over the whole hand; theirs count the street alone."""
    low = theirs.min_completion_betting_or_raising_to_amount
    if low is None:
        return None
    return RaiseBounds(low + before_street, theirs.max_completion_betting_or_raising_to_amount + before_street)


def raise_would_be_idle(state: State) -> bool:
    """True when no other player could put in more than the maximum."""
    return not any(
        stack > state.maximum and not gone
        for position, (stack, gone) in enumerate(zip(state.game.stack, state.folded, strict=True))
        if position != state.actor
    )


def assert_same_payoffs(ours, theirs) -> None:
    assert sum(theirs) == 0
    assert all(abs(Fraction(our) - their) < Fraction(1, 10**9) for our, their in zip(ours, theirs, strict=True)), (
        ours,
        theirs,
    )


def play_hand(game: Game, deal: Deal, rng: random.Random, weights, seen: Counter) -> None:
    """One hand in lockstep, at random."""
    state, theirs = start(game), pokerkit_hand(game.blind, game.stack, deal)
    before_street, short_all_in, street = 0, False, 0
    while not state.finished:
        if state.street > street:
            street, before_street, short_all_in = state.street, state.maximum, False
            deal_boards(theirs, deal.board)
        if theirs.actor_index != state.actor:
            assert state.street == 0
            assert state.owed == 0
            assert raise_would_be_idle(state)
            seen["idle checks"] += 1
            state = apply(state, CALL)
            continue
        bounds, their_bounds = raise_bounds(state), their_raise_bounds(theirs, before_street)
        assert theirs.can_fold() == can_fold(state)
        assert theirs.checking_or_calling_amount == state.owed
        if raise_would_be_idle(state):
            assert their_bounds is None
            seen["idle raises"] += bounds is not None
        elif short_all_in:
            seen["after a short all-in"] += 1
            if their_bounds is not None:
                assert bounds is not None
                assert bounds.low <= their_bounds.low
                assert bounds.high == their_bounds.high
        else:
            assert their_bounds == bounds
            seen["bounds"] += bounds is not None
        full_raise = max(theirs.completion_betting_or_raising_amount, game.big_blind)
        action = random_action(rng, state, their_bounds, weights)
        match action:
            case Fold():
                theirs.fold()
            case Call():
                theirs.check_or_call()
            case Raise(to):
                assert their_bounds is not None
                theirs.complete_bet_or_raise_to(to - before_street)
                short_all_in = to - state.maximum < full_raise
        seen["decisions"] += 1
        state = apply(state, action)
    deal_boards(theirs, deal.board)
    assert not theirs.status
    assert_same_payoffs(payoffs(state, deal), theirs.payoffs)
    seen["hands"] += 1
    if state.showdown:
        note_showdown(state.committed, state.folded, deal, seen)


# --- Whole hands ----------------------------------------------------------------------------------------------------


def test_5_000_showdowns_and_more() -> None:
    assert sorted(SHOWDOWNS) == [2, 3, 4, 5, 6]
    assert sum(SHOWDOWNS.values()) >= 5_000


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("players", SHOWDOWNS)
def test_random_hands(players, share):
    rng, showdowns = random.Random(players), share * SHOWDOWNS[players]
    seen: Counter = Counter()
    while seen["showdowns"] < showdowns:
        game, deal = random_game(rng, players), random_deal(rng, players)
        weights = rng.choice(((0.2, 1, 1), (0.2, 1, 0.4), (1, 1, 1)))
        try:
            play_hand(game, deal, rng, weights, seen)
        except AssertionError as error:
            raise AssertionError(f"after {seen['hands']} hands of seed {players}: {game} {deal}: {error}") from error
    assert seen["ties"] > showdowns // 20
    assert seen["bounds"] > showdowns
    if players > 2:
        assert seen["side pots"] > showdowns // 5
        assert seen["dead money"] > showdowns // 5
        assert min(seen["after a short all-in"], seen["idle raises"]) > 20 * share
        assert seen["after a short all-in"] < seen["bounds"] // 5
    assert 0 < seen["idle checks"] < showdowns // 2
    if players > 3:
        assert min(seen["two side pots"], seen["three-way ties"]) > showdowns // 100


# --- Pots alone -----------------------------------------------------------------------------------------------------


def random_commitments(rng: random.Random, players: int) -> tuple[list[int], list[bool]]:
    """Chips in the pot and who has folded: at least two are left, one of whom has put in the most."""
    levels = [rng.randint(1, 1_000) for _ in range(rng.randint(1, players))]
    committed = [rng.choice(levels) for _ in range(players)]
    folded = [chips < max(committed) and rng.random() < 0.4 for chips in committed]
    for position in rng.sample(range(players), players):
        if folded.count(False) >= 2:
            break
        folded[position] = False
    return committed, folded


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("players", range(2, 7))
def test_pots_alone(players, share):
    """Everyone's chips are posted as blinds; those who fold have some left to fold with, the others are all-in."""
    rng, splits = random.Random(f"pots of {players}"), int(share * SPLITS)
    seen: Counter = Counter()
    for _ in range(splits):
        (committed, folded), deal = random_commitments(rng, players), random_deal(rng, players)
        stacks = [chips + gone * rng.randint(1, 500) for chips, gone in zip(committed, folded, strict=True)]
        theirs = pokerkit_hand(tuple(committed), tuple(stacks), deal)
        while theirs.actor_index is not None:
            assert folded[theirs.actor_index]
            theirs.fold()
        deal_boards(theirs, deal.board)
        assert not theirs.status
        ranks = [-1 if gone else hand_rank((*hole, *deal.board)) for hole, gone in zip(deal.hole, folded, strict=True)]
        assert_same_payoffs(split_pots(tuple(committed), ranks), theirs.payoffs)
        note_showdown(committed, folded, deal, seen)
    assert seen["ties"] > splits // 20
    if players > 2:
        assert min(seen["side pots"], seen["dead money"]) > splits // 8

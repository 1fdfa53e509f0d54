"""MATCHSTATE lines and replies: every state of random hands round trips, everything else is refused with its reason."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from random_play import random_deal, random_game, random_hand

from protocol.cards import parse_cards
from protocol.errors import RemoteProtocolError
from protocol.game import Game, Position, load_game
from protocol.state import CALL, FOLD, Deal, Raise, State, action_text, apply, raise_bounds, replay, start
from protocol.wire import (
    MAX_LINE_BYTES,
    MatchState,
    WireError,
    board_text,
    deal_text,
    match_state_text,
    parse_action,
    parse_deal,
    parse_match_state,
    read_betting,
    reply_text,
    view,
)

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
THREE = load_game("holdem.nolimit.3p").game
LIMIT = load_game("holdem.limit.2p.reverse_blinds").game
LEDUC = load_game("leduc").game


@pytest.mark.parametrize("seed", range(300))
def test_every_view_of_every_state_round_trips(seed: int) -> None:
    """What is read equals what was written, also from an earlier state, and so does the answer."""
    rng = Random(seed)
    game = random_game(rng)
    played = random_hand(rng, game)
    hand = rng.choice((0, 7, 3_000, 2**32 - 1))
    for number, state in enumerate(played.states):
        position = Position(rng.randrange(game.num_players))
        written = MatchState(position, hand, state, view(state, played.deal, position))
        line = match_state_text(written)
        assert len(line) <= MAX_LINE_BYTES
        assert parse_match_state(line, game) == written
        earlier = played.states[rng.randint(0, number)]
        assert parse_match_state(line, game, earlier) == written
        other = played.states[rng.randrange(len(played.states))]
        assert parse_match_state(line, game, other) == written
        assert written.acting == (state.actor == position)
        if not state.finished:
            action = played.actions[number]
            reply = reply_text(written, action)
            assert reply == f"{line}:{action_text(action, game)}"
            assert parse_action(reply.rpartition(":")[2], state) == action


@pytest.mark.parametrize("seed", range(100))
def test_views_show_what_the_rules_show(seed: int) -> None:
    """Before the end only one's own cards; at a showdown those who did not fold; the board street by street."""
    rng = Random(seed)
    game = random_game(rng)
    played = random_hand(rng, game)
    for state in played.states:
        for position in range(game.num_players):
            seen = view(state, played.deal, position)
            assert seen.hole[position] == played.deal.hole[position]
            for other in set(range(game.num_players)) - {position}:
                shown = state.showdown and not state.folded[other]
                assert seen.hole[other] == (played.deal.hole[other] if shown else ())
            assert len(seen.board) == sum(game.num_board_cards[: len(state.history)])
            assert seen.board == played.deal.board[: len(seen.board)]


def test_the_examples_of_the_specification() -> None:
    line = "MATCHSTATE:1:31:r300r900c/r1800:|JdTc/6dJc9c"
    seen = parse_match_state(line, HOLDEM)
    assert (seen.position, seen.hand, seen.acting) == (1, 31, True)
    assert seen.state == replay(HOLDEM, [Raise(300), Raise(900), CALL, Raise(1800)])
    assert seen.deal == Deal(((), parse_cards("JdTc")), parse_cards("6dJc9c"))
    assert reply_text(seen, FOLD) == f"{line}:f"
    # Sizes count the whole hand: 100 before the flop, 150 more on it, 250 more on the turn.
    state = read_betting(start(HOLDEM), "cc/r250c/r500c/")
    assert state.committed == (500, 500)
    assert state.street == 3
    # An all-in call pads the streets that are not played.
    assert read_betting(start(HOLDEM), "r20000c///").showdown
    assert replay(HOLDEM, [CALL, CALL, CALL, CALL, CALL, Raise(20_000), CALL]).betting == "cc/cc/cr20000c/"


def test_cards_dealt_before_the_first_bet_follow_the_hole_cards() -> None:
    """With a board on the first street and the last hand unknown, only the length tells whose cards they are."""
    game = replace(LEDUC, num_rounds=2, num_board_cards=(2, 1), num_suits=4, num_ranks=4)
    deal = Deal((parse_cards("As"), parse_cards("Kd")), parse_cards("QhQcJs"))
    state = start(game)
    assert match_state_text(MatchState(Position(0), 0, state, view(state, deal, 0))) == "MATCHSTATE:0:0::As|QhQc"
    assert match_state_text(MatchState(Position(1), 0, state, view(state, deal, 1))) == "MATCHSTATE:1:0::|KdQhQc"
    assert parse_match_state("MATCHSTATE:0:0::As|QhQc", game).deal == view(state, deal, 0)
    assert parse_match_state("MATCHSTATE:1:0::|KdQhQc", game).deal == view(state, deal, 1)
    for bad in ("As|Qh", "As|QhQcJs", "As|", "As|QhQc/", "As|Qh/Qc", "As|/QhQc"):
        with pytest.raises(WireError):
            parse_match_state(f"MATCHSTATE:0:0::{bad}", game)


HEAD = "expected MATCHSTATE:<position>:<hand>:<betting>:<cards>"

REFUSED = {
    # The frame.
    "": HEAD,
    "MATCHSTATE": HEAD,
    "MATCHSTATE:0:0:": HEAD,
    "MATCHSTATE:0:0::3c4d|:": HEAD,
    "MATCHSTATE:0:0::3c4d|:c": HEAD,
    " MATCHSTATE:0:0::3c4d|": HEAD,
    "MATCHSTATE:0:0::3c4d| ": HEAD,
    "MATCHSTATE:0:0::3c4d|\n": HEAD,
    "MATCHSTATE:0:0::3c4d|\r": HEAD,
    "matchstate:0:0::3c4d|": HEAD,
    "MATCHSTATE:0:0::3c4d|\x00": HEAD,
    "MATCHSTATE:0:0::3c4d|\ufffd": HEAD,
    # Position and hand.
    "MATCHSTATE::0::3c4d|": HEAD,
    "MATCHSTATE:00:0::3c4d|": HEAD,
    "MATCHSTATE:+0:0::3c4d|": HEAD,
    "MATCHSTATE:-1:0::3c4d|": HEAD,
    "MATCHSTATE:2:0::3c4d|": "position 2: this game has positions 0 to 1",
    "MATCHSTATE:99:0::3c4d|": "position 99: this game has positions 0 to 1",
    "MATCHSTATE:100:0::3c4d|": HEAD,
    "MATCHSTATE:٠:0::3c4d|": HEAD,
    "MATCHSTATE:0:::3c4d|": HEAD,
    "MATCHSTATE:0:00::3c4d|": HEAD,
    "MATCHSTATE:0:01::3c4d|": HEAD,
    "MATCHSTATE:0: 1::3c4d|": HEAD,
    "MATCHSTATE:0:-1::3c4d|": HEAD,
    "MATCHSTATE:0:1.0::3c4d|": HEAD,
    "MATCHSTATE:0:4294967296::3c4d|": "hand 4294967296: expected 0 to 4294967295",
    "MATCHSTATE:0:42949672950::3c4d|": HEAD,
    # Betting.
    "MATCHSTATE:0:0:x:3c4d|": HEAD,
    "MATCHSTATE:0:0:C:3c4d|": HEAD,
    "MATCHSTATE:0:0:k:3c4d|": HEAD,
    "MATCHSTATE:0:0:r:3c4d|": "a raise in a no-limit game needs a size, as in r300",
    "MATCHSTATE:0:0:r0300:3c4d|": "a raise in a no-limit game needs a size, as in r300",
    "MATCHSTATE:0:0:r+300:3c4d|": HEAD,
    "MATCHSTATE:0:0:r0:3c4d|": "a raise in a no-limit game needs a size, as in r300",
    "MATCHSTATE:0:0:300:3c4d|": "betting '300' at character 0: expected f, c or r",
    "MATCHSTATE:0:0:c300:3c4d|": "at character 1: expected f, c or r",
    "MATCHSTATE:0:0:r199:3c4d|": "illegal raise to 199: expected a raise to 200-20000",
    "MATCHSTATE:0:0:r20001:3c4d|": "illegal raise to 20001: expected a raise to 200-20000",
    "MATCHSTATE:0:0:r99999999999:3c4d|": "illegal raise to 9999999999",
    "MATCHSTATE:0:0:r300c:3c4d|/6d7hAs": "at character 5: expected / since the street is over",
    "MATCHSTATE:0:0:r300c//:3c4d|/6d7hAs": "at character 6: expected f, c or r",
    "MATCHSTATE:0:0:/:3c4d|": "betting '/' at character 0: expected f, c or r",
    "MATCHSTATE:0:0:c/c:3c4d|": "betting 'c/c' at character 1: expected f, c or r",
    "MATCHSTATE:0:0:cc/f:3c4d|/6d7hAs": "illegal fold: nothing is owed",
    "MATCHSTATE:0:0:ff:3c4d|": "illegal fold: the hand is over",
    "MATCHSTATE:0:0:f/:3c4d|": "at character 1: expected f, c or r",
    "MATCHSTATE:0:0:r20000c:3c4d|9d6c/6d7hAs/Ks/Td": "expected / since the street is over",
    "MATCHSTATE:0:0:r20000c//:3c4d|9d6c/6d7hAs/Ks/Td": "expected / since the street is over",
    "MATCHSTATE:0:0:r20000c////:3c4d|9d6c/6d7hAs/Ks/Td": "at character 10: expected f, c or r",
    "MATCHSTATE:0:0:r20000r20000:3c4d|": "illegal raise to 20000: no other player has chips left to call with",
    # Whose cards.
    "MATCHSTATE:0:0::|": "the hole cards of position 0 are missing",
    "MATCHSTATE:0:0::|9d6c": "the hole cards of position 0 are missing",
    "MATCHSTATE:1:0::3c4d|": "the hole cards of position 1 are missing",
    "MATCHSTATE:0:0::3c4d|9d6c": "shows the hole cards of position 1 before the hand is over",
    "MATCHSTATE:0:0:cc/cc/cc/c:3c4d|9d6c/6d7hAs/Ks/Td": "shows the hole cards of position 1 before the hand is over",
    "MATCHSTATE:0:0:r20000c///:3c4d|/6d7hAs/Ks/Td": "the hole cards of position 1 are missing at the showdown",
    "MATCHSTATE:0:0:cc/cc/cc/cc:3c4d|/6d7hAs/Ks/Td": "the hole cards of position 1 are missing at the showdown",
    # The form of the cards.
    "MATCHSTATE:0:0::3c4d": "expected 2 hands of hole cards, joined by |",
    "MATCHSTATE:0:0::3c4d||": "expected 2 hands of hole cards, joined by |",
    "MATCHSTATE:0:0::3c|": "expected 2 hole cards a player",
    "MATCHSTATE:0:0::3c4d5h|": "expected 2 hole cards a player",
    "MATCHSTATE:0:0::3c4|": "does not spell cards",
    "MATCHSTATE:0:0::c34d|": "'c3' is not a card",
    "MATCHSTATE:0:0::3C4d|": HEAD,
    "MATCHSTATE:0:0::3c4d|/": "expected a board of 0 cards",
    "MATCHSTATE:0:0::3c4d|/6d7hAs": "expected a board of 0 cards",
    "MATCHSTATE:0:0:cc/:3c4d|": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/:3c4d|/": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/:3c4d|/6d7h": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/:3c4d|/6d7hAs/": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/:3c4d|/6d7hAs/Ks": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/:3c4d|/6d/7hAs": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/:3c4d|//6d7hAs": "expected a board of 0/3 cards",
    "MATCHSTATE:0:0:cc/cc/:3c4d|/6d7hAsKs": "expected a board of 0/3/1 cards",
    "MATCHSTATE:0:0:cc/cc/:3c4d|/6d7h/AsKs": "expected a board of 0/3/1 cards",
    "MATCHSTATE:0:0:cc/:3c4d|6d7hAs": "expected 2 hole cards a player",
    "MATCHSTATE:0:0:cc/:/6d7hAs3c4d|": "expected 2 hands of hole cards, joined by |",
    # The same card twice.
    "MATCHSTATE:0:0::3c3c|": "holds the same card twice",
    "MATCHSTATE:0:0:cc/:3c4d|/6d6dAs": "holds the same card twice",
    "MATCHSTATE:0:0:cc/:3c4d|/6d7h3c": "the same card twice",
    "MATCHSTATE:0:0:r20000c///:3c4d|3c6c/6d7hAs/Ks/Td": "the same card twice",
    "MATCHSTATE:0:0:r20000c///:3c4d|9d6c/6d7hAs/As/Td": "holds the same card twice",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused_with_the_reason(line: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_match_state(line, HOLDEM)
    assert REFUSED[line] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, RemoteProtocolError)


def test_cards_that_are_not_in_a_small_deck() -> None:
    for line in ("MATCHSTATE:0:0::2s|", "MATCHSTATE:0:0::Js|", "MATCHSTATE:0:0::Ac|", "MATCHSTATE:0:0:cc/:As|/Kd"):
        with pytest.raises(WireError, match="a card that is not in this game's deck"):
            parse_match_state(line, LEDUC)
    for card in ("Qh", "Kh", "Ah", "Qs", "Ks", "As"):
        assert parse_match_state(f"MATCHSTATE:0:0::{card}|", LEDUC).deal.hole == (parse_cards(card), ())


def test_cards_shown_after_a_fold_among_three() -> None:
    """Two are left at the showdown: the folded hand stays hidden, each of the others must be shown."""
    for line, reason in (
        ("MATCHSTATE:0:0:fr20000c///:4cKs|/6d7hAs/2s/Td", "expected 3 hands of hole cards"),
        ("MATCHSTATE:0:0:fr20000c///:4cKs||/6d7hAs/2s/Td", "the hole cards of position 1 are missing at the showdown"),
        ("MATCHSTATE:2:0:fr20000c///:4cKs||3s2h/6d7hAs/2c/Td", "the hole cards of position 1 are missing"),
        ("MATCHSTATE:2:0:fr20000:|KhKc|3s2h", "shows the hole cards of position 1 before the hand is over"),
    ):
        with pytest.raises(WireError, match=reason):
            parse_match_state(line, THREE)
    seen = parse_match_state("MATCHSTATE:2:0:fr20000c///:4cKs|KhKc|3s2h/6d7hAs/2c/Td", THREE)
    assert seen.state.showdown


@pytest.mark.parametrize(
    ("betting", "reason"),
    [
        ("r20", "a raise in a limit game has no size"),
        ("rr20", "a raise in a limit game has no size"),
        ("r0", "betting 'r0' at character 1: expected f, c or r"),
        ("rrrr", "illegal raise to 50: this street already has 3 raises, the most the game allows"),
        ("rrrcr", "expected / since the street is over"),
    ],
)
def test_refused_betting_in_a_limit_game(betting: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        read_betting(start(LIMIT), betting)
    assert reason.partition(" to 50")[0] in str(caught.value)
    assert reason.partition(" to 50")[2] in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "action '': expected f, c or r"),
        ("x", "action 'x': expected f, c or r"),
        ("C", "action 'C': expected f, c or r"),
        ("cc", "action 'cc': expected f, c or r"),
        ("c ", "action 'c ': expected f, c or r"),
        ("c\n", r"action 'c\n': expected f, c or r"),
        ("r", "'r': a raise in a no-limit game needs a size, as in r300"),
        ("r0", "action 'r0': expected f, c or r"),
        ("r 300", "expected f, c or r"),
        ("r0300", "expected f, c or r"),
        ("r-300", "expected f, c or r"),
        ("r300.0", "expected f, c or r"),
        ("r99999999999", "expected f, c or r"),
        ("r199", "action 'r199': illegal raise to 199: expected a raise to 200-20000"),
        ("r20001", "action 'r20001': illegal raise to 20001: expected a raise to 200-20000"),
        ("r" + "9" * 10_000, "… (10001 in all)"),
    ],
)
def test_refused_actions(text: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_action(text, start(HOLDEM))
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_reason_does_not_depend_on_what_was_known_before() -> None:
    """A known earlier state saves work; what is said about a bad line is the same."""
    before = parse_match_state("MATCHSTATE:0:0:r300c/:3c4d|/6d7hAs", HOLDEM).state
    for bad in ("r300c/r399", "r300c/f", "r300c/cc", "r300c/x", "r300c/c//", "r300c/r", "r300c/r900r900"):
        line = f"MATCHSTATE:0:0:{bad}:3c4d|/6d7hAs"
        with pytest.raises(WireError) as fresh:
            parse_match_state(line, HOLDEM)
        with pytest.raises(WireError) as known:
            parse_match_state(line, HOLDEM, before)
        assert str(known.value) == str(fresh.value)


def test_a_known_state_never_changes_what_a_line_means() -> None:
    """Bettings that begin alike, down to the digits of a size, and known states that lie ahead."""
    known = [read_betting(start(HOLDEM), betting) for betting in ("", "r300", "r3000", "r300c/", "f", "r20000c///")]
    for betting in ("", "r300", "r3000", "r300c/", "r300r3000", "r3000c/c"):
        state = read_betting(start(HOLDEM), betting)
        deal = Deal((parse_cards("3c4d"), ()), parse_cards("6d7hAs")[: HOLDEM.board_cards_by(state.street)])
        line = match_state_text(MatchState(Position(0), 0, state, deal))
        for previous in known:
            assert parse_match_state(line, HOLDEM, previous).state == state


def test_the_longest_lines_fit_the_limit() -> None:
    """64 actions a street, the longest sizes, ten players: even so no line, and no reply, passes 4096 bytes."""
    game = replace(
        random_game(Random(0)),
        no_limit=True,
        num_players=10,
        num_rounds=4,
        blind=(10**9,) * 10,
        stack=(2**31 - 1,) * 10,
        first_player=(Position(0),) * 4,
        raise_size=(),
        max_raises=(255,) * 4,
        num_suits=4,
        num_ranks=13,
        num_hole_cards=2,
        num_board_cards=(0, 3, 1, 1),
    )
    state, longest = start(game), 0
    deal = random_deal(Random(0), game)
    while not state.finished:
        seen = MatchState(Position(0), 2**32 - 1, state, view(state, deal, 0))
        line = match_state_text(seen)
        assert parse_match_state(line, game).state == state
        bounds = raise_bounds(state)
        action = CALL if bounds is None or len(state.history[-1]) % 7 == 6 else Raise(bounds.low)
        longest = max(longest, len(reply_text(seen, action)))
        state = apply(state, action)
    assert longest <= MAX_LINE_BYTES
    most = len("MATCHSTATE:9:4294967295:::") + 4 * 64 * len("r2147483647") + 3 + 2 * 25 + 9 + 3 + len(":r2147483647")
    assert most <= MAX_LINE_BYTES


def test_parts_of_a_line() -> None:
    state = read_betting(start(HOLDEM), "cc/cc/")
    board = parse_cards("7hAdTd4s2c")
    assert [board_text(HOLDEM, board, streets) for streets in range(1, 5)] == [
        "",
        "/7hAdTd",
        "/7hAdTd/4s",
        "/7hAdTd/4s/2c",
    ]
    deal = parse_deal("3c4d|9d6c/7hAdTd/4s", state)
    assert deal_text(state, deal) == "3c4d|9d6c/7hAdTd/4s"
    assert [action_text(action, game) for game in (HOLDEM, LIMIT) for action in (FOLD, CALL, Raise(300))] == [
        *("f", "c", "r300"),
        *("f", "c", "r"),
    ]


def slow_betting(game: Game, state: State) -> str:
    texts = []
    for street in state.history:
        text = ""
        for action in street:
            text += {"Fold": "f", "Call": "c"}.get(type(action).__name__, "r")
            if isinstance(action, Raise) and game.no_limit:
                text += str(action.to)
        texts.append(text)
    return "/".join(texts)


def test_betting_against_its_twin() -> None:
    rng = Random(5)
    for _ in range(100):
        game = random_game(rng)
        state = random_hand(rng, game).states[-1]
        assert state.betting == slow_betting(game, state)
        assert read_betting(start(game), state.betting) == state

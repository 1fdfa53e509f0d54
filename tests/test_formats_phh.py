"""Poker hand histories: ours as pokerkit reads them, pokerkit's as we read them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from played_hands import random_session, records
from pokerkit import Automation, FixedLimitTexasHoldem, HandHistory, Mode, NoLimitTexasHoldem
from random_play import random_deal

from dealer_tools.formats import acpc
from dealer_tools.formats.phh import hand_text, parse_hand, read_sessions, session_text, write_session
from dealer_tools.formats.phh_table import HistoryError
from dealer_tools.formats.reading import FormatError
from machine.errors import ParatusError
from protocol.cards import card_text, cards_text
from protocol.game import Game, Position, load_game
from protocol.log import state_line

HOLDEM = load_game("holdem.nolimit.2p.reverse_blinds").game
GAMES = {
    name: load_game(name).game
    for name in (
        "holdem.nolimit.2p.reverse_blinds",
        "holdem.limit.2p.reverse_blinds",
        "holdem.nolimit.3p",
        "holdem.limit.3p",
    )
}
PLAYERS = ("Alice", "Bob", "Carol")


def exact(dividend, divisor):
    return Fraction(dividend, divisor), 0


def fractions(values) -> list[Fraction]:
    """Values as exact as cards pay them: a pot is split among six at most."""
    return [Fraction(value).limit_denominator(60) for value in values]


# --- Ours, and pokerkit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", range(3))
def test_ours_both_ways_and_as_pokerkit_reads_them(name, seed, tmp_path):
    game, path = GAMES[name], tmp_path / "hands.phhs"
    session = random_session(Random(seed), game, 60, PLAYERS[: game.num_players])
    write_session(path, session)
    [again] = read_sessions(path)
    assert (again.refused, again.notes, again.players, again.game) == ((), (), session.players, game)
    for one, other in zip(records(session), records(again), strict=True):
        assert replace(other, values=one.values) == one
        assert other.values == pytest.approx(one.values, abs=1e-6)
    assert session_text(again) == path.read_text()
    with path.open("rb") as file:
        theirs = [*HandHistory.load_all(file, divmod=exact)]
    assert len(theirs) == 60
    for record, history in zip(records(session), theirs, strict=True):
        state = [*history][-1]
        assert not state.status
        assert fractions(record.values) == [*map(Fraction, state.payoffs)]
        assert history.players == list(record.names)


@pytest.mark.parametrize(
    ("name", "table"),
    {
        "holdem.nolimit.2p.reverse_blinds": NoLimitTexasHoldem((), True, 0, (50, 100), 100, mode=Mode.CASH_GAME),
        "holdem.nolimit.3p": NoLimitTexasHoldem((), True, 0, (50, 100, 0), 100, mode=Mode.CASH_GAME),
        "holdem.limit.2p.reverse_blinds": FixedLimitTexasHoldem((), True, 0, (5, 10), 10, 20, mode=Mode.CASH_GAME),
    }.items(),
)
def test_logs_that_pokerkit_rewrites(name, table, tmp_path):
    game = GAMES[name]
    session = random_session(Random(5), game, 80, PLAYERS[: game.num_players])
    text = acpc.log_text(session)
    histories = [*HandHistory.from_acpc_protocol(table, game.stack[0], text, error_status=True)]
    path = tmp_path / "theirs.phhs"
    path.write_text(HandHistory.dumps_all(histories))
    sessions = read_sessions(path)
    assert [len(each.refused) for each in sessions] == [0]
    for one, other in zip(records(session), records(sessions[0]), strict=True):
        assert other.state.betting == one.state.betting
        assert (other.deal, other.names) == (one.deal, one.names)
        assert other.values == pytest.approx(one.values, abs=1e-6)


AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.RUNOUT_COUNT_SELECTION,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)


def their_hand(rng: Random, players: int):
    """A hand of pokerkit's at random, by its own rules, over unequal stacks."""
    small = rng.choice((1, 5, 50))
    blinds = (small, 2 * small, *[0] * (players - 2))
    table = NoLimitTexasHoldem(AUTOMATIONS, True, 0, blinds, 2 * small, mode=Mode.CASH_GAME, divmod=exact)
    depth = rng.choice((3, 10, 100))
    state = table([rng.randint(2, depth) * small for _ in range(players)], players)
    game = Game(
        True, players, 4, (1,) * players, (9,) * players, (Position(0),) * 4, (), (9,) * 4, 4, 13, 2, (0, 3, 1, 1)
    )
    deal = random_deal(rng, game)
    for hole in deal.hole:
        state.deal_hole(cards_text(hole))
    board = [*map(card_text, deal.board)]
    while state.status:
        if state.can_burn_card():
            state.burn_card("??")
            count = 3 if len(board) == 5 else 1
            state.deal_board("".join(board[:count]))
            del board[:count]
        elif rng.random() < 0.12 and state.can_fold():
            state.fold()
        elif rng.random() < 0.3 and state.can_complete_bet_or_raise_to():
            low = state.min_completion_betting_or_raising_to_amount
            high = state.max_completion_betting_or_raising_to_amount
            state.complete_bet_or_raise_to(rng.choice((low, high, rng.randint(low, high))))
        else:
            state.check_or_call()
    return table, state


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_hands_that_pokerkit_played(players, compressed):
    rng, showdowns, idle = Random(players), 0, 0
    for _ in range(80):
        table, state = their_hand(rng, players)
        history = HandHistory.from_game_state(table, state, compression_status=compressed)
        record = parse_hand(history.dumps()).record
        assert fractions(record.values) == [*map(Fraction, state.payoffs)]
        assert record.names == tuple(f"p{player + 1}" for player in range(players))
        showdowns += record.state.showdown
        idle += len(record.state.actions) > sum(text[0] == "p" and " sm" not in text for text in history.actions)
    assert showdowns > 20
    assert idle or players > 2


# --- Files ----------------------------------------------------------------------------------------------------------

HAND = """\
variant = "NT"
antes = [0, 0]
blinds_or_straddles = [50, 100]
min_bet = 100
starting_stacks = [20000, 20000]
actions = ["d dh p1 5d5c", "d dh p2 9hQd", "p2 cbr 200", "p1 cc", "d db 8dAs8s", "p1 cc", "p2 cbr 200", "p1 cc",
  "d db 4h", "p1 cc # a thought", "p2 cc", "d db 6d", "p1 cc", "p2 cc", "# the end", "p1 sm 5d5c", "p2 sm"]
hand = 7
players = ["Alice", "Bob"]
"""
LINE = "STATE:7:r200c/cr400c/cc/cc:5d5c|9hQd/8dAs8s/4h/6d:400|-400:Alice|Bob"


def test_a_hand():
    assert state_line(parse_hand(HAND).record) == LINE
    assert parse_hand(HAND).record.state.game == HOLDEM
    assert parse_hand(HAND.replace("hand = 7", 'hand = "8"')).record.hand == 8
    assert parse_hand(HAND.replace("hand = 7", 'hand = "RC-7"'), 9).record.hand == 9
    assert parse_hand(HAND.replace("hand = 7", ""), 9).record.hand == 9
    assert parse_hand(HAND.replace("[20000, 20000]", "[20000.0, 20000]")).record.state.game == HOLDEM


def test_unknown_cards():
    folded = HAND.partition('"p1 cc",\n')[0] + '"p1 f"]\n'
    record = parse_hand(folded.replace("d dh p2 9hQd", "d dh p2 ????")).record
    assert record.deal.hole[1] == ()
    assert record.values == (-200.0, 200.0)
    assert parse_hand(hand_text(record)).record == record
    assert parse_hand(HAND.replace("d dh p1 5d5c", "d dh p1 ????")).record.deal == parse_hand(HAND).record.deal
    unknown = HAND.replace("d dh p2 9hQd", "d dh p2 ????")
    with pytest.raises(
        HistoryError, match="hole cards at the showdown are unknown: expected them, or finishing_stacks"
    ):
        parse_hand(unknown)
    record = parse_hand(unknown + "finishing_stacks = [20400, 19600]\n").record
    assert record.values == (400.0, -400.0)
    assert parse_hand(hand_text(record), 7).record == record
    for stacks in ("[20400, 19500]", "[20500, 19500]", "[20400]", '"x"', "[20400, -1]", "[true, 1]", "[inf, 1]"):
        with pytest.raises(HistoryError, match="finishing_stacks"):
            parse_hand(unknown + f"finishing_stacks = {stacks}\n")


def test_files_with_and_without_sections(tmp_path):
    one, many = tmp_path / "one.phh", tmp_path / "many.phhs"
    one.write_text("# comment\n" + HAND)
    [session] = read_sessions(one)
    assert [state_line(record) for record in records(session)] == [LINE]
    assert session.hands[0].where == f"{one}:1"
    write_session(tmp_path / "again.phh", session)
    assert "[1]" not in (tmp_path / "again.phh").read_text()
    assert records(read_sessions(tmp_path / "again.phh")[0]) == records(session)
    many.write_text(f"# two hands\n[1]\n{HAND}\n[2] # another\n{HAND.replace('= 7', '= 8')}")
    [session] = read_sessions(many)
    assert [(hand.where, hand.record.hand) for hand in session.hands] == [(f"{many}:2", 7), (f"{many}:13", 8)]
    with pytest.raises(FormatError, match=r"2 hands: a \.phh file holds one, expected \.phhs"):
        write_session(one, session)


def test_other_games_and_players_are_sessions_of_their_own(tmp_path):
    path = tmp_path / "all.phhs"
    texts = [
        HAND,
        HAND.replace("= 7", "= 8").replace("20000", "10000"),
        HAND.replace("Alice", "Carol"),
        "variant = 1",
        HAND.replace("= 7", "= 9").replace('["Alice", "Bob"]', '["Bob", "Alice"]\nseats = [2, 1]'),
    ]
    path.write_text("\n".join(f"[{number}]\n{text}" for number, text in enumerate(texts, 1)))
    sessions = read_sessions(path)
    assert [session.players for session in sessions] == [("Alice", "Bob"), ("Alice", "Bob"), ("Carol", "Bob")]
    assert [len(session.hands) for session in sessions] == [2, 1, 1]
    assert [session.game.name for session in sessions] == [HOLDEM.name, "phh", HOLDEM.name]
    assert [len(session.refused) for session in sessions] == [1, 0, 0]


def test_repeats_and_contradictions(tmp_path):
    path = tmp_path / "x.phhs"
    other = HAND.replace("5d5c", "5d5h")
    path.write_text("\n".join(f"[{n}]\n{text}" for n, text in enumerate([HAND, HAND, HAND.replace("= 7", "= 8")], 1)))
    [session] = read_sessions(path)
    assert [record.hand for record in records(session)] == [7, 8]
    assert len(session.notes) == 1
    path.write_text("\n".join(f"[{n}]\n{text}" for n, text in enumerate([HAND, other, HAND.replace("= 7", "= 8")], 1)))
    [session] = read_sessions(path)
    assert [record.hand for record in records(session)] == [8]
    assert [refused.where for refused in session.refused] == [f"{path}:1", f"{path}:12"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"NT"', '"PO"', "variant \"'PO'\": expected 'NT' or 'FT', hold'em"),
        ('variant = "NT"', "", "variant 'None': expected"),
        ("antes = [0, 0]", "antes = [1, 1]", "antes: ACPC games have none"),
        ("antes = [0, 0]", "", "antes 'None': expected 2 whole numbers"),
        ("[50, 100]", "[50]", "blinds_or_straddles '[50]': expected 2 whole numbers"),
        ("[50, 100]", "[50.5, 100]", "expected 2 whole numbers"),
        ("[50, 100]", "[50, -100]", "expected 2 whole numbers"),
        ("min_bet = 100", "min_bet = 200", "min_bet 200: expected 100, the largest blind"),
        ("min_bet = 100", "min_bet = true", "min_bet 'True': expected a whole number of chips"),
        ("[20000, 20000]", "[20000]", "starting_stacks: 1 players: expected 2 to 10"),
        ("[20000, 20000]", "[0, 20000]", "min_bet 100: expected 50"),
        ("[20000, 20000]", "[inf, 20000]", "expected some whole numbers"),
        ("hand = 7", "hand = ", "not TOML"),
        ("hand = 7", "hand = 7\nhand = 8", "not TOML"),
        ("hand = 7", "x = " + "[" * 5000, "not TOML"),
        ("hand = 7", "x = " + "9" * 5000, "not TOML"),
        ("p2 cbr 200", "p2 cbr 199", "action 3, 'p2 cbr 199': raise to 199: expected a raise to 200-20000"),
        ("p2 cbr 200", "p2 cbr 200.5", "expected d dh, d db, or f, cc, cbr or sm of a player"),
        ("p2 cbr 200", "p1 cbr 200", "action 3, 'p1 cbr 200': expected nothing of p1: it is the turn of p2"),
        ("p2 cbr 200", "p3 cbr 200", "p3: expected p1 to p2"),
        ("p2 cbr 200", "p2 sd", "expected d dh"),
        ('"p2 cbr 200"', "200", "action 3, '200': expected d dh"),
        ("9hQd", "9h5d", "a card that was dealt before"),
        ("9hQd", "9hQd2c", "expected 2 hole cards"),
        ("9hQd", "9h??", "is not a card"),
        ("9hQd", "9h", "two hole cards a player"),
        ("9hQd", "9hQx", "'Qx' is not a card"),
        ("8dAs8s", "8dAs", "action 6, 'p1 cc': expected a board of 3 cards before it"),
        ("8dAs8s", "8dAs8s7s", "expected no board card while the betting is 'r200c/'"),
        ("8dAs8s", "??????", "expected a board that is known"),
        ('"d db 6d", "p1 cc", "p2 cc", "# the end", "p1 sm 5d5c", "p2 sm"', '"d db 6d"', "the hand is not over"),
        ("p1 sm 5d5c", "p1 sm 5d5h", "expected the two hole cards of this player"),
        ("p1 sm 5d5c", "p1 cc", "expected nothing of p1: the hand is over"),
        ("p1 sm 5d5c", "p1 sm", "p1 mucks a hand that wins or ties: nobody can say what it was worth"),
        ('"Alice", "Bob"', '"Alice", "Alice"', "expected 2 different names"),
        ('"Alice", "Bob"', '"Alice", ""', "expected 2 different names"),
        ("hand = 7", "seats = [1, 1]", "expected 2 different numbers"),
        (
            "hand = 7",
            "finishing_stacks = [19600, 20400]",
            "finishing_stacks: -400|400 won: expected 400|-400, what this hand",
        ),
        ("hand = 7", "_max_raises = 3", "_max_raises '3': expected 4 whole numbers"),
        ("hand = 7", "hand = 7 \ufffd", "bytes that are no UTF-8"),
    ],
)
def test_refusals(old, new, reason):
    assert old in HAND
    with pytest.raises(HistoryError) as caught:
        parse_hand(HAND.replace(old, new, 1))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_games_without_a_variant_are_not_written(tmp_path):
    session = random_session(Random(1), load_game("leduc").game, 2)
    with pytest.raises(FormatError, match="game leduc: no variant of PHH"):
        write_session(tmp_path / "x.phhs", session)
    assert not (tmp_path / "x.phhs").exists()


def test_empty_files(tmp_path):
    path = tmp_path / "x.phhs"
    for text in ("", "\n\n", "[1]\n", "hello\n", "[1]\n[2]\n"):
        path.write_text(text)
        with pytest.raises(FormatError, match=r"x\.phhs.*: expected a poker hand history"):
            read_sessions(path)


def attempt(path):
    """The sessions, or why there are none."""
    try:
        return read_sessions(path), ""
    except ParatusError as error:
        return [], str(error)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_bytes(seed, tmp_path):
    rng = Random(seed)
    path = tmp_path / "x.phhs"
    write_session(path, random_session(rng, HOLDEM, 12))
    data, refused = path.read_bytes(), 0
    for _ in range(120):
        at, kind = rng.randrange(len(data)), rng.randrange(4)
        middle = (bytes([rng.randrange(256)]), b"", data[at : at + 1] * 2, b"")[kind]
        path.write_bytes(data[:at] + middle + (data[at + 1 :] if kind < 3 else b""))
        sessions, reason = attempt(path)
        assert reason.startswith(str(path)) or sessions
        assert "\n" not in reason
        for session in sessions:
            refused += len(session.refused)
            assert all("\n" not in hand.reason and hand.where.startswith(f"{path}:") for hand in session.refused)
    assert refused > 40

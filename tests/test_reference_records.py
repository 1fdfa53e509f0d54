"""Everything here was recorded from the reference dealer: ours must write the same bytes."""

from __future__ import annotations

import re

import pytest
from records import DATA, RECORDS, Record, without_clock

from protocol.client import Client
from protocol.dealer import Dealer, DealerPhase, Effect, Logged, Report, Tell, Transacted
from protocol.dealing import CardStream
from protocol.game import load_game
from protocol.log import Limits, MatchHeader, parse_score_line, parse_state_line, score_line, state_line
from protocol.state import payoffs, raise_bounds, start
from protocol.wire import VERSION_LINE, parse_action, parse_match_state


class Printed:
    """Carries out a dealer's effects as text, the way `paratus deal` prints them."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.log: list[str] = []
        self.transactions: list[str] = []
        self.told: list[tuple[int, str]] = []

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Tell(seat, text):
                    self.messages.append(f"TO {seat + 1} at T {text}\r")
                    self.told.append((seat, text))
                case Report(text):
                    self.messages.append(without_clock(text))
                case Logged(text):
                    self.log.append(text)
                case Transacted(text):
                    self.transactions.append(text)


def play(dealer: Dealer, replies: list[str]) -> Printed:
    printed = Printed()
    printed.messages += dealer.header.lines()
    printed.log += dealer.header.lines()
    for _ in range(dealer.game.num_players):
        printed.carry_out(dealer.receive(VERSION_LINE, 0))
    for reply in replies:
        printed.carry_out(dealer.receive(reply, 0))
    return printed


def replies_in(messages: tuple[str, ...]) -> list[str]:
    return [line.split(" at T ", 1)[1] for line in messages if line.startswith("FROM ")]


def test_all_records_are_here() -> None:
    assert sorted(path.name for path in DATA.glob("*.messages.gz")) == [
        f"{name}.messages.gz" for name in sorted(RECORDS)
    ]


def test_dealer_writes_the_same_messages_and_log(record: Record) -> None:
    dealer = Dealer(record.game, record.header, record.names)
    printed = play(dealer, replies_in(record.messages))
    assert printed.messages == without_clock(record.raw_messages).removesuffix("\n").split("\n")
    assert printed.log == list(record.log)
    assert dealer.phase is DealerPhase.OVER
    assert dealer.hands_played == RECORDS[record.name]


def test_clients_write_the_same_replies(record: Record) -> None:
    clients = [Client(record.game) for _ in record.names]
    for client in clients:
        client.hello()
    answered = 0
    for line in record.messages:
        found = re.fullmatch(r"(TO|FROM) ([0-9]) at T (.*)", line)
        if found is None:
            continue
        client, text = clients[int(found.group(2)) - 1], found.group(3)
        if found.group(1) == "TO":
            seen = client.receive(text)
            assert seen is not None
        else:
            assert seen is not None
            asked = parse_match_state(text.rpartition(":")[0], record.game)
            action = parse_action(text.rpartition(":")[2], asked.state)
            assert client.act(action) == text.encode() + b"\r\n"
            answered += 1
    assert answered > RECORDS[record.name]
    assert [client.hands_finished for client in clients] == [RECORDS[record.name]] * len(clients)


def test_log_replays_to_the_same_cards_and_payoffs(record: Record) -> None:
    stream = CardStream(record.game, record.header.seed)
    totals = dict.fromkeys(record.names, 0.0)
    hands = [line for line in record.log if line.startswith("STATE:")]
    assert len(hands) == RECORDS[record.name]
    for line in hands:
        read = parse_state_line(line, record.game)
        deal = stream.deal()
        assert read.deal.hole == deal.hole
        assert read.deal.board == deal.board[: len(read.deal.board)]
        assert payoffs(read.state, deal) == pytest.approx(read.values, abs=1e-6)
        assert state_line(read) == line
        for name, value in zip(read.names, read.values, strict=True):
            totals[name] += value
    score = parse_score_line(record.log[-1])
    assert score_line(score) == record.log[-1]
    assert tuple(totals.values()) == pytest.approx(score.values)


def test_first_states_are_open_to_every_recorded_action(record: Record) -> None:
    """Each recorded action is legal where it was taken, and sizes beyond the bounds are not."""
    sizes = 0
    for line in record.messages:
        if not line.startswith("FROM "):
            continue
        text, _, action = line.split(" at T ", 1)[1].rpartition(":")
        state = parse_match_state(text, record.game).state
        parse_action(action, state)
        if action.startswith("r"):
            bounds = raise_bounds(state)
            assert bounds is not None
            sizes += 1
            if record.game.no_limit:
                assert bounds.low <= int(action[1:]) <= bounds.high
    assert sizes > 50


def test_transaction_log_resumes_to_the_same_match(record: Record) -> None:
    """Interrupted after any number of actions, the rest of the match comes out the same."""
    replies = replies_in(record.messages)
    whole = play(Dealer(record.game, record.header, record.names), replies)
    for cut in (0, 1, 7, len(replies) // 2, len(replies) - 1, len(replies)):
        dealer = Dealer(record.game, record.header, record.names)
        finished = dealer.resume(whole.transactions[:cut])
        rest = play(dealer, replies[cut:])
        log = [*record.header.lines(), *map(state_line, finished), *rest.log[4:]]
        assert log == list(record.log)
        assert whole.transactions[:cut] + rest.transactions == whole.transactions


BAD_INPUT = (DATA / "bad_input.txt").read_text().replace("\r", "").split("=== CASE ")[1:]


def test_all_bad_input_cases_are_here() -> None:
    assert len(BAD_INPUT) == 9


@pytest.mark.parametrize("case", BAD_INPUT, ids=lambda case: case.split(" ", 1)[0])
def test_bad_replies_are_treated_alike(case: str) -> None:
    """Warnings, fixed actions, messages after them, and exit codes, case by case."""
    head, *lines = map(without_clock, case.strip().splitlines())
    expected = [line for line in lines if not line.startswith("stdout:")]
    name, exit_code = head.split(" | dealer exit ")
    game = load_game("holdem.nolimit.2p.reverse_blinds").game
    header = MatchHeader(f"bad_{name}", "holdem.nolimit.2p.reverse_blinds.game", 1, 11, Limits(1500, 600_000, 7_000))
    dealer = Dealer(game, header, ("A", "B"))
    printed = play(dealer, replies_in(tuple(expected)))
    if dealer.phase is DealerPhase.PLAYING:
        printed.carry_out(dealer.expire(1_500_000))
    assert [line.removesuffix("\r") for line in printed.messages] == expected
    assert (dealer.phase is DealerPhase.OVER) == (exit_code == "0")
    assert bool(dealer.reason) == (exit_code == "1")


def test_start_is_shared_between_hands() -> None:
    game = load_game("leduc").game
    assert start(game) is start(game)

"""`paratus play`: what is typed, what is shown, and a folder that is whole whatever ends the sitting."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from agents import agent_of
from processes import stored_decisions, stored_hands, wait_until
from variants import some_of

from bot import cli
from dealer_tools.formats.acpc import read_log
from dealer_tools.play import luck
from dealer_tools.play.record import SittingRecord
from dealer_tools.play.sitting import YOU, Left, Sitting
from dealer_tools.play.words import TypedError, action_words, entry_words, options, read_typed, story_text
from dealer_tools.scoring.values import Equity
from protocol.dealing import CardStream
from protocol.game import load_game
from protocol.state import CALL, FOLD, Raise, State, start
from protocol.wire import read_betting
from strategies.chair import Chair
from strategies.identity import DrawKey
from strategies.players.baselines import AlwaysRaise
from strategies.policy import Origin, RaiseBetween, alike

GAME = load_game("holdem.nolimit.2p.reverse_blinds").game


def at(betting: str) -> State:
    return read_betting(start(GAME), betting)


# --- Words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("betting", "typed", "expected"),
    [
        ("", "f", FOLD), ("", "fold", FOLD), ("", "c", CALL), ("", " CALL ", CALL), ("", "r 600", Raise(600)),
        ("", "raise to 1,000", Raise(1000)), ("", "r600", Raise(600)), ("", "min", Raise(200)),
        ("", "pot", Raise(300)),
        ("", "half", Raise(200)), ("", "all-in", Raise(20_000)), ("", "a", Raise(20_000)),
        ("", "raise all in", Raise(20_000)),
        ("c", "check", CALL), ("c", "k", CALL), ("c", "b 500", Raise(500)),
        ("r300c/", "b 100", Raise(400)), ("r300c/", "pot", Raise(900)), ("r300c/", "50%", Raise(600)),
        ("r300c/", "bet 19,700", Raise(20_000)), ("r300c/r600", "r 600", Raise(900)), ("r300c/r600", "min", Raise(900)),
        ("r300c/r600", "pot", Raise(1800)), ("r20000", "all-in", CALL), ("r20000", "c", CALL),
        ("", "?", "help"), ("", "q", "quit"),
    ],
)  # fmt: skip
def test_what_is_typed(betting, typed, expected):
    assert read_typed(typed, at(betting)) == expected


@pytest.mark.parametrize(
    ("betting", "typed", "reason"),
    [
        ("", "check", "check: 50 are asked of you: expected one of f, c, r N"),
        ("c", "f", "fold: nothing is asked of you: expected one of c, r N"),
        ("", "r 150", "raise to 150: expected 200 to 20,000 (all-in)"),
        ("", "r 20001", "raise to 20,001: expected 200 to 20,000 (all-in)"),
        ("r300c/", "b 99", "bet 99: expected 100 to 19,700 (all-in)"),
        ("r300c/", "1000%", "bet 6,000: expected 100 to 5,700 (all-in)"),
        ("r300c/r600", "r 599", "raise to 599: expected 600 to 19,700 (all-in)"),
        ("r19950", "r 20001", "raise to 20,001: expected 20,000, all-in"),
        ("r20000", "r 20000", "no raise here: no other player has chips left to call with: expected one of f, c"),
        ("r20000", "pot", "no raise here: no other player has chips left to call with: expected one of f, c"),
        ("", "600", "'600': expected one of f, c, r N (? says more)"),
        ("", "r", "'r': expected one of f, c, r N (? says more)"),
        ("", "", "'': expected one of f, c, r N (? says more)"),
        ("", "r -5", "'r -5': expected one of f, c, r N (? says more)"),
        ("", "r 1e3", "'r 1e3': expected one of f, c, r N (? says more)"),
        ("", "x\x1b[2J", r"'x\x1b[2J': expected one of f, c, r N (? says more)"),
    ],
)
def test_what_is_refused(betting, typed, reason):
    state = at(betting) if typed != "1000%" else _with_stack(6000)
    with pytest.raises(TypedError) as caught:
        read_typed(typed, state)
    assert str(caught.value) == reason


def _with_stack(stack: int) -> State:
    return read_betting(start(replace(GAME, stack=(stack, stack))), "r300c/")


def test_amounts_are_of_the_street():
    assert options(at("r300c/r600")) == (
        "f fold · c call 300 · r N raise to 600 to 19,700: half 900, pot 1,500, all-in 19,700"
    )
    assert options(at("r300c/")) == "c check · r N bet 100 to 19,700: half 300, pot 600, all-in 19,700"
    assert options(at("r20000")) == "f fold · c call 19,900"
    assert options(at("r19950")) == "f fold · c call 19,850 · r N raise to all-in 20,000"
    assert entry_words(Raise(600), at("r300c/")) == "bet 300"
    assert entry_words(RaiseBetween(900, 20_000), at("r300c/r600")) == "raise to 600-19,700"
    assert entry_words(CALL, at("c")) == "check"
    assert action_words(Raise(20_000), at("r300c/"), you=True) == "bet 19,700 (all-in)"
    assert action_words(CALL, at("r20000"), you=False) == "calls 19,900 (all-in)"
    assert story_text(at("r300c/cr600f"), ("bot", "you")) == (
        "preflop: you raise to 300, bot calls 200 · flop: bot checks, you bet 300, bot folds"
    )


# --- A sitting, scripted --------------------------------------------------------------------------------------------


@pytest.fixture
def play(monkeypatch, capsys, tmp_path):
    """Play with lines typed; returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(luck, "values_at_once", lambda holdings: (Equity(holdings), ""))

    def run(typed, *arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code = cli.main(["play", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_scripted_sitting(play, tmp_path, capsys):
    code, out, err = play(
        "c\nfold\nr 10\nhalf\nc\n" + "c\n" * 40, "--against", "random", "--seed", 3, "--hands", 6, "--out", "m"
    )
    assert (code, err) == (0, "")
    session = read_log(tmp_path / "m/match.log")
    assert session.players == ("you", "random")
    assert len(session.hands) == 6
    assert not session.refused
    assert not session.notes
    cards = CardStream(GAME, 3)
    for number, played in enumerate(session.hands):
        deal, record = cards.deal(), played.record
        assert record.names == (("you", "random") if number % 2 == 0 else ("random", "you"))
        assert record.deal.hole == deal.hole
        assert record.deal.board == deal.board[: len(record.deal.board)]
    won = {hand.record.hand: hand.record.values[hand.record.names.index("random")] for hand in session.hands}
    assert {number: value for number, (_, value) in stored_hands(tmp_path / "m/random.sqlite").items()} == won
    assert "6 hands are in m: `paratus score m`, `paratus replay m --hand 5`.\nThe seed of the cards was 3" in out
    assert len(re.findall(r"^you (?:win|lose)", out, re.MULTILINE)) == 6
    assert cli.main(["replay", "m", "--hand", "5", "--brief"]) == 0
    assert "worth" in capsys.readouterr().out


def test_luck_is_that_of_the_score_with_its_sign_turned(play, capsys):
    _, out, _ = play("c\n" * 200, "--against", "random", "--seed", 5, "--hands", 12, "--out", "m")
    assert cli.main(["score", "m", "--values", "equity", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert (score["player"], score["hands"], score["excluded"]) == ("random", 12, [])
    shown = re.findall(
        r"^(12 hands|without luck): ([+-][0-9.]+) bb in all, ([+-][0-9.]+) a hand, 95 % interval (\S+) (\S+)$",
        out,
        re.MULTILINE,
    )
    for (_, total, mean, low, high), estimator in zip(shown[-2:], ("raw", "aivat"), strict=True):
        row = score["estimators"][estimator]
        assert float(total) == pytest.approx(-12 * row["mean_mbb"] / 1000, abs=0.051)
        assert float(mean) == pytest.approx(-row["mean_mbb"] / 1000, abs=0.0051)
        assert float(low[1:-1]) == pytest.approx(-row["high_mbb"] / 1000, abs=0.0051)
        assert float(high[:-1]) == pytest.approx(-row["low_mbb"] / 1000, abs=0.0051)


def test_the_policy_of_the_hand_it_held_is_shown(play, tmp_path):
    _, out, _ = play("c\n" * 60, "--against", "random", "--seed", 1, "--hands", 4, "--out", "m")
    shown = re.findall(
        r"^  (?:preflop|flop|turn|river).*: (?:folds|checks|calls|bets|raises).*\(random\)$", out, re.MULTILINE
    )
    assert len(shown) == len(stored_decisions(tmp_path / "m/random.sqlite")) > 4
    assert any(re.search(r": fold 33\.3%, call 33\.3%, raise to [0-9,]+-[0-9,]+ 33\.3%: ", line) for line in shown)


@pytest.mark.parametrize(
    ("typed", "hands"), [("c\n" * 5 + "c\n", 1), ("c\n" * 4 + "c\nq\n", 1), ("c\nc\nc\nc\nquit\n", 1)]
)
def test_leaving_in_the_middle_of_a_hand(play, tmp_path, typed, hands):
    """The end of the input is as good as `q`; the hand that was not over is in no file."""
    code, out, err = play(typed, "--against", "always-call", "--seed", 2, "--out", "m")
    assert (code, err) == (0, "")
    assert f"{hands} hand is in m" in out
    session = read_log(tmp_path / "m/match.log")
    assert [hand.record.hand for hand in session.hands] == list(range(hands))
    assert not session.notes
    assert {decision.hand for decision in stored_decisions(tmp_path / "m/always-call.sqlite")} <= set(range(hands))


def test_leaving_at_once_leaves_nothing(play, tmp_path):
    code, out, _ = play("q\n", "--against", "always-call", "--seed", 77)
    assert code == 0
    assert out.endswith("No hand was finished. The seed of the cards was 77.\n")
    assert list((tmp_path / "matches").iterdir()) == []


def test_cards_differ_from_sitting_to_sitting(play):
    seeds = {
        re.search(r"seed of the cards was ([0-9]+)", play("q\n", "--against", "always-call")[1])[1] for _ in range(3)
    }
    assert len(seeds) == 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--against", "nobody"], "--against 'nobody': expected one of always-fold, "),
        (["--think", "soon"], "--think 'soon': expected seconds above 0, as in 0.5s, 2s or 7s"),
        (["--against", "random", "--out", "full"], "--out full: is not empty: expected a new or an empty folder"),
    ],
)
def test_bad_options(play, tmp_path, arguments, reason):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.txt").write_text("dear")
    code, out, err = play("", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"paratus play: {reason}")
    assert err.count("\n") == 1
    assert (tmp_path / "full/thesis.txt").read_text() == "dear"


def test_nobody_waits_for_a_table_of_values(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("c\n" * 5))
    assert cli.main(["play", "--against", "always-call", "--out", str(tmp_path / "m")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^Luck is measured by equity: the values of \S+ are not built yet", out, re.MULTILINE)
    assert "without luck" in out
    assert not (tmp_path / "empty").exists()


# --- The agent misbehaves, the person interrupts --------------------------------------------------------------------


class Liar(AlwaysRaise):
    """Offers what is illegal, or raises an error."""

    name = "liar"

    def policy(self, spot, budget, draws):
        if spot.hand % 2:
            raise ValueError("no such node")
        return alike((Raise(30_000),), (1.0,), Origin("liar"))


class Caller:
    """A person who only calls, and leaves after so many decisions."""

    def __init__(self, decisions):
        self.left, self.played = decisions, []

    def act(self, seen, names):
        assert names[seen.position] == YOU
        assert all(bool(hole) == (place == seen.position) for place, hole in enumerate(seen.deal.hole))
        if not self.left:
            raise Left
        self.left -= 1
        return CALL

    def waiting(self):
        return contextlib.nullcontext()

    def finished(self, played):
        self.played.append(played)


def test_an_agent_that_cannot_be_played_is_replaced(tmp_path):
    key, liar, person = DrawKey(1, "play"), agent_of(Liar(), GAME), Caller(20)
    record = SittingRecord(tmp_path / "m", liar, YOU, key)
    chair = Chair(liar, key)
    with pytest.raises(Left):
        Sitting(chair, record, CardStream(GAME, 1), 1.0).play(person, None)
    record.close()
    decisions = stored_decisions(tmp_path / "m/liar.sqlite")
    assert chair.fallbacks >= len(decisions) > 3
    reasons = {decision.hand % 2: decision.policy.origin.reason for decision in decisions}
    assert reasons[0].startswith("liar offered an illegal action: raise to 30000")
    assert reasons[1] == "liar raised ValueError: no such node"
    assert all(decision.policy.origin.is_fallback for decision in decisions)


def _process(folder: Path, **streams):
    command = [sys.executable, "-m", "bot.cli", "play", "--against", "always-call", "--seed", "4", "--out", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **streams)


@pytest.mark.parametrize("number", some_of([signal.SIGKILL, signal.SIGINT, signal.SIGHUP]))
def test_interrupted(tmp_path, number):
    """Ctrl-C, kill -9 and a closed window: the hands that were over are all there, with their score."""
    process = _process(tmp_path / "m", stdin=subprocess.PIPE)
    process.stdin.write("c\n" * 9)
    process.stdin.flush()
    log = tmp_path / "m/match.log"
    wait_until(lambda: log.exists() and log.read_text().count("STATE:") == 2, "two hands")
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "The seed of the cards was 4" in out
    session = read_log(log)
    assert len(session.hands) == 2
    assert not session.notes
    assert cli.main(["score", str(tmp_path / "m"), "--values", "equity"]) == 0


def test_at_a_terminal(tmp_path):
    """Colours, a prompt, and Ctrl-D."""
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "bot.cli",
        "play",
        "--against",
        "always-call",
        "--seed",
        "4",
        "--out",
        str(tmp_path / "m"),
    ]
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    os.write(ours, b"c\n\x04")
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so when nobody holds the other end
            break
        if not piece:
            break
        shown += piece
    assert process.wait(30) == 0
    os.close(ours)
    assert b"\x1b[31m" in shown or b"\x1b[34m" in shown or b"\x1b[32m" in shown
    assert "The seed of the cards was 4" in shown.decode()

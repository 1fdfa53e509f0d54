"""Replies in the middle of a hand: what is believed, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dealer_tools.formats.records import PlayedHand
from dealer_tools.formats.slumbot import SlumbotError, slumbot_game
from dealer_tools.slumbot.calibration import calibrate
from dealer_tools.slumbot.faults import Fault, Faults, parse_faults
from dealer_tools.slumbot.replies import Doubled, check_first, check_next, read_seen, read_token
from dealer_tools.slumbot.settings import DEFAULT_FILE, SlumbotSettings, load_settings, read_password
from machine.errors import ConfigError
from protocol.cards import parse_cards
from protocol.log import parse_state_line
from protocol.state import CALL, Raise

FIRST = {
    "old_action": "", "action": "b200", "client_pos": 0, "hole_cards": ["Ac", "9d"], "board": [], "token": "secret",
}  # fmt: skip
FLOP = FIRST | {"old_action": "b200", "action": "b200c/", "board": ["Th", "9s", "4s"]}
LAST = FLOP | {
    "old_action": "b200c/", "action": "b200c/kb200f", "bot_hole_cards": ["Kh", "7h"], "winnings": -200, "won_pot": -600,
    "session_num_hands": 19, "baseline_winnings": 0, "session_total": 8850, "session_baseline_total": 4450,
}  # fmt: skip


def test_a_hand_as_it_goes() -> None:
    first, flop = read_seen(FIRST, 7), read_seen(FLOP, 7)
    assert (first.hand, first.position, first.hole, first.board) == (7, 0, parse_cards("Ac9d"), ())
    assert (flop.state.betting, flop.board, flop.final) == ("r200c/", parse_cards("Th9s4s"), None)
    assert flop.asked.acting
    assert flop.asked.deal.hole == (parse_cards("Ac9d"), ())
    assert "token" not in first.document
    assert read_token(FIRST) == "secret"
    check_first(first, None)
    check_next(first, CALL, flop)
    folded = read_seen(FLOP | {"action": "b200c/b100f", "bot_hole_cards": ["Kh", "7h"], "winnings": 200}, 7)
    check_next(flop, Raise(300), folded)
    assert folded.final is not None
    last = read_seen(LAST, 7)
    assert last.final is not None
    assert last.final.baseline_chips == 0


def test_the_bot_may_end_a_hand_before_we_act() -> None:
    now = read_seen(FIRST | {"action": "f", "bot_hole_cards": ["Kh", "7h"], "winnings": 50}, 0)
    check_first(now, None)
    with pytest.raises(SlumbotError, match="a copy of the one before"):
        check_first(now, dict(now.document))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"action": None}, "action 'None': expected text"),
        ({"action": "b200x"}, "betting 'b200x' at character 4"),
        ({"action": ""}, "expected that it is our turn"),
        ({"action": "b200f"}, "the hand is over, but there are no winnings"),
        ({"client_pos": 1}, "expected that it is our turn"),
        ({"client_pos": "0"}, "client_pos \"'0'\": expected 0 to 1"),
        ({"hole_cards": ["Ac"]}, "expected 2 cards"),
        ({"hole_cards": ["Ac", "Ac"]}, "expected no card twice"),
        ({"board": ["Th"]}, "expected 0 cards"),
        ({"board": None}, "expected 0 cards"),
        ({"old_action": "c"}, "old_action 'c': expected the beginning of action"),
        ({"old_action": 7}, "old_action '7': expected text"),
        ({"session_total": "x"}, "session_total \"'x'\": expected chips"),
        ({"session_num_hands": -1}, "session_num_hands '-1'"),
        ({"winnings": 100}, "there are winnings, but the hand is not over"),
    ],
)
def test_replies_that_are_not_believed(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SlumbotError) as caught:
        read_seen(FIRST | changes, 0)
    assert reason in str(caught.value)


@pytest.mark.parametrize("token", [7, "", "x" * 5000, "a\nb", ["x"]])
def test_tokens_that_are_none(token: object) -> None:
    with pytest.raises(SlumbotError) as caught:
        read_token({"token": token})
    assert str(caught.value) == "token: expected 1 to 4096 printable characters"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (FLOP, "expected 'b200c/' and what was sent"),
        (FIRST, "other cards"),
        (FLOP | {"action": "b200c/b200c/", "board": ["Th", "9s", "4s", "2c"]}, "expected 'b200c/' and what was sent"),
        (FLOP | {"action": "b200c/b100b300", "hole_cards": ["Ac", "8d"]}, "other cards"),
        (FLOP | {"action": "b200c/b100b300", "board": ["Th", "9s", "5s"]}, "other cards"),
        (FLOP | {"action": "b200c/b200b400"}, "expected 'b200c/' and what was sent"),
        (FLOP | {"action": "b200c/kb300"}, "expected 'b200c/' and what was sent"),
    ],
)
def test_what_does_not_follow(now: dict[str, Any], reason: str) -> None:
    with pytest.raises(SlumbotError) as caught:
        check_next(read_seen(FLOP, 0), Raise(300), read_seen({**now, "old_action": None}, 0))
    assert reason in str(caught.value)
    assert type(caught.value) is SlumbotError


def test_an_action_that_was_carried_out_twice() -> None:
    twice = FLOP | {"action": "b200c/kk/kk/", "board": ["Th", "9s", "4s", "2c", "3c"]}
    with pytest.raises(Doubled, match="carried out twice"):
        check_next(read_seen(FLOP, 0), CALL, read_seen(twice, 0))
    with pytest.raises(SlumbotError, match="in which we have done nothing"):
        check_first(read_seen(FLOP, 0), None)


# --- Calibration ----------------------------------------------------------------------------------------------------


def hand(betting: str, cards: str, values: str, names: str, baseline: float | None) -> PlayedHand:
    record = parse_state_line(f"STATE:0:{betting}:{cards}:{values}:{names}", slumbot_game())
    return PlayedHand("somewhere", record, baseline_chips=baseline)


def test_calibration() -> None:
    small = hand("f", "Kd2h|Kh7h", "50|-50", "slumbot|me", -30.0)
    big = hand("r200f", "Kd2h|Kh7h", "-100|100", "me|slumbot", 10.0)
    good = calibrate([small, small, big], "me")
    assert good.passed
    assert good.lines()[-1] == "passed: every hand in the small blind reads -50"
    seat = good.seats["small blind"]
    assert (seat.hands, seat.mean, seat.baseline, seat.left) == (2, -50, -30, -20)
    limped = hand("cc/r200f", "Kd2h|Kh7h/2c3c4c", "100|-100", "slumbot|me", None)
    bad = calibrate([small, limped], "me")
    assert not bad.passed
    assert bad.wrong == ("somewhere: hand 0: -100",)
    assert bad.seats["small blind"].baseline is None
    assert bad.lines()[-1] == "FAILED: 1 hands in the small blind do not read -50"
    assert calibrate([big], "me").lines()[-1] == "FAILED: no hand in the small blind"


# --- Faults ---------------------------------------------------------------------------------------------------------


def test_faults_come_at_their_rates_and_by_their_seed() -> None:
    rates = parse_faults("error=0.25, close-after=0.5")
    assert rates == {Fault.ERROR: 0.25, Fault.CLOSE_AFTER: 0.5}
    first, again, other = (Faults(rates, seed) for seed in (1, 1, 2))
    drawn = [first.draw() for _ in range(4000)]
    assert drawn == [again.draw() for _ in range(4000)]
    assert drawn != [other.draw() for _ in range(4000)]
    assert abs(drawn.count(Fault.ERROR) - 1000) < 5 * 27.4  # five standard deviations
    assert abs(drawn.count(Fault.CLOSE_AFTER) - 2000) < 5 * 31.6
    outage = Faults({Fault.OUTAGE_401: 1.0}, 0, outage_requests=3)
    assert [outage.draw() for _ in range(4)] == [Fault.OUTAGE_401] * 4
    assert parse_faults("") == {}


@pytest.mark.parametrize(
    "text", ["error", "error=x", "error=2", "error=-1", "error=nan", "x=0.1", "=1", "error=0.6,400=0.6"]
)
def test_faults_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="--faults"):
        parse_faults(text)


# --- Settings -------------------------------------------------------------------------------------------------------


def test_the_shipped_file_says_the_defaults() -> None:
    assert load_settings(DEFAULT_FILE, {}) == SlumbotSettings()
    text = DEFAULT_FILE.read_text()
    assert all(f"\n{key} = " in text for key in SlumbotSettings.model_fields)
    assert SlumbotSettings().spacing_s == 0.5
    assert SlumbotSettings().backoff_max_s == 300
    assert SlumbotSettings().concurrency == 1


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"base": "ftp://x/api"}, "slumbot.base = 'ftp://x/api': expected an address like"),
        ({"base": "nothing"}, "expected an address like"),
        ({"base": "https://me:secret@slumbot.com/api"}, "expected an address like"),
        ({"base": "https://slumbot.com:0x/api"}, "expected an address like"),
        ({"base": "http://slumbot.com/api"}, "expected https:// to another machine"),
        ({"spacing_s": 0.1}, "slumbot.spacing_s = 0.1: expected at least 0.5 to another machine"),
        ({"concurrency": 5}, "options: slumbot.concurrency = 5: expected"),
        ({"concurrency": 0}, "slumbot.concurrency"),
        ({"think_s": 0.0}, "slumbot.think_s"),
        ({"seed": -1}, "slumbot.seed"),
    ],
)
def test_settings_that_are_refused(overrides: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(None, overrides)
    assert reason in str(caught.value)


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    for content, reason in (
        ("[slumbot]\nspaces = 1\n", "slumbot.spaces = 1: unknown key: expected one of base, user"),
        ("[slumbot]\nspacing_s = 'x'\n", "slumbot.spacing_s = 'x': expected"),
        ("slumbot = 3\n", "expected a section [slumbot]"),
        ("[slumbot\n", "not a TOML file"),
    ):
        path.write_text(content)
        with pytest.raises(ConfigError) as caught:
            load_settings(path, {})
        assert str(caught.value).startswith(f"{path}: ")
        assert reason in str(caught.value)


def test_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARATUS_SLUMBOT_PASSWORD", raising=False)
    with pytest.raises(ConfigError, match="no password: expected it in PARATUS_SLUMBOT_PASSWORD"):
        read_password(SlumbotSettings(user="me"))
    monkeypatch.setenv("PARATUS_SLUMBOT_PASSWORD", "from the environment")
    assert read_password(SlumbotSettings(user="me")) == "from the environment"
    path = tmp_path / "password"
    settings = SlumbotSettings(user="me", password_file=str(path))
    with pytest.raises(ConfigError, match="No such file"):
        read_password(settings)
    path.write_text("from a file\nand more\n")
    for mode in (0o644, 0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(ConfigError, match="expected a file that only you can read"):
            read_password(settings)
    path.chmod(0o600)
    assert read_password(settings) == "from a file"
    path.write_text("\n")
    with pytest.raises(ConfigError, match="no password"):
        read_password(settings)

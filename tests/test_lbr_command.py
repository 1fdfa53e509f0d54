"""`paratus lbr`: hands against baselines, what the agent is asked, and a file that survives its writer's death."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from agents import make_quick

from bot import cli
from dealer_tools.lbr import equity, hand
from dealer_tools.lbr.hand import Played, Players
from dealer_tools.lbr.settings import Setting
from dealer_tools.results import Estimate
from protocol.cards import Card
from protocol.dealing import CardStream
from protocol.game import DEFAULT_GAME, Game, load_game
from protocol.hands import NUM_CLASSES, NUM_HANDS
from protocol.state import Deal, Raise
from strategies.baselines import AlwaysCall, Random
from strategies.draws import Draws
from strategies.policy import Policy, hand_column, round_columns
from strategies.registry import make_strategy
from strategies.strategy import Budget, Spot, Strategy

HOLDEM = load_game(DEFAULT_GAME).game
LEDUC = load_game("leduc").game
CHIPS = ("chips", "mean_chips")
PARATUS = [sys.executable, "-m", "bot.cli"]


@pytest.fixture(autouse=True)
def _even_before_the_flop(monkeypatch):
    """Every hand has even chances there: the true table takes a minute where nobody has computed it yet."""
    table = np.zeros((NUM_CLASSES, NUM_HANDS), np.int32)
    monkeypatch.setattr(equity, "preflop_margins", lambda: table)


def deals(game: Game, count: int, seed: int = 3) -> list[Deal]:
    stream = CardStream(game, seed)
    return [stream.deal() for _ in range(count)]


def play(game: Game, setting: str, agent: str | Strategy, dealt: list[Deal]) -> list[tuple[Played, Played]]:
    strategy = make_strategy(agent, game) if isinstance(agent, str) else agent
    players = Players(game, Setting(setting), strategy, 7)
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
            players = Players(HOLDEM, setting, Random(), 7)
            for seat in (0, 1):
                held.append(hand_column(HOLDEM, deal.hole[1 - seat]))
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
    inline = True
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
    twice = [words for words in bets.values() if len(words) == 2]  # considered, then made
    assert twice
    assert all(first[1] != second[1] for first, second in twice)


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


# --- The command and its file ---------------------------------------------------------------------------------------


@pytest.fixture
def call(capsys):
    def call_main(*arguments):
        try:
            code = cli.main(["lbr", *map(str, arguments)])
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return call_main


OPTIONS = ("random", "--game", "leduc", "--setting", "56-late", "--hands")


def test_in_json(call):
    code, out, _ = call(*OPTIONS, 200, "--seed", 5, "--json")
    assert code == 0
    report = json.loads(out)
    assert (report["hands"], report["deals"], report["seed"]) == (400, 200, 5)
    for name in ("raw", "imaginary"):
        each = report[name]
        assert each["observations"] == 200
        assert each["low_mbb"] == pytest.approx(each["mean_mbb"] - 1.959964 * each["se_mbb"])
        assert each["se_mbb"] == pytest.approx(each["sd_mbb"] / math.sqrt(200))
    assert report["imaginary"]["mean_mbb"] > 0
    assert np.mean(report["by_position_mbb"]) == pytest.approx(report["imaginary"]["mean_mbb"])
    assert "proves nothing" in report["meaning"]


def test_as_people_read_it(call):
    code, out, _ = call(*OPTIONS, 1)
    assert code == 0
    assert out.startswith("local best response 56-late v random, leduc, 2 hands in 1 pairs, seed 0\n")
    assert "unknown" in out  # one pair says nothing about the error
    assert out.endswith("proves nothing: another opponent may still win.\n")


def without_time(text: str) -> dict[str, object]:
    return {key: value for key, value in json.loads(text).items() if key != "seconds"}


def test_a_killed_run_goes_on(call, tmp_path):
    """At any moment: the file comes out as that of a run which nobody disturbed."""
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    _, expected, _ = call(*OPTIONS, 300, "--json", "--out", whole)
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    for lines in (10, 100):
        runner = subprocess.Popen(
            [*PARATUS, "lbr", *OPTIONS, "300", "--out", str(broken)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not broken.exists() or broken.read_bytes().count(b"\n") < lines:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        assert whole.read_bytes().startswith(broken.read_bytes())
    code, found, _ = call(*OPTIONS, 300, "--json", "--out", broken)
    assert code == 0
    assert broken.read_bytes() == whole.read_bytes()
    assert without_time(found) == without_time(expected)


def test_a_broken_last_line_is_played_again(call, tmp_path):
    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 5, "--out", path)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (5, first - 1, first, first + 1, len(whole) - 30, len(whole) - 1):
        path.write_bytes(whole[:cut])
        code, _, err = call(*OPTIONS, 5, "--out", path)
        assert code == (0 if cut > 15 else 2), err
        if code == 0:
            assert path.read_bytes() == whole


def test_an_interrupted_run_says_how_to_go_on(call, tmp_path, monkeypatch):
    path, pair = tmp_path / "pairs.jsonl", Players.pair

    def interrupted(self, number, deal):
        if number == 3:
            raise KeyboardInterrupt
        return pair(self, number, deal)

    monkeypatch.setattr(Players, "pair", interrupted)
    code, out, err = call(*OPTIONS, 5, "--out", path)
    assert (code, out) == (130, "")
    assert f"stopped; the same command continues in {path}" in err
    assert path.read_bytes().count(b"\n") == 4


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("random", "--game", "leduc", "--setting", "fc", "--hands", "5"), "setting"),
        ((*OPTIONS, "6"), "deals"),
        ((*OPTIONS, "5", "--seed", "1"), "seed"),
        (("always-call", *OPTIONS[1:], "5"), "agent"),
    ],
)
def test_another_plan_is_refused(call, tmp_path, options, key):
    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 5, "--out", path)
    before = path.read_bytes()
    code, _, err = call(*options, "--out", path)
    assert code == 2
    assert f"holds other hands: {key} is" in err
    assert err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["a diary\n", "{}\n", '{"paratus lbr": 1', "\n"])
def test_a_file_of_something_else_is_left_alone(call, tmp_path, text):
    path = tmp_path / "mine.txt"
    path.write_text(text)
    code, _, err = call(*OPTIONS, 5, "--out", path)
    if text.startswith('{"paratus'):
        assert code == 0  # a header that was being written
        return
    assert code == 2
    assert "holds something else" in err
    assert path.read_text() == text


def test_damage_in_the_middle_is_named(call, tmp_path):
    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 5, "--out", path)
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line, said in ((2, b"x\n", "expected a JSON object"), (3, lines[1], "expected pair 2")):
        path.write_bytes(b"".join([*lines[:number], line, *lines[number + 1 :]]))
        code, _, err = call(*OPTIONS, 5, "--out", path)
        assert code == 2
        assert f":{number + 1}: " in err
        assert said in err


def test_two_writers_at_once_are_refused(call, tmp_path):
    import fcntl

    path = tmp_path / "pairs.jsonl"
    call(*OPTIONS, 2, "--out", path)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, _, err = call(*OPTIONS, 2, "--out", path)
    assert code == 2
    assert "is being written" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("random", "--setting", "fcc", "--hands", "1"), "invalid choice: 'fcc'"),
        (("random", "--setting", "fc"), "--hands"),
        (("random", "--setting", "fc", "--hands", "0"), "expected a number from 1 to"),
        (("nobody", "--setting", "fc", "--hands", "1"), "agent 'nobody' is not known: expected one of always-fold"),
        (
            ("random", "--setting", "fc", "--hands", "1", "--game", "kuhn.limit.3p"),
            "3 players: expected a game for two",
        ),
        (("random", "--setting", "fc", "--hands", "1", "--iterations", "0"), "--iterations 0: expected 1 to 1,000,000"),
        (("random", "--setting", "fc", "--hands", "1", "--think", "0"), "--think '0': expected seconds above 0"),
        (
            ("random", "--setting", "fc", "--hands", "1", "--think", "1s", "--iterations", "5"),
            "--think with --iterations: expected one of them",
        ),
        (("blueprint", "--setting", "fc", "--hands", "1", "--blueprint", "none"), "agent blueprint: none"),
        (("random", "--setting", "fc", "--hands", "1", "--config", "none.toml"), "none.toml: No such file"),
        (("random", *OPTIONS[1:], "1", "--out", "/nowhere/x"), "--out /nowhere/x: No such file or directory"),
    ],
)
def test_what_is_refused(call, options, said):
    code, out, err = call(*options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[nested.turn]\niterations = 0\nshare = 1.0\n",
            "nested.turn.iterations = 0: expected greater than or equal to 1",
        ),
        ("[netsed]\nbase = 'random'\n", "netsed = {'base': 'random'}: unknown key: expected one that"),
        ("[router\n", "not a TOML file"),
    ],
)
def test_settings_that_are_refused(call, tmp_path, text, said):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    code, _, err = call("random", "--setting", "fc", "--hands", 1, "--config", path)
    assert code == 2
    assert str(path) in err
    assert said in err
    assert err.count("\n") == 1


def test_the_settings_of_a_bot_are_understood(call):
    from bot.config import DEFAULT_FILE

    code, out, _ = call(*OPTIONS, 2, "--config", DEFAULT_FILE, "--json")
    assert code == 0
    assert json.loads(out)["agent"] == "random"

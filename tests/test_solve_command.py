"""`paratus solve`: what it refuses, a game whose answer is known, what its numbers mean, and what people see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from variants import some_of

from bot import cli
from bot.solve import handover, pictures, solutions, solving
from bot.solve.lines import LineError, action_code, parse_line
from bot.solve.progress import Goal, SolveBar, TimeEstimate
from bot.solve.solving import bytes_text, parse_memory, parse_target, parse_time
from bot.solve.spots import SolveSpot, SpotError, menu_notes, parse_board, read_menu, read_range, root_state
from machine.progress import duration_text, short
from protocol.cards import NUM_CARDS, Card, card_text
from protocol.hands import NUM_HANDS, hand_cards, parse_hand
from protocol.state import apply, replay

RIVER = {
    "board": "Ks 7h 2d 5c Jh",
    "pot": "1000",
    "stack": "9500",
    "oop": "22+,A2s+,KTs+,QJs,T9s,K9o+",
    "ip": "TT+,AQ,KQs,76s,55,JTs,QTs",
}
TURN = {
    "board": "Qs8d5c3h",
    "pot": "600",
    "stack": "900",
    "oop": "QJs,88,76s,KK",
    "ip": "AQs,55,T9s",
    "menu": "50%,a / a",
}
PARATUS = [sys.executable, "-m", "bot.cli", "solve"]
ENDGAMES = Path(__file__).resolve().parent.parent / "benchmarks" / "endgames"


def options(spot: dict[str, str], **changes: str | None) -> list[str]:
    """A spot as options; None leaves one out."""
    given = {key: value for key, value in (spot | changes).items() if value is not None}
    return [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", value)]


@pytest.fixture
def call(capsys):
    """Run the command in this process: its exit code, stdout and stderr."""

    def call_main(*arguments):
        try:
            code = cli.main(["solve", *map(str, arguments)])
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return call_main


@pytest.fixture
def no_work(monkeypatch):
    """Fails the test if anything is solved."""

    def work(*_args, **_kwargs):
        raise AssertionError("solved before everything was checked")

    for module in (solving, solutions, handover):
        monkeypatch.setattr(module, "make_solver", work)


def one_line(text):
    assert text.endswith("\n")
    assert text[:-1].isprintable(), text
    return text[:-1]


# --- Refused, in one line, before any work ---------------------------------------------------------------------------

SPOTS = [
    ({"board": None, "oop": None}, "--board, --oop missing: expected a spot, or --endgame FILE, or --load FILE"),
    ({"board": ""}, "board: no cards: expected 3 to 5 (spots before the flop cannot be solved yet)"),
    ({"board": "Ks7h"}, "board Ks7h: expected 3 (flop), 4 (turn) or 5 (river) different cards"),
    ({"board": "Ks7h2d5cJh3c"}, "board Ks7h2d5cJh3c: expected 3"),
    ({"board": "Ks7h2dKs"}, "board: 'Ks7h2dKs' holds the same card twice"),
    ({"board": "Ks7h2x"}, "board: '2x' is not a card: expected a rank"),
    ({"pot": "x"}, "argument --pot: 'x': expected a whole number"),
    ({"pot": "0"}, "pot 0: expected chips from 1"),
    ({"pot": "-100"}, "pot -100: expected chips from 1"),
    (
        {"pot": "1001"},
        "pot 1001: expected an even number of chips, half from each player: double every number (pot 2002, ",
    ),
    ({"pot": "9" * 15}, "expected chips from 1"),
    ({"stack": "0"}, "stack 0: expected chips from 1"),
    ({"stack": "-1"}, "stack -1: expected chips from 1"),
    ({"big_blind": "0"}, "big blind 0: expected chips from 1"),
    ({"big_blind": "10000"}, "big blind 10000: expected less than a whole stack, 10000"),
    ({"oop": ""}, "oop: range '': an empty part"),
    ({"oop": "AA:0"}, "oop: no hand has a weight: expected at least one"),
    ({"oop": "AKx"}, "oop: 'AKx': expected a class"),
    ({"ip": "AA:-1"}, "ip: 'AA:-1': weight '-1': expected a number"),
    ({"ip": "KsQs,Kh7h"}, "ip: every hand meets the board Ks7h2d5cJh: expected one that can be held"),
    ({"oop": "AhAd", "ip": "AhKd,AdQc"}, "oop and ip: every hand of one meets every hand of the other"),
    ({"oop": "@missing.txt"}, "oop: range missing.txt: No such file or directory"),
    ({"menu": "50"}, "menu part '50': size '50': expected 50% (of the pot)"),
    ({"menu": "turn 50% / a"}, "menu: the menu has no sizes for the river: expected a part river"),
    ({"menu": "-"}, "menu '-': no bet on any street: expected sizes"),
    ({"menu": "50c / a"}, "menu: 50c: no legal bet in this spot: expected 100c to 9500c"),
    ({"menu": "50%,9501c / a"}, "menu: 9501c: no legal bet in this spot: expected 100c to 9500c"),
    ({"menu": "50%; also r300c/r700"}, "menu: also r300c/r700: expected betting that begins with r500c/cc/cc/"),
    ({"menu": "50%; also r500c/cc/cc/r550"}, "menu: also r500c/cc/cc/r550"),
]
ACTIONS = [
    (["--target", "5"], "--target '5': expected 0.5% (of the pot), 5mbb or 20c"),
    (["--target", "0%"], "--target '0%': expected"),
    (["--target=-1%"], "--target '-1%': expected"),
    (["--time", "soon"], "--time 'soon': expected 30s, 5m or 1h"),
    (["--iterations", "0"], "--iterations 0: expected a number from 1 up"),
    (["--threads", "0"], "--threads 0: expected a number from 1 up"),
    (["--memory", "much"], "--memory 'much': expected 8GB or 800MB"),
    (["--memory", "1kB"], "--memory 1.0 kB: the spot needs"),
    (["--algorithm", "magic"], "algorithm 'magic': expected cfr"),
    (["--bits", "8"], "argument --bits: invalid choice: 8"),
    (
        ["--node", "b33%"],
        "--node: 'b33%' at the start: no action of this tree: expected one of x (check), b50% (bet 500)",
    ),
    (["--node", "b50%,c"], "--node: after b50%,c nothing is left to decide"),
    (["--node", "x,[Td]"], "--node: '[Td]' after x: no card is dealt there"),
    (["--hand", "AhKs"], "--hand 'AhKs': meets the board Ks7h2d5cJh"),
    (["--hand", "43o"], "--hand '43o': not in the range of oop, who acts"),
    (["--node", "x", "--hand", "22"], "--hand '22': not in the range of ip, who acts"),
    (["--hand", "??"], "--hand: '??': expected a class"),
    (["--save", "missing/file"], "--save missing/file: no folder missing"),
    (["--png", "."], "--png .: is a folder"),
    (["--save-bits", "8"], "--save-bits without --save"),
    (["--load", "file"], "--load and --board: the file says that"),
    (["--endgame", "file"], "--endgame and --board: the file says that"),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [(options(RIVER, **changes), said) for changes, said in SPOTS]
    + [([*options(RIVER), *more], said) for more, said in ACTIONS]
    + [
        ([], "--board, --pot, --stack, --oop, --ip missing"),
        (["--endgame", "missing"], "endgame missing: No such file or directory: expected a file"),
        (["--load", "missing"], "missing: No such file or directory: expected a solution file"),
        (["--load", "x", "--target", "1%"], "--load and --target: what is loaded is solved already"),
        pytest.param(
            options(RIVER, board="Ks7h2d", menu="min,10%,20%,30%,40%,50%,60%,70%,80%,90%"),
            "menu: the betting tree has more than",
            marks=pytest.mark.proof,
        ),
    ],
)
def test_refused_in_one_line_before_any_work(call, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    line = one_line(err.removeprefix(err[: err.rfind("\nparatus") + 1]))
    assert line.startswith("paratus solve: ")
    assert said in line
    assert len(line) < 500
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_work")
def test_the_price_is_said_before_any_work(call):
    code, out, err = call(*options(RIVER), "--price", "--json")
    assert code == 0
    assert "Ks7h2d5cJh, pot 1,000, 9,500 behind: 155 × 56 hands, 24 decisions on 1 board, " in one_line(err)
    document = json.loads(out)
    assert document["price"]["decisions"] == 24
    assert document["spot"]["board"] == "Ks7h2d5cJh"
    assert np.array_equal(read_range(document["spot"]["oop"], "oop"), read_range(RIVER["oop"], "oop"))


def test_ranges_from_files(tmp_path):
    wanted = read_range("AA,KQs:0.5", "oop")
    (tmp_path / "range.txt").write_text("AA,\nKQs:0.5\n")
    np.save(tmp_path / "range.npy", wanted.astype(np.float64))
    for name in ("range.txt", "range.npy"):
        assert np.array_equal(read_range(f"@{tmp_path / name}", "oop"), wanted)
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}] * NUM_HANDS, object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "range.npy").read_bytes()[:1000])
    np.save(tmp_path / "short.npy", np.ones(10))
    np.save(tmp_path / "words.npy", np.array(["a"] * NUM_HANDS))
    for name in ("bad.npy", "cut.npy", "short.npy", "words.npy"):
        with pytest.raises(SpotError, match="expected") as caught:
            read_range(f"@{tmp_path / name}", "oop")
        assert str(caught.value).startswith("oop: ")
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_time, "30s", 30),
        (parse_time, "1.5m", 90),
        (parse_time, "2h", 7200),
        (parse_time, "7", 7),
        (parse_memory, "8GB", 8 << 30),
        (parse_memory, "1.5 GiB", 3 << 29),
        (parse_memory, "800MB", 800 << 20),
        (lambda text: parse_target(text, river()), "0.5%", 5),
        (lambda text: parse_target(text, river()), "5mbb", 0.5),
        (lambda text: parse_target(text, river()), "20c", 20),
    ],
)
def test_amounts(parse, text, value):
    assert parse(text) == pytest.approx(value)


# --- Spots and lines -------------------------------------------------------------------------------------------------


def river(**changes: object) -> SolveSpot:
    return replace(spot_of(RIVER), **changes)


def spot_of(given: dict[str, str]) -> SolveSpot:
    return SolveSpot(
        board=parse_board(given["board"]),
        pot=int(given["pot"]),
        stack=int(given["stack"]),
        ranges=(read_range(given["oop"], "oop"), read_range(given["ip"], "ip")),
        menu=read_menu(given.get("menu", "50%,100%,a / 100%,a")),
    )


@pytest.mark.parametrize("board", ["Ks7h2d", "Ks7h2d5c", "Ks7h2d5cJh"])
@pytest.mark.parametrize("pot", [200, 400, 1000, 12_346])
def test_the_root_is_the_state_of_a_hand_that_the_rules_allow(board, pot):
    state = root_state(river(board=parse_board(board), pot=pot, stack=700))
    assert state == replay(state.game, state.actions)
    assert (state.pot, state.street, state.actor, state.owed) == (pot, len(board) // 2 - 2, 0, 0)
    assert state.game.stack == (700 + pot // 2,) * 2


@pytest.mark.parametrize("pot", [2, 100, 198, 202, 398])
def test_roots_of_pots_too_small_for_a_raise_behave_alike(pot):
    """A bet, a raise and a call from there, in chips of the street."""
    spot = river(pot=pot, menu=read_menu("250c / 600c / -"))
    line = parse_line("b250,r600", root_state(spot), spot.board, spot.menu)
    assert line.state.committed == (pot // 2 + 250, pot // 2 + 600)
    assert line.state.owed == 350


def test_notes_about_sizes_that_become_others():
    assert menu_notes(river(menu=read_menu("5%,50%,2000% / a"))) == [
        "menu: 5% is 50 chips, less than the smallest bet: 100 is used",
        "menu: 2000% is 20,000 chips, more than the 9,500 behind: all-in is used",
    ]
    assert menu_notes(river()) == []


@pytest.mark.parametrize("seed", range(20))
def test_lines_read_back_to_the_decision_they_were_written_for(seed):
    """Random walks over trees of odd sizes; every action is named as it is written, with cards between."""
    rng = Random(seed)
    sizes = ",".join([f"{rng.uniform(10, 250):.{rng.randrange(3)}f}%" for _ in range(3)] + ["333c", "min", "a"])
    spot = river(
        board=parse_board("Ks7h2d5cJh"[: 2 * rng.choice([3, 4, 5])]),
        pot=2 * rng.randrange(1, 5000),
        stack=rng.randrange(400, 30_000),
        menu=read_menu(f"{sizes} / {rng.uniform(20, 200):.1f}%,3x,a"),
    )
    root = state = root_state(spot)
    actions, cards, words = [], [], []
    while not state.finished:
        text = rng.choice([",", " ", ", "]).join(words)
        line = parse_line(text, root, spot.board, spot.menu)
        assert (line.state, line.cards, line.actions) == (state, tuple(cards), tuple(actions))
        assert list(line.choices) == spot.menu.actions(state)
        assert parse_line(line.text, root, spot.board, spot.menu) == line
        codes = [action_code(state, action) for action in line.choices]
        assert len(set(codes)) == len(codes)
        action = rng.choice(line.choices[line.choices[0] == "f" :])
        actions.append(action)
        words.append(action_code(state, action))
        after = apply(state, action)
        if not after.finished and after.street > state.street:
            card = rng.choice([card for card in range(NUM_CARDS) if card not in (*spot.board, *cards)])
            cards.append(Card(card))
            words.append(rng.choice([card_text(Card(card)), f"[{card_text(Card(card))}]"]))
        state = after
    with pytest.raises(LineError, match="nothing is left to decide"):
        parse_line(",".join(words), root, spot.board, spot.menu)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x,x", "after x,x a card is dealt: expected it in brackets, as in x,x,[Td]"),
        ("x,x,b50%", "'b50%' after x,x: expected the card that is dealt, as in [Td]"),
        ("x,x,[Qs]", "'[Qs]': that card is on the board already, Qs8d5c3h"),
        ("x,x,[]", "'' is not a card"),
        ("[2c]", "'[2c]' at the start: no card is dealt there: expected an action"),
        ("a,c", "after a,c nothing is left to decide"),
        ("b50%,f,x", "'x' after b50%,f: nothing is left to decide there"),
        ("b400", "expected one of x (check), b50% (bet 300), a (all-in, bet 900)"),
        ("c", "'c' at the start: no action of this tree"),
        (
            "b50%,x",
            "'x' after b50%: no action of this tree: expected one of f (fold), c (call 300), a (all-in, raise to 900)",
        ),
        ("b1e3%", "'b1e3%' at the start: no action"),
        ("x" * 3000, "a line of 3000 characters"),
    ],
)
def test_lines_that_lead_nowhere(line, said):
    spot = spot_of(TURN)
    with pytest.raises(LineError) as caught:
        parse_line(line, root_state(spot), spot.board, spot.menu)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_the_many_names_of_an_action():
    spot = spot_of(TURN)
    root = root_state(spot)
    for line, meant in [("x", "k"), ("b50%", "r50%"), ("b50%", "b300"), ("a", "b900"), ("a", "r150%"), ("a", "b999%")]:
        assert parse_line(meant, root, spot.board, spot.menu).text == line


# --- The answer ------------------------------------------------------------------------------------------------------


def solved(call, *arguments: object) -> dict:
    code, out, _ = call(*arguments, "--json")
    assert code == 0
    return json.loads(out)


CLAIRVOYANCE = {
    "board": "KsKh8d8c2s",
    "pot": "1000",
    "stack": "1000",
    "oop": "AhAd,QcJc",
    "ip": "9s9h",
    "menu": "oop 100% / -; ip -",
}
"""Out of position holds the best or the worst hand, and knows it; in position can only call or fold."""


def test_the_clairvoyance_game(call):
    """Chen and Ankenman, The Mathematics of Poker, chapter 11: a pot-sized bet is bluffed half as often as it is for
    value, called half the time, and is worth three quarters of the pot when half of the hands are good."""
    found = solved(call, *options(CLAIRVOYANCE), "--target", "0.01%")["answer"]
    hands = {hand["hand"]: hand for hand in found["hands"]}
    assert found["player"] == "oop"
    assert hands["AhAd"]["frequencies"]["b100%" if "b100%" in hands["AhAd"]["frequencies"] else "a"] > 0.98
    assert hands["QcJc"]["frequencies"]["a"] == pytest.approx(0.5, abs=0.02)
    assert found["ev_chips"]["oop"] == pytest.approx(750, abs=3)
    assert found["ev_chips"]["ip"] == pytest.approx(250, abs=3)
    assert hands["AhAd"]["action_ev_chips"]["a"] == pytest.approx(1500, abs=20)
    assert hands["QcJc"]["ev_chips"] == pytest.approx(0, abs=20)

    answer = solved(call, *options(CLAIRVOYANCE), "--target", "0.01%", "--node", "a")["answer"]
    assert answer["player"] == "ip"
    assert answer["to_call_chips"] == 1000
    assert answer["share_of_deals"] == pytest.approx(0.75, abs=0.01)
    (hand,) = answer["hands"]
    assert hand["frequencies"]["c"] == pytest.approx(0.5, abs=0.02)
    assert hand["action_ev_chips"]["f"] == pytest.approx(0, abs=1e-3)
    assert hand["action_ev_chips"]["c"] == pytest.approx(0, abs=40)
    assert sum(answer["ev_chips"].values()) == pytest.approx(2000, abs=1)


@pytest.mark.parametrize("node", ["", "x", "x,b50%", "b50%", "b100%,b100%"])
def test_what_the_numbers_mean(call, node):
    """Shares of hands and classes, and EVs of hands and players, from those of actions and hands."""
    document = solved(call, *options(RIVER), "--iterations", 200, "--node", node)
    answer = document["answer"]
    weights = np.array([hand["weight"] for hand in answer["hands"]])
    assert weights.sum() == pytest.approx(1, abs=1e-4)
    codes = [action["code"] for action in answer["actions"]]
    shares = np.array([[hand["frequencies"][code] for code in codes] for hand in answer["hands"]])
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert weights @ shares == pytest.approx([action["frequency"] for action in answer["actions"]], abs=1e-4)
    assert sum(answer["ev_chips"].values()) == pytest.approx(answer["pot_chips"], rel=1e-4)
    for hand, mine in zip(answer["hands"], shares, strict=True):
        if hand["weight"] > 0:
            evs = np.array([hand["action_ev_chips"][code] for code in codes])
            assert mine @ evs == pytest.approx(hand["ev_chips"], abs=0.5)
            assert "f" not in codes or evs[codes.index("f")] == pytest.approx(0, abs=1e-2)
    evs = np.array([hand["ev_chips"] or 0 for hand in answer["hands"]])
    assert weights @ evs == pytest.approx(answer["ev_chips"][answer["player"]], abs=0.5)
    assert sum(group["weight"] for group in answer["classes"]) == pytest.approx(1, abs=1e-4)
    assert sum(group["hands"] for group in answer["classes"]) == len(answer["hands"])
    names = [group["class"] for group in answer["classes"]]
    assert len(set(names)) == len(names)
    for group in answer["classes"]:
        assert sum(group["frequencies"].values()) == pytest.approx(1, abs=1e-5)
    assert document["solve"]["iterations"] == 200
    assert document["solve"]["exploitability"]["mbb"] == pytest.approx(
        10 * document["solve"]["exploitability"]["chips"], rel=1e-4
    )


def test_weights_at_a_node_by_counting_pairs_of_hands(call):
    """Slowly, from the strategies on the way: every pair of hands that share no card."""
    root, check = (solved(call, *options(RIVER), "--iterations", 100, "--node", node)["answer"] for node in ("", "x"))
    oop, ip = ({hand["hand"]: (hand["reach"], hand["frequencies"]) for hand in each["hands"]} for each in (root, check))

    def clash(a, b):
        return set(hand_cards(parse_hand(a))) & set(hand_cards(parse_hand(b)))

    joint = {b: sum(w * f["x"] for a, (w, f) in oop.items() if not clash(a, b)) * v for b, (v, _) in ip.items()}
    total = sum(joint.values())
    for hand in check["hands"]:
        assert hand["weight"] == pytest.approx(joint[hand["hand"]] / total, abs=1e-5)
    deals = sum(w * v for a, (w, _) in oop.items() for b, (v, _) in ip.items() if not clash(a, b))
    assert check["share_of_deals"] == pytest.approx(total / deals, rel=1e-4)
    assert root["share_of_deals"] == 1


def test_a_turn_spot_and_a_card_below_it(call):
    answer = solved(call, *options(TURN), "--iterations", 60, "--node", "b50%,c,[8s],x")["answer"]
    assert answer["board"] == "Qs8d5c3h8s"
    assert (answer["player"], answer["pot_chips"], answer["behind_chips"]) == ("ip", 1200, 600)
    assert all("8s" not in hand["hand"] for hand in answer["hands"])
    assert sum(answer["ev_chips"].values()) == pytest.approx(1200, rel=1e-4)


def test_a_card_that_leaves_nothing_to_hold(call):
    code, _, err = call(*options(TURN, oop="8s8h,8s8c"), "--node", "x,x,[8s]")
    assert code == 2
    assert "--node: oop: every hand meets the board Qs8d5c3h8s" in err


def test_a_decision_that_is_never_reached(call):
    """Deuces are dead against a set of queens and never call: what would follow is unknown, and that is said."""
    spot = [*options(TURN, oop="QcQd,QcQh", ip="2h2c,2s2c"), "--iterations", 300, "--algorithm", "cfr+:100"]
    answer = solved(call, *spot, "--node", "b50%,c,[Ts]")["answer"]
    assert answer["share_of_deals"] == 0
    assert answer["ev_chips"] == {"oop": None, "ip": None}
    assert [hand["weight"] for hand in answer["hands"]] == pytest.approx([0.5, 0.5])
    code, out, _ = call(*spot, "--node", "b50%,c,[Ts]")
    assert code == 0
    assert "after b50%,c,[Ts], where 0.0% of the deals come\nnever played: " in out
    assert "EV unknown" in out


@pytest.mark.parametrize("weight", ["1e-40", "1e-12", "1e30"])
def test_the_scale_of_weights_means_nothing(call, weight):
    """Float32 has few digits left at 1e-40, and no room for products of 1e30."""
    ones = {"oop": "AA,QTs", "ip": "KQs,JJ,T9s"}
    scaled = {who: ",".join([f"{part}:{weight}" for part in text.split(",")]) for who, text in ones.items()}
    plain, other = (
        solved(call, *options(RIVER, **ranges), "--iterations", 200, "--node", "x")["answer"]
        for ranges in (ones, scaled)
    )
    for mine, theirs in zip(plain["hands"], other["hands"], strict=True):
        assert mine["weight"] == pytest.approx(theirs["weight"], rel=1e-4)
        assert mine["ev_chips"] == pytest.approx(theirs["ev_chips"], rel=1e-3, abs=0.1)
        assert mine["reach"] * float(weight) == pytest.approx(theirs["reach"], rel=1e-3)


def test_endgame_files(call):
    document = solved(call, "--endgame", ENDGAMES / "river-large-pot.txt", "--iterations", 20)
    assert document["spot"]["pot_chips"] == 3800
    assert document["spot"]["stack_chips"] == 20_000 - 1900
    document = solved(call, "--endgame", ENDGAMES / "river-large-pot.txt", "--iterations", 5, "--stack", 500)
    assert document["spot"]["stack_chips"] == 500


def test_a_target_that_is_not_reached_is_said(call):
    code, _, err = call(*options(RIVER), "--target", "1mbb", "--iterations", 10)
    assert code == 0
    assert "the target of 0.1 chips was not reached" in err
    code, out, err = call(*options(RIVER), "--target", "0.5%")
    assert code == 0
    assert "not reached" not in err
    assert float(out.split("mbb/g = ")[1].split("%")[0]) <= 0.5


# --- What people see -------------------------------------------------------------------------------------------------


def test_the_tables(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call(*options(RIVER), "--iterations", 100)
    assert code == 0
    assert len(err.splitlines()) == 1
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == "Ks7h2d5cJh: out of position (OOP) acts; pot 1,000, 9,500 behind"
    assert [line.split()[-1] for line in lines[1:5]] == ["(x)", "(b50%)", "(b100%)", "(a)"]
    assert lines[5].startswith("EV OOP ")
    assert lines[5].endswith("together the pot of 1,000; folding is 0")
    assert lines[6].startswith("exploitability ")
    assert lines[6].count("dcfr:1.5,0,2, 100 iterations")
    assert lines[8].split() == ["hand", "combos", "x", "b50%", "b100%", "a", "EV"]
    names = [line.split()[0] for line in lines[9:]]
    assert names[:6] == ["AA", "AKs", "AQs", "AJs", "ATs", "A9s"]
    assert names[-3:] == ["44", "33", "22"]
    assert all(len(line) <= 80 for line in lines[8:])
    monkeypatch.setenv("COLUMNS", "150")
    _, wide, _ = call(*options(RIVER), "--iterations", 100)
    wide_lines = wide.splitlines()
    assert wide_lines[8].split().count("combos") == 3
    assert len(wide_lines) < len(lines) - 15
    assert set(names) <= {word for line in wide_lines[9:] for word in line.split()}


def test_hands_one_by_one(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call(*options(RIVER), "--iterations", 100, "--hand", "AA")
    assert code == 0
    rows = [line.split() for line in out.splitlines()[9:15]]
    assert [row[0] for row in rows] == ["AdAc", "AhAc", "AhAd", "AsAc", "AsAd", "AsAh"]
    monkeypatch.setenv("COLUMNS", "50")
    _, narrow, _ = call(*options(RIVER), "--iterations", 100, "--hand", "AhAd")
    assert [line.split()[-3] for line in narrow.splitlines()[9:13]] == ["x", "b50%", "b100%", "a"]
    answer = solved(call, *options(RIVER), "--iterations", 100, "--hand", "AhAd,AK")["answer"]
    # AKo is not in the range, AsKs meets the board.
    assert {hand["hand"] for hand in answer["hands"]} == {"AhAd", "AcKc", "AdKd", "AhKh"}
    assert answer["classes"] == []


@pytest.mark.parametrize("node", some_of(["", "b50%"]))
def test_pictures(call, tmp_path, node):
    matplotlib = pytest.importorskip("matplotlib.image")
    path = tmp_path / "answer.png"
    code, _, err = call(*options(RIVER), "--iterations", 50, "--node", node, "--png", path)
    assert code == 0
    assert f"{path}: written" in err
    assert path.read_bytes().startswith(b"\x89PNG")
    picture = matplotlib.imread(path)
    assert picture.shape[0] > 500
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50
    assert [each.name for each in tmp_path.iterdir()] == ["answer.png"]


@pytest.mark.usefixtures("no_work")
def test_without_matplotlib(call, monkeypatch, tmp_path):
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    code, out, err = call(*options(RIVER), "--png", tmp_path / "x.png")
    assert (code, out) == (2, "")
    assert one_line(err) == "paratus solve: --png: matplotlib is not installed: pip install 'paratus[plots]'"


def test_the_command_imports_without_kernels():
    code = "import sys, bot.solve.command; "
    code += "print([name for name in ('numba', 'matplotlib') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "[]\n"


# --- Progress and Ctrl-C ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5])
def test_time_left_where_exploitability_falls_as_a_power(power):
    """50 iterations a second, exploitability 1000 / n^power, down to a fiftieth of a chip."""
    estimate = TimeEstimate(Goal(target_chips=0.02, iterations=None, seconds=None))
    end = (1000 / 0.02) ** (1 / power)
    assert estimate.left_s(1, 0.02, None) is None
    for iterations in (8, 16, 32, 64):
        left = estimate.left_s(iterations, iterations / 50, 1000 / iterations**power)
    assert left == pytest.approx((end - 64) / 50, rel=1e-6)


def test_time_left_is_that_of_the_nearest_goal():
    estimate = TimeEstimate(Goal(target_chips=1e-9, iterations=1000, seconds=60.0))
    for iterations in (10, 20):
        left = estimate.left_s(iterations, iterations / 100, 100 / iterations)
    assert left == pytest.approx(9.8)
    assert TimeEstimate(Goal(None, None, 60.0)).left_s(600, 6.0, None) == pytest.approx(54)
    assert TimeEstimate(Goal(1.0, None, None)).left_s(600, 6.0, 0.5) is None
    flat = TimeEstimate(Goal(1.0, None, None))
    assert [flat.left_s(n, n / 10, 50.0) for n in (10, 20, 30)] == [None, None, None]


def test_numbers_and_times_as_text():
    assert [duration_text(s) for s in (0, 0.04, 9.94, 12.4, 59.6, 200, 7500, 1e6)] == [
        *("0.0 s", "0.0 s", "9.9 s", "12 s", "1 min 0 s", "3 min 20 s", "2 h 5 min", "12 days")
    ]
    assert [short(x) for x in (0, 0.01234, 1.2345, 44.83, 1531.4, 32311.9)] == [
        *("0", "0.0123", "1.23", "44.8", "1,531", "32,312")
    ]
    assert [bytes_text(x) for x in (500, 143 << 10, 33.4 * 2**20, 1.25 * 2**30, 5 << 40)] == [
        *("0.5 kB", "143 kB", "33 MB", "1.2 GB", "5120 GB")
    ]
    assert solving.usual_memory() > 1 << 28


def interrupted_at(iterations: int):
    """A bar whose user loses patience."""

    def show(self, progress):
        if progress.iterations >= iterations:
            raise KeyboardInterrupt

    return show


def test_ctrl_c_shows_and_keeps_what_was_reached(call, monkeypatch, tmp_path):
    monkeypatch.setattr(SolveBar, "show", interrupted_at(50))
    path = tmp_path / "early.paratus"
    code, out, err = call(*options(RIVER), "--target", "0.001mbb", "--save", path)
    assert code == 130
    assert "interrupted: this is how far it came" in err
    assert out.startswith("Ks7h2d5cJh: out of position")
    monkeypatch.undo()
    document = solved(call, "--load", path)
    assert 50 <= document["solve"]["iterations"] < 100
    assert [each.name for each in tmp_path.iterdir()] == ["early.paratus"]


def test_ctrl_c_before_anything_is_known(call, monkeypatch, tmp_path):
    monkeypatch.setattr(SolveBar, "show", interrupted_at(0))
    code, out, err = call(*options(RIVER), "--save", tmp_path / "x")
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "paratus solve: interrupted"
    assert not list(tmp_path.iterdir())


def test_a_real_ctrl_c(tmp_path):
    """Kernels are compiled by then; if not, there is nothing to show, but the end is as clean."""
    arguments = [*options(RIVER), "--time", "60s", "--save", str(tmp_path / "x.paratus"), "--json"]
    process = subprocess.Popen(
        [*PARATUS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    with process:
        assert "hands, 24 decisions" in process.stderr.readline()
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in err
    if out:
        assert json.loads(out)["solve"]["iterations"] > 0
        assert [each.name for each in tmp_path.iterdir()] == ["x.paratus"]
    else:
        assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_the_bar_on_a_terminal():
    """Iteration, exploitability and time left are shown on stderr, data alone on stdout."""
    import pty

    parent, child = pty.openpty()
    arguments = [*PARATUS, *options(RIVER), "--iterations", "30000", "--json"]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=child, text=True, env=os.environ | {"TERM": "xterm"}
    )
    os.close(child)
    out, seen = "", b""
    with process:
        while True:
            try:
                part = os.read(parent, 1 << 16)
            except OSError:  # how Linux says that the other end is closed
                break
            if not part:
                break
            seen += part
        out = process.stdout.read()
    os.close(parent)
    assert process.returncode == 0
    assert json.loads(out)["solve"]["iterations"] > 100
    text = seen.decode()
    assert "iteration " in text
    assert "mbb/g (" in text
    assert " s left, iteration " in text

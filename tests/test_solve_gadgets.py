"""`paratus solve --gadget`: payoff files, what they are worth counted by hand, and the walk from a turn to its river.

Oracles: a river game small enough to be written down, a turn without bets after it, whose values are equities, and the
EVs that the command prints of a spot itself.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot import cli
from bot.solve import handover, payoffs, solutions, solving
from bot.solve.payoffs import Payoffs, Where, read_payoffs, write_payoffs
from bot.solve.progress import SolveBar
from bot.solve.safety import KINDS, live_hands
from bot.solve.spots import parse_board, read_range
from machine.errors import ConfigError
from protocol.cards import NUM_CARDS, Card, parse_card
from protocol.hands import NUM_HANDS, HandIndex, hand_cards, hand_text, holdem_hands, parse_hand
from protocol.ranges import parse_range
from protocol.ranking import hand_rank
from solver.engine import SolveProgress
from solver.gadgets import Form

CLAIRVOYANCE = {
    "board": "KsKh8d8c2s",
    "pot": "1000",
    "stack": "1000",
    "oop": "AhAd,QcJc",
    "menu": "oop 100% / -; ip -",
}
"""Out of position holds the best or the worst hand, and knows it; in position can only call or fold."""
TURN = {
    "board": "Qs8d5c3h",
    "pot": "600",
    "stack": "900",
    "oop": "QJs,88,76s,KK",
    "ip": "AQs,55,T9s",
    "menu": "50%,a / a",
}
Call = Callable[..., tuple[int, str, str]]


def options(spot: Mapping[str, str], **changes: object) -> list[str]:
    """A spot as options; None leaves one out."""
    given = {key: value for key, value in {**spot, **changes}.items() if value is not None}
    return [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", str(value))]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command in this process and an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call_main(*arguments: object) -> tuple[int, str, str]:
        try:
            code = cli.main(["solve", *map(str, arguments)])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return code, *capsys.readouterr()

    return call_main


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if anything is solved."""

    def work(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("solved before everything was checked")

    for module in (solving, solutions, handover):
        monkeypatch.setattr(module, "make_solver", work)


def solved(call: Call, *arguments: object) -> dict[str, Any]:
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def write(path: str, spot: Mapping[str, str] = CLAIRVOYANCE, **changes: object) -> Path:
    """A file for a spot with 250 chips for every hand that the board leaves; `None` takes a key away."""
    alive = np.flatnonzero(holdem_hands().live(parse_board(spot["board"]))).tolist()
    record = {
        "format": "paratus-payoffs",
        "version": 1,
        "player": "ip",
        "board": spot["board"],
        "pot_chips": int(spot["pot"]),
        "stack_chips": int(spot["stack"]),
        "payoffs_chips": {hand_text(HandIndex(hand)): 250 for hand in alive},
    } | changes
    file = Path(path)
    file.write_text(json.dumps({key: value for key, value in record.items() if value is not None}))
    return file


def fragment(err: str) -> list[str]:
    """The options that the command says to go on with."""
    (line,) = [line for line in err.splitlines() if line.startswith("paratus solve: for a solve there: ")]
    return shlex.split(line.removeprefix("paratus solve: for a solve there: "))


# --- Refused, in one line, before any work ---------------------------------------------------------------------------


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gadget", "magic"], "argument --gadget: invalid choice: 'magic'"),
        (["--gadget", "resolve"], "--gadget resolve without --payoffs: expected a file, as --save-payoffs writes them"),
        (["--gadget", "unsafe", "--payoffs", "p"], "--payoffs without a gadget: expected --gadget resolve, maxmargin,"),
        (["--payoffs", "p"], "--payoffs without a gadget: expected --gadget resolve"),
        (["--opponent", "ip"], "--opponent without --gadget, --save-payoffs or --save-range: expected one of them"),
        (["--gift-scale", "2"], "--gift-scale without a gadget: expected --gadget reach-resolve or reach-maxmargin"),
        (
            ["--gadget", "maxmargin", "--payoffs", "p", "--gift-scale", "2"],
            "--gift-scale with --gadget maxmargin, which adds no gifts: expected a reach kind",
        ),
        (
            ["--gadget", "reach-resolve", "--payoffs", "p", "--gift-scale", "-1"],
            "--gift-scale -1: expected a number from 0 to 1e+06",
        ),
        (["--gadget", "reach-resolve", "--payoffs", "p", "--gift-scale", "nan"], "--gift-scale nan: expected a number"),
        (["--opponent", "me", "--gadget", "resolve"], "argument --opponent: invalid choice: 'me'"),
        (["--gadget", "resolve", "--payoffs", "p", "--save", "s"], "--save and --gadget resolve: solution files keep"),
        (["--gadget", "resolve", "--payoffs", "missing"], "--payoffs missing: No such file or directory: expected a"),
        (
            ["--gadget", "resolve", "--payoffs", "p", "--opponent", "oop", "--oop", "AA"],
            "--ip missing: expected a spot",
        ),
        (["--payoffs-of", "average"], "--payoffs-of without --save-payoffs: expected a file to write"),
        (["--gifts", "bound"], "--gifts without --save-payoffs: expected a file to write"),
        (["--save-payoffs", "no/file"], "--save-payoffs no/file: no folder no"),
        (["--save-payoffs", "file.npy"], "--save-payoffs file.npy: JSON is written: expected another name"),
        (["--save-range", "file"], "--save-range file: expected a name that ends with .npy"),
        (["--save-payoffs", "p", "--node", "x"], "--save-payoffs: after x the street has begun: expected a --node at"),
        (["--save-range", "r.npy", "--node", "a"], "--save-range: after a the street has begun: expected a --node at"),
        (["--save-payoffs", "p", "--memory", "150kB"], "solving and --save-payoffs, for every hand of ip, need "),
    ],
)
def test_options_that_do_not_go_together(call: Call, arguments: list[str], said: str) -> None:
    given = [] if "--oop" in arguments else ["--oop", CLAIRVOYANCE["oop"]]
    ip = [] if "--gadget" in arguments or "--payoffs" in arguments else ["--ip", "9s9h"]
    refused(call, [*options(CLAIRVOYANCE, oop=None), *given, *ip, *arguments], said)
    assert not list(Path().iterdir())


@pytest.mark.usefixtures("no_work")
def test_a_solution_is_solved_already(call: Call) -> None:
    refused(call, ["--load", "x", "--gadget", "resolve", "--payoffs", "p"], "--load and --gadget: what is loaded is")


def refused(call: Call, arguments: list[str], said: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    line = err.splitlines()[-1]
    assert line.startswith("paratus solve: ")
    assert said in line
    assert line.isprintable()
    assert len(line) < 400
    assert "Traceback" not in err


HANDS = {hand_text(HandIndex(hand)): 1.0 for hand in range(NUM_HANDS)}
FILES: list[tuple[dict[str, object], str]] = [
    ({"format": "other"}, "no payoffs: expected an object with format = 'paratus-payoffs'"),
    ({"version": 2}, "version = 2: expected 1"),
    ({"extra": 1}, "extra = 1: unknown key: expected one of format, version, "),
    ({"player": "button"}, "player = 'button': expected 'oop' or 'ip'"),
    ({"player": "oop"}, "player = oop: expected ip, who chooses at the gadget: --opponent oop changes that"),
    ({"player": None}, "player = "),
    ({"board": "KsKh8d8c2h"}, "board = KsKh8d8c2h: expected that of the spot, KsKh8d8c2s"),
    ({"board": "KsKh8d8x"}, "board: '8x' is not a card"),
    ({"pot_chips": 1200}, "pot_chips = 1200: expected that of the spot, 1000"),
    ({"pot_chips": 1000.5}, "pot_chips = 1000.5: expected a whole number"),
    ({"stack_chips": 900}, "stack_chips = 900: expected that of the spot, 1000"),
    ({"payoffs_chips": {}}, "no payoff for 1,077 of the 1,077 hands that ip can hold (AsAh is one): expected one for"),
    ({"payoffs_chips": {"AhKx": 1}}, "payoffs_chips: 'Kx' is not a card"),
    ({"payoffs_chips": {"AA": 1}}, "payoffs_chips: 'AA' is not a card"),
    ({"payoffs_chips": HANDS | {"AhKd": "12"}}, "payoffs_chips.AhKd = '12': expected a number"),
    ({"payoffs_chips": HANDS | {"AhKd": True}}, "payoffs_chips.AhKd = True: expected a number"),
    ({"payoffs_chips": HANDS | {"AhKd": float("nan")}}, "payoffs_chips.AhKd = nan: expected a finite number"),
    ({"payoffs_chips": HANDS | {"AhKd": 1e12}}, "payoffs_chips.AhKd = 1000000000000.0: expected at most 2147483647"),
    ({"payoffs_chips": HANDS | {"AhKd": 10**400}}, "payoffs_chips.AhKd = 1000000"),
    ({"payoffs_chips": HANDS | {"KdAh": 2}}, "payoffs_chips: AhKd stands twice, with its cards in either order"),
    ({"gifts_chips": {"AhKd": -1}}, "gifts_chips.AhKd = -1: expected at least 0"),
    ({"spreads_chips": {"AhKd": -1}}, "spreads_chips.AhKd = -1: expected at least 0"),
    ({"response": "guess", "spreads_chips": {"AhKd": 1}}, "response = 'guess': expected 'hedge' or 'normal'"),
    ({"response": "normal"}, "response = normal without spreads_chips, which it is to: expected both"),
    ({}, "no gifts_chips, which reach-maxmargin adds: expected --gadget maxmargin, or a file with them"),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("changes", "said"), FILES, ids=[said[:40] for _, said in FILES])
def test_files_that_cannot_be_used(call: Call, changes: dict[str, object], said: str) -> None:
    path = write("p.json", **changes)
    refused(
        call,
        [*options(CLAIRVOYANCE), "--gadget", "reach-maxmargin", "--payoffs", str(path)],
        f"paratus solve: --payoffs p.json: {said}",
    )


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no JSON: expected a file that --save-payoffs wrote, or the 1,326 numbers of a .npy"),
        (b"\xff\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[1]", "no payoffs: expected an object"),
        (b'{"format": 1, "format": 2}', "'format' stands twice in an object: expected it once"),
        (b'{"format": "paratus-payoffs", "version": "\\u001b\\n"}', "version = \\x1b\\n: expected 1"),
        (b" " * (1 << 20) + b"{}", "more than 1,048,576 bytes: expected a smaller file"),
    ],
)
def test_files_that_are_something_else(call: Call, data: bytes, said: str) -> None:
    Path("p").write_bytes(data)
    refused(call, [*options(CLAIRVOYANCE), "--gadget", "resolve", "--payoffs", "p"], f"--payoffs p: {said}")


@pytest.mark.usefixtures("no_work")
def test_arrays_that_cannot_be_used(call: Call) -> None:
    whole = np.full(NUM_HANDS, 250.0)
    arrays: list[tuple[Any, str, str]] = [
        (np.ones(10), "resolve", "[10] numbers: expected 1326, by hand"),
        (np.array(["a"] * NUM_HANDS), "resolve", "expected an array of 1326 numbers"),
        (np.where(np.arange(NUM_HANDS) == 7, np.inf, whole), "resolve", " = inf: expected chips, or NaN for a hand"),
        (
            np.where(np.arange(NUM_HANDS) == parse_hand("AhKd"), np.nan, whole),
            "resolve",
            "no payoff for 1 of the 1,077",
        ),
        (whole, "reach-resolve", "no gifts_chips, which reach-resolve adds: expected --gadget resolve, or a file with"),
    ]
    for array, kind, said in arrays:
        np.save("p.npy", array)
        refused(call, [*options(CLAIRVOYANCE), "--gadget", kind, "--payoffs", "p.npy"], said)


# --- Files -----------------------------------------------------------------------------------------------------------


def test_files_read_back_to_what_was_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    chips = np.where(rng.random(NUM_HANDS) < 0.8, rng.normal(size=NUM_HANDS), np.nan)
    gifts, spreads = (np.where(rng.random(NUM_HANDS) < 0.5, rng.random(NUM_HANDS), 0) for _ in range(2))
    where = Where(player=0, board=parse_board("Ks7h2d5c"), pot=400, stack=900)
    path = tmp_path / "p.json"
    certain, uncertain = [Payoffs(where, chips), Payoffs(where, chips, gifts)], (where, chips, gifts, spreads)
    for given in (*certain, Payoffs(*uncertain), Payoffs(*uncertain, hedge=False)):
        write_payoffs(path, given, "a test")
        back = read_payoffs(path)
        assert (back.where, back.hedge) == (where, given.hedge)
        for mine, theirs in ((given.chips, back.chips), (given.gifts, back.gifts), (given.spreads, back.spreads)):
            assert (mine is None) == (theirs is None)
            if mine is not None and theirs is not None:
                np.testing.assert_allclose(theirs, mine, rtol=1e-6)
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]
    np.save(tmp_path / "p.npy", chips)
    assert read_payoffs(tmp_path / "p.npy").where is None
    np.testing.assert_array_equal(read_payoffs(tmp_path / "p.npy").chips, chips)
    with pytest.raises(ConfigError, match="No such file"):
        read_payoffs(tmp_path / "q.npy")
    assert payoffs.VERSION == 1


def test_the_kinds_are_those_of_the_solver() -> None:
    assert {kind.removeprefix("reach-") for kind in KINDS[1:]} == {str(form) for form in Form}


# --- A game that is written down -------------------------------------------------------------------------------------


def wins(hand: int, other: int, board: tuple[Card, ...]) -> float | None:
    """The share of the pot of a showdown; None if the two share a card."""
    mine, theirs = (hand_cards(HandIndex(each)) for each in (hand, other))
    if set(mine) & set(theirs):
        return None
    ranks = hand_rank((*mine, *board)), hand_rank((*theirs, *board))
    return 0.5 * (1 + (ranks[0] > ranks[1]) - (ranks[0] < ranks[1]))


def best_responses(strategy: Mapping[str, float]) -> dict[str, float]:
    """What each hand of the player in position wins from the spot on, against so many all-ins of each of our hands."""
    board = parse_board(CLAIRVOYANCE["board"])
    found = {}
    for hand in np.flatnonzero(holdem_hands().live(board)).tolist():
        held = called = checked = 0.0
        for other, bets in strategy.items():
            share = wins(hand, parse_hand(other), board)
            if share is not None:
                held += 1
                checked += (1 - bets) * 1000 * share
                called += bets * (3000 * share - 1000)
        if held:
            found[hand_text(HandIndex(hand))] = (checked + max(called, 0.0)) / held
    return found


def bets(document: dict[str, Any]) -> dict[str, float]:
    return {hand["hand"]: hand["frequencies"]["a"] for hand in document["answer"]["hands"]}


@pytest.mark.parametrize("kind", KINDS[1:])
def test_payoffs_and_margins_of_every_hand(call: Call, kind: str) -> None:
    """The equilibrium's payoffs leave a least margin of about zero: no other strategy is worth more."""
    spot = options(CLAIRVOYANCE)
    first = solved(call, *spot, "--ip", "9s9h", "--target", "0.01%", "--save-payoffs", "p.json")
    record = json.loads(Path("p.json").read_text())
    wanted = best_responses(bets(first))
    assert len(wanted) == 1077
    assert record["payoffs_chips"] == pytest.approx(wanted, abs=2e-3)
    assert record["payoffs_chips"]["9s9h"] == pytest.approx(250, abs=1)
    assert record["gifts_chips"] == {}
    assert (record["player"], record["board"], record["pot_chips"], record["stack_chips"]) == (
        *("ip", "KsKh8d8c2s", 1000, 1000),
    )

    document = solved(call, *spot, "--gadget", kind, "--payoffs", "p.json", "--target", "0.02%")
    gadget = document["gadget"]
    inside = best_responses(bets(document))
    assert (gadget["kind"], gadget["opponent"]) == (kind, "ip")
    assert gadget["payoffs"] == pytest.approx(record["payoffs_chips"], abs=1e-3)
    assert gadget["margins"] == pytest.approx({hand: wanted[hand] - inside[hand] for hand in wanted}, abs=4e-3)
    assert gadget["minimum"] == min(gadget["margins"].values()) == gadget["margins"][gadget["minimum_hand"]]
    assert gadget["negative"] == sum(margin < -0.01 for margin in gadget["margins"].values())
    assert gadget["margins"]["9s9h"] < 1
    if kind.endswith("maxmargin"):
        assert gadget["minimum"] == pytest.approx(0, abs=1)
        assert sum(gadget["entering"].values()) == pytest.approx(1, abs=1e-4)
    else:  # resolve bounds what hands win together, here each with the same weight
        assert sum(max(-margin, 0) for margin in gadget["margins"].values()) / 1081 < 0.5
        assert all(0 <= share <= 1 for share in gadget["entering"].values())
    assert document["exploitability"]["pot_share"] <= 2e-4
    assert parse_range(document["spot"]["ip"]).sum() == NUM_HANDS - 4  # all but those with a card of both of ours


@pytest.mark.parametrize("kind", ["resolve", "maxmargin"])
def test_means_by_what_comes(call: Call, kind: str) -> None:
    write("p.json")
    document = solved(call, *options(CLAIRVOYANCE), "--gadget", kind, "--payoffs", "p.json", "--iterations", 50)
    gadget = document["gadget"]
    ours = [parse_hand(text) for text in ("AhAd", "QcJc")]
    board = parse_board(CLAIRVOYANCE["board"])
    beside = {hand: sum(wins(parse_hand(hand), each, board) is not None for each in ours) for hand in gadget["margins"]}
    weight = {hand: share * (beside[hand] if kind == "resolve" else 1) for hand, share in gadget["entering"].items()}
    mean = sum(weight[hand] * margin for hand, margin in gadget["margins"].items()) / sum(weight.values())
    assert gadget["mean"] == pytest.approx(mean, rel=1e-4, abs=1e-3)
    if kind == "resolve":
        code, out, _ = call(*options(CLAIRVOYANCE), "--gadget", kind, "--payoffs", "p.json", "--iterations", 50)
        share = sum(weight.values()) / sum(beside.values())
        assert code == 0
        assert f"gadget resolve: IP comes in {100 * share:.1f}% of the deals" in out


def test_payoffs_decide_who_comes(call: Call) -> None:
    """With 100 chips more than it is worth for all hands but one, that one alone comes, and we play against it."""
    solved(call, *options(CLAIRVOYANCE), "--ip", "9s9h", "--target", "0.01%", "--save-payoffs", "p.json")
    chips = json.loads(Path("p.json").read_text())["payoffs_chips"]
    for form in ("resolve", "maxmargin"):
        for more in (0.0, 100.0):
            write(
                "q.json", payoffs_chips={hand: value + (more if hand != "9s9h" else 0) for hand, value in chips.items()}
            )
            arguments = [*options(CLAIRVOYANCE), "--gadget", form, "--payoffs", "q.json", "--target", "0.01%"]
            gadget = solved(call, *arguments)["gadget"]
            others = [share for hand, share in gadget["entering"].items() if hand != "9s9h"]
            if more:
                assert max(others) < 0.02
                assert gadget["entering"]["9s9h"] > (0.9 if form == "maxmargin" else 0.2)
    gifts = {hand: 100.0 for hand in chips if hand != "9s9h"}
    write("r.json", payoffs_chips=chips, gifts_chips=gifts)
    reach = solved(call, *arguments[:-4], "--payoffs", "r.json", "--gadget", "reach-maxmargin", "--target", "0.01%")
    assert reach["gadget"]["payoffs"] == pytest.approx(gadget["payoffs"])
    assert reach["gadget"]["margins"] == pytest.approx(gadget["margins"])


def test_gifts_may_be_given_more_than_once(call: Call) -> None:
    """2.5 times 40 chips are 100; none at all are what Maxmargin does."""
    solved(call, *options(CLAIRVOYANCE), "--ip", "9s9h", "--target", "0.01%", "--save-payoffs", "p.json")
    chips = json.loads(Path("p.json").read_text())["payoffs_chips"]
    gifts = {hand: 40.0 for hand in chips if hand != "9s9h"}
    write("few.json", payoffs_chips=chips, gifts_chips=gifts)
    write("many.json", payoffs_chips={hand: value + 2.5 * gifts.get(hand, 0.0) for hand, value in chips.items()})
    for kind in ("resolve", "maxmargin"):
        for scale, file in (("2.5", "many.json"), ("0", "p.json")):
            arguments = [*options(CLAIRVOYANCE), "--iterations", "200"]
            plain = solved(call, *arguments, "--gadget", kind, "--payoffs", file)["gadget"]
            given = ["--gadget", f"reach-{kind}", "--payoffs", "few.json", "--gift-scale", scale]
            scaled = solved(call, *arguments, *given)["gadget"]
            assert scaled["payoffs"] == pytest.approx(plain["payoffs"], abs=1e-3)
            assert scaled["margins"] == pytest.approx(plain["margins"], abs=0.1)


def test_spreads_make_payoffs_uncertain(call: Call) -> None:
    """Where payoffs are certain a hand that loses by coming never does; where they are not, sometimes."""
    write("p.json", payoffs_chips=dict.fromkeys(best_responses({"AhAd": 1, "QcJc": 1}), 3000.0))
    arguments = [*options(CLAIRVOYANCE), "--payoffs", "p.json", "--iterations", "500"]
    certain = solved(call, *arguments, "--gadget", "resolve")["gadget"]["entering"]
    assert max(certain.values()) < 0.01
    record = json.loads(Path("p.json").read_text())
    Path("p.json").write_text(json.dumps(record | {"spreads_chips": {"9s9h": 3000.0}}))
    loose = solved(call, *arguments, "--gadget", "resolve")["gadget"]["entering"]
    assert loose.pop("9s9h") == pytest.approx(0.2, abs=0.07)  # 2,500 chips or so are 0.85 deviations: 0.2
    assert max(loose.values()) < 0.01
    found = []
    for response in ("hedge", "normal"):
        changed = record | {"spreads_chips": {"9s9h": 3000.0}, "response": response}
        Path("p.json").write_text(json.dumps(changed))
        found.append(solved(call, *arguments, "--gadget", "resolve")["gadget"]["entering"]["9s9h"])
    assert found == pytest.approx([0.2, 0.2], abs=0.07)
    assert abs(found[0] - found[1]) > 1e-6
    code, _, err = call(*arguments, "--gadget", "maxmargin", "--json")
    assert code == 0
    assert "--payoffs: its spreads are not used: the resolve kinds know what to do with them" in err
    assert "more than can be won or lost, as AsAh: expected chips from the spot on" in err


# --- A turn and its rivers -------------------------------------------------------------------------------------------


def equities(spot: Mapping[str, str], ours: Mapping[int, float], rivers: list[Card]) -> dict[str, float]:
    """The share of the pot that each hand wins on average over these rivers against a range."""
    board = parse_board(spot["board"])
    found = {}
    for hand in np.flatnonzero(holdem_hands().live(board)).tolist():
        won = held = 0.0
        for other, weight in ours.items():
            taken = {*board, *hand_cards(HandIndex(hand)), *hand_cards(HandIndex(other))}
            if len(taken) < 8:
                continue
            left = [card for card in rivers if card not in taken]
            for card in left:
                share = wins(hand, other, (*board, card))
                assert share is not None
                won += weight * share / (44 if len(rivers) > 1 else 1)
            held += weight * (len(left) / 44 if len(rivers) > 1 else bool(left))
        if held:
            found[hand_text(HandIndex(hand))] = won / held
    return found


def test_payoffs_and_gifts_counted_by_hand(call: Call) -> None:
    """A bet of half the pot on the turn, no bets after it: calling is worth what is won at the showdown."""
    spot = TURN | {
        "oop": "QsJs,8h8c,7h6h",
        "ip": "AhQh,TcTd,2c2d",
        "menu": "oop 50% / -; river -; ip -",
        "stack": "300",
    }
    spot |= {"menu": "turn oop 50% / -; turn ip -; river -"}
    first = solved(call, *options(spot, stack="900"), "--iterations", 200)
    ours = {parse_hand(hand["hand"]): hand["reach"] * hand["frequencies"]["b50%"] for hand in first["answer"]["hands"]}
    called = equities(spot, ours, [Card(card) for card in range(NUM_CARDS)])
    shown = equities(spot, ours, [parse_card("Td")])
    for which in ("bound", "estimate"):
        arguments = [*options(spot, stack="900"), "--iterations", "200", "--node", "b50%,c,[Td]"]
        solved(call, *arguments, "--save-payoffs", "p.json", "--gifts", which, "--save-range", "r.npy")
        record = json.loads(Path("p.json").read_text())
        assert record["payoffs_chips"] == pytest.approx(
            {hand: 1200 * share for hand, share in shown.items() if "Td" not in hand}, abs=5e-3
        )
        given = {hand: max(300 - 1200 * called[hand], 0.0) for hand in record["payoffs_chips"]}
        assert sum(gift > 1 for gift in given.values()) > 100
        assert sum(gift == 0 for gift in given.values()) > 100
        assert {hand: record["gifts_chips"].get(hand, 0.0) for hand in given} == pytest.approx(given, abs=5e-3)
    weights = read_range("@r.npy", "oop")
    assert {hand: weights[hand] for hand in ours} == pytest.approx(ours, rel=1e-5)
    assert np.count_nonzero(weights) == len(ours)


def test_estimates_of_gifts_count_all_actions(call: Call) -> None:
    """After a check the player in position checks behind: its bets end nothing, but might have won more."""
    arguments = [*options(TURN), "--iterations", "100", "--node", "x,x,[2d]"]
    _, _, err = call(*arguments, "--save-payoffs", "p.json")
    assert json.loads(Path("p.json").read_text())["gifts_chips"] == {}
    assert "hands by best response; no gifts" in err
    _, _, err = call(*arguments, "--save-payoffs", "q.json", "--gifts", "estimate")
    gifts = json.loads(Path("q.json").read_text())["gifts_chips"]
    assert max(gifts.values()) > 50
    assert "gifts (estimate) of " in err


@pytest.mark.parametrize("opponent", ["ip", "oop"])
def test_averages_are_the_evs_that_are_printed(call: Call, opponent: str) -> None:
    """At the decision where the river begins, or one later, after a check that was the only action."""
    spot = TURN if opponent == "oop" else TURN | {"menu": "turn 50%,a / a; river oop -; river ip 50%,a / a"}
    arguments = [*options(spot), "--iterations", "150", "--opponent", opponent]
    node = "b50%,c,[2d]"
    saving = ["--node", node, "--save-payoffs", "p.json", "--payoffs-of", "average"]
    answer = solved(call, *arguments, *saving)["answer"]
    record = json.loads(Path("p.json").read_text())
    assert record["player"] == opponent
    if opponent == "ip":  # nobody can bet before it, so that its EV is the same one decision later
        answer = solved(call, *options(spot), "--iterations", "150", "--node", f"{node},x")["answer"]
    assert answer["player"] == opponent
    evs = {hand["hand"]: hand["ev_chips"] for hand in answer["hands"] if hand["reach"] > 0}
    assert len(evs) > 5
    assert {hand: record["payoffs_chips"][hand] for hand in evs} == pytest.approx(evs, rel=1e-5, abs=1e-2)
    assert len(record["payoffs_chips"]) == 1081
    best = [*arguments, "--node", node, "--save-payoffs", "q.json"]
    solved(call, *best)
    exact = json.loads(Path("q.json").read_text())["payoffs_chips"]
    assert all(exact[hand] >= value - 0.01 for hand, value in record["payoffs_chips"].items())


@pytest.mark.parametrize("opponent", ["ip", "oop"])
@pytest.mark.parametrize("kind", ["reach-maxmargin", "maxmargin", "resolve"])
def test_the_walk_from_a_turn_to_its_river(call: Call, kind: str, opponent: str) -> None:
    """Solve roughly, save, hand over from the file, and go on as it says: the river is no worse than it was."""
    code, _, _ = call(*options(TURN), "--iterations", 25, "--save", "turn.paratus")
    assert code == 0
    node = "b50%,c,[8s]"
    saving = ["--save-payoffs", "river.json", "--save-range", "ours.npy", "--opponent", opponent]
    code, out, err = call("--load", "turn.paratus", "--node", node, *saving)
    assert code == 0
    assert out.startswith("Qs8d5c3h8s: out of position (OOP) acts; pot 1,200, 600 behind")
    words = fragment(err)
    us = "oop" if opponent == "ip" else "ip"
    assert words == [
        *("--board", "Qs8d5c3h8s", "--pot", "1200", "--stack", "600", "--menu", "50%,a / a"),
        *(f"--{us}", "@ours.npy", "--opponent", opponent, "--gadget", "reach-maxmargin", "--payoffs", "river.json"),
    ]
    document = solved(call, *words, "--gadget", kind, "--target", "0.02%")
    gadget, rough = document["gadget"], json.loads(Path("river.json").read_text())
    assert gadget["opponent"] == opponent
    if kind == "resolve":
        assert sum(max(-margin, 0) for margin in gadget["margins"].values()) / len(gadget["margins"]) < 1.2
    else:
        assert gadget["minimum"] >= -0.5
        assert gadget["mean"] == pytest.approx(gadget["minimum"], abs=0.5)
    gifts = rough["gifts_chips"] if kind == "reach-maxmargin" else {}
    payoffs_with = {hand: value + gifts.get(hand, 0) for hand, value in rough["payoffs_chips"].items()}
    assert gadget["payoffs"] == pytest.approx(payoffs_with, rel=1e-6, abs=1e-2)
    assert bool(rough["gifts_chips"]) == (opponent == "ip")  # who bet could not have ended the hand


def test_payoffs_of_a_file_are_those_of_the_solve(call: Call) -> None:
    """And of hands within the range and without it, whose values come from a copy."""
    arguments = [*options(TURN), "--iterations", "60", "--node", "b50%,c,[8s]"]
    saving = ["--save", "turn.paratus", "--save-bits", "16", "--save-payoffs", "p.json"]
    solved(call, *arguments, *saving)
    solved(call, *options(TURN, ip="*"), "--iterations", "3", "--node", "b50%,c,[8s]", "--save-payoffs", "all.json")
    solved(call, "--load", "turn.paratus", "--node", "b50%,c,[8s]", "--save-payoffs", "q.json")
    mine, theirs, every = (json.loads(Path(name).read_text()) for name in ("p.json", "q.json", "all.json"))
    for key in ("payoffs_chips", "gifts_chips"):
        assert mine[key] == pytest.approx(theirs[key], abs=2e-2)
    assert list(mine["payoffs_chips"]) == list(every["payoffs_chips"])


def test_boards_that_are_alike_are_solved_once_only_if_payoffs_are(call: Call) -> None:
    """A spot without a suit of its own, solved once as it is and once with a payoff for one suit."""
    spot = {"board": "8s8h8d3s", "pot": "600", "stack": "900", "oop": "QQ,AKo", "menu": "turn -; river a / -"}
    boards = []
    alive = [
        hand_text(HandIndex(hand)) for hand in np.flatnonzero(holdem_hands().live(parse_board(spot["board"]))).tolist()
    ]
    for odd in (0.0, 1.0):
        chips = {hand: 100 + odd * (hand == "AcKc") + odd * 2 * (hand == "AhKh") for hand in alive}
        write("p.json", spot, payoffs_chips=chips)
        arguments = [*options(spot), "--gadget", "resolve", "--payoffs", "p.json", "--iterations", "20"]
        document = solved(call, *arguments)
        assert document["gadget"]["payoffs"] == pytest.approx(chips)
        code, out, _ = call(*arguments, "--price", "--json")
        assert code == 0
        boards.append(json.loads(out)["price"]["boards"])
    assert boards[0] < boards[1] == 49


def test_a_gadget_solve_hands_over_too(call: Call) -> None:
    """To the river below it; the opponent has every hand there already."""
    write("p.json", TURN)
    arguments = [*options(TURN, ip=None), "--gadget", "resolve", "--payoffs", "p.json", "--iterations", "30"]
    code, _, err = call(*arguments, "--node", "x,x,[2d]", "--save-payoffs", "q.json", "--save-range", "r.npy")
    assert code == 0
    gadget = solved(call, *fragment(err), "--target", "0.05%")["gadget"]
    assert gadget["minimum"] > -1


def test_hands_that_hardly_can_be_are_left_out(call: Call) -> None:
    """Of ours all but a hundred-millionth hold the king of spades; so the opponent cannot."""
    ours = "KsQs,KsJs,KsTs,KsJh,Ks9s,AhAd:1e-8,QdQs:1e-8,8d8c:1e-8"
    spot = {"board": "7s5s2d9hJc", "pot": "1000", "stack": "2000", "oop": ours, "menu": "50%,a / a"}
    solved(call, *options(spot, ip="QQ,TT,AA"), "--iterations", "300", "--save-payoffs", "p.json")
    arguments = [*options(spot), "--gadget", "maxmargin", "--payoffs", "p.json", "--iterations", "300"]
    document = solved(call, *arguments)
    assert len(document["gadget"]["margins"]) == 1081 - 46
    assert not [hand for hand in document["gadget"]["margins"] if "Ks" in hand]
    assert document["exploitability"]["pot_share"] < 1e-3
    held = live_hands(parse_board(spot["board"]), read_range(ours, "oop").astype(np.float64))
    assert held.sum() == 1081 - 46


def test_where_we_never_come(call: Call) -> None:
    """The answer is shown, and then why there is nothing to write."""
    spot = [*options(TURN, oop="2h2c,2s2c", ip="QcQd,QcQh"), "--iterations", "300", "--algorithm", "cfr+:100"]
    saving = ["--node", "x,b50%,c,[Ts]", "--save-payoffs", "p.json", "--opponent", "ip"]
    code, out, err = call(*spot, *saving)
    assert code == 1
    assert out.startswith("Qs8d5c3hTs: out of position")
    assert err.splitlines()[-1] == (
        "paratus solve: --node x,b50%,c,[Ts]: oop never comes there: nothing is known about it"
    )
    assert not list(Path().iterdir())


# --- What people see -------------------------------------------------------------------------------------------------


def test_the_tables(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    write("p.json", gifts_chips={"AhKd": 3.0})
    arguments = [*options(CLAIRVOYANCE), "--gadget", "maxmargin", "--payoffs", "p.json", "--iterations", "100"]
    code, out, err = call(*arguments, "--ip", "what is this")
    assert code == 0
    assert err.splitlines()[:2] == [
        "paratus solve: --gadget maxmargin: ip picks the hand to come with, each of weight 1, against p.json; "
        "the range given for ip is not used",
        "paratus solve: --payoffs: its gifts are not used: --gadget reach-maxmargin adds them",
    ]
    lines = [line.rstrip() for line in out.splitlines()]
    assert any(line.startswith("exploitability of the gadget game ") for line in lines)
    at = lines.index(
        "gadget maxmargin: IP picks the hand to come with; a margin is its payoff elsewhere less its best response here"
    )
    assert lines[at + 1].startswith("least margin -")
    assert lines[at + 1].endswith(" of 1,077 hands below 0")
    assert lines[at + 3].split()[:5] == ["hand", "payoff", "margin", "least", "picked"]
    assert lines[at + 4].split()[:2] == ["AA", "250.0"]
    assert all(len(line) <= 150 for line in lines[at + 3 :])
    code, out, _ = call(*arguments, "--hand", "AA")
    assert code == 0
    assert out.rstrip().endswith("hands below 0")


def test_menus_with_bets_of_one_state_are_handed_over_without_them(call: Call) -> None:
    spot = options(TURN, menu="50%,a / a; also r300c/cc/r500", big_blind="50")
    code, _, err = call(*spot, "--iterations", "20", "--node", "b200,c,[2d]", "--save-range", "our range.npy")
    assert code == 0
    words = fragment(err)
    assert words == [
        *("--board", "Qs8d5c3h2d", "--pot", "1000", "--stack", "700", "--big-blind", "50", "--menu", "50%,a / a"),
        *("--oop", "@our range.npy", "--opponent", "ip"),
    ]
    write("p.json", {"board": "Qs8d5c3h2d", "pot": "1000", "stack": "700"})
    solved(call, *words, "--gadget", "resolve", "--payoffs", "p.json", "--iterations", "10")


def test_ctrl_c_shows_and_hands_over_what_was_reached(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def show(self: SolveBar, progress: SolveProgress) -> None:
        if progress.iterations >= 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(SolveBar, "show", show)
    write("p.json")
    arguments = [*options(CLAIRVOYANCE), "--gadget", "maxmargin", "--payoffs", "p.json", "--target", "0.001mbb"]
    code, out, err = call(*arguments, "--save-payoffs", "q.json", "--json")
    assert code == 130
    assert "interrupted: this is how far it came" in err
    document, record = json.loads(out), json.loads(Path("q.json").read_text())
    inside = best_responses(bets(document))
    assert document["gadget"]["margins"] == pytest.approx({hand: 250 - inside[hand] for hand in inside}, abs=4e-3)
    assert record["payoffs_chips"] == pytest.approx(inside, abs=4e-3)


@pytest.mark.parametrize("more", [["--bits", "16"], ["--threads", "2"]])
def test_sixteen_bits_and_threads(call: Call, more: list[str]) -> None:
    arguments = [*options(TURN), "--iterations", "40", "--node", "b50%,c,[8s]"]
    solved(call, *arguments, "--save-payoffs", "p.json")
    _, _, err = call(*arguments, *more, "--save-payoffs", "q.json", "--save-range", "r.npy")
    close = 30 if "16" in more else 1e-9  # roughly solved, and rounded while solving
    plain, other = (json.loads(Path(name).read_text())["payoffs_chips"] for name in ("p.json", "q.json"))
    assert other == pytest.approx(plain, abs=close)
    gadget = solved(call, *fragment(err), *more, "--target", "0.2%")["gadget"]
    assert gadget["minimum"] > -5


def test_endgames_with_a_gadget(call: Call) -> None:
    endgame = Path(__file__).resolve().parent.parent / "benchmarks" / "endgames" / "river-large-pot.txt"
    spot = solved(call, "--endgame", endgame, "--iterations", "1")["spot"]
    write("p.json", {"board": spot["board"], "pot": "3800", "stack": "18100"})
    arguments = ["--endgame", endgame, "--gadget", "resolve", "--payoffs", "p.json", "--iterations", "3"]
    code, out, err = call(*arguments, "--json")
    assert code == 0
    assert "; the range given for ip is not used" in err
    assert json.loads(out)["spot"]["oop"] == spot["oop"]
    assert json.loads(out)["spot"]["ip"] != spot["ip"]

"""A learned value function: what is least is found, what is affine adds up, and hands it has seen are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from leduc import LEDUC
from processes import Processes
from small_matches import NAMES, Play, every_hand, random_play
from small_values import RandomValues, TrueValues

from bot import cli
from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.aivat import Aivat, Parts
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.learned import LEAST_HANDS, Mixture, deal_of, fit
from dealer_tools.scoring.sources import Hands
from dealer_tools.scoring.values import Equity, Zero
from protocol.arrays import F64
from protocol.cards import Card
from protocol.game import Game
from protocol.state import CALL, State
from strategies.policy import Policy, round_columns

HOLDINGS = Holdings(LEDUC)
HANDS = 60


def call_play(game: Game) -> Play:
    """Calls always: nothing that the opponent draws is luck."""

    @cache
    def play(state: State, board: tuple[Card, ...]) -> Policy:
        return Policy((CALL,), round_columns(np.ones((1, 1))))

    return play


PLAYS = random_play(LEDUC, 1), call_play(LEDUC)


@pytest.fixture(scope="module")
def hands() -> Hands:
    """Some of all that can happen."""
    played = [happened.played for happened in every_hand(LEDUC, PLAYS)][::3]
    return Hands(LEDUC, NAMES[0], tuple(played), (), (), (), ())


def scores(values: Mixture | Zero, hands: Hands) -> F64:
    scorer = Aivat(HOLDINGS, values)
    return np.array([scorer.score(played, NAMES[0], Parts()).chips for played in hands.hands])


def test_what_aivat_finds_is_affine_in_the_weights(hands: Hands) -> None:
    parts, weights = [Equity(HOLDINGS), RandomValues(HOLDINGS)], np.array([[0.5, -2.0], [3.0, 0.25]])
    some = Hands(LEDUC, NAMES[0], hands.hands[:12], (), (), (), ())
    zero = scores(Zero(), some)
    added = sum(
        weights[part, street] * (scores(Mixture([parts[part]], np.eye(2)[[street]]), some) - zero)
        for part in range(2)
        for street in range(2)
    )
    assert scores(Mixture(parts, weights), some) == pytest.approx(zero + added, abs=1e-9)


def test_true_values_are_found_and_leave_nothing(hands: Hands) -> None:
    """Twice as large as they are, and beside numbers that mean nothing."""
    true = Mixture([TrueValues(HOLDINGS, PLAYS)], np.full((1, 2), 2.0))
    some = Hands(LEDUC, NAMES[0], hands.hands[:300], (), (), (), ())
    found = fit(some, HOLDINGS, [true, RandomValues(HOLDINGS)], lambda done: None)
    assert np.array([part.weights for part in found.record.parts]) == pytest.approx(
        np.array([[0.5, 0.5], [0, 0]]), abs=1e-9
    )
    assert found.learned == pytest.approx(0, abs=1e-9)
    assert found.elsewhere == pytest.approx(0, abs=1e-9)
    assert min(found.raw, found.zero, *found.alone.values()) > 0.1


def test_no_other_weights_leave_less(hands: Hands) -> None:
    parts = [Equity(HOLDINGS), RandomValues(HOLDINGS)]
    some = Hands(LEDUC, NAMES[0], hands.hands[:LEAST_HANDS], (), (), (), ())
    found = fit(some, HOLDINGS, parts, lambda done: None)
    weights = np.array([part.weights for part in found.record.parts])
    assert scores(Mixture(parts, weights), some).std(ddof=1) == pytest.approx(found.learned)
    assert scores(Zero(), some).std(ddof=1) == pytest.approx(found.zero)
    assert found.learned <= min(found.zero, *found.alone.values(), found.elsewhere)
    for moved in np.eye(4).reshape(4, 2, 2):
        for step in (-0.05, 0.05):
            assert scores(Mixture(parts, weights + step * moved), some).std(ddof=1) > found.learned


def test_a_deal_is_its_number_and_its_cards(hands: Hands) -> None:
    played = hands.hands[:30]
    assert len({deal_of(each) for each in played}) == 30
    for each in played:
        deal = each.record.deal
        swapped = replace(each.record, deal=deal._replace(hole=deal.hole[::-1]), names=each.record.names[::-1])
        assert deal_of(PlayedHand("elsewhere", swapped)) == deal_of(each)
        assert deal_of(PlayedHand("", replace(each.record, hand=each.record.hand + 1))) != deal_of(each)


# --- From the command line --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def matches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two matches, and what was learned from the first."""
    folder = tmp_path_factory.mktemp("learned")
    with Processes(folder) as run:
        playing = [
            run.paratus(
                *("match", "leduc", "random", "always-raise", "--hands", HANDS, "--seed", seed, "--duplicate"),
                *("--out", f"m{seed}"),
            )
            for seed in (5, 6)
        ]
        assert [each.wait().code for each in playing] == [0, 0]
    assert cli.main(["score", str(folder / "m5"), "--fit", str(folder / "v.json")]) == 0
    return folder


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli.main(["score", *map(str, arguments)]) in (1, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()[-1]


def test_other_hands_are_scored_and_these_are_refused(matches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = matches / "v.json"
    assert cli.main(["score", str(matches / "m6"), "--values", str(values), "--json"]) == 0
    aivat = json.loads(capsys.readouterr().out)["estimators"]["aivat"]
    assert aivat["values"].startswith("learned ")
    assert aivat["sd_mbb"] > 0
    for seen in (
        (matches / "m5",),
        (matches / "m5", "--hands", 4),
        (matches / "m5/reverse/match.log",),
        (matches / "m6", matches / "m5", "--player", "random"),
    ):
        line = refusal(capsys, *seen, "--values", values)
        assert "was fitted on this deal, and on " in line
        assert "match.log" in line


def test_a_hand_is_shown_by_what_was_learned(matches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay = ("replay", str(matches / "m6/forward/match.log"), "--hand", "3", "--as-json", "--values")
    capsys.readouterr()
    assert cli.main([*replay, str(matches / "v.json")]) == 0
    learned = json.loads(capsys.readouterr().out)["values"]
    assert cli.main([*replay, "equity"]) == 0
    assert (learned["name"], json.loads(capsys.readouterr().out)["values"]["name"]) == ("learned", "equity")
    assert cli.main([*replay, str(matches / "none.json")]) == 2
    assert "expected one of blueprint, equity, zero, ready, or a file of --fit" in capsys.readouterr().err


def test_what_was_learned_is_shown(matches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = matches / "again.json"
    capsys.readouterr()
    assert cli.main(["score", str(matches / "m5"), "--fit", str(again)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"learned from {2 * HANDS} hands of random; SD of a hand in big blinds:\n")
    assert shown.count("of raw") == 5
    assert again.read_text() == (matches / "v.json").read_text()
    assert cli.main(["score", str(matches / "m5"), "--fit", str(again), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["weights"] == {"equity": json.loads(again.read_text())["parts"][0]["weights"]}
    sds = document["sd_chips"]
    assert sds["learned"] <= min(sds["equity"], sds["zero"], sds["learned_on_the_other_half"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "format = 'other': expected 'paratus-values'"),
        ({"version": 2}, "version = 2: expected 1"),
        ({"more": 1}, "more = 1: unknown key: expected one of format, version"),
        ({"game": "kuhn"}, "learned on hands of another game: expected"),
        ({"parts": []}, "parts = []: expected at least 1 entries"),
        ({"parts": [{"name": "equity", "digest": "1", "weights": [1.0, 1.0]}]}, "mixed of equity 1: expected 2"),
        ({"parts": [{"name": "equity", "digest": "2", "weights": [1.0]}]}, "1 weights: expected 2"),
        ({"parts": [{"name": "equity", "digest": "2", "weights": [1.0, 1e9]}]}, "parts.0.weights.1 = 1000000000.0"),
        ({"parts": [{"name": "blueprint", "digest": "2", "weights": [1.0, 1.0]}]}, "blueprint"),
        ({"parts": [{"name": "learned", "digest": "2", "weights": [1.0, 1.0]}]}, "mixed of 'learned': expected of"),
        ({"deals": ["x"]}, "deals.0 = 'x': expected text like ^[0-9a-f]{16}$"),
    ],
)
def test_files_that_are_refused(
    matches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], said: str
) -> None:
    path = tmp_path / "v.json"
    path.write_text(json.dumps(json.loads((matches / "v.json").read_text()) | change))
    assert said in refusal(capsys, matches / "m6", "--values", path)


def test_what_is_asked_wrongly_is_refused(matches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected one of blueprint, equity, zero, ready, or a file of --fit" in refusal(
        capsys, matches / "m6", "--values", "nothing"
    )
    (tmp_path / "text").write_text("no json")
    assert "not JSON: " in refusal(capsys, matches / "m6", "--values", tmp_path / "text")
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "not text" in refusal(capsys, matches / "m6", "--values", tmp_path / "bytes")
    fitting = matches / "m6", "--fit", tmp_path / "v.json"
    assert f"expected {LEAST_HANDS} to " in refusal(capsys, *fitting, "--hands", 20)
    assert "--values with --fit" in refusal(capsys, *fitting, "--values", "zero")
    bare = [tmp_path / leg / "match.log" for leg in ("forward", "reverse")]
    for log in bare:
        log.parent.mkdir()
        for name in ("match.log", "match.game"):
            (log.parent / name).write_bytes((matches / "m6" / log.parent.name / name).read_bytes())
    assert "no policy of random" in refusal(capsys, *bare, "--player", "random", "--fit", tmp_path / "v.json")
    assert "no such folder" in refusal(capsys, matches / "m6", "--fit", tmp_path / "no/v.json")
    assert not (tmp_path / "v.json").exists()

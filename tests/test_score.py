"""`paratus score` and `paratus replay` on matches that were really played, whole and damaged."""

from __future__ import annotations

import json
import shutil
import sqlite3
import xml.etree.ElementTree as Xml
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from blueprint_files import file_of
from processes import Processes
from records import DATA, read_record

from bot import cli
from dealer_tools.expectation import expected_values
from dealer_tools.formats.acpc import read_log
from dealer_tools.formats.records import PlayedHand
from dealer_tools.results import Estimate
from dealer_tools.scoring.estimators import ESTIMATORS, Scorer
from dealer_tools.scoring.holdings import Holdings
from dealer_tools.scoring.lots import LOT
from dealer_tools.scoring.report import table
from dealer_tools.scoring.results import make_result
from dealer_tools.scoring.sources import read_hands
from dealer_tools.scoring.values import Equity, Zero
from protocol.cards import parse_cards
from protocol.game import load_game
from protocol.kernels import rank_runouts
from protocol.log import parse_state_line

HANDS = 60


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A duplicate match of Leduc, as it was played: some hands end in folds, some in showdowns."""
    folder = tmp_path_factory.mktemp("score")
    with Processes(folder) as run:
        played = run.paratus(
            "match", "leduc", "random", "always-raise", "--hands", HANDS, "--seed", 5, "--duplicate", "--out", "m"
        )
        assert played.wait().code == 0
    return folder / "m"


def score(capsys: pytest.CaptureFixture[str], *options: object) -> dict:
    assert cli.main(["score", *map(str, options), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What the one line says."""
    assert cli.main([*map(str, arguments)]) in (1, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()[-1]


def test_all_in_expectation_is_the_reference_tools() -> None:
    """On each of 300 hands, with the margins that everything else is scored by."""
    record = read_record("nl2p")
    holdings = Holdings(record.game)
    scorer = Scorer(holdings, Equity(holdings), ["all-in"])
    lines = (DATA / "nl2p.all_in_expectation.log").read_text().splitlines()
    hands = [line for line in record.log if line.startswith("STATE:")]
    assert len(hands) == len(lines) == 300
    for line, expected in zip(hands, lines, strict=True):
        before, after = (parse_state_line(each, record.game) for each in (line, expected))
        for position, name in enumerate(before.names):
            found, _ = scorer.score(PlayedHand(line, before), name)
            assert found["all-in"] == pytest.approx(after.values[position], abs=1e-6)
            assert found["all-in"] == pytest.approx(expected_values(before)[position], abs=1e-6)


def test_margins_against_every_board() -> None:
    """The preflop table, and the kernel on flop, turn and river, hand by hand with the ranking's own enumeration."""
    holdings = Holdings(load_game("holdem.nolimit.2p.reverse_blinds").game)
    rng = np.random.default_rng(1)
    for board_cards, pairs in ((0, 6), (3, 12), (4, 12), (5, 12)):
        for _ in range(pairs):
            cards = rng.permutation(52)[: 4 + board_cards].tolist()
            ours, theirs, board = cards[:2], cards[2:4], cards[4:]
            ranks = rank_runouts(np.array([ours, theirs], np.uint8), np.array(board, np.uint8), 5 - board_cards).astype(
                np.int64
            )
            expected = np.sign(ranks[:, 0] - ranks[:, 1]).mean()
            column, other = holdings.hands.column(ours), holdings.hands.column(theirs)
            assert holdings.margins(other, board)[column] == pytest.approx(expected, abs=1e-12)
            assert holdings.margins(other, board, column)[0] == pytest.approx(expected, abs=1e-12)


def test_a_match_in_which_every_hand_pays_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """There is no spread to compare with."""
    path = tmp_path / "match.log"
    lines = [
        "# name/game/hands/seed match holdem.nolimit.2p.reverse_blinds.game 2 0",
        *("#--t_response 600000", "#--t_hand 600000", "#--t_per_hand 7000"),
        "STATE:0:r200r400f:AhKh|QsQd:200|-200:a|b",
        "STATE:1:r200c/cr300f:AhKh|QsQd/2c3c4c:-200|200:b|a",
        "SCORE:400|-400:a|b",
    ]
    path.write_text("\n".join([*lines, ""]))
    row = score(capsys, path, "--player", "a", "--estimators", "raw")["estimators"]["raw"]
    assert (row["mean_mbb"], row["sd_mbb"], row["worth_raw_hands"], row["share_of_raw_sd"]) == (2000, 0, None, None)


def test_the_table_of_a_match(match: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = score(capsys, match)
    result = json.loads((match / "result.json").read_text())
    rows = document["estimators"]
    assert document["player"] == "random"
    assert document["hands"] == 2 * HANDS
    assert document["pairs"] == HANDS
    assert list(rows) == [*ESTIMATORS]
    assert all(row["observations"] == HANDS for row in rows.values())
    assert rows["raw"]["mean_mbb"] == pytest.approx(result["players"]["random"]["mean_mbb"])
    assert rows["raw"]["se_mbb"] == pytest.approx(result["players"]["random"]["se_mbb"])
    assert rows["raw"]["share_of_raw_sd"] == 1
    assert rows["chance"]["values"] == rows["aivat"]["values"] == "equity 2"
    assert rows["aivat"]["sd_mbb"] < rows["imaginary"]["sd_mbb"] < rows["raw"]["sd_mbb"]
    for row in rows.values():
        assert abs(row["mean_mbb"] - rows["aivat"]["mean_mbb"]) < 4 * (row["se_mbb"] + rows["aivat"]["se_mbb"])
    assert sum(each["hands"] for each in document["breakdown"] if each["by"] == "position") == 2 * HANDS
    assert {each["by"] for each in document["breakdown"]} == {"position", "street", "pot", "route"}
    luck = [each["luck_mbb"] for each in document["luckiest"]]
    assert luck[0] == max(luck) > 0 > min(luck)


def test_both_policies_and_either_player(match: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What one wins the other loses, by every estimator that treats both alike."""
    ours = score(capsys, match, "--estimators", "all-in,chance,aivat-both")["estimators"]
    theirs = score(capsys, match, "--player", "always-raise", "--estimators", "all-in,chance,aivat-both")["estimators"]
    assert list(ours) == ["raw", "all-in", "chance", "aivat-both"]
    for name in ("raw", "all-in", "chance"):
        assert ours[name]["mean_mbb"] == pytest.approx(-theirs[name]["mean_mbb"])
    assert ours["aivat-both"]["sd_mbb"] < ours["raw"]["sd_mbb"]


def test_several_processes_say_the_same(match: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, together = (score(capsys, match, "--cores", cores) for cores in (1, 2))
    assert 2 * HANDS > LOT
    assert alone == together


def test_what_luck_does_not_explain_is_said(match: Path) -> None:
    hands = read_hands([match], "random")
    scorer = Scorer(Holdings(hands.game), Zero(), ["raw", "aivat"])
    chips = scorer.score_all(hands)
    assert "standard errors from raw" not in table(make_result(hands, scorer, chips), Zero(), {})
    wrong = chips | {"aivat": chips["raw"] + np.random.default_rng(3).normal(5.0, 5.0, 2 * HANDS)}
    assert "note: aivat is +" in table(make_result(hands, scorer, wrong), Zero(), {})


def test_text_picture_and_page(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot, page = tmp_path / "totals.svg", tmp_path / "report.html"
    assert cli.main(["score", str(match), "--plot", str(plot), "--html", str(page)]) == 0
    text = capsys.readouterr().out
    for word in ("random v always-raise", "aivat", "95 % interval", "luckiest", "values of ", "played by"):
        assert word in text
    root = Xml.parse(plot).getroot()
    assert root.tag.endswith("svg")
    assert len(root.findall(".//{*}polyline")) == 2
    assert len(root.findall(".//{*}polygon")) == 2
    html = page.read_text()
    assert html.count("<table>") == 3
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in html
    HTMLParser().feed(html)


def test_a_log_alone_has_no_policies(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(match / "forward" / "match.log", tmp_path / "stranger.log")
    shutil.copy(match / "forward" / "match.game", tmp_path / "match.game")
    document = score(capsys, tmp_path / "stranger.log")
    assert set(document["estimators"]) == {"raw", "all-in", "chance"}
    assert "no policies of random" in document["not_available"]["aivat"]
    line = refused(capsys, "score", tmp_path / "stranger.log", "--estimators", "aivat")
    assert "cannot be had" in line
    assert "no policies" in line


def test_a_store_alone_lacks_cards_but_drops_no_hand(
    match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "always-raise.sqlite"
    shutil.copy(match / "forward" / "always-raise.sqlite", store)
    document = score(capsys, store)
    assert document["hands"] == HANDS
    assert set(document["estimators"]) == {"raw", "all-in"}
    assert "not known" in document["not_available"]["aivat"]
    raw = read_hands([match / "forward"], "always-raise")
    expected = Estimate.of([each.record.values[each.record.names.index("always-raise")] * 10 for each in raw.hands])
    assert document["estimators"]["raw"]["mean_mbb"] == pytest.approx(expected.mean_mbb)


def copied(match: Path, tmp_path: Path) -> Path:
    shutil.copytree(match, tmp_path / "damaged")
    return tmp_path / "damaged"


def edit(log: Path, line: int, old: str, new: str) -> None:
    lines = log.read_text().splitlines(keepends=True)
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new)
    log.write_text("".join(lines))


def test_a_truncated_log(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(match, tmp_path)
    log = folder / "forward" / "match.log"
    log.write_bytes(log.read_bytes()[: len(log.read_bytes()) // 2])
    document = score(capsys, folder)
    assert 0 < document["pairs"] < HANDS
    assert len(document["excluded"]) == 1
    assert str(log) in document["excluded"][0]["where"]
    assert any("no partner" in note for note in document["notes"])


def test_an_edited_result(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(match, tmp_path)
    log = folder / "forward" / "match.log"
    number, line = next(
        (number, line) for number, line in enumerate(log.read_text().splitlines()) if line.startswith("STATE")
    )
    values = line.split(":")[4]
    edit(log, number, f":{values}:", f":{'|'.join(reversed(values.split('|')))}:")
    said = refused(capsys, "score", folder)
    assert str(log) in said


def test_a_store_of_other_hands(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other leg's: the same cards, but the seats are swapped, and nothing agrees."""
    folder = copied(match, tmp_path)
    shutil.copy(match / "reverse" / "random.sqlite", folder / "forward" / "random.sqlite")
    said = refused(capsys, "score", folder / "forward")
    assert "match.log:" in said
    assert "log and store do not belong together" in said


def test_some_hands_alike_do_not_make_one_match(
    match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hands that happen to agree with another match's store are not picked out: they would be those that ended so."""
    folder = copied(match, tmp_path)
    with sqlite3.connect(folder / "forward" / "random.sqlite") as db:
        hand = db.execute("SELECT max(hand) FROM hand").fetchone()[0]
        db.execute("UPDATE hand SET value = -value WHERE hand = ?", (hand,))
    db.close()
    assert "log and store do not belong together" in refused(capsys, "score", folder)


def test_the_same_hand_twice(match: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = match / "forward" / "match.log"
    assert "the same hand as" in refused(capsys, "score", log, log)


def test_legs_are_paired_by_their_cards(match: Path, capsys: pytest.CaptureFixture[str]) -> None:
    apart = score(capsys, match / "forward" / "match.log", match / "reverse" / "match.log")
    together = score(capsys, match)
    assert apart["pairs"] == HANDS
    assert apart["estimators"] == together["estimators"]


def test_two_hands_without_any_spread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "z.log"
    log.write_text(
        "# name/game/hands/seed z holdem.nolimit.2p.reverse_blinds.game 2 0\n#--t_response 1\n#--t_hand 1\n"
        "#--t_per_hand 1\nSTATE:0:f:5d5c|9hQd:50|-50:a|b\nSTATE:1:r200f:6sKs|5dJd:-100|100:b|a\nSCORE:150|-150:a|b\n"
    )
    document = score(capsys, log, "--estimators", "raw,all-in")
    assert document["estimators"]["raw"]["mean_mbb"] == 750


def test_policies_that_do_not_add_up(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(match, tmp_path)
    import zlib

    with sqlite3.connect(folder / "forward" / "random.sqlite") as db:
        row = db.execute("SELECT hand, betting, weights FROM decision ORDER BY hand LIMIT 1").fetchone()
        raw = bytearray(zlib.decompress(row[2]))
        raw[0] ^= 1
        db.execute("UPDATE decision SET weights = ? WHERE hand = ? AND betting = ?", (zlib.compress(raw), *row[:2]))
    db.close()
    said = refused(capsys, "score", folder / "forward")
    assert f"hand {row[0]}" in said
    assert "65535" in said


def test_a_policy_that_was_not_written_any_more(
    match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after `kill -9` in a hand's last moment: nothing that needs policies can be had, and no hand is dropped."""
    folder = copied(match, tmp_path)
    with sqlite3.connect(folder / "forward" / "random.sqlite") as db:
        hand = db.execute("SELECT max(hand) FROM decision").fetchone()[0]
        db.execute("DELETE FROM decision WHERE hand = ?", (hand,))
    db.close()
    document = score(capsys, folder)
    assert document["hands"] == 2 * HANDS
    assert set(document["estimators"]) == {"raw", "all-in", "chance"}
    assert "no policies of random" in document["not_available"]["aivat"]
    assert "aivat" in score(capsys, folder, "--player", "always-raise")["estimators"]


def test_a_policy_that_never_did_what_was_done(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(match, tmp_path)
    with sqlite3.connect(folder / "forward" / "always-raise.sqlite") as db:
        hand = db.execute("SELECT hand FROM decision ORDER BY hand LIMIT 1").fetchone()[0]
        db.execute("UPDATE decision SET support = 'r1199', action = action WHERE hand = ?", (hand,))
    db.close()
    said = refused(capsys, "score", folder / "forward", "--player", "always-raise")
    assert "never plays" in said
    assert "log and policies do not belong together" in said


def test_options_that_cannot_be(match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected of raw" in refused(capsys, "score", match, "--estimators", "lucky")
    assert ".svg" in refused(capsys, "score", match, "--plot", "totals.png")
    assert "is not in it" in refused(capsys, "score", match, "--player", "nobody")
    assert "match folder" in refused(capsys, "score", tmp_path / "nothing")
    assert "match.log in each leg" in refused(capsys, "score", tmp_path)
    assert "has hands 0 to" in refused(capsys, "replay", match, "--hand", 9999)


def test_values_of_a_damaged_blueprint_are_refused(
    match: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray(file_of(load_game("leduc").game).read_bytes())
    content[-1] ^= 1
    path = tmp_path / "damaged.blueprint"
    path.write_bytes(content)
    said = refused(capsys, "score", match, "--values", "blueprint", "--blueprint", path)
    assert f"{path}: hash of strategy_1 is " in said


def test_a_replay_tells_where_the_luck_was(match: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both hands of the deal; the luck of all events is what was won beyond the worth, but for the hands imagined."""
    assert cli.main(["replay", str(match / "forward"), "--hand", "7", "--as-json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["player"] == "random"
    assert document["steps"][0]["outcome"].startswith("deals ")
    ours = [step for step in document["steps"] if step["actor"] == "random"]
    assert ours
    assert all(step["luck_mbb"] is not None and step["decision"]["route"] for step in ours)
    assert all(sum(step["decision"]["held"]) == pytest.approx(1) for step in ours)
    assert all(step["luck_mbb"] is None for step in document["steps"] if step["actor"] == "always-raise")
    assert cli.main(["replay", str(match), "--hand", "7", "--brief"]) == 0
    text = capsys.readouterr().out
    assert text.count("hand 7,") == 2
    assert "luck" in text


def test_a_replay_of_a_strangers_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hand of a stranger's log shows cards and the luck of the board; there is no range to draw."""
    log = tmp_path / "match.log"
    record = read_record("nl2p")
    log.write_text("\n".join(record.log) + "\n")
    session = read_log(log)
    assert cli.main(["replay", str(log), "--hand", "0"]) == 0
    text = capsys.readouterr().out
    assert "deals" in text
    assert "no policies" in text
    hole = session.hands[0].record.deal.hole[0]
    assert set(parse_cards("8s2h")) == set(hole)

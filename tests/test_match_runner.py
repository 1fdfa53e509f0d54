"""`paratus match` as a user meets it: real processes, their death at any moment, and a result recomputed here."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from blueprint_files import file_of
from processes import Ended, Process, Processes, stored_decisions, stored_hands, stranger, wait_until
from variants import some_of

from blueprints.shipped import shipped_blueprint
from bot import cli
from protocol.game import Game, game_text, load_game
from protocol.log import HandRecord, parse_header, parse_score_line, parse_state_line
from protocol.state import Action, State, action_text, apply
from protocol.state import start as first_state

HOLDEM = "holdem.nolimit.2p.reverse_blinds"
LEDUC = "leduc"
GAME = load_game(HOLDEM).game
HANDS = 300
"""Long enough (half a second) to be interrupted at a chosen moment, far from its end."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as processes:
        yield processes


def start(run: Processes, *options: object, hands: int = HANDS, game: str = HOLDEM, agents: Any = None) -> Process:
    """The runner, in the folder `m`."""
    agents = ("random", "random") if agents is None else agents
    return run.paratus("match", game, *agents, "--hands", hands, "--seed", 4, "--out", "m", *options)


def states(path: Path, game: Game = GAME) -> list[HandRecord]:
    """The hands of a log, which must be complete and in order."""
    hands = [parse_state_line(line, game) for line in path.read_text().splitlines() if line.startswith("STATE")]
    assert [hand.hand for hand in hands] == list(range(len(hands)))
    return hands


def won(path: Path, player: str, game: Game = GAME) -> list[float]:
    """What a player won in each hand."""
    return [hand.values[hand.names.index(player)] for hand in states(path, game)]


def children_of(folder: Path) -> list[int]:
    """The processes that have to do with a match: their command line names its folder, or they work in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                place = (entry / "cwd").readlink()
                alive = ") Z " not in (entry / "stat").read_text()
            except OSError:
                continue
            if alive and (place.is_relative_to(folder) or str(folder).encode() in command):
                found.append(int(entry.name))
    return found


def child(run: Processes, words: str) -> int:
    """The process of the match whose command line contains `words`, once there is one."""
    found: list[int] = []

    def look() -> bool:
        for pid in children_of(run.folder):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if words in command:
                found.append(pid)
        return bool(found)

    wait_until(look, f"a process with {words}")
    return found[0]


def wait_for_hands(run: Processes, count: int, leg: str = "match") -> None:
    log = run.folder / "m" / leg / "match.log"
    wait_until(lambda: log.exists() and log.read_bytes().count(b"STATE:") >= count, f"{count} hands")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted match."""
    folder = tmp_path_factory.mktemp("whole")
    with Processes(folder) as processes:
        ended = start(processes).wait()
        assert ended.code == 0, ended.err
    return folder / "m"


@pytest.fixture(scope="module")
def duplicate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted duplicate match."""
    folder = tmp_path_factory.mktemp("duplicate")
    with Processes(folder) as processes:
        ended = start(processes, "--duplicate", hands=60, agents=("random", "always-call")).wait()
        assert ended.code == 0, ended.err
    return folder / "m"


# --- The result -------------------------------------------------------------------------------------------------------


def check_estimate(player: dict[str, Any], observations: list[float]) -> None:
    """`result.json` against the textbook formulas, written once more here."""
    n = len(observations)
    mean = sum(observations) / n
    sd = sqrt(sum((x - mean) ** 2 for x in observations) / (n - 1))
    assert player["observations"] == n
    assert player["mean_mbb"] == pytest.approx(mean)
    assert player["sd_mbb"] == pytest.approx(sd)
    assert player["se_mbb"] == pytest.approx(sd / sqrt(n))
    assert player["low_mbb"] == pytest.approx(mean - 1.959964 * sd / sqrt(n))
    assert player["high_mbb"] == pytest.approx(mean + 1.959964 * sd / sqrt(n))


def test_the_result_is_what_the_log_says(whole: Path) -> None:
    result = json.loads((whole / "result.json").read_text())
    assert (result["game"], result["hands"], result["seed"], result["duplicate"]) == (HOLDEM, HANDS, 4, False)
    assert result["agents"] == [["random", "random", ""], ["random-2", "random", ""]]
    assert list(result["players"]) == ["random", "random-2"]
    for name, player in result["players"].items():
        values = won(whole / "match" / "match.log", name)
        assert player["chips"] == sum(values)
        assert (player["fallbacks"], player["hands_from_log"]) == (0, 0)
        assert player["by_blueprint"] == dict.fromkeys(("decisions", "translated", "jumps", "replaced"), 0)
        check_estimate(player, [value * 1000 / 100 for value in values])
    score = parse_score_line((whole / "match" / "match.log").read_text().splitlines()[-1])
    assert dict(zip(score.names, score.values, strict=True)) == {
        name: player["chips"] for name, player in result["players"].items()
    }


def test_everything_said_is_kept(whole: Path) -> None:
    messages = (whole / "match" / "match.messages").read_text()
    log = (whole / "match" / "match.log").read_text()
    assert messages.count("\nTO ") == sum(
        2 * (len(hand.state.actions) + 1) for hand in states(whole / "match/match.log")
    )
    assert messages.count("\nFROM ") == sum(len(hand.state.actions) for hand in states(whole / "match/match.log"))
    assert messages.splitlines()[-1] == log.splitlines()[-1]
    assert "WARNING" not in messages


@pytest.mark.parametrize("player", ["random", "random-2"])
def test_the_stores_say_what_the_log_says(whole: Path, player: str) -> None:
    path = whole / "match" / f"{player}.sqlite"
    hands = states(whole / "match" / "match.log")
    assert stored_hands(path) == {
        hand.hand: (hand.state.betting, hand.values[hand.names.index(player)]) for hand in hands
    }
    decided = [(decision.hand, decision.betting, decision.action) for decision in stored_decisions(path)]
    assert decided == [
        (hand.hand, state.betting, action_text(action, GAME))
        for hand in hands
        for state, action in _decisions_of(hand, hand.names.index(player))
    ]


def _decisions_of(hand: HandRecord, position: int) -> Iterator[tuple[State, Action]]:
    state = first_state(GAME)
    for action in hand.state.actions:
        if state.actor == position:
            yield state, action
        state = apply(state, action)


def test_duplicate_pairs_are_one_observation(duplicate: Path) -> None:
    result = json.loads((duplicate / "result.json").read_text())
    forward, reverse = (states(duplicate / leg / "match.log") for leg in ("forward", "reverse"))
    assert [hand.deal.hole for hand in forward] == [hand.deal.hole for hand in reverse]
    assert [hand.names for hand in forward] == [hand.names[::-1] for hand in reverse]
    for name, player in result["players"].items():
        legs = [won(duplicate / leg / "match.log", name) for leg in ("forward", "reverse")]
        assert player["chips"] == sum(map(sum, legs))
        check_estimate(player, [(first + second) / 2 * 10 for first, second in zip(*legs, strict=True)])


def test_the_same_command_shows_the_result_without_playing(run: Processes) -> None:
    first = start(run, "--json", hands=5).wait()
    before = {path: path.stat().st_mtime_ns for path in (run.folder / "m").rglob("*") if path.is_file()}
    second = start(run, "--json", hands=5).wait()
    assert (first.code, second.code) == (0, 0)
    assert json.loads(first.out) == json.loads(second.out) == json.loads((run.folder / "m/result.json").read_text())
    assert "already played" in second.err
    table = start(run, hands=5).wait()
    assert re.search(r"^random +[+-][0-9,]+ +[+-][0-9]+ ", table.out, re.MULTILINE)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_decisions_after_bets_that_a_blueprint_has_not_are_told(run: Processes) -> None:
    """Of the player who met some; the match is over, so that what is shown is what the result says."""
    assert start(run, hands=5).wait().code == 0
    path = run.folder / "m/result.json"
    result = json.loads(path.read_text())
    result["players"]["random"]["by_blueprint"] = {"decisions": 1234, "translated": 15, "jumps": 2, "replaced": 1}
    path.write_text(json.dumps(result))
    (line,) = [line for line in start(run, hands=5).wait().out.splitlines() if "its blueprint" in line]
    assert line == (
        "random: of 1,234 decisions by its blueprint 15 were after bets that this has not: "
        "2 by the nearest it has, 1 made legal"
    )


def test_one_hand_has_no_standard_error(run: Processes) -> None:
    assert "unknown" in start(run, hands=1).wait().out
    result = json.loads((run.folder / "m/result.json").read_text())
    assert result["players"]["random"]["se_mbb"] is None


def test_three_players(run: Processes) -> None:
    ended = start(run, "--json", hands=20, game="kuhn.limit.3p", agents=("random", "random", "always-call")).wait()
    assert ended.code == 0
    players = json.loads(ended.out)["players"]
    assert list(players) == ["random", "random-2", "always-call"]
    assert sum(player["chips"] for player in players.values()) == 0
    game = load_game("kuhn.limit.3p").game
    for name, player in players.items():
        check_estimate(player, [1000 * value for value in won(run.folder / "m/match/match.log", name, game)])
        assert len(stored_hands(run.folder / f"m/match/{name}.sqlite")) == 20


# --- Death and resuming -----------------------------------------------------------------------------------------------


def check_resumed(run: Processes, whole: Path, kills: int, leg: str = "match") -> None:
    """The folder of an interrupted match is that of an uninterrupted one.

    A kill may come when last states are on their way to a bot: such a hand is over for the dealer, who does not send it
    again, and has not ended for the bot. That can be two hands (in the second the other player folded at once), never
    more, since then the bot has to act. The runner adds them to the store, and makes the decisions that it lost again.
    """
    mine, theirs = run.folder / "m" / leg, whole / leg
    assert (mine / "match.log").read_bytes() == (theirs / "match.log").read_bytes()
    actions = [line.rsplit(" ", 2)[0] for line in (mine / "match.tlog").read_text().splitlines()]
    assert actions == [line.rsplit(" ", 2)[0] for line in (theirs / "match.tlog").read_text().splitlines()]
    for store in theirs.glob("*.sqlite"):
        assert stored_hands(mine / store.name) == stored_hands(store)
        decisions = {(d.hand, d.betting, d.action) for d in stored_decisions(mine / store.name)}
        expected = {(d.hand, d.betting, d.action) for d in stored_decisions(store)}
        assert decisions == expected
    players, expected_players = (
        json.loads((folder / "result.json").read_text())["players"] for folder in (run.folder / "m", whole)
    )
    for name, player in players.items():
        assert 0 <= player["hands_from_log"] <= 2 * kills
        assert player == expected_players[name] | {"hands_from_log": player["hands_from_log"]}


def unlocked(run: Processes) -> None:
    """The children of a killed runner hold the folder until they are gone."""
    wait_until(lambda: not children_of(run.folder), "nobody is left")


@pytest.mark.parametrize("victim", some_of(["runner", "dealer", "first bot", "second bot"], every=2))
def test_kill_9(run: Processes, whole: Path, victim: str) -> None:
    """At three moments of one match; then it is played to its end."""
    words = {"dealer": "bot.cli deal", "first bot": "--match match/random ", "second bot": "--match match/random-2 "}
    for moment in (1, HANDS // 3, 2 * HANDS // 3):
        runner = start(run)
        pid = child(run, words[victim]) if victim in words else runner.pid
        wait_for_hands(run, moment)
        os.kill(pid, signal.SIGKILL)
        ended = runner.wait()
        if victim == "runner":
            assert ended.code == -signal.SIGKILL
        else:
            assert ended.code == 1
            assert ended.last_line.startswith("paratus match: ")
        unlocked(run)
        assert not (run.folder / "m/result.json").exists()
    assert start(run).wait().code == 0
    check_resumed(run, whole, kills=3)


def test_a_duplicate_match_interrupted_in_each_leg(run: Processes, duplicate: Path) -> None:
    for leg in ("forward", "reverse"):
        runner = start(run, "--duplicate", hands=60, agents=("random", "always-call"))
        wait_for_hands(run, 5, leg)
        runner.end()
        unlocked(run)
    assert start(run, "--duplicate", hands=60, agents=("random", "always-call")).wait().code == 0
    for leg in ("forward", "reverse"):
        check_resumed(run, duplicate, kills=2, leg=leg)


def test_killed_between_the_last_action_and_the_score(run: Processes) -> None:
    assert start(run, hands=5).wait().code == 0
    log = run.folder / "m/match/match.log"
    complete = log.read_bytes()
    result = json.loads((run.folder / "m/result.json").read_text())
    for end in (b"SCORE", b"STATE:4"):
        log.write_bytes(complete[: complete.index(end)])
        (run.folder / "m/result.json").unlink()
        assert start(run, hands=5).wait().code == 0
        assert log.read_bytes() == complete
        assert json.loads((run.folder / "m/result.json").read_text())["players"] == result["players"]


def test_a_folder_with_blanks(run: Processes, whole: Path) -> None:
    """Logs do not depend on where they are, and their first line can be read."""
    folder = run.folder / "my folder/x y"
    arguments = ("match", HOLDEM, "random", "random", "--hands", HANDS, "--seed", 4, "--out", "my folder/x y")
    runner = run.paratus(*arguments)
    wait_until(lambda: (folder / "match/random.out").exists(), "it has begun")
    runner.end()
    unlocked(run)
    ended = run.paratus(*arguments).wait()
    assert ended.code == 0, ended.err
    lines = (folder / "match/match.log").read_bytes()
    assert lines == (whole / "match/match.log").read_bytes()
    header = parse_header(lines.decode().splitlines())
    assert (header.name, header.game) == ("match", "match.game")
    assert str(run.folder) not in (folder / "match/match.messages").read_text()


def test_a_match_begun_by_an_earlier_version_goes_on(run: Processes, whole: Path) -> None:
    """Whose dealer wrote the folder's path into the first line of its log."""
    runner = start(run)
    wait_for_hands(run, 20)
    runner.end()
    unlocked(run)
    log = run.folder / "m/match/match.log"
    first, _, rest = log.read_bytes().partition(b"\n")
    assert first == f"# name/game/hands/seed match match.game {HANDS} 4".encode()
    log.write_bytes(first.replace(b"match match.game", b"m d/match/match m d/match/match.game") + b"\n" + rest)
    assert start(run).wait().code == 0
    check_resumed(run, whole, kills=1)


def test_a_log_of_something_else_is_not_touched(run: Processes) -> None:
    assert start(run, hands=5).wait().code == 0
    (run.folder / "m/result.json").unlink()
    log = run.folder / "m/match/match.log"
    lines = log.read_bytes().replace(b" 5 4\n", b" 6 4\n", 1)
    log.write_bytes(lines[: lines.index(b"SCORE")])
    assert start(run, hands=5).wait().code == 1
    assert log.read_bytes() == lines[: lines.index(b"SCORE")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_child_outlives_the_runner(run: Processes, number: signal.Signals) -> None:
    silent = stranger(run.folder, "silent")
    runner = start(run, agents=("random", silent))
    wait_until(lambda: len(children_of(run.folder)) == 4, "runner, dealer and bots run")
    wait_until(lambda: (run.folder / "m/match/stranger.out").exists(), "the match is going on")
    runner.send(number)
    ended = runner.wait()
    assert ended.code == (130 if number == signal.SIGINT else -number)
    assert ended.seconds < 10
    if number == signal.SIGINT:
        assert ended.last_line == "paratus match: interrupted"
        assert children_of(run.folder) == []  # the runner waited for them
    wait_until(lambda: not children_of(run.folder), "its children end", 5)


def test_a_second_runner_is_refused(run: Processes) -> None:
    runner = start(run, agents=("random", stranger(run.folder, "silent")))
    wait_until(lambda: (run.folder / "m/plan.json").exists(), "the folder is taken")
    second = start(run, agents=("random", run.folder / "stranger")).wait()
    assert second.code == 2
    assert second.err == "paratus match: m: a match is being played there: wait for it, or choose another --out\n"
    assert runner.running


def test_another_plan_in_the_same_folder_is_refused(run: Processes, here: Callable[..., Ended]) -> None:
    (run.folder / "m").mkdir()
    assert start(run, hands=5).wait().code == 0
    asked = ("match", HOLDEM, "random", "random", "--hands", 5, "--seed", 4, "--out", "m")
    for changed, says in (
        (("--hands", 6), "hands is 5, asked for 6"),
        (("--seed", 5), "seed is 4, asked for 5"),
        (("--duplicate",), "duplicate is false, asked for true"),
        (("--t_response", 1), "limits_ms is [600000, 600000, 7000], asked for [1, 600000, 7000]"),
    ):
        ended = here(*asked, *changed)
        assert ended.code == 2
        assert ended.last_line == f"paratus match: m holds another match: {says}: choose another --out"
    assert "another match: agents is" in here(*asked[:3], "all-in", *asked[4:]).last_line


# --- Strangers and failures -------------------------------------------------------------------------------------------


def failed(ended: Ended, code: int = 1) -> str:
    assert ended.code == code
    assert ended.out == ""
    return ended.last_line.removeprefix("paratus match: ")


def test_an_executable_plays(run: Processes) -> None:
    ended = start(run, "--json", hands=20, agents=(stranger(run.folder, "good"), "random")).wait()
    assert ended.code == 0
    players = json.loads(ended.out)["players"]
    assert list(players) == ["stranger", "random"]
    assert players["stranger"]["fallbacks"] is players["stranger"]["by_blueprint"] is None
    assert players["random"]["fallbacks"] == 0


@pytest.mark.parametrize("mode", ["one_illegal", "illegal", "garbage"])
def test_a_warning_fails_the_match_for_good(run: Processes, mode: str) -> None:
    """Whether it is seen at once or the match is over first: that action was not the bot's, now or ever."""
    agents = (stranger(run.folder, mode), "always-call")
    for _ in range(3):
        said = failed(start(run, hands=4, agents=agents).wait())
        assert re.match(r"stranger broke the rules: the dealer says 'WARNING: (raise of 1 increased|bad state)", said)
        assert said.endswith("mend that bot and choose another --out")
    assert not (run.folder / "m/result.json").exists()


def test_a_warning_after_which_the_match_was_finished(run: Processes) -> None:
    """The runner was killed before it saw the warning; the log is complete."""
    assert start(run, hands=3).wait().code == 0
    (run.folder / "m/result.json").unlink()
    messages = run.folder / "m/match/match.messages"
    messages.write_bytes(messages.read_bytes().replace(b"\nTO ", b"\nWARNING: invalid action, changed to call\nTO ", 1))
    for _ in range(2):
        assert "WARNING: invalid action" in failed(start(run, hands=3).wait())


def test_a_bot_that_dies_at_start(run: Processes) -> None:
    ended = start(run, agents=("random", stranger(run.folder, "crash"))).wait()
    assert failed(ended) == "stranger ended with exit code 1: the strategy file is missing"
    assert ended.seconds < 10


@pytest.mark.parametrize("mode", ["dies_at_once", "dies_after_version", "dies_in_hand", "dies_in_line"])
def test_a_bot_that_leaves(run: Processes, mode: str) -> None:
    """With exit code 0, as if all were well."""
    ended = start(run, hands=20, agents=("random", stranger(run.folder, mode))).wait()
    assert "seat 2 (stranger)" in failed(ended)
    assert ended.seconds < 10


def test_a_bot_that_never_connects(run: Processes) -> None:
    idle = run.folder / "idle"
    idle.write_text("#!/bin/sh\necho nothing to do\n")
    idle.chmod(0o755)
    ended = start(run, agents=("random", idle)).wait()
    assert failed(ended) == "idle ended with exit code 0: nothing to do"
    assert ended.seconds < 10


def test_a_bot_that_is_too_slow(run: Processes) -> None:
    ended = start(run, "--t_response", 300, hands=5, agents=(stranger(run.folder, "silent"), "random")).wait()
    assert "seat 1 (stranger) ran out of time in hand 0" in failed(ended)


def test_no_program(run: Processes) -> None:
    broken = run.folder / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    assert failed(start(run, agents=("random", broken)).wait(), 2).startswith(f"broken: cannot start {broken}: ")
    assert children_of(run.folder) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((HOLDEM, "random"), f"1 agents: {HOLDEM} is played by 2"),
        ((HOLDEM, "random", "nobody"), "agent 'nobody': neither an executable file nor one of always-fold, "),
        ((HOLDEM, "random", "plain.txt"), "agent 'plain.txt': neither an executable file nor one of "),
        ((HOLDEM, "random", "two words"), "agent 'two words': "),
        (("kuhn.limit.3p", "random", "random", "random", "--duplicate"), "--duplicate: kuhn.limit.3p is played by 3"),
        ((HOLDEM, "random", "random", "--hands", "0"), "'0': expected a number from 1 to "),
        (("nothing", "random", "random"), "nothing"),
        ((HOLDEM, "random"), "expected `paratus match GAME AGENT AGENT`"),
        (
            (LEDUC, "random", "nested"),
            "agent nested plays heads-up no-limit hold'em, not leduc: expected another agent",
        ),
        ((LEDUC, "paratus", "random"), "agent paratus plays heads-up no-limit hold'em, not leduc: expected another"),
    ],
)
def test_bad_arguments(here: Callable[..., Ended], tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    (tmp_path / "plain.txt").write_text("")
    ended = here("match", *arguments)
    assert ended.code == 2
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "matches").exists()


@pytest.mark.parametrize("agent", ["blueprint", "slumbot-style", "limited", "paratus"])
def test_a_blueprint_that_does_not_fit_is_noticed_before_anything_starts(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def match(game: str, folder: str) -> tuple[int, str]:
        code = cli.main(["match", game, "random", agent, "--hands", "1", "--out", str(tmp_path / folder)])
        assert not (tmp_path / folder).exists()
        return code, capsys.readouterr().err

    shipped = shipped_blueprint
    monkeypatch.setattr("strategies.requirements.shipped_blueprint", lambda name: shipped("missing.blueprint"))
    code, said = match(HOLDEM, "m")
    assert code == 2
    assert "no blueprint came with this installation" in said
    other = tmp_path / "other.game"
    other.write_text(game_text(GAME).replace("20000", "10000"))
    monkeypatch.setattr("strategies.requirements.shipped_blueprint", lambda name: file_of(GAME))
    code, said = match(str(other), "n")
    assert code == 2
    assert "stack = 20000 20000: expected " in said


def test_an_edited_stranger_is_another_match(run: Processes) -> None:
    """Neither the old result is shown nor the match resumed with another bot."""
    bot = stranger(run.folder, "good")
    assert start(run, hands=3, agents=(bot, "random")).wait().code == 0
    Path(bot).write_text(Path(bot).read_text() + "# changed\n")
    ended = start(run, hands=3, agents=(bot, "random")).wait()
    assert ended.code == 2
    assert "holds another match: agents is" in ended.last_line


def test_a_folder_of_something_else_is_left_alone(run: Processes) -> None:
    (run.folder / "m").mkdir()
    (run.folder / "m/notes.txt").write_text("mine")
    ended = start(run, hands=3).wait()
    assert ended.code == 2
    assert ended.last_line.endswith("expected a new or an empty folder")
    assert [path.name for path in (run.folder / "m").iterdir()] == ["notes.txt"]


def test_the_bot_in_the_documentation_plays(run: Processes) -> None:
    text = (Path(__file__).parent.parent / "docs/bots.md").read_text()
    found = re.search(r"```python\n(#!.*?)```", text, re.DOTALL)
    assert found is not None
    bot = run.folder / "mybot.py"
    bot.write_text(found.group(1))
    bot.chmod(0o755)
    ended = start(run, "--duplicate", hands=100, agents=(str(bot), "random")).wait()
    assert ended.code == 0, ended.err

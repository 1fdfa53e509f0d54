"""`paratus blueprint info|verify|export`: what they show, what they refuse, and that machines can read it."""

from __future__ import annotations

import json

import pytest
from blueprint_files import HOLDEM, file_of, folder, random_averages, small_game, write

from blueprints.cards.exact import ExactCards
from blueprints.lookup import Lookup
from blueprints.settings import BlueprintSettings, settings_text
from blueprints.storage import Blueprint, write_blueprint
from blueprints.tree import build_tree
from bot.blueprints.answers import action_words
from bot.blueprints.command import COMMANDS
from bot.solve import pictures
from protocol.cards import parse_cards
from protocol.game import load_game
from protocol.hands import HandIndex, class_text, hand_class, hand_text
from protocol.state import CALL, FOLD, Raise, start
from protocol.wire import read_betting
from solver.menu import parse_menu

MINE = ("info", "verify", "export")


@pytest.fixture
def call(blueprint_command):
    return blueprint_command


@pytest.fixture(scope="module")
def holdem():
    return file_of(HOLDEM)


@pytest.fixture(scope="module")
def small():
    return file_of(small_game())


def one_line(text: str) -> str:
    assert text.endswith("\n")
    assert text[:-1].isprintable(), text
    return text[:-1]


def test_the_commands(call):
    code, out, err = call("--help")
    assert (code, err) == (0, "")
    for name, (_, what) in COMMANDS.items():
        assert name in out
        code, out_of_it, err = call(name, "--help")
        assert (code, err) == (0, "")
        assert out_of_it.startswith(f"usage: paratus blueprint {name} ")
        assert what[1:30] in " ".join(out_of_it.split())
    code, out, err = call()
    assert (code, out) == (2, "")
    assert one_line(err).endswith(f"no command: expected one of {', '.join(COMMANDS)}")
    code, out, err = call("nonsense")
    assert (code, out) == (2, "")
    assert "nonsense" in one_line(err)


# --- info and verify ------------------------------------------------------------------------------------------------


def test_info(call, holdem):
    blueprint = Blueprint.open(holdem)
    code, out, err = call("info", holdem)
    assert (code, err) == (0, "")
    shown = " ".join(out.split())
    for text in (blueprint.digest, "holdem.nolimit.2p.reverse_blinds", "1.23e+04 updates, 10 walks, 2 periods", "none"):
        assert text in shown
    for street, name in enumerate(("preflop", "flop", "turn", "river")):
        assert f"{name} {len(blueprint.tree.nodes_of(street)):,} {len(blueprint.strategy(street)):,} " in shown
    code, out, err = call("info", holdem, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["hash"] == blueprint.digest
    assert data["bytes"] == holdem.stat().st_size
    assert [street["buckets"] for street in data["streets"]] == list(blueprint.buckets)
    assert sum(street["decisions"] for street in data["streets"]) == blueprint.tree.num_nodes
    assert data["training"] == {**data["training"], "walks": 10, "updates": 12_345, "revision": "none"}
    assert data["settings"]["name"] == "random"


def test_verify(call, small, tmp_path):
    blueprint = Blueprint.open(small)
    code, out, err = call("verify", small)
    assert (code, err) == (0, "")
    assert one_line(out).startswith(f"{small}: whole: ")
    assert blueprint.digest in out
    code, out, err = call("verify", small, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert (said["whole"], said["hash"]) == (True, blueprint.digest)
    damaged = bytearray(small.read_bytes())
    damaged[-1] ^= 1
    path = tmp_path / "damaged.blueprint"
    path.write_bytes(damaged)
    for options in ([], ["--json"]):
        code, out, err = call("verify", path, *options)
        assert (code, out) == (1, "")
        assert f"{path}: hash of strategy_1 is " in one_line(err)
    assert call("info", path)[0] == 0  # it looks at what it shows


@pytest.mark.parametrize(
    "command",
    [
        "export FILE",
        "respond FILE --boards 1",
        "contest FILE WHOLE",
        "contest WHOLE FILE",
        "merge WHOLE FILE --out OUT",
        "train CONFIG --begin-from FILE --folder OUT",
    ],
)
def test_damaged_strategies_are_not_used(call, tmp_path, command):
    """Of a byte that no header speaks of: as likely as not its number is a possible one."""
    whole = file_of(load_game("leduc").game)
    config, damaged, out = (tmp_path / name for name in ("small.toml", "damaged.blueprint", "out"))
    config.write_text(settings_text(Blueprint.open(whole).settings))
    content = bytearray(whole.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    paths = {"FILE": damaged, "WHOLE": whole, "CONFIG": config, "OUT": out}
    code, said, err = call(*[paths.get(word, word) for word in command.split()])
    assert (code, said) == (1, "")
    assert f"{damaged}: hash of strategy_1 is " in one_line(err)
    assert not out.exists()


@pytest.mark.parametrize("command", MINE)
def test_files_that_are_none(call, command, tmp_path):
    for path, expected in (
        (tmp_path / "missing", "No such file or directory: expected a blueprint file"),
        (tmp_path, "Is a directory: expected a blueprint file"),
    ):
        code, out, err = call(command, path)
        assert (code, out) == (1, "")
        assert one_line(err).endswith(expected)


def test_without_a_file_it_is_the_one_that_ships(call, monkeypatch, tmp_path, holdem):
    monkeypatch.setattr("blueprints.shipped.resources.files", lambda package: tmp_path)
    code, out, err = call("info")
    assert (code, out) == (2, "")
    assert "no blueprint came with this installation" in one_line(err)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "standard.blueprint").write_bytes(holdem.read_bytes())
    code, out, _ = call("info")
    assert (code, Blueprint.open(holdem).digest in out) == (0, True)


# --- export ---------------------------------------------------------------------------------------------------------


def test_the_preflop_chart(call, holdem):
    """No tables are needed for it."""
    blueprint = Blueprint.open(holdem)
    code, out, err = call("export", holdem, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert (data["betting"], data["board"], data["node"], data["played"]) == ("", "", 0, True)
    assert [action["code"] for action in data["actions"]] == ["f", "c", "r250", "r20000"]
    assert [action["raise_to_chips"] for action in data["actions"]] == [None, None, 250, 20_000]
    assert len(data["classes"]) == 169
    assert len(data["hands"]) == 1326
    assert data["classes"][0]["class"] == "AA"
    rows = blueprint.rows(0)
    for shown in data["classes"]:
        mine = [index for index in range(1326) if class_text(hand_class(HandIndex(index))) == shown["class"]]
        assert shown["hands"] == shown["reach"] == len(mine)
        expected = rows[:, hand_class(HandIndex(mine[0]))] / 255
        assert list(shown["frequencies"].values()) == pytest.approx(expected.tolist(), abs=1e-5)
    assert {shown["hand"] for shown in data["hands"]} == {hand_text(HandIndex(index)) for index in range(1326)}
    assert sum(action["frequency"] for action in data["actions"]) == pytest.approx(1, abs=1e-5)


def test_the_chart_as_text(call, holdem):
    code, out, err = call("export", holdem)
    assert (code, err) == (0, "")
    assert "before the flop: position 1 acts, pot 150, 50 to call" in out
    for words in ("fold: ", "call 50: ", "raise to 250 (75% of the pot): ", "all-in (9950% of the pot): "):
        assert words in out
    assert sum(line.split() == list("AKQJT98765432") for line in out.splitlines()) == 4
    rows = Blueprint.open(holdem).rows(0)
    aces = next(line for line in out.splitlines() if line[:5] == "   A ").split()  # of the first grid
    share = rows[0, 168] / 255
    assert aces[1] == ("·" if share < 0.005 else f"{100 * share:.0f}")


def test_a_later_spot_counts_hands_by_how_they_come_there(call, holdem):
    blueprint = Blueprint.open(holdem)
    code, out, _ = call("export", holdem, "--json", "--spot", "r250r750")
    assert code == 0
    data = json.loads(out)
    opens = blueprint.rows(0)[2] / 255
    for shown in data["hands"]:
        index = next(index for index in range(1326) if hand_text(HandIndex(index)) == shown["hand"])
        assert shown["reach"] == pytest.approx(opens[hand_class(HandIndex(index))], abs=1e-5)
    assert not {shown["class"] for shown in data["classes"] if shown["reach"] == 0}


def test_a_spot_with_a_board(call, holdem):
    blueprint = Blueprint.open(holdem)
    lookup = Lookup(blueprint, blueprint.cards(folder(), rivers=False))
    arguments = ["--spot", "r250c/c", "--board", "Ks 7h 2d", "--tables", folder()]
    code, out, _ = call("export", holdem, "--format", "json", *arguments)
    assert code == 0
    data = json.loads(out)
    assert data["board"] == "Ks7h2d"
    assert len(data["hands"]) == 49 * 48 // 2
    state = read_betting(start(HOLDEM), "r250c/c")
    found = lookup.policy(state, parse_cards("Ks7h2d"), None)
    by_hand = {shown["hand"]: list(shown["frequencies"].values()) for shown in data["hands"]}
    for index in range(0, 1326, 13):
        if found.shares[:, index].any():
            assert by_hand[hand_text(HandIndex(index))] == pytest.approx(found.probabilities[:, index], abs=1e-5)
    code, out, _ = call("export", holdem, *arguments)
    assert code == 0
    assert "Ks7h2d after r250c/c: position 1 acts, pot 500" in out


def test_what_is_not_in_the_tree_is_said(call, holdem):
    code, out, _ = call("export", holdem, "--spot", "r300r900r2700")
    assert code == 0
    assert "1 action not in the tree, taken for the likelier neighbour" in out
    assert "the tree has nothing like it 1 time: the nearest decision is shown" in out


def test_a_small_game(call, small):
    code, out, _ = call("export", small, "--spot", "cc/", "--board", "6c5c4d")
    assert (code, "board" in out) == (2, False)
    code, out, _ = call("export", small)
    assert code == 0
    assert "no board: position 1 acts" in out
    assert len([line for line in out.splitlines() if line[:1] in "AKQJT98765432" and line[:1]]) == 45
    code, out, _ = call("export", small, "--json")
    assert (len(json.loads(out)["hands"]), json.loads(out)["classes"]) == (45, [])
    code, out, err = call("export", small, "--format", "png", "--out", folder() / "x.png")
    assert code == 2
    assert "hands of this game have no classes" in one_line(err)


def test_to_files(call, holdem, tmp_path):
    for form in ("text", "json", "png"):
        code, out, _ = call("export", holdem, "--format", form, "--out", tmp_path / form)
        assert (code, out) == (0, "")
    assert (tmp_path / "png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "json").read_text())["betting"] == ""
    assert "fold: " in (tmp_path / "text").read_text()
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--spot", "x"], "--spot: betting 'x' at character 0: expected f, c or r"),
        (["--spot", "r99"], "illegal raise to 99: expected a raise to 200-20000"),
        (["--spot", "f"], "--spot f: the hand is over: expected a decision"),
        (["--spot", "r250c/"], "--board of no cards: expected 3 cards of the deck after r250c/"),
        (["--board", "Ks7h2d"], "--board Ks7h2d: expected 0 cards of the deck after no betting"),
        (["--spot", "r250c/", "--board", "Ks7hKs"], "--board: "),
        (["--spot", "r250c/", "--board", "Ks7x"], "--board: "),
        (["--format", "png"], "--format png without --out: expected a file to write"),
        (["--json", "--format", "text"], "--json and --format text: expected one of the two"),
        (["--out", "missing/file"], "--out missing/file: no folder missing"),
        (["--format", "svg"], "invalid choice: 'svg'"),
    ],
)
def test_refused(call, holdem, arguments, expected):
    code, out, err = call("export", holdem, *arguments)
    assert (code, out) == (2, "")
    assert expected in one_line(err)


def test_pictures_need_a_library(call, holdem, monkeypatch, tmp_path):
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    code, _, err = call("export", holdem, "--format", "png", "--out", tmp_path / "x.png")
    assert code == 2
    assert "--format png: matplotlib is not installed" in one_line(err)
    assert not list(tmp_path.iterdir())


def test_spots_that_the_tree_lacks(call, tmp_path):
    path = write(tmp_path / "short.blueprint", HOLDEM, "nolimp; preflop a / -; a / -")
    code, out, err = call("export", path, "--spot", "cc/", "--board", "Ks7h2d", "--tables", folder())
    assert (code, out) == (2, "")
    assert one_line(err).endswith("--spot cc/: the blueprint has no decision of that player on that street")


@pytest.mark.parametrize(
    ("betting", "action", "words"),
    [
        ("", FOLD, "fold"),
        ("", CALL, "call 50"),
        ("c", CALL, "check"),
        ("c", Raise(300), "raise to 300 (100% of the pot)"),
        ("cc/", Raise(250), "bet 150 (75% of the pot)"),
        ("cc/r250", Raise(850), "raise to 850 (120% of the pot)"),
        ("cc/", Raise(20_000), "all-in (9950% of the pot)"),
    ],
)
def test_words(betting, action, words):
    assert action_words(read_betting(start(HOLDEM), betting), action) == words


def test_spots_that_no_hand_comes_to(call, tmp_path):
    """All hands count alike there, and that is said."""
    game, path = small_game(), tmp_path / "x.blueprint"
    tree, cards = build_tree(game, parse_menu("100%,a / a; cap 2")), ExactCards(game)
    averages = random_averages(tree, cards.counts)
    limps = tree.actions(0).index(CALL)
    averages[0][:] = 1
    averages[0][limps] = 0
    settings = BlueprintSettings(name="no-limps", game=game.name, menu="100%,a / a; cap 2")
    write_blueprint(path, settings=settings, game=game, tree=tree, cards=cards, averages=averages, training={})
    said = "never played: all hands count alike"
    assert said not in call("export", path, "--spot", "c")[1]  # whoever acts there did not limp
    code, out, _ = call("export", path, "--spot", "cr4")
    assert (code, said in out) == (0, True)
    data = json.loads(call("export", path, "--spot", "cr4", "--json")[1])
    assert not data["played"]
    assert {shown["reach"] for shown in data["hands"]} == {1.0}

"""The configuration: the shipped file says everything and says it right; what is wrong is refused in one line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from bot.config import BotConfig, default_settings, load_config
from machine.errors import ConfigError
from protocol.game import DEFAULT_GAME, load_game
from protocol.log import Limits
from strategies.registry import AGENTS
from strategies.search.settings import LimitedSettings, NestedSettings

_COMMENTED_KEY = re.compile(r"^# (?=[a-z_]+ = )", re.MULTILINE)
SHIPPED = default_settings()
UNCOMMENTED = _COMMENTED_KEY.sub("", SHIPPED)


def keys(model: type[BaseModel]) -> dict[str, list[str]]:
    return {name: list(getattr(field.annotation, "model_fields", ())) for name, field in model.model_fields.items()}


# --- The shipped file -----------------------------------------------------------------------------------------------


def test_the_shipped_file_says_the_defaults(write):
    assert load_config(write(SHIPPED), {}) == BotConfig() == load_config(None, {})


def test_the_shipped_file_has_every_key_in_the_order_of_the_model():
    assert {name: list(section) for name, section in tomllib.loads(UNCOMMENTED).items()} == keys(BotConfig)


def test_commented_keys_show_what_happens_without_them():
    values, defaults = tomllib.loads(UNCOMMENTED), BotConfig().model_dump()
    assert {section: {**values[section], **tomllib.loads(SHIPPED)[section]} for section in values} == values
    commented = [
        (section, key) for section in values for key in values[section] if key not in tomllib.loads(SHIPPED)[section]
    ]
    assert commented == [("bot", "game")]
    assert defaults["bot"]["game"] is None
    assert values["bot"]["game"] == DEFAULT_GAME
    load_game(values["bot"]["game"])
    assert values["bot"]["agent"] in AGENTS


def test_every_key_is_explained_above():
    """By a comment of its own; of several entries of a list those of the first."""
    explained, known, section = False, False, ""
    for line in UNCOMMENTED.splitlines():
        if line.startswith("["):
            known, section = line.startswith("[[") and line == section, line
        elif line.startswith("#"):
            explained = line.rstrip().endswith((".", ":")) or explained
        elif not line:
            explained = False
        else:
            assert explained or known, line
            explained = False


def test_the_file_fits_any_terminal():
    assert SHIPPED.isascii()
    assert max(map(len, SHIPPED.splitlines())) <= 120


# --- Values ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "my.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def test_a_file_need_not_say_everything(write):
    config = load_config(write('[bot]\nagent = "all-in"\n[clock]\nper_hand_s = 3\n'), {})
    assert config.bot.agent == "all-in"
    assert config.clock.per_hand_s == 3.0
    assert config.wait == BotConfig().wait
    assert load_config(write(""), {}) == BotConfig()


def test_overrides_win(write):
    path = write('[bot]\nagent = "all-in"\nseed = 5\nhands = 9\n[store]\nenabled = true\n')
    config = load_config(path, {"bot": {"agent": "random", "seed": 6}, "store": {"enabled": False}, "clock": {}})
    assert (config.bot.agent, config.bot.seed, config.bot.hands, config.store.enabled) == ("random", 6, 9, False)
    assert load_config(None, {"bot": {"match": "m"}}).bot.match == "m"


def test_a_wrong_value_in_the_file_does_not_matter_if_it_is_overridden(write):
    assert load_config(write("[bot]\nseed = -1\n"), {"bot": {"seed": 3}}).bot.seed == 3


def test_a_configuration_does_not_change():
    with pytest.raises(ValueError, match="frozen"):
        BotConfig().bot.seed = 3


def test_limits_in_the_dealers_units(write):
    assert BotConfig().clock.limits == Limits()  # the reference dealer's defaults
    config = load_config(write("[clock]\nresponse_s = 1.5\nhand_s = 20\nper_hand_s = 0.25\n"), {})
    assert config.clock.limits == Limits(1500, 20_000, 250)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("bot.seed", ["0", "9223372036854775807"]),
        ("bot.match", ['""', f'"{"x" * 200}"']),
        ("bot.hands", ["0", "2147483648"]),
        ("clock.response_s", ["0.001", "1e9", "1"]),
        ("clock.margin_s", ["0", "0.0", "1e9"]),
        ("clock.assumed_hands", ["1"]),
        ("wait.line_s", ["1e-3", "1000000000"]),
    ],
)
def test_bounds_are_allowed(write, key, values):
    section, name = key.split(".")
    for value in values:
        config = load_config(write(f"[{section}]\n{name} = {value}\n"), {})
        assert getattr(getattr(config, section), name) == tomllib.loads(f"x = {value}")["x"]


# --- Refusals -------------------------------------------------------------------------------------------------------


def refusal(path: Path | None, overrides=None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides or {})
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500 + len(str(path))
    return message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[bot]\nagnet = 'x'\n", "bot.agnet = 'x': unknown key: expected one of agent, game, seed, match, hands"),
        ("seed = 3\n", "seed = 3: unknown key: expected one of bot, store, clock, wait"),
        ("[bots]\nseed = 3\n", "bots = {'seed': 3}: unknown key: expected one of bot, store, clock, wait"),
        ("[bot.seed]\nx = 3\n", "bot.seed = {'x': 3}: expected a whole number"),
        ('[bot]\n"a\\nb" = 1\n', r"'bot.a\nb' = 1: unknown key: expected one of"),
        ("bot = 3\n", "bot = 3: expected a section [bot]"),
        ("[[bot]]\nseed = 3\n", "bot = [{'seed': 3}]: expected a section [bot]"),
        ("[bot]\nseed = '3'\n", "bot.seed = '3': expected a whole number"),
        ("[bot]\nseed = 3.0\n", "bot.seed = 3.0: expected a whole number"),
        ("[bot]\nseed = true\n", "bot.seed = True: expected a whole number"),
        ("[bot]\nseed = -1\n", "bot.seed = -1: expected at least 0"),
        ("[bot]\nseed = 9223372036854775808\n", "bot.seed = 9223372036854775808: expected less than"),
        ("[bot]\nhands = -1\n", "bot.hands = -1: expected at least 0"),
        ("[bot]\nhands = 2147483649\n", "bot.hands = 2147483649: expected at most 2147483648"),
        ("[bot]\nagent = 1\n", "bot.agent = 1: expected a text"),
        ("[bot]\ngame = 1\n", "bot.game = 1: expected a text"),
        ("[bot]\nagent = 1979-05-27\n", "bot.agent = datetime.date(1979, 5, 27): expected a text"),
        (f"[bot]\nmatch = '{'x' * 201}'\n", "expected at most 200 characters"),
        (f"[bot]\nseed = [{'1, ' * 10_000}]\n", "expected a whole number"),
        ("[store]\nenabled = 1\n", "store.enabled = 1: expected true or false"),
        ("[store]\nenabled = 'yes'\n", "store.enabled = 'yes': expected true or false"),
        ("[store]\npath = false\n", "store.path = False: expected a text"),
        ("[clock]\nresponse_s = 0\n", "clock.response_s = 0: expected more than 0"),
        ("[clock]\nhand_s = -1.5\n", "clock.hand_s = -1.5: expected more than 0"),
        ("[clock]\nper_hand_s = '7'\n", "clock.per_hand_s = '7': expected a number"),
        ("[clock]\nper_hand_s = true\n", "clock.per_hand_s = True: expected a number"),
        ("[clock]\nmargin_s = -0.1\n", "clock.margin_s = -0.1: expected at least 0"),
        ("[clock]\nmargin_s = inf\n", "clock.margin_s = inf: expected"),
        ("[clock]\nresponse_s = inf\n", "clock.response_s = inf: expected"),
        ("[clock]\nresponse_s = nan\n", "clock.response_s = nan: expected"),
        ("[clock]\nresponse_s = 1e306\n", "clock.response_s = 1e+306: expected"),
        ("[clock]\nassumed_hands = 0\n", "clock.assumed_hands = 0: expected at least 1"),
        ("[wait]\nconnect_s = 0.0\n", "wait.connect_s = 0.0: expected more than 0"),
        ("[wait]\nline_s = inf\n", "wait.line_s = inf: expected"),
    ],
)
def test_refused_with_file_key_and_value(write, content, expected):
    path = write(content)
    message = refusal(path)
    assert message.startswith(f"{path}: ")
    assert expected in message


@pytest.mark.parametrize(
    "content",
    [
        "[bot\n",
        "seed\n",
        "[bot]\nseed = 1\nseed = 2\n",
        "[bot]\n[bot]\n",
        "a = 1979-99-99\n",
        "seed: 3\n",
        b"\xff\xfe\n",
        b"[bot]\nmatch = '\x00'\n",
        "x = " + "[" * 5000,
        "x = " + "9" * 5000,
    ],
    ids=lambda content: repr(content[:12]),
)
def test_what_is_no_toml_is_refused(write, content):
    path = write(content)
    assert refusal(path).startswith(f"{path}: not a TOML file: ")


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    missing = tmp_path / "missing.toml"
    assert refusal(missing) == f"{missing}: No such file or directory: expected a configuration file"
    assert refusal(tmp_path) == f"{tmp_path}: Is a directory: expected a configuration file"


def test_options_are_blamed_for_what_is_theirs(write):
    expected = "options: bot.seed = -1: expected at least 0"
    assert refusal(None, {"bot": {"seed": -1}}) == expected
    assert refusal(write("[bot]\nseed = 5\n"), {"bot": {"seed": -1}}) == expected
    path = write("[bot]\nhands = -1\n")
    assert refusal(path, {"bot": {"seed": 1}}).startswith(f"{path}: bot.hands = -1")
    assert refusal(write("bot = 3\n"), {"bot": {"seed": 1}}).endswith("my.toml: bot = 3: expected a section [bot]")


def test_half_a_section_about_a_street_has_the_rest_by_default(write):
    config = load_config(write("[nested.turn]\niterations = 60\n[limited.flop]\nshare = 0.2\n"), {})
    turn, flop = config.strategies.nested.turn, config.strategies.limited.flop
    assert (turn.iterations, turn.share) == (60, NestedSettings().turn.share)
    assert (flop.iterations, flop.share) == (LimitedSettings().flop.iterations, 0.2)

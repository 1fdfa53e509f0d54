"""The configuration of the server: `serve.toml` documents every key; unknown ones are refused.

A match that is joined later, over the control interface, is the same model as one in the file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, field_validator

from bot.config import BotConfig, BotSection, Seconds, Section, StoreSection, load_config, read_settings
from machine.cores import available_cores
from machine.errors import ConfigError, quote
from machine.folders import data_home
from machine.refusals import problem_words
from protocol.game import DEFAULT_GAME
from strategies.registry import AGENTS, DEFAULT_AGENT, is_agent

DEFAULT_FILE: Final = Path(__file__).with_name("serve.toml")
FILES_A_MATCH: Final = 4
"""The connection, and a store in WAL mode."""
FILES_BESIDE: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME_CHARS: Final = 100
_UNIX_PATH_BYTES: Final = 100


class ServeSection(Section):
    """The process."""

    store: str = ""
    bot: str = ""
    cores: int = Field(default=0, ge=0, le=1024)
    drain_s: float = Field(default=30.0, ge=0, le=1e9)
    until_done: bool = False
    log: Literal["text", "json"] = "text"

    @property
    def folder(self) -> Path:
        """Of the stores."""
        return Path(self.store) if self.store else data_home() / "paratus" / "matches"

    @property
    def workers(self) -> int:
        """How many."""
        return self.cores or available_cores()


class ServerLimits(Section):
    """Bounds."""

    matches: int = Field(default=100, ge=1, le=10_000)
    open_files: int = Field(default=1024, validate_default=True, ge=FILES_BESIDE, le=2**20)
    hung_s: Seconds = 2.0
    ready_s: Seconds = 600.0

    @field_validator("open_files")
    @classmethod
    def _enough(cls, value: int, info: Any) -> int:
        needed = FILES_BESIDE + FILES_A_MATCH * int(info.data.get("matches", 0))
        if value < needed:
            raise ValueError(f"expected {needed} at least for {info.data['matches']} matches")
        return value


class ControlSection(Section):
    """How the server is told what to do."""

    socket: str = ""
    port: int = Field(default=0, ge=0, lt=65536)
    token_file: str = Field(default="", validate_default=True)
    request_bytes: int = Field(default=4096, ge=256, le=2**20)
    request_s: Seconds = 10.0
    connections: int = Field(default=16, ge=1, le=1000)

    @field_validator("socket")
    @classmethod
    def _fits(cls, value: str) -> str:
        if len(value.encode()) > _UNIX_PATH_BYTES or "\0" in value:
            raise ValueError(f"expected a path of at most {_UNIX_PATH_BYTES} bytes")
        return value

    @field_validator("token_file")
    @classmethod
    def _guarded(cls, value: str, info: Any) -> str:
        if info.data.get("port") and not value:
            raise ValueError("expected a file: a port is open to every user of this machine, so it needs a token")
        return value

    @property
    def path(self) -> Path:
        """Of the socket."""
        return Path(self.socket) if self.socket else data_home() / "paratus" / "serve.sock"

    def token(self) -> str:
        """The secret; empty: none."""
        if not self.token_file:
            return ""
        try:
            with Path(self.token_file).open(encoding="utf-8") as file:
                found = file.readline(1000).strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise ConfigError(f"control.token_file = {quote(self.token_file)}: {reason}: expected a secret") from None
        if not found:
            raise ConfigError(
                f"control.token_file = {quote(self.token_file)}: empty: expected a secret in its first line"
            )
        return found


class MatchSection(Section):
    """A match to join."""

    host: str = Field(min_length=1, max_length=255)
    port: int = Field(ge=1, lt=65536)
    name: str = Field(default="", max_length=_NAME_CHARS)
    agent: str = DEFAULT_AGENT
    think_s: float = Field(default=0.0, ge=0, le=1e9)
    game: str = Field(default=DEFAULT_GAME, max_length=1000)
    seed: int = Field(default=0, ge=0, lt=2**63)
    hands: int = Field(default=0, ge=0, le=2**31)
    resume: bool = False

    @field_validator("name")
    @classmethod
    def _harmless(cls, value: str) -> str:
        """It becomes a file's name."""
        if value and not _NAME.fullmatch(value):
            raise ValueError("expected letters, digits, `.`, `_` and `-`, the first a letter or digit")
        return value

    @field_validator("agent")
    @classmethod
    def _known(cls, value: str) -> str:
        if not is_agent(value):
            raise ValueError(f"expected one of {', '.join(AGENTS)}")
        return value

    @property
    def key(self) -> str:
        """What the match is called."""
        return self.name or re.sub(r"[^A-Za-z0-9.-]", "-", f"{self.host}-{self.port}")


class ServeConfig(Section):
    """All of it."""

    serve: ServeSection = ServeSection()
    limits: ServerLimits = ServerLimits()
    control: ControlSection = ControlSection()
    match: tuple[MatchSection, ...] = Field(default=(), strict=False)

    @field_validator("match")
    @classmethod
    def _different(cls, value: tuple[MatchSection, ...]) -> tuple[MatchSection, ...]:
        keys = [each.key for each in value]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise ValueError(f"two matches are called {quote(twice[0])}: expected a name of its own for each")
        return value

    def bot_config(self, match: MatchSection) -> BotConfig:
        """What a session of that match is told."""
        base = load_config(Path(self.serve.bot) if self.serve.bot else None, {})
        clock = base.clock.model_copy(update={"think_s": match.think_s}) if match.think_s else base.clock
        who = BotSection(agent=match.agent, game=match.game, seed=match.seed, match=match.key, hands=match.hands)
        store = StoreSection(path=str(self.store_of(match)), resume=match.resume)
        return base.model_copy(update={"bot": who, "clock": clock, "store": store})

    def store_of(self, match: MatchSection) -> Path:
        """The file of a match."""
        return self.serve.folder / f"{match.key}.sqlite"


def load_serve_config(path: Path | None) -> ServeConfig:
    """The configuration from a file, or the defaults."""
    config = read_settings(ServeConfig, path, {})
    for match in config.match[:1]:  # a bot's file that cannot be used is found now, not with the first join
        config.bot_config(match)
    return config


def parse_match(data: dict[str, Any]) -> MatchSection:
    """A match as a control request gives it."""
    agent = data.get("agent", DEFAULT_AGENT)
    if isinstance(agent, str) and agent not in AGENTS:  # a request is no reason to load code, or to look for it
        raise ConfigError(f"agent = {quote(agent)}: expected one of {', '.join(AGENTS)}")
    try:
        return MatchSection.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise ConfigError(problem_words(error, MatchSection)) from None

"""What `paratus slumbot` can be told (section [slumbot]; `slumbot.toml` documents every key), and the password."""

from __future__ import annotations

import ipaddress
import os
import stat
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dealer_tools.agents import CONFIGURATION
from machine.errors import ConfigError, quote
from machine.refusals import problem_words
from machine.toml import read_toml

DEFAULT_FILE: Final = Path(__file__).with_name("slumbot.toml")
PASSWORD_VARIABLE: Final = "PARATUS_SLUMBOT_PASSWORD"
SECTION: Final = "slumbot"
_LEAST_SPACING_S: Final = 0.5
_MAX_PASSWORD: Final = 1000

Seconds = Annotated[float, Field(gt=0, le=1e7)]


class SlumbotSettings(BaseModel):
    """Section [slumbot]."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    base: str = "https://slumbot.com/slumbot/api"
    user: str = Field(default="", max_length=200)
    password_file: str = ""
    concurrency: int = Field(default=1, ge=1, le=4)
    spacing_s: float = Field(default=0.5, ge=0, le=1e7)
    timeout_s: Seconds = 60.0
    backoff_s: Seconds = 1.0
    backoff_max_s: Seconds = 300.0
    act_tries: int = Field(default=8, ge=1, le=1000)
    give_up_s: Seconds = 86_400.0
    keep_alive: bool = False
    seed: int = Field(default=0, ge=0, lt=2**63)
    think_s: Seconds = 4.0
    response_s: Seconds = 60.0

    @property
    def loopback(self) -> bool:
        """The server is on this machine."""
        host = urlsplit(self.base).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


def load_settings(path: Path | None, overrides: dict[str, Any]) -> SlumbotSettings:
    """The settings of a file (or the defaults), with those of the command line in their place."""
    section: Any = read_toml(path, CONFIGURATION).get(SECTION, {}) if path is not None else {}
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: {SECTION} = {quote(str(section))}: expected a section [{SECTION}]")
    try:
        settings = SlumbotSettings.model_validate({**section, **overrides})
    except ValidationError as error:
        place = "options" if error.errors()[0]["loc"][0] in overrides else path
        raise ConfigError(f"{place}: {SECTION}.{problem_words(error, SlumbotSettings)}") from None
    _check(settings)
    return settings


def _check(settings: SlumbotSettings) -> None:
    """What one key says about another."""
    try:
        parts = urlsplit(settings.base)
        whole = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not parts.username
    except ValueError:
        whole = False
    if not whole or "?" in settings.base or "#" in settings.base:
        raise ConfigError(f"slumbot.base = {quote(settings.base)}: expected an address like https://host/path")
    if settings.loopback:
        return
    if parts.scheme == "http":
        raise ConfigError(f"slumbot.base = {quote(settings.base)}: expected https:// to another machine")
    if settings.spacing_s < _LEAST_SPACING_S:
        raise ConfigError(
            f"slumbot.spacing_s = {settings.spacing_s:g}: expected at least {_LEAST_SPACING_S} to another machine"
        )


def read_password(settings: SlumbotSettings) -> str:
    """The password of the user, from a file or the environment; never from the command line, which others can see."""
    if settings.password_file:
        path = Path(settings.password_file)
        try:
            with path.open(encoding="utf-8") as file:
                mode = os.fstat(file.fileno())
                if stat.S_IMODE(mode.st_mode) & 0o077 or mode.st_uid not in (os.getuid(), 0):
                    raise ConfigError(
                        f"slumbot.password_file = {quote(str(path))}: permissions {stat.S_IMODE(mode.st_mode):o}: "
                        "expected a file that only you can read (chmod 600)"
                    )
                password = file.readline(_MAX_PASSWORD).rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise ConfigError(
                f"slumbot.password_file = {quote(str(path))}: {reason}: expected a file with the password"
            ) from None
    else:
        password = os.environ.get(PASSWORD_VARIABLE, "")
    if not password:
        raise ConfigError(
            f"slumbot.user = {quote(settings.user)}: no password: expected it in {PASSWORD_VARIABLE} or in the file "
            "that slumbot.password_file names"
        )
    return password

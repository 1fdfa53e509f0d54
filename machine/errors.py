"""The root of the error tree, and how untrusted text is quoted in messages. `protocol.errors` draws the whole tree."""

from typing import Final

_SHOWN_CHARS: Final = 120


class ParatusError(Exception):
    """Base of all deliberate errors. The message is one line, fit to be shown to a user."""


class ConfigError(ParatusError):
    """A file, option or setting that cannot be used."""


def quote(text: str | bytes) -> str:
    """What was read, safe to print on one line and bounded: untrusted text goes into messages only through here."""
    shown = repr(text[:_SHOWN_CHARS])
    return shown if len(text) <= _SHOWN_CHARS else f"{shown}… ({len(text)} in all)"

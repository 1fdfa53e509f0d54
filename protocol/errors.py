"""The error tree: everything Paratus raises on purpose.

ParatusError
├── ConfigError            a file, option or setting cannot be used; names the place and the value
├── BlueprintError         a blueprint does not match what it is asked to play
├── IllegalAction          the rules forbid the action in this state
├── ProtocolError          the conversation over the wire broke its own rules
│   ├── LocalProtocolError     we were about to break them
│   └── RemoteProtocolError    the peer broke them
├── Disconnected           the peer closed the connection, or it broke
└── DeadlineExceeded       the peer, or we, took longer than agreed
"""


class ParatusError(Exception):
    """Base of all deliberate errors. The message is one line, fit to be shown to a user."""


class ConfigError(ParatusError):
    """A file, option or setting that cannot be used."""


class BlueprintError(ParatusError):
    """A blueprint that does not fit the game it should play."""


class IllegalAction(ParatusError):
    """An action that the rules forbid in this state."""


class ProtocolError(ParatusError):
    """The conversation over the wire broke its own rules."""


class LocalProtocolError(ProtocolError):
    """We were about to break the protocol."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol."""


class Disconnected(ParatusError):
    """The peer closed the connection, or it broke."""

    def __init__(self, message: str, *, clean: bool = False) -> None:
        super().__init__(message)
        self.clean = clean
        """True if the peer closed it after a whole line, as dealers do at the end of a match."""


class DeadlineExceeded(ParatusError):
    """A wait for a peer outlasted its limit."""


_SHOWN_CHARS = 120


def quote(text: str | bytes) -> str:
    """What was read, safe to print on one line and bounded: untrusted text goes into messages only through here."""
    shown = repr(text[:_SHOWN_CHARS])
    return shown if len(text) <= _SHOWN_CHARS else f"{shown}… ({len(text)} in all)"

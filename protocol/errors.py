"""The error tree: everything Paratus raises on purpose.

ParatusError               (in `machine.errors`, with ConfigError)
├── ConfigError            a file, option or setting cannot be used; names the place and the value
├── BlueprintError         a blueprint does not match what it is asked to play
├── IllegalAction          the rules forbid the action in this state
├── ProtocolError          the conversation over the wire broke its own rules
│   ├── LocalProtocolError     we were about to break them
│   └── RemoteProtocolError    the peer broke them
├── Disconnected           the peer closed the connection, or it broke
└── DeadlineExceeded       the peer, or we, took longer than agreed
"""

from machine.errors import ParatusError


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

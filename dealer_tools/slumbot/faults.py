"""What an emulated server does wrong, on request: each kind at its own rate, drawn for each request by a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from machine.errors import ConfigError, quote
from strategies.draws import Draws

_PARTS: Final = 1_000_000


class Fault(Enum):
    """By its name in `--faults`; `FAULTS_HELP` says what each does."""

    NONE = ""
    ERROR = "error"
    TOKEN = "token"
    SLASHES = "slashes"
    DUPLICATE = "duplicate"
    STATUS_400 = "400"
    STATUS_401 = "401"
    STATUS_500 = "500"
    OUTAGE_400 = "outage-400"
    OUTAGE_401 = "outage-401"
    DELAY = "delay"
    CLOSE_BEFORE = "close-before"
    CLOSE_AFTER = "close-after"
    CUT = "cut"
    GARBAGE = "garbage"
    TWICE = "twice"


FAULTS_HELP: Final = """\
faults, as in --faults error=0.01,delay=0.005 (the share of requests):
  error         HTTP 200 with error_msg; the request is not carried out
  token         the reply carries a new token, and the old one is forgotten
  slashes       the slashes at the end of the betting are left out
  duplicate     the request is carried out and answered with a copy of the last reply that arrived
  400, 401, 500 that status; the request is not carried out
  outage-400, outage-401   the same for this and the next requests (--outage N)
  delay         the request is carried out, the reply comes late (--delay S)
  close-before  the connection is closed; the request is not carried out
  close-after   the request is carried out and the connection closed without a reply
  cut           the request is carried out and the connection closed in the middle of the reply
  garbage       the request is carried out and answered with what is no JSON
  twice         the reply is sent twice, for whoever keeps the connection open
"""

NOT_CARRIED_OUT: Final = {
    Fault.ERROR: 200,
    Fault.STATUS_400: 400,
    Fault.STATUS_401: 401,
    Fault.STATUS_500: 500,
    Fault.OUTAGE_400: 400,
    Fault.OUTAGE_401: 401,
}
"""With the status of the reply; `CLOSE_BEFORE` has none."""


@dataclass(slots=True)
class Faults:
    """The faults of one server, in the order of its requests."""

    rates: Mapping[Fault, float] = field(default_factory=dict)
    seed: int = 0
    delay_s: float = 1.0
    outage_requests: int = 5
    _drawn: int = 0
    _outage: Fault = Fault.NONE
    _outage_left: int = 0

    def draw(self) -> Fault:
        """What goes wrong with the next request."""
        self._drawn += 1
        if self._outage_left:
            self._outage_left -= 1
            return self._outage
        ticket = Draws(self.seed, "faults", self._drawn, 0, "fault").below(_PARTS) / _PARTS
        for fault, rate in self.rates.items():
            ticket -= rate
            if ticket < 0:
                if fault in (Fault.OUTAGE_400, Fault.OUTAGE_401):
                    self._outage, self._outage_left = fault, self.outage_requests - 1
                return fault
        return Fault.NONE


def parse_faults(text: str) -> dict[Fault, float]:
    """`error=0.01,token=0.05`: rates that add up to 1 at most."""
    names = {fault.value: fault for fault in Fault if fault is not Fault.NONE}
    rates: dict[Fault, float] = {}
    for word in filter(None, text.split(",")):
        name, _, share = word.strip().partition("=")
        if name not in names:
            raise ConfigError(f"--faults {quote(word)}: expected a share of one of {', '.join(names)}")
        try:
            rate = float(share)
        except ValueError:
            rate = -1.0
        if not 0 <= rate <= 1:
            raise ConfigError(f"--faults {quote(word)}: expected a share from 0 to 1, as in {name}=0.01")
        rates[names[name]] = rate
    if sum(rates.values()) > 1 + 1e-9:
        raise ConfigError(f"--faults {quote(text)}: the shares add up to {sum(rates.values()):g}: expected 1 at most")
    return rates

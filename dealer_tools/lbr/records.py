"""What was asked for, and the file that keeps what was played.

{"paratus lbr": 1, "game": …, "agent": …, "setting": …, …}      the plan, first
{"pair": 0, "forward": {"chips": …, …}, "reverse": {…}}         a line for each deal, in order
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from dealer_tools.lbr.hand import LEGS, Played
from dealer_tools.lbr.settings import Setting
from machine.journal import JournalFormat
from machine.lots import Key
from protocol.game import Game, game_text

_FORMAT: Final = "paratus lbr"
_VERSION: Final = 1
Pair = tuple[Played, Played]


@dataclass(frozen=True, slots=True)
class LbrPlan:
    """What is to be played."""

    game_name: str
    game: Game
    agent: str
    identity: dict[str, str]
    """Of the agent: models, hashes, settings."""
    setting: Setting
    deals: int
    seed: int
    think_s: float

    def as_json(self) -> dict[str, Any]:
        """The file's first line: equal plans, and only these, give equal documents."""
        return {
            _FORMAT: _VERSION,
            "game": self.game_name,
            "definition": game_text(self.game),
            "agent": self.agent,
            "identity": self.identity,
            "setting": str(self.setting),
            "deals": self.deals,
            "seed": self.seed,
            "think_s": self.think_s,
        }

    def journal(self) -> JournalFormat[Pair]:
        """The file of its pairs."""
        return JournalFormat(self.as_json(), _document, _pair, "hands", "paratus lbr", "--out")


def _document(number: Key, pair: Pair) -> dict[str, Any]:
    return {"pair": number, **dict(zip(LEGS, map(asdict, pair), strict=True))}


def _pair(number: int, document: dict[str, Any]) -> tuple[Key, Pair]:
    try:
        if document["pair"] != number:
            raise ValueError(f"pair {document['pair']}")
        first, second = (Played(**document[leg]) for leg in LEGS)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{error}: expected pair {number}") from None
    return number, (first, second)

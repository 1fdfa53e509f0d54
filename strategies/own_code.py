"""Agents that users write: a class in a file of theirs, or one that an installed distribution offers.

    --agent my_bot.py:MyAgent          a class of a file
    --agent NAME                       an entry point of group `paratus.agents`

The class extends `OwnAgent` and says what to do with every hand at a spot; it then plays, is measured, and its policies
are stored and scored, as those of any agent. `docs/bots.md` has an example.

Code runs with all rights of whoever runs Paratus. So it is loaded only where the command line or the user's own
configuration names it: never because a match folder, a store or a request over the network does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from hashlib import blake2b
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final, Self

import numpy as np
from pydantic import BaseModel, ValidationError

from machine.errors import ConfigError, quote
from machine.refusals import problem_words
from protocol.cards import Card
from protocol.game import Game
from protocol.hands import hands_of
from strategies.agents import LITTLE_MIB, AgentSpec, Others
from strategies.draws import Draws
from strategies.policy import Entry, Origin, Policy, round_columns
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Spot, Strategy

ENTRY_POINTS: Final = "paratus.agents"
_DIGEST: Final = "__paratus_digest__"
SECTION: Final = "own"
"""Of the settings, for keys that the class declares."""
_CODE: Final = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_][A-Za-z0-9_]{0,63})")

Choice = Mapping[Entry, float]
"""How often each action is taken: shares, of which only the proportions count."""


class OwnAgent:
    """What a class of the user's extends: it defines `policy`, and may set what stands here."""

    on_loop: ClassVar[bool] = False
    """Whether `policy` takes well under a millisecond; else it thinks in a thread of its own, against the clock."""
    repeatable: ClassVar[bool] = False
    """Whether `policy` gives equal policies for equal arguments, the budget aside. It counts with `on_loop` alone."""
    memory_mib: ClassVar[int] = LITTLE_MIB
    """What a process of it needs."""
    Settings: ClassVar[type[BaseModel] | None] = None
    """A model of section [own] of the settings."""

    def __init__(self, game: Game, settings: Any) -> None:
        """`settings` is a `Settings`, if there is such a model. Raise `ConfigError` for a game that it cannot play."""
        self.game, self.settings = game, settings
        self._code = ""

    @property
    def name(self) -> str:
        """Of the class."""
        return type(self).__name__

    def identity(self) -> dict[str, str]:
        """The hash of the file and the settings."""
        told = self.settings
        text = told.model_dump_json() if isinstance(told, BaseModel) else json.dumps(told, sort_keys=True, default=str)
        return {"kind": self.name, "code": self._code, "settings": text}

    def another(self) -> Self:
        """One for another match, which knows of no hand."""
        made = type(self)(self.game, self.settings)
        made._code = self._code
        return made

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        """What to do with every hand at `spot`; `for_every_hand` helps."""
        raise NotImplementedError

    def for_every_hand(self, spot: Spot, choose: Callable[[tuple[Card, ...]], Choice]) -> Policy:
        """The policy that does with each hand what `choose` says: `{CALL: 0.7, Raise(300): 0.3}`."""
        hands = hands_of(spot.state.game)
        live = hands.live(spot.board)
        chosen = [choose(hand) if live[column] else {} for column, hand in enumerate(hands)]
        support = tuple(dict.fromkeys(entry for choice in chosen for entry in choice))
        shares = np.array([[choice.get(entry, 0.0) for choice in chosen] for entry in support])
        return Policy(support, round_columns(shares), Origin(self.name))


def is_code(name: str) -> bool:
    """Whether an agent's name is a class in a file."""
    return _CODE.fullmatch(name) is not None


def code_file(name: str) -> Path:
    """The file of an agent's code."""
    return Path(name.rpartition(":")[0])


def class_name(name: str) -> str:
    """The class of an agent's code."""
    return name.rpartition(":")[2]


def is_installed(name: str) -> bool:
    """Whether an installed distribution offers an agent of that name."""
    return bool(entry_points(group=ENTRY_POINTS, name=name))


def absolute_code(name: str) -> str:
    """The same for whoever runs in another folder."""
    found = _CODE.fullmatch(name)
    return name if found is None else f"{Path(found['file']).resolve()}:{found['name']}"


def load_agent(name: str) -> AgentSpec | None:
    """The agent of a file or of an entry point; None if there is no such entry point."""
    found = _CODE.fullmatch(name)
    if found is not None:
        module = _run(Path(found["file"]))
        return _spec(name, getattr(module, found["name"], None), module.__dict__[_DIGEST])
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            loaded = point.load()
        except Exception as error:  # whatever the code raises
            raise ConfigError(f"agent {quote(name)} ({point.value}): {_words(error)}") from None
        return _spec(name, loaded, _installed(point))
    return None


def installed_version(name: str) -> str:
    """Which code an installed agent is; empty if there is none of that name."""
    return next((_installed(point) for point in entry_points(group=ENTRY_POINTS, name=name)), "")


def _installed(point: EntryPoint) -> str:
    return point.value + (f" ({point.dist.name} {point.dist.version})" if point.dist is not None else "")


def _run(path: Path) -> ModuleType:
    """The file as a module; the same one however often it is asked for, whatever the file has become since."""
    module_name = f"paratus_agent_{blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    try:
        code = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"agent file {path}: {error.strerror}: expected one that defines the class") from None
    module = sys.modules[module_name] = ModuleType(module_name)
    module.__file__, module.__dict__[_DIGEST] = str(path), blake2b(code, digest_size=16).hexdigest()
    try:
        exec(compile(code, str(path), "exec", dont_inherit=True), module.__dict__)
    except Exception as error:  # whatever the code raises
        del sys.modules[module_name]
        raise ConfigError(f"agent file {path}: {_words(error)}") from None
    return module


def _spec(name: str, kind: object, code: str) -> AgentSpec:
    """`code` says which: the hash of a file, or where an installed class stands."""
    if not isinstance(kind, type) or not issubclass(kind, OwnAgent):
        raise ConfigError(f"agent {quote(name)}: expected a class that extends strategies.own_code.OwnAgent")

    def make(game: Game, settings: StrategySettings, others: Others) -> Strategy:
        try:
            made = kind(game, _validated(kind, settings))
        except ConfigError:
            raise
        except Exception as error:  # whatever the code raises
            raise ConfigError(f"agent {quote(name)}: {_words(error)}") from None
        made._code = code
        return made

    def makes(agent: str, game: Game, settings: StrategySettings) -> None:
        make(game, settings, _nobody)

    return AgentSpec(
        name=kind.__name__,
        summary=(kind.__doc__ or "").strip().partition("\n")[0],
        make=make,
        sections=(SECTION,),
        requires=(makes,),
        on_loop=kind.on_loop,
        repeatable=kind.repeatable,
        memory_mib=kind.memory_mib,
    )


def _nobody(other: str) -> Strategy:
    raise ConfigError(f"agent {quote(other)}: code of the user's stands on no other agent")


def _validated(kind: type[OwnAgent], settings: StrategySettings) -> Any:
    if kind.Settings is None:
        return settings.own
    try:
        return kind.Settings.model_validate(settings.own)
    except ValidationError as error:
        raise ConfigError(f"[{SECTION}] {problem_words(error, kind.Settings)}") from None


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"

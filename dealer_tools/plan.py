"""What a match is: game, agents, hands and seed, and the document that keeps it in the match folder."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from dealer_tools.children import LOCK
from dealer_tools.results import Leg
from machine.errors import ConfigError, quote
from machine.files import is_leftover, read_document, write_document
from protocol.dealer import NAME
from protocol.game import Game, game_text
from protocol.log import Limits
from strategies.own_code import absolute_code, class_name, code_file, installed_version, is_code
from strategies.registry import AGENTS, is_agent
from strategies.settings import StrategySettings


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """What one agent is told that the others are not."""

    think_s: float = 0.0
    """How long a hand may take it on average; 0: as by default."""
    sections: str = ""
    """Of its configuration, as TOML."""


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """What is to be played."""

    game_name: str
    game: Game
    agents: tuple[str, ...]
    """As `entrant` gives them."""
    names: tuple[str, ...]
    hands: int
    seed: int
    duplicate: bool
    limits: Limits
    own: tuple[PlayerSettings, ...] = ()
    """In the order of the agents; none: all play by default."""

    @property
    def ours(self) -> frozenset[str]:
        """The names of agents whose policies are stored; the others are strangers."""
        return frozenset(name for name, agent in zip(self.names, self.agents, strict=True) if is_agent(agent))

    def agent(self, name: str) -> str:
        """Who plays under a name."""
        return self.agents[self.names.index(name)]

    def settings(self, name: str) -> StrategySettings:
        """Of one of ours."""
        sections = self.own[self.names.index(name)].sections if self.own else ""
        return StrategySettings.model_validate(tomllib.loads(sections))

    @property
    def legs(self) -> tuple[Leg, ...]:
        """The matches to deal."""
        if self.duplicate:
            return (Leg("forward", self.names), Leg("reverse", self.names[::-1]))
        return (Leg("match", self.names),)

    def as_json(self) -> dict[str, Any]:
        """For `plan.json`: equal plans, and only these, give equal documents."""
        return {
            "game": self.game_name,
            "definition": game_text(self.game),
            "agents": [[name, agent, _fingerprint(agent)] for name, agent in zip(self.names, self.agents, strict=True)],
            "hands": self.hands,
            "seed": self.seed,
            "duplicate": self.duplicate,
            "limits_ms": [self.limits.response_ms, self.limits.hand_ms, self.limits.per_hand_ms],
            **({"own": [[own.think_s, own.sections] for own in self.own]} if self.own else {}),
        }


def entrant(agent: str) -> str:
    """As a plan has it: the name of an agent of ours, or code or a program of somebody's with its absolute path."""
    if is_agent(agent):
        return absolute_code(agent)
    path = Path(agent)
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ConfigError(f"agent {quote(agent)}: neither an executable file nor one of {', '.join(AGENTS)}")
    return str(path.resolve())


def _fingerprint(agent: str) -> str:
    """Of a file, empty where there is none: an edited bot is another bot."""
    if is_agent(agent) and not is_code(agent):
        return "" if agent in AGENTS else installed_version(agent)
    path = code_file(agent) if is_code(agent) else Path(agent)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"agent {quote(agent)}: {error.strerror}") from None


def name_agents(agents: Sequence[str]) -> tuple[str, ...]:
    """Names for the log: those of our agents and of the strangers' files, numbered where they repeat."""
    names: list[str] = []
    for agent in agents:
        name = base = class_name(agent) if is_code(agent) else Path(agent).name
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"agent {quote(agent)}: its file name must have no blanks, : or |, and at most 64 characters"
            )
        for number in count(2):
            if name not in names:
                break
            name = f"{base}-{number}"
        names.append(name)
    return tuple(names)


def check_folder(folder: Path) -> None:
    """Make the folder, or refuse one that holds something else than a match."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir() if not is_leftover(path.name)}
    except OSError as error:
        raise ConfigError(f"--out {folder}: {error.strerror}: expected a folder that can be made") from None
    if "plan.json" not in names and names - {LOCK}:
        raise ConfigError(f"--out {folder}: holds files, but no match: expected a new or an empty folder")


def check_plan(plan: MatchPlan, folder: Path) -> None:
    """Write the plan into a new folder, or refuse one that holds another."""
    path, wanted = folder / "plan.json", plan.as_json()
    if not path.exists():
        write_document(path, wanted)
        return
    there = read_document(path)
    for key in wanted:
        if there.get(key) != wanted[key]:
            held, asked = _shown(there.get(key)), _shown(wanted[key])
            raise ConfigError(f"{folder} holds another match: {key} is {held}, asked for {asked}: choose another --out")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else quote(text)

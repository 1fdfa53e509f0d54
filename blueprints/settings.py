"""What a blueprint is made of: the game, the bets, the buckets and how it is trained. One TOML file names them all.

The files that ship stand in `blueprints/configs`: `tiny` for tests, `small` for an hour on a laptop, `standard` and
`slumbot-style` for the blueprints that ship.
"""

from __future__ import annotations

from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from blueprints.cards.settings import CardSettings
from machine.errors import ConfigError, quote
from machine.refusals import problem_words
from machine.toml import read_toml, toml_text, value_text
from protocol.game import DEFAULT_GAME, Game, load_game
from solver.menu import Menu, MenuError, menu_text, parse_menu
from solver.schedules import LINEAR, UNIFORM, Weighting

_SUFFIX: Final = ".toml"


class Sampling(StrEnum):
    """How a walk samples: the name of a form, and where the class is that samples so (`trainer.Sampler`).

    A new form is a file of its own and a line here.
    """

    place: str
    """module:class, which is loaded when a run asks for it: each loads kernels."""

    def __new__(cls, name: str, place: str) -> Self:
        member = str.__new__(cls, name)
        member._value_, member.place = name, place
        return member

    PUBLIC = "public", "blueprints.train.public.sampling:PublicSampling"
    """The board; all hands of both players walk together."""
    EXTERNAL = "external", "blueprints.train.external.sampling:ExternalSampling"
    """The cards and the opponent's actions."""


def _menu(text: str) -> str:
    try:
        return menu_text(parse_menu(text))
    except MenuError as error:
        raise ValueError(str(error)) from None


class TrainerSettings(BaseModel):
    """How a blueprint is trained. A run is so many periods of so many walks; a period is never half done."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sampling: Sampling = Sampling.PUBLIC
    walks: int = Field(default=1000, ge=1)
    """In a period: boards dealt; for external sampling boards with one hand for each player."""
    periods: int = Field(default=1000, ge=1)
    """After which a run is done, unless told otherwise."""
    linear: bool = True
    """Walks of period n count n times; otherwise all alike."""
    seed: int = Field(default=1, ge=0)
    skipping: bool = False
    """External sampling only: leave out actions of very negative regret, in the later part of the run. It gained
    nothing that could be measured (docs/sampling.md)."""
    skip_from: int = Field(default=50, ge=1)
    """The first period with skipping."""
    skip_below: float = Field(default=100.0, gt=0)
    """How negative is very negative: so many times the most that a hand can cost, times the weight of a walk."""

    @property
    def weighting(self) -> Weighting:
        """How much the walks of each period count, for regrets and averages: linear MCCFR is linear CFR."""
        return LINEAR if self.linear else UNIFORM


class BlueprintSettings(BaseModel):
    """A named configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    game: str = DEFAULT_GAME
    menu: Annotated[str, AfterValidator(_menu)]
    """As in `paratus solve`; see `solver.menu`."""
    cards: CardSettings = CardSettings()
    trainer: TrainerSettings = TrainerSettings()

    def load_game(self) -> Game:
        """The game that it is for."""
        return load_game(self.game).game

    def load_menu(self) -> Menu:
        """Its bets."""
        return parse_menu(self.menu)


def shipped_settings() -> dict[str, Path]:
    """The configurations that ship, by name."""
    folder = Path(str(resources.files("blueprints"))) / "configs"
    return {path.stem: path for path in sorted(folder.glob(f"*{_SUFFIX}"))}


def load_settings(name_or_path: str) -> BlueprintSettings:
    """A configuration that ships, or that of a file."""
    shipped = shipped_settings()
    path = shipped.get(name_or_path, Path(name_or_path))
    if not path.is_file():
        names = ", ".join(shipped)
        raise ConfigError(f"configuration {quote(name_or_path)}: expected one of {names}, or a file")
    values = read_toml(path, "a configuration of a blueprint")
    try:
        return BlueprintSettings(**values)
    except ValidationError as error:
        raise ConfigError(f"{path}: {problem_words(error, BlueprintSettings)}") from None


def settings_text(settings: BlueprintSettings) -> str:
    """As a file that `load_settings` reads: every key, whether it was given or not."""
    values = settings.model_dump(mode="json")
    tables = {name: values.pop(name) for name in ("cards", "trainer")}
    lines = [f"{key} = {value_text(value)}" for key, value in values.items()]
    return "\n".join([*lines, "", toml_text(tables).rstrip("\n"), ""])

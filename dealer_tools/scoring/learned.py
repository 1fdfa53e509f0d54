"""A value function that is learned: of others, the mixture that leaves least luck in the hands it is fitted on.

After M. White and M. Bowling, Learning a Value Analysis Tool for Agent Evaluation, IJCAI 2009 (MIVAT), for AIVAT. Where
a hand is not over, v is a weighted sum of other value functions, with weights of its own for each street. What AIVAT
makes of a hand is affine in v, so the weights whose results vary least over the hands are a least-squares solution.

v must not know the luck of the hands that are scored by it: the file remembers the deals that it was fitted on (number
of the hand and hole cards, whoever held them: a deal that is played again with the seats swapped has the same luck).
In small games deals come again by chance, so there it takes more of them than chance explains.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from blueprints.storage import game_hash
from dealer_tools.formats.reading import write_text
from dealer_tools.formats.records import PlayedHand
from dealer_tools.scoring.aivat import Aivat, Parts
from dealer_tools.scoring.holdings import Holdings, ScoreError
from dealer_tools.scoring.sources import Hands
from dealer_tools.scoring.values import KnownSide, Values, Zero
from machine.refusals import problem_words
from protocol.arrays import F64
from protocol.cards import Card, cards_text
from protocol.game import Game
from protocol.state import State

_SURELY: Final = 6.0
"""Standard deviations from what chance explains."""
LEAST_HANDS: Final = 100
"""Weights that are fitted on fewer say more about those hands than about others."""
_MOST_HANDS: Final = 200_000
_MOST_WEIGHT: Final = 1e6

Weight = Annotated[float, Field(ge=-_MOST_WEIGHT, le=_MOST_WEIGHT)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PartRecord(_Strict):
    """A function that is mixed, and its weights."""

    name: str = Field(max_length=50)
    digest: str = Field(max_length=200)
    weights: list[Weight] = Field(min_length=1, max_length=4)
    """By street."""


class LearnedRecord(_Strict):
    """The file."""

    format: Literal["paratus-values"]
    version: Literal[1]
    game: str = Field(max_length=200)
    """The hash of its definition."""
    player: str = Field(max_length=200)
    """Who was scored in the hands that it is fitted on."""
    hands: int = Field(ge=LEAST_HANDS, le=_MOST_HANDS)
    parts: list[PartRecord] = Field(min_length=1, max_length=10)
    deals: list[Hash] = Field(min_length=1, max_length=_MOST_HANDS)
    """That it was fitted on."""


class Mixture:
    """Σ weight[street] × value, where a hand is not over."""

    name = "learned"

    def __init__(self, parts: Sequence[Values], weights: F64) -> None:
        self._parts, self._weights = tuple(parts), weights
        named = [f"{part.name} {part.digest} {row.tolist()}" for part, row in zip(parts, weights, strict=True)]
        self.digest = blake2b("\n".join(named).encode(), digest_size=8).hexdigest()

    def at(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        return self._mixed(state, lambda part: part.at(side, state, board))

    def before(self, side: KnownSide, state: State, board: tuple[Card, ...]) -> F64:
        return self._mixed(state, lambda part: part.before(side, state, board))

    def _mixed(self, state: State, value: Callable[[Values], F64]) -> F64:
        total = np.zeros(1)
        for part, weight in zip(self._parts, self._weights[:, state.street], strict=True):
            if weight:
                total = total + weight * value(part)
        return total


@dataclass(frozen=True, slots=True)
class Fit:
    """What was learned, and what it leaves: standard deviations of a hand, in chips."""

    record: LearnedRecord
    raw: float
    zero: float
    alone: dict[str, float]
    """By each function that is mixed."""
    learned: float
    elsewhere: float
    """Of each half of the hands by what is learned on the other half: what other hands may hope for."""


def fit(hands: Hands, holdings: Holdings, parts: Sequence[Values], tell: Callable[[int], None]) -> Fit:
    """Learn from all hands; `tell` hears how many are done."""
    if not LEAST_HANDS <= len(hands.hands) <= _MOST_HANDS:
        raise ScoreError(f"{len(hands.hands):,} hands to learn from: expected {LEAST_HANDS} to {_MOST_HANDS:,}")
    streets = hands.game.num_rounds
    whole = Aivat(holdings, Zero())
    apart = [Aivat(holdings, Mixture([part], row[None])) for part in parts for row in np.eye(streets)]
    zero, added = np.zeros(len(hands.hands)), np.zeros((len(hands.hands), len(apart)))
    for number, played in enumerate(hands.hands):
        zero[number] = whole.score(played, hands.player, Parts()).chips
        for column, scorer in enumerate(apart):
            added[number, column] = scorer.score(played, hands.player, Parts()).chips - zero[number]
        tell(number + 1)
    weights = _least(zero, added)
    rows = weights.reshape(len(parts), streets)
    by_part = added.reshape(len(zero), len(parts), streets).sum(axis=2)
    odd = np.array([played.record.hand % 2 == 1 for played in hands.hands])
    elsewhere = zero.copy()
    for half in (odd, ~odd):
        elsewhere[~half] += added[~half] @ _least(zero[half], added[half])
    record = LearnedRecord(
        format="paratus-values",
        version=1,
        game=game_hash(hands.game),
        player=hands.player,
        hands=len(zero),
        parts=[
            PartRecord(name=part.name, digest=part.digest, weights=row.tolist())
            for part, row in zip(parts, rows, strict=True)
        ],
        deals=sorted({deal_of(played) for played in hands.hands}),
    )
    raw = [played.record.values[played.record.names.index(hands.player)] for played in hands.hands]
    return Fit(
        record=record,
        raw=float(np.std(raw, ddof=1)),
        zero=float(zero.std(ddof=1)),
        alone={part.name: float((zero + by_part[:, k]).std(ddof=1)) for k, part in enumerate(parts)},
        learned=float((zero + added @ weights).std(ddof=1)),
        elsewhere=float(elsewhere.std(ddof=1)),
    )


def fit_document(found: Fit) -> dict[str, object]:
    """For machines: weights by street, standard deviations of a hand in chips."""
    return {
        "game": found.record.game,
        "player": found.record.player,
        "hands": found.record.hands,
        "weights": {part.name: part.weights for part in found.record.parts},
        "sd_chips": {
            "raw": found.raw, "zero": found.zero, **found.alone, "learned": found.learned,
            "learned_on_the_other_half": found.elsewhere,
        },
    }  # fmt: skip


def fit_table(found: Fit, big_blind: int) -> str:
    """For people."""
    rows = [
        ("raw", found.raw),
        ("imaginary observations alone", found.zero),
        *[(f"aivat by {name}", left) for name, left in found.alone.items()],
        ("aivat by what was learned, on these hands", found.learned),
        ("by what half of them teaches, on the other half", found.elsewhere),
    ]
    lines = [f"learned from {found.record.hands:,} hands of {found.record.player}; SD of a hand in big blinds:"]
    lines += [f"  {what:50}{left / big_blind:>9.3f}   {left / found.raw:>6.1%} of raw" for what, left in rows]
    lines.append("weights by street:")
    lines += [
        f"  {part.name:20}" + "".join([f"{weight:>9.3f}" for weight in part.weights]) for part in found.record.parts
    ]
    return "\n".join(lines)


def _least(zero: F64, added: F64) -> F64:
    """The weights with which zero + added @ weights varies least."""
    weights: F64 = np.linalg.lstsq(added - added.mean(axis=0), zero.mean() - zero, rcond=1e-9)[0]
    return weights


def deal_of(played: PlayedHand) -> str:
    """A hash of number and hole cards, in whatever file the hand stands."""
    holes = sorted(cards_text(sorted(hole)) for hole in played.record.deal.hole)
    return blake2b(f"{played.record.hand} {' '.join(holes)}".encode(), digest_size=8).hexdigest()


def write_learned(path: Path, record: LearnedRecord) -> None:
    """Written whole or not at all."""
    write_text(path, json.dumps(record.model_dump(), indent=1) + "\n")


def read_learned(path: Path, holdings: Holdings, part_of: Callable[[str], Values]) -> tuple[Mixture, LearnedRecord]:
    """The function in a file. `part_of` finds what it is mixed of, by name."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise ScoreError(f"--values {path}: {reason}: expected a name, or a file that --fit wrote") from None
    try:
        record = LearnedRecord.model_validate_json(text)
    except ValidationError as error:
        raise ScoreError(f"--values {path}: {problem_words(error, LearnedRecord)}") from None
    if record.game != game_hash(holdings.game):
        raise ScoreError(f"--values {path}: learned on hands of another game: expected {holdings.game.name}")
    parts = []
    for each in record.parts:
        part = part_of(each.name)
        if part.digest != each.digest:
            raise ScoreError(
                f"--values {path}: mixed of {each.name} {each.digest}: expected {part.digest}, which is here: fit again"
            )
        if len(each.weights) != holdings.game.num_rounds:
            raise ScoreError(f"--values {path}: {len(each.weights)} weights: expected {holdings.game.num_rounds}")
        parts.append(part)
    return Mixture(parts, np.array([each.weights for each in record.parts])), record


def check_unseen(path: Path, record: LearnedRecord, hands: Sequence[PlayedHand]) -> None:
    """Deals that v was fitted on must not be scored by it: it knows their luck."""
    fitted = {*record.deals}
    seen = [played for played in hands if deal_of(played) in fitted]
    by_chance = len(hands) / _num_deals(hands[0].record.state.game)
    if len(seen) >= min(2, len(hands)) and len(seen) > by_chance + _SURELY * math.sqrt(by_chance):
        raise ScoreError(
            f"{seen[0].where}: --values {path} was fitted on this deal, and on {len(seen):,} of {len(hands):,} in all: "
            "expected deals that it has not seen"
        )


def _num_deals(game: Game) -> float:
    """In how many ways hole cards can be dealt, whoever gets which."""
    cards, held = len(game.deck()), game.num_hole_cards
    return math.comb(cards, held) * math.comb(cards - held, held) / 2

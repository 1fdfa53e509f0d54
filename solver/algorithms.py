"""The CFR family: algorithms that are put together from schedules, by name.

Every member is the same pass with four numbers an iteration: what is kept of positive regrets, of negative regrets and
of the average strategy before the iteration adds to them, and the weight of what it adds to the average (Brown and
Sandholm 2019, "Solving imperfect-information games via discounted regret minimization"). So an algorithm is three
schedules (`solver.schedules`):

    name            positive regrets   negative regrets   average
    cfr             Power(0)           Power(0)           Power(0)
    cfr+:d          Power(0)           Constant(0)        Delayed(d)
    lcfr            Fading(1)          Fading(1)          Power(1)       which is dcfr:1,1,1
    dcfr:α,β,γ      Fading(α)          Fading(β)          Power(γ)
    dcfr+:α,d       Fading(α)          Constant(0)        Delayed(d)

(Fading(1) and Power(1) are the same: linear CFR discounts all its sums alike, as the trainer of blueprints does.)

A variant is one entry here: `register(Variant(…))` says its name, its parameters and how to put it together. From then
on `parse_algorithm`, its refusals and `paratus solve --algorithm` know it, in the process that has registered it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from machine.errors import ParatusError, quote
from solver.schedules import FLOOR, UNIFORM, Averaging, Delayed, Discount, Fading, Power


class AlgorithmError(ParatusError):
    """Text that names no algorithm."""


class Weights(NamedTuple):
    """The numbers of one iteration."""

    keep_average: float
    add_average: float
    keep_positive: float
    keep_negative: float


class Schedules(NamedTuple):
    """What makes an algorithm."""

    positive: Discount
    """Of positive regrets."""
    negative: Discount
    average: Averaging


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A member of the family."""

    text: str
    """Its name and parameters, as `parse_algorithm` reads them if its variant is registered."""
    schedules: Schedules

    def weights(self, iteration: int) -> Weights:
        """Those of iteration 1, 2, …"""
        positive, negative, average = self.schedules
        return Weights(*average.update(iteration), positive.kept(iteration), negative.kept(iteration))

    def __str__(self) -> str:
        return self.text


# Variants


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number after the colon."""

    name: str
    default: float
    positive: bool = False
    """Above 0."""
    whole: bool = False
    """A whole number from 0 up."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of algorithm; called with its parameters it gives one."""

    name: str
    compose: Callable[..., Schedules]
    """The schedules, given all parameters in order."""
    parameters: tuple[Parameter, ...] = ()
    partly: bool = False
    """Whether the last parameters may be left out in text; otherwise it gives all or none."""
    named: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Parameters that have a name of their own instead of numbers, as lcfr."""
    examples: tuple[str, ...] = ()
    """What help and refusals show, beside those names."""

    def __call__(self, *numbers: float) -> Algorithm:
        values = (*numbers, *[parameter.default for parameter in self.parameters[len(numbers) :]])
        return Algorithm(self._text(values), self.compose(*values))

    def _text(self, values: tuple[float, ...]) -> str:
        for name, special in self.named.items():
            if special == values:
                return name
        return f"{self.name}:{','.join([f'{value:g}' for value in values])}" if values else self.name

    @property
    def texts(self) -> tuple[str, ...]:
        """All that help and refusals show."""
        return tuple(dict.fromkeys((*self.named, *self.examples)))

    def takes(self, numbers: list[float]) -> bool:
        """Whether text may give these, but for numbers that should be whole."""
        enough = len(numbers) == len(self.parameters) or (self.partly and len(numbers) < len(self.parameters))
        given = zip(self.parameters, numbers, strict=False)
        return enough and all(number > 0 for parameter, number in given if parameter.positive)


_VARIANTS: Final[dict[str, Variant]] = {}


def register(variant: Variant) -> Variant:
    """Make a variant known by its name, and by the names of some of its parameters."""
    taken = {name for known in _VARIANTS.values() for name in (known.name, *known.named)}
    for name in dict.fromkeys((variant.name, *variant.named)):
        if not _NAME.fullmatch(name) or name in taken:
            raise AlgorithmError(f"name {quote(name)}: expected a new one, of small letters, digits, - and +")
    _VARIANTS[variant.name] = variant
    return variant


_NAME: Final = re.compile(r"[a-z][a-z0-9+-]{0,39}")

CFR: Final = register(Variant("cfr", lambda: Schedules(UNIFORM, UNIFORM, UNIFORM), examples=("cfr",)))
"""Plain counterfactual regret minimisation."""
CFR_PLUS: Final = register(
    Variant(
        "cfr+",
        lambda delay: Schedules(UNIFORM, FLOOR, Delayed(int(delay))),
        (Parameter("delay", 0, whole=True),),
        named={"cfr+": (0,)},
    )
)
"""The sum of regrets is floored, the average is linear and begins after a delay."""
DCFR: Final = register(
    Variant(
        "dcfr",
        lambda alpha, beta, gamma: Schedules(Fading(alpha), Fading(beta), Power(gamma)),
        (Parameter("α", 1.5, positive=True), Parameter("β", 0.0), Parameter("γ", 2.0)),
        named={"lcfr": (1, 1, 1)},
        examples=("dcfr", "dcfr:1.5,0,2"),
    )
)
"""Discounted CFR; (1, 1, 1) is linear CFR."""
DCFR_PLUS: Final = register(
    Variant(
        "dcfr+",
        lambda alpha, delay: Schedules(Fading(alpha), FLOOR, Delayed(int(delay))),
        (Parameter("α", 1.5, positive=True), Parameter("delay", 0, whole=True)),
        partly=True,
        examples=("dcfr+:1.5,100",),
    )
)
"""Discounted CFR+: regrets are discounted and floored, the average begins after a delay."""

DEFAULT: Final = DCFR()
LCFR: Final = DCFR(1, 1, 1)
"""Linear CFR, which suits values that are sampled."""


# Text

_NUMBER: Final = re.compile(r"-?[0-9]{1,4}(?:\.[0-9]{1,6})?")
_PLACES: Final = ("first", "second", "third", "fourth")


def parse_algorithm(text: str) -> Algorithm:
    """The algorithm that `text` names, with its parameters after a colon."""
    name, _, rest = text.strip().lower().partition(":")
    parts = rest.split(",") if rest else []
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise AlgorithmError(f"algorithm {quote(text)}: parameters {quote(rest)}: expected numbers, as in dcfr:1.5,0,2")
    if not parts:
        for variant in _VARIANTS.values():
            if name in variant.named:
                return variant(*variant.named[name])
            if name == variant.name:
                return variant()
    numbers = [float(part) for part in parts]
    if name not in _VARIANTS or not _VARIANTS[name].takes(numbers):
        raise AlgorithmError(f"algorithm {quote(text)}: expected {_expected()}")
    for parameter, number in zip(_VARIANTS[name].parameters, numbers, strict=False):
        if parameter.whole and (number < 0 or number != int(number)):
            said = f"{parameter.name} {number:g}: expected a whole number from 0 up"
            raise AlgorithmError(f"algorithm {quote(text)}: {said}")
    return _VARIANTS[name](*numbers)


def algorithms_text() -> str:
    """For help: the default, and what else can be asked for."""
    others = [text for text in (*DCFR.examples, *DCFR.named) if text != DCFR.name]
    others += [text for variant in _VARIANTS.values() if variant is not DCFR for text in variant.texts]
    return ", ".join([f"{DCFR.name} (default)", *others])


def _expected() -> str:
    texts = [text for variant in _VARIANTS.values() for text in variant.texts]
    bounds = [
        f"a {place} number ({parameter.name}) above 0"
        for variant in _VARIANTS.values()
        for place, parameter in zip(_PLACES, variant.parameters, strict=False)
        if parameter.positive
    ]
    return f"{', '.join(texts[:-1])} or {texts[-1]}, with {' and '.join(dict.fromkeys(bounds))}"

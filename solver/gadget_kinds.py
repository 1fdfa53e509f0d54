"""The ways to solve a subgame, by name. Apart from `solver.gadgets`, so that naming one loads no kernels."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """What the player of a gadget chooses."""

    RESOLVE = "resolve"
    """With each hand whether to enter."""
    MAXMARGIN = "maxmargin"
    """The hand to enter with."""


class Kind(StrEnum):
    """A gadget or none, and whether gifts count."""

    UNSAFE = "unsafe"
    RESOLVE = "resolve"
    MAXMARGIN = "maxmargin"
    REACH_RESOLVE = "reach-resolve"
    REACH_MAXMARGIN = "reach-maxmargin"

    @property
    def form(self) -> Form | None:
        """Of its gadget, if it has one."""
        return None if self is Kind.UNSAFE else Form(self.removeprefix("reach-"))

    @property
    def reach(self) -> bool:
        """Whether gifts are added to the alternative payoffs."""
        return self.startswith("reach-")

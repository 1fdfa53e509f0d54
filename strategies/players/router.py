"""Agent `paratus`: for each decision the strategy that decides it best, and an answer whatever happens.

| decision | route |
|---|---|
| before the flop, all sizes so far are the blueprint's | `blueprint` |
| before the flop, some size is not | `limited`: depth-limited search of the hand from its start |
| flop | `limited`: depth-limited search of the street |
| turn, river | `nested`: safe nested search to the end of the hand |

The table is configuration ([router]). Ranges stay whole across routes: ours are products of the policies that were
logged, whoever made them, and each search asks the one before it for the opponent's (`strategies.search.ranges`).

A search that has no time, fails, or finds its trees too large is replaced by the blueprint, whose bets of other sizes
are mapped, and the blueprint by check or fold. Each such answer has a route that begins with `fallback` and is counted.
So is one that is not back in time: the blueprint answers then, at once (`strategies.registry` names it).

Searches never see the hand that we hold, so policies here are for all hands. Thresholds and purification, if asked for,
come before the policy is rounded and logged: what is stored is what is drawn from.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import replace
from typing import Final, Protocol

from blueprints.lookup import Lookup
from protocol.game import STREET_NAMES, Game
from strategies.draws import Draws
from strategies.players.blueprint import BlueprintLookup, draw_of
from strategies.players.processing import processed
from strategies.policy import FALLBACK, Policy
from strategies.requirements import check_searchable
from strategies.search.depth_limited import LimitedSearch
from strategies.search.nested import NestedSearch
from strategies.settings import StrategySettings
from strategies.strategy import Budget, Spot, Strategy

_BLUEPRINT: Final = "blueprint"
_NO_BETS: Final = "-"

_log = logging.getLogger(__name__)


class _Search(Protocol):
    def identity(self) -> dict[str, str]: ...

    def search(self, spot: Spot, budget: Budget, draws: Draws) -> Policy | str:
        """A policy, or why there is none."""
        ...


class Router:
    """The strategy; see the head of this file."""

    name = "paratus"

    def __init__(self, game: Game, settings: StrategySettings, blueprint: BlueprintLookup) -> None:
        check_searchable(self.name, game)
        self._settings = settings.router
        self._blueprint = blueprint
        self._searches: dict[str, _Search] = {}
        base: Strategy = self._blueprint
        table = {street: getattr(self._settings, street) for street in STREET_NAMES}
        limited = [street for street, route in table.items() if route == LimitedSearch.route]
        if limited:
            search = LimitedSearch(game, settings.limited, self._blueprint, limited)
            base = self._searches[LimitedSearch.route] = search
        if NestedSearch.route in table.values():
            nested = settings.nested
            # A tree without bets never bets: the blueprint knows better, and answers where there is no time for more.
            betting = tuple([menu for menu in nested.coarser if menu.strip() != _NO_BETS])
            self._searches[NestedSearch.route] = NestedSearch(
                game, nested.model_copy(update={"coarser": betting}), base
            )

    def another(self) -> Router:
        """For another match."""
        made = copy.copy(self)
        made._searches = dict(self._searches)
        limited, nested = self._searches.get(LimitedSearch.route), self._searches.get(NestedSearch.route)
        over: Strategy = self._blueprint
        if isinstance(limited, LimitedSearch):
            over = made._searches[LimitedSearch.route] = limited.another()
        if isinstance(nested, NestedSearch):
            made._searches[NestedSearch.route] = nested.over(over)
        return made

    @property
    def lookup(self) -> Lookup:
        """Of the blueprint."""
        return self._blueprint.lookup

    def identity(self) -> dict[str, str]:
        parts = {
            f"{name} {key}": value
            for name, search in self._searches.items()
            for key, value in search.identity().items()
            if not key.startswith("base ")
        }
        return {**self._blueprint.identity(), "kind": self.name, "router": self._settings.model_dump_json(), **parts}

    def policy(self, spot: Spot, budget: Budget, draws: Draws) -> Policy:
        route, reason = self._route(spot, draws)
        if route == _BLUEPRINT:
            policy = self._blueprint.policy(spot, budget, draws)
            return self._finished(policy, policy.origin.reason or reason)
        found: Policy | str
        try:
            found = self._searches[route].search(spot, budget, draws)
        except Exception as error:  # whatever a search meets, there is an answer
            _log.exception("hand %d, %s: %s", spot.hand, spot.state.betting, route)
            found = f"{type(error).__name__}: {error}"
        if isinstance(found, Policy):
            return self._finished(found, f"{reason}; {found.origin.reason}")
        _log.warning("hand %d, %s: no %s search: %s", spot.hand, spot.state.betting, route, found)
        return self._fallen(spot, draws, f"no {route} search: {found}")

    def _route(self, spot: Spot, draws: Draws) -> tuple[str, str]:
        street = spot.state.street
        route: str = getattr(self._settings, STREET_NAMES[street])
        if street == 0 and route != _BLUEPRINT:
            place = self._blueprint.lookup.place(spot.state, draw_of(draws))
            if place is not None and not place.translated and not place.jumps:
                return _BLUEPRINT, "preflop, in the tree"
            return route, "preflop, not in the tree"
        return route, STREET_NAMES[street]

    def _fallen(self, spot: Spot, draws: Draws, why: str) -> Policy:
        """The blueprint's answer in place of a better one; its own, check or fold, if that has none."""
        policy = self._blueprint.policy(spot, Budget(0.0, 0.0), draws)
        if policy.origin.is_fallback:
            return policy
        origin = replace(policy.origin, route=f"{FALLBACK}/{_BLUEPRINT}")
        return self._finished(replace(policy, origin=origin), why)

    def _finished(self, policy: Policy, why: str) -> Policy:
        """After what comes last."""
        origin = replace(policy.origin, reason=why)
        settings = self._settings
        weights = processed(policy.weights, threshold=settings.threshold, purify=settings.purify)
        return Policy(policy.support, weights, origin)

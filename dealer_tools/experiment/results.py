"""What an experiment says: for each pair a win rate with its interval, and whether it is a difference at all.

*Observations* are hands or, in duplicate matches, pairs of hands with the same cards; those of all seeds together. Each
is what the first of the two won, in thousandths of a big blind, as it was or by AIVAT.

*Significance.* The probability p of a mean so far from 0, if nobody were better, is that of the normal law: with some
hundred observations that is what the mean follows. A table of many pairs has a difference by chance sooner or later, so
p is corrected by Holm's step-down method (Scandinavian Journal of Statistics 6, 1979, 65-70): with the m values in
order, the i-th smallest (from 0) counts as the largest of (m - j) p_j for j up to i. Whatever the pairs have to do with
each other (they may have played the same cards), the chance to call any difference significant where there is none
stays below the level. The interval beside it is that of the one pair, uncorrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dealer_tools.experiment.plan import ExperimentPlan, Task
from dealer_tools.experiment.worker import MATCHES
from dealer_tools.formats.stores import StoredMatch
from dealer_tools.results import Estimate, read_values
from dealer_tools.scoring.estimators import BOTH, Scorer, available
from dealer_tools.scoring.holdings import Holdings, ScoreError
from dealer_tools.scoring.results import RAW, Result, make_result
from dealer_tools.scoring.sources import read_hands
from dealer_tools.scoring.values import Values
from dealer_tools.scoring.valuing import choose_values
from machine.files import read_document

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairResult:
    """What the first of two won from the second."""

    pair: Pair
    estimate: Estimate
    raw: Estimate
    p: float
    p_holm: float
    significant: bool


@dataclass(frozen=True, slots=True)
class AgentResult:
    """One agent over all its matches."""

    name: str
    mean_mbb: float
    """The mean of its win rates against each of its opponents."""
    fallbacks: int | None
    hands_from_log: int | None
    identities: tuple[Mapping[str, str], ...]
    """What played under its name: one, unless the code changed on the way."""


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """All of it."""

    plan: ExperimentPlan
    pairs: tuple[PairResult, ...]
    agents: tuple[AgentResult, ...]
    values: Values | None
    """Of AIVAT."""
    revisions: tuple[str, ...]
    seconds: float
    """That the matches took, one after another."""

    def against(self, row: str, column: str) -> tuple[PairResult, int] | None:
        """The result of two, and the sign that makes it the first one's; None if they did not meet."""
        for each in self.pairs:
            if each.pair == (row, column):
                return each, 1
            if each.pair == (column, row):
                return each, -1
        return None


def p_value(estimate: Estimate) -> float:
    """Two-sided; 1 where nothing is known, 0 where all observations are the same and not 0."""
    if not math.isfinite(estimate.se_mbb):
        return 1.0
    if estimate.se_mbb == 0:
        return 1.0 if estimate.mean_mbb == 0 else 0.0
    return math.erfc(abs(estimate.mean_mbb) / estimate.se_mbb / math.sqrt(2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for their number, in their order."""
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def read_results(
    plan: ExperimentPlan,
    tasks: Sequence[Task],
    folder: Path,
    tell: Callable[[int], None],
    page: Callable[[Task, Result, Values, dict[str, str]], None],
) -> Experiment:
    """From the finished matches; `tell` hears how many are read, `page` is given the score of each."""
    holdings = Holdings(tasks[0].match.game)
    values = choose_values(plan.values or None if plan.estimator != RAW else "zero", None, holdings)
    scored: dict[Pair, list[float]] = {pair: [] for pair in plan.pairs}
    raw: dict[Pair, list[float]] = {pair: [] for pair in plan.pairs}
    for number, task in enumerate(tasks):
        raw[task.pair] += _raw(task, folder)
        scored[task.pair] += _scored(plan, task, folder, holdings, values, page)
        tell(number + 1)
    estimates = [Estimate.of(scored[pair]) for pair in plan.pairs]
    p_values = [p_value(estimate) for estimate in estimates]
    pairs = tuple(
        PairResult(pair, estimate, Estimate.of(raw[pair]), p, corrected, corrected < plan.level)
        for pair, estimate, p, corrected in zip(plan.pairs, estimates, p_values, holm(p_values), strict=True)
    )
    documents = [read_document(folder / MATCHES / task.name / "result.json") for task in tasks]
    revisions = tuple(dict.fromkeys(str(document["revision"]) for document in documents))
    agents = tuple(_agent(agent.name, pairs, tasks, documents, folder) for agent in plan.agents)
    seconds = math.fsum([document["seconds"] for document in documents])
    return Experiment(plan, pairs, agents, values if plan.estimator != RAW else None, revisions, seconds)


def _raw(task: Task, folder: Path) -> list[float]:
    match = task.match
    legs = [
        read_values(folder / MATCHES / task.name / leg.name / "match.log", match.game, leg.players, match.hands)
        for leg in match.legs
    ]
    unit = 1000 / match.game.big_blind / len(legs)
    return [unit * sum(hand) for hand in zip(*[leg[task.pair[0]] for leg in legs], strict=True)]


def _scored(
    plan: ExperimentPlan,
    task: Task,
    folder: Path,
    holdings: Holdings,
    values: Values,
    page: Callable[[Task, Result, Values, dict[str, str]], None],
) -> list[float]:
    """Observations by the estimator asked for: of the first player, or of the second with their signs turned."""
    player = next((name for name in task.pair if plan.agent(name).ours), task.pair[0])
    hands = read_hands([folder / MATCHES / task.name], player, both=plan.estimator == BOTH)
    if hands.refused:
        raise ScoreError(f"match {task.name}: {hands.refused[0].where}: {hands.refused[0].reason}")
    missing = available(hands.hands, player)
    if plan.estimator in missing:
        raise ScoreError(f"match {task.name}: no {plan.estimator}: {missing[plan.estimator]}")
    scorer = Scorer(holdings, values, list(dict.fromkeys([RAW, plan.estimator])))
    try:
        result = make_result(hands, scorer, scorer.score_all(hands))
    except ScoreError as error:
        raise ScoreError(f"match {task.name}: {error}: remove its folder, and that match is played anew") from None
    page(task, result, values, {})
    sign = 1 if player == task.pair[0] else -1
    mbb = sign * result.mbb[plan.estimator]
    if not plan.duplicate:
        return [float(value) for value in mbb]
    return [float(np.mean(mbb[[*pair]])) for pair in hands.pairs]


def _agent(
    name: str, pairs: Sequence[PairResult], tasks: Sequence[Task], documents: Sequence[dict[str, Any]], folder: Path
) -> AgentResult:
    rates = [(1 if each.pair[0] == name else -1) * each.estimate.mean_mbb for each in pairs if name in each.pair]
    records = [document["players"][name] for document in documents if name in document["players"]]
    known = [record for record in records if record["fallbacks"] is not None]
    identities: list[dict[str, str]] = []
    for task in tasks:
        for leg in task.match.legs:
            path = folder / MATCHES / task.name / leg.name / f"{name}.sqlite"
            if name in task.match.ours and name in task.pair:
                found = {
                    key: value for key, value in StoredMatch(path).identity.items() if key not in ("seed", "match")
                }
                if found not in identities:
                    identities.append(found)
    return AgentResult(
        name,
        math.fsum(rates) / len(rates) if rates else math.nan,
        sum(record["fallbacks"] for record in known) if known else None,
        sum(record["hands_from_log"] for record in known) if known else None,
        tuple(identities),
    )

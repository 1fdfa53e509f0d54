"""The blueprint's trainer: how fast both forms of sampling walk, and which plays better after equal time.

Trees: `small` and `standard` as they ship, and one of about 9,000 decisions with 1,000, 1,000 and 500 buckets: on such
a tree a prototype of public chance sampling took 43 ms a walk (both players), 3.3e8 (information set, action) pairs of
the tree a second, whether hands of the board had them or not. `pairs_per_second` is counted so; `updates_per_second`
counts what is really read and written: a (bucket, action) pair that some hand of the board has, or that external
sampling visits.

`small` and `standard` are measured with the buckets of the blueprint that ships (1,000, 1,500 and 1,000). Those of the
third tree are made up (`blueprints.cards.made_up`): for public chance sampling as many a board as OCHS gives. The
contest trains both forms on `small` for so many CPU seconds each, on one thread, and plays over all pairs of hands.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.machine import Elsewhere
from blueprints.cards.interface import Cards
from blueprints.cards.settings import CardSettings
from blueprints.settings import BlueprintSettings, Sampling, load_settings
from blueprints.shipped import shipped_blueprint, tables_folder
from blueprints.storage import Blueprint
from blueprints.train.measures.contest import Contestant, contest
from blueprints.train.price import made_up_cards
from blueprints.train.trainer import Sampler, make_sampler
from blueprints.tree import build_tree

_NINE_THOUSAND = (
    "preflop 2x,3x,a / 100%,a / 75%,a / a; flop 33%,75% / 75%,a / -; turn 75%,150% / 75%,a / -; "
    "river 75%,150% / 100%,a / -"
)
_MEASURED_S = 8.0
_BATCHES = 8
_BATCH = {Sampling.PUBLIC: 10, Sampling.EXTERNAL: 1 << 14}
"""Walks of a period; external sampling shares them out among threads by the thousand."""
_CONTEST_BOARDS = 300

Report = dict[str, Any]
CardsFor = Callable[[BlueprintSettings], Cards]


def run(contest_seconds: float | None = None, threads: Sequence[int] = (1, 2)) -> Report:
    """Speeds; with `contest_seconds` also the contest, on `small`, after so many CPU seconds of training each."""
    elsewhere = Elsewhere()
    subjects = _subjects()
    report: Report = {"speeds": {name: _speeds(name, *subject, threads) for name, subject in subjects.items()}}
    if contest_seconds is not None:
        settings, cards_for = next(iter(subjects.values()))
        report["contest"] = _contest(settings, cards_for(settings), contest_seconds)
    report["cores_busy_elsewhere"] = elsewhere.cores()
    return report


def _subjects() -> dict[str, tuple[BlueprintSettings, CardsFor]]:
    small, standard = load_settings("small"), load_settings("standard")
    cards = Blueprint.open(shipped_blueprint()).cards(tables_folder())
    buckets = CardSettings(flop=1000, turn=1000, river=500)
    third = standard.model_copy(update={"menu": _NINE_THOUSAND, "cards": buckets})
    return {
        "small": (small, lambda settings: cards),
        "standard": (standard, lambda settings: cards),
        "9,000 decisions": (third, made_up_cards),
    }


def _speeds(name: str, settings: BlueprintSettings, cards_for: CardsFor, threads: Sequence[int]) -> Report:
    tree = build_tree(settings.load_game(), settings.load_menu())
    counts = cards_for(settings).counts
    pairs = [len(tree.does[tree.first[nodes.start] : tree.first[nodes.stop]]) * count
             for nodes, count in zip(map(tree.nodes_of, range(4)), counts, strict=True)]  # fmt: skip
    found: Report = {"decisions": tree.num_nodes, "pairs": sum(pairs)}
    for sampling in Sampling:
        _tell(f"{name}: {sampling}")
        trainer = settings.trainer.model_copy(update={"sampling": sampling})
        formed = settings.model_copy(update={"trainer": trainer})
        cards = cards_for(formed)
        samplers = {count: make_sampler(formed, tree, cards, count) for count in threads}
        rates = {count: _rate(form, _BATCH[sampling]) for count, form in samplers.items()}
        memory = sum(array.nbytes for array in samplers[threads[0]].state().values())
        found[str(sampling)] = {"bytes": memory} | {
            f"threads={count}": {
                "walks_per_second": round(walks, 2),
                "updates_per_second": round(updates),
                **({"pairs_per_second": round(walks * sum(pairs))} if sampling is Sampling.PUBLIC else {}),
            }
            for count, (walks, updates) in rates.items()
        }
        found[str(sampling)]["two_threads_over_one"] = round(rates[threads[-1]][0] / rates[threads[0]][0], 2)
    return found


def _rate(sampler: Sampler, batch: int) -> tuple[float, float]:
    """Walks and updates a second: the fastest of several batches, the first of which may compile."""
    sampler.period(1, 1.0, batch)
    best, number = (0.0, 0.0), 2
    for _ in range(_BATCHES):
        begun, walks, updates = time.perf_counter(), 0, 0
        while time.perf_counter() - begun < _MEASURED_S / _BATCHES:
            updates += sampler.period(number, float(number), batch)
            walks, number = walks + batch, number + 1
        seconds = time.perf_counter() - begun
        best = max(best, (walks / seconds, updates / seconds))
    return best


def _contest(settings: BlueprintSettings, cards: Cards, seconds: float) -> Report:
    """Both forms after equal CPU time on the same abstraction."""
    game, tree = settings.load_game(), build_tree(settings.load_game(), settings.load_menu())
    sides, walks = {}, {}
    for sampling, batch in ((Sampling.PUBLIC, 100), (Sampling.EXTERNAL, 20_000)):
        trainer = settings.trainer.model_copy(update={"sampling": sampling})
        sampler = make_sampler(settings.model_copy(update={"trainer": trainer}), tree, cards, 1)
        sampler.period(1, 1.0, 1)
        begun, number = time.process_time(), 1
        while time.process_time() - begun < seconds:
            number += 1
            sampler.period(number, float(number), batch)
            _tell(f"contest: {sampling}, {max(0.0, seconds - time.process_time() + begun):.0f} CPU seconds left")
        sides[sampling], walks[sampling] = Contestant(sampler.averages(), cards), batch * (number - 1)
    score = contest(game, tree, sides[Sampling.PUBLIC], sides[Sampling.EXTERNAL], boards=_CONTEST_BOARDS)
    per = 1000 / max(game.blind)
    return {
        "cpu_seconds": seconds,
        "walks": {str(name): count for name, count in walks.items()},
        "public_wins_mbb": round(score.chips * per, 2),
        "interval_95_mbb": round(score.interval_chips * per, 2),
        "boards": score.boards,
    }


def text(report: Report) -> str:
    """The report as a table."""
    lines = [f"cores busy with other things {report['cores_busy_elsewhere']}", ""]
    lines.append(f"{'tree':16}{'decisions':>10}{'pairs':>12}  {'form':9}{'threads':>8}{'walks/s':>11}{'updates/s':>11}"
                 f"{'pairs/s':>10}{'MB':>7}")  # fmt: skip
    for name, found in report["speeds"].items():
        for form in [each for each in map(str, Sampling) if each in found]:
            for key, rates in found[form].items():
                if key.startswith("threads="):
                    whole = f"{rates['pairs_per_second']:.2g}" if "pairs_per_second" in rates else ""
                    lines.append(
                        f"{name:16}{found['decisions']:>10,}{found['pairs']:>12,}  {form:9}{key[8:]:>8}"
                        f"{rates['walks_per_second']:>11,.1f}{rates['updates_per_second']:>11.2g}{whole:>10}"
                        f"{found[form]['bytes'] / 1e6:>7.0f}"
                    )
    if "contest" in report:
        found = report["contest"]
        lines += ["", f"after {found['cpu_seconds']:g} CPU seconds each, over {found['boards']} boards: public wins "
                  f"{found['public_wins_mbb']:+} ± {found['interval_95_mbb']} mbb/g (95 %)"]  # fmt: skip
    return "\n".join(lines)


def _tell(text: str) -> None:
    print(f"trainer: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(text(run()))

"""What there is to compute, as jobs of some seconds to some minutes, done by processes and written down one by one.

Every job leaves a file in the folder, `NAME.json`, with the settings that made it; trunks and blueprints leave their
arrays beside it. A job whose file is there, with the same settings, is not done again, so a run that was killed goes
on where it was.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.machine import cpu, revision
from machine.files import whole_file
from machine.lots import Lot, WorkerSpec, do_lots
from machine.processes import workers_for
from machine.progress import HandsBar
from protocol.arrays import F32
from solver.algorithms import parse_algorithm
from solver.engine import Exploitability
from solver.menu import parse_menu
from solver.subgame import Subgame
from studies.search_tables import bets, cards
from studies.search_tables.buckets import cluster, equities
from studies.search_tables.games import SEATS, Field, flop_holdem, whole
from studies.search_tables.translation import Translation, pseudo_harmonic
from studies.search_tables.trunk import Whole

_BATCH: Final = 10


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Everything that results depend on."""

    edition: int = 3
    """Of this package: to be raised by whoever changes what comes out, so that older rows are made anew."""
    ranks: int = 6
    suits: int = 4
    algorithm: str = "dcfr:1.5,0,2"
    menu: str = "preflop 100%; flop 100%; cap 2"
    """Of the game with buckets."""
    buckets: tuple[int, ...] = (50, 500, 5000)
    trunk_iterations: int = 500
    flop_iterations: int = 200
    scales: tuple[float, ...] = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
    """Of gifts, where there are `scaled` buckets."""
    scaled: int = 500
    sizes: bets.Sizes = field(default_factory=bets.Sizes)
    blueprint_iterations: int = 1000
    nested_iterations: tuple[int, ...] = (20, 300)
    """Each gives a column."""
    longer_iterations: int = 1000
    """Of those methods whose order is looked into."""
    taken_smaller: float = pseudo_harmonic(0.75, 0.5, 1.0)

    def text(self) -> str:
        """The same for the same settings."""
        return json.dumps(asdict(self), sort_keys=True)


Row = dict[str, Any]
Steps = Iterator[float]
"""What share of a job is done, from time to time."""


@dataclass(frozen=True, slots=True)
class TableJob:
    """One piece of work."""

    name: str
    cost_s: float
    """About how long it takes with the default settings."""
    kind: str
    arguments: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()


def jobs_of(settings: TableSettings) -> list[TableJob]:
    """All of them, those that others need first."""
    found = [TableJob("blueprint", 40, "blueprint")]
    found += [TableJob(f"trunk-{count}", 25 + count / 300, "trunk", (count,)) for count in settings.buckets]
    found.append(TableJob("trunk-0", 8, "trunk", (0,)))
    for us in SEATS:
        found.append(TableJob(f"inside-{us}", 80, "inside", (us,)))
        found.append(TableJob(f"translation-{us}", 4, "translation", (us,), ("blueprint",)))
        for name, count in nested_of(settings):
            before = (f"{nested_row(estimated(name), count)}-{us}",) if name in bets.PLAYED else ()
            row = f"{nested_row(name, count)}-{us}"
            found.append(TableJob(row, 20 + count / 7, "nested", (name, us, count), ("blueprint", *before)))
    for count in settings.buckets:
        needs = (f"trunk-{count}",)
        found.append(TableJob(f"together-{count}", 10, "together", (count,), needs))
        for name, flop_method in cards.METHODS.items():
            cost = 14 if flop_method.distributed else 9
            found.append(TableJob(f"flops-{count}-{plain(name)}", cost, "flops", (count, flop_method), needs))
    for scale in settings.scales:
        scaled = replace(cards.METHODS["Reach-Maxmargin"], scale=scale)
        found.append(
            TableJob(f"scaled-{scale:g}", 9, "flops", (settings.scaled, scaled), (f"trunk-{settings.scaled}",))
        )
    return found


def nested_of(settings: TableSettings) -> list[tuple[str, int]]:
    """Methods of nested search, and how many iterations each solve has."""
    table = [(name, count) for count in settings.nested_iterations for name in bets.METHODS]
    played = [(name, max(settings.nested_iterations)) for name in bets.PLAYED]
    return table + played + [(name, settings.longer_iterations) for name in bets.LOOKED_INTO]


def estimated(name: str) -> str:
    """The method whose play has the payoffs of one that takes them from play."""
    return next(each for each in bets.LOOKED_INTO if name.startswith(f"{each} ("))


def nested_row(name: str, iterations: int) -> str:
    """The name of a row, but for the seat."""
    return f"nested-{iterations}-{plain(name)}"


def plain(name: str) -> str:
    """Letters and hyphens."""
    return "-".join("".join(letter if letter.isalpha() else " " for letter in name.lower()).split())


# Doing


def perform(
    job: TableJob, settings: TableSettings, folder: Path, tell: Callable[[float], None] = lambda share: None
) -> Row:
    """Do a job; what it found is written to the folder and returned. `tell` hears what share of it is done."""
    begun = time.monotonic()
    row: Row = {}
    for share in _KINDS[job.kind](row, settings, folder, *job.arguments):
        tell(share)
    row |= {"seconds": round(time.monotonic() - begun, 1), "revision": revision(), "cpu": cpu()}
    row["settings"] = settings.text()
    _write(folder / f"{job.name}.json", row)
    return row


def _write(path: Path, row: Row) -> None:
    with whole_file(path) as file:
        file.write(json.dumps(row, indent=1).encode())


def _iterate(solver: Whole | cards.Together, iterations: int) -> Steps:
    while solver.iterations < iterations:
        solver.iterate(min(_BATCH, iterations - solver.iterations))
        yield solver.iterations / iterations


def _trunk_game(settings: TableSettings) -> Subgame:
    return whole(flop_holdem(settings.ranks, settings.suits), parse_menu(settings.menu))


def _trunk(row: Row, settings: TableSettings, folder: Path, count: int) -> Steps:
    subgame = _trunk_game(settings)
    buckets = None
    if count:
        buckets = cluster(equities(subgame), count)
        row["buckets"] = int(buckets.max()) + 1
    algorithm = parse_algorithm(settings.algorithm)
    for found in cards.solve_trunk(subgame, buckets, algorithm, settings.trunk_iterations):
        if isinstance(found, int):
            yield found / settings.trunk_iterations
        else:
            found.save(folder / f"trunk-{count}.npz")
            whole_game = cards.put_in(subgame, found.averages)
            row |= _both(whole_game.exploitability())
            row["value_mbb"] = _mbb(whole_game.game_value(0), whole_game.exploitability())
            row["gifts"] = [float((gifts > 0).mean()) for gifts in found.exact_gifts]
            row["estimated_gifts"] = [float((gifts > 0).mean()) for gifts in found.estimated_gifts]


def _flops(row: Row, settings: TableSettings, folder: Path, count: int, method: cards.CardMethod) -> Steps:
    trunk, algorithm = cards.Trunk.load(folder / f"trunk-{count}.npz"), parse_algorithm(settings.algorithm)
    search = cards.Search(_trunk_game(settings), trunk, method, algorithm, settings.flop_iterations)
    yield from search.run()
    row |= _both(search.exploitability())


def _together(row: Row, settings: TableSettings, folder: Path, count: int) -> Steps:
    trunk, subgame = cards.Trunk.load(folder / f"trunk-{count}.npz"), _trunk_game(settings)
    best = {}
    for us in SEATS:
        solver = cards.Together(subgame, us, trunk, parse_algorithm(settings.algorithm))
        for share in _iterate(solver, settings.trunk_iterations):
            yield (us + share) / 2
        best[us] = bets.opponent_mbb(solver.exploitability(), us)
    row["best_response_mbb"] = [best[1], best[0]]


def _bets(settings: TableSettings) -> Field:
    return Field.of(flop_holdem(settings.ranks, settings.suits))


def _blueprint(row: Row, settings: TableSettings, folder: Path) -> Steps:
    solver = Whole(whole(_bets(settings).game, settings.sizes.small), parse_algorithm(settings.algorithm))
    yield from _iterate(solver, settings.blueprint_iterations)
    with whole_file(folder / "blueprint.npz") as file:
        np.savez(file, first=solver.averages[0], second=solver.averages[1])
    row |= _both(solver.exploitability())
    row["value_mbb"] = _mbb(solver.game_value(0), solver.exploitability())


def _averages(folder: Path) -> tuple[F32, F32]:
    with np.load(folder / "blueprint.npz") as arrays:
        return arrays["first"], arrays["second"]


def _inside(row: Row, settings: TableSettings, folder: Path, us: int) -> Steps:
    solver = Whole(whole(_bets(settings).game, settings.sizes.mixed(us)), parse_algorithm(settings.algorithm))
    yield from _iterate(solver, settings.blueprint_iterations)
    row |= _both(solver.exploitability())


def _translation(row: Row, settings: TableSettings, folder: Path, us: int) -> Steps:
    game, sizes = _bets(settings).game, settings.sizes
    blueprint, mixed = Whole(whole(game, sizes.small)), Whole(whole(game, sizes.mixed(us)))
    for player, averages in enumerate(_averages(folder)):
        blueprint.averages[player][:] = averages
    yield 0.5
    Translation(us, blueprint, mixed, settings.taken_smaller).put_in()
    row["best_response_mbb"] = bets.opponent_mbb(mixed.exploitability(), us)


def _nested(row: Row, settings: TableSettings, folder: Path, name: str, us: int, iterations: int) -> Steps:
    field, sizes, played = _bets(settings), settings.sizes, None
    if name in bets.PLAYED:
        before = Whole(whole(field.game, sizes.mixed(us)))
        before.averages[us][:] = np.load(folder / f"{nested_row(estimated(name), iterations)}-{us}.npy")
        played = bets.PlayedPayoffs(us, before, sizes.small)
    play = bets.NestedPlay(
        field, sizes, us, _averages(folder), {**bets.METHODS, **bets.PLAYED}[name],
        parse_algorithm(settings.algorithm), iterations, played,
    )  # fmt: skip
    yield from play.run()
    if name in bets.LOOKED_INTO:
        with whole_file(folder / f"{nested_row(name, iterations)}-{us}.npy") as file:
            np.save(file, play.mixed.averages[us])
    row |= {"best_response_mbb": play.best_response_mbb(), "searches": play.searches}
    row |= {"gaining": play.gaining, "empty_ranges": play.empty_ranges}
    if play.gains:
        row["gains_mean"], row["gains_most"] = np.mean(play.gains, axis=0).tolist()


def _both(found: Exploitability) -> Row:
    """By player who responds best."""
    return {"best_response_mbb": [_mbb(chips, found) for chips in found.best_response]}


def _mbb(chips: float, found: Exploitability) -> float:
    return 1000 * chips / found.big_blind


_KINDS: Final[Mapping[str, Callable[..., Steps]]] = {
    "trunk": _trunk,
    "flops": _flops,
    "together": _together,
    "blueprint": _blueprint,
    "inside": _inside,
    "translation": _translation,
    "nested": _nested,
}


# Running all


def known_rows(settings: TableSettings, folder: Path) -> dict[str, Row]:
    """Those that are in the folder, of jobs by name."""
    rows = {}
    for job in jobs_of(settings):
        path = folder / f"{job.name}.json"
        if path.exists():
            row = json.loads(path.read_text(encoding="utf-8"))
            if row["settings"] == settings.text():
                rows[job.name] = row
    return rows


def waves(jobs: Sequence[TableJob]) -> Iterator[list[TableJob]]:
    """Jobs that need none but those of earlier waves."""
    left = list(jobs)
    while left:
        names = {job.name for job in left}
        yield [job for job in left if names.isdisjoint(job.needs)]
        left = [job for job in left if not names.isdisjoint(job.needs)]


def run_all(settings: TableSettings, folder: Path, processes: int) -> dict[str, Row]:
    """Do what is missing; what is done is in the folder, whatever happens next."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = known_rows(settings, folder)
    jobs = [job for job in jobs_of(settings) if job.name not in rows]
    if rows:
        print(f"{len(rows)} of {len(rows) + len(jobs)} rows are there already", file=sys.stderr, flush=True)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for the processes: there is one for each core
    workers = workers_for(WorkerSpec(_performer, (settings, folder), "computes rows"), processes)
    with HandsBar("search tables", sum(map(_weight, jobs)), "seconds of work") as bar:
        before = 0
        for wave in waves(jobs):
            lots = [Lot(job.name, job, _weight(job)) for job in wave]
            rows |= dict(do_lots(workers, lots, tell=lambda done, before=before: bar.show(before + done)))
            before += sum(map(_weight, wave))
    return rows


def _performer(place: tuple[TableSettings, Path]) -> Callable[[TableJob], Row]:
    return lambda job: perform(job, *place)


def _weight(job: TableJob) -> int:
    return round(job.cost_s)

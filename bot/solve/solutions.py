"""Solution files: a spot, how it was solved, and both players' average strategies in 8 or 16 bits a probability.

A file is a zip archive of plain members, readable without Paratus:

    header.json          the spot and the solve as text, and what the arrays belong to (`Header`)
    strategy_oop.npy     uint8 or uint16, flat: board by board, [edge, hand] of each; an edge is an action of a decision
    strategy_ip.npy

For each decision and hand the likeliest action has the largest number (255 or 65,535), the others in proportion; all
are 0 where the hand never comes. Which board, edge and hand a number belongs to follows from the spot: the header holds
a hash of that order. Nothing is unpickled or evaluated: a file whose arrays are not those of the spot in its header is
refused before they are read.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from bot.solve.records import (
    ExploitabilityRecord,
    SolveRecord,
    SpotRecord,
    StrictRecord,
    exploitability_record,
    recorded_spot,
    spot_record,
)
from bot.solve.solving import SolveSettings, bytes_text, find_price, make_solver
from bot.solve.spots import PLAYERS, SolveSpot
from machine.errors import ConfigError, quote
from machine.files import whole_file
from machine.refusals import problem_words
from protocol.cards import cards_text
from protocol.state import action_text

if TYPE_CHECKING:
    from solver.subgame import Subgame
    from solver.subgame_solver import Solver

FORMAT: Final = "paratus-solution"
VERSION: Final = 1
_HEADER: Final = "header.json"
_ARRAYS: Final = tuple([f"strategy_{who}.npy" for who in PLAYERS])
_DTYPES: Final[dict[int, np.dtype[Any]]] = {8: np.dtype("<u1"), 16: np.dtype("<u2")}
_MAX_HEADER_BYTES: Final = 1 << 20

Bits = Literal[8, 16]
Report = Callable[[float], None]
"""Called with the share that is done."""


class SolutionError(ConfigError):
    """A file that holds no solution, or not one that can be used."""


class Header(StrictRecord):
    """What a file says about itself."""

    format: Literal["paratus-solution"]
    version: int
    spot: SpotRecord
    solve: SolveRecord
    bits: Bits
    """Of each probability in the file."""
    counts: tuple[int, int] = Field(strict=False)
    """Numbers in the arrays of each player."""
    order: str = Field(max_length=64)
    """The hash of which number is which."""
    stored: ExploitabilityRecord
    """Of the strategies as they are in the file."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A solved spot that can be asked."""

    spot: SolveSpot
    solver: Solver
    solve: SolveRecord
    exploitability: ExploitabilityRecord
    """Of the strategies as they are now; files round them."""


def save_solution(path: Path, solution: Solution, bits: Bits, report: Report) -> Solution:
    """Write a file, all of it or nothing; what it holds is rounded, and so is the solution from then on."""
    solver = solution.solver
    counts = (_count(solver.subgame, 0), _count(solver.subgame, 1))
    done, total = 0, sum(counts)
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=2) as archive:
        for player, name in enumerate(_ARRAYS):
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(_npy_header(_DTYPES[bits], counts[player]))
                for board, starts in _boards(solver.subgame, player):
                    codes = _encode(solver.table(player, board), starts, bits)
                    member.write(codes.tobytes())
                    solver.set_table(player, board, codes.astype(np.float64))
                    done += codes.size
                    report(done / total)
        header = Header(
            format=FORMAT,
            version=VERSION,
            spot=spot_record(solution.spot),
            solve=solution.solve,
            bits=bits,
            counts=counts,
            order=_order(solver.subgame),
            stored=exploitability_record(solver.exploitability()),
        )
        archive.writestr(_HEADER, header.model_dump_json(indent=1))
    return replace(solution, exploitability=header.stored)


def read_header(path: Path) -> Header:
    """What a file says about itself."""
    with _open(path) as archive:
        return _read_header(archive)


def load_solution(path: Path, *, threads: int | None, most_bytes: int, report: Report) -> Solution:
    """Read a file; refuse, with the reason, one that does not fit."""
    with _open(path) as archive:
        return _load(archive, threads=threads, most_bytes=most_bytes, report=report)


@contextmanager
def _open(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive that holds what it should; whatever is wrong with it becomes one line."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise SolutionError(f"{path}: {error.strerror}: expected a solution file") from None
    try:
        with file, zipfile.ZipFile(file) as archive:
            _check_members(archive)
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise SolutionError(f"{path}: damaged, or no solution file: {quote(str(error))}") from None
    except ConfigError as error:
        raise SolutionError(f"{path}: {error}") from None


def _check_members(archive: zipfile.ZipFile) -> None:
    names, wanted = sorted([info.filename for info in archive.infolist()]), sorted([*_ARRAYS, _HEADER])
    if names != wanted:
        raise SolutionError(f"holds {quote(', '.join(names))}: expected {', '.join(wanted)}")
    for info in archive.infolist():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SolutionError(f"{info.filename} is compressed by method {info.compress_type}: expected deflate")


def _load(archive: zipfile.ZipFile, *, threads: int | None, most_bytes: int, report: Report) -> Solution:
    header = _read_header(archive)
    spot = recorded_spot(header.spot)
    need = find_price(spot, 16).bytes  # averages in 32 bits and no regrets are as much
    if need > most_bytes:
        raise SolutionError(f"needs {bytes_text(need)}: expected --memory of as much, not {bytes_text(most_bytes)}")
    solver = make_solver(spot, SolveSettings(threads=threads))
    counts = (_count(solver.subgame, 0), _count(solver.subgame, 1))
    _check_same("decisions and hands of the spot", header.order, _order(solver.subgame))
    done, total = 0, sum(counts)
    for player, name in enumerate(_ARRAYS):
        dtype = _DTYPES[header.bits]
        _check_same(f"numbers in {name}", header.counts[player], counts[player])
        npy = _npy_header(dtype, counts[player])
        _check_same(f"bytes of {name}", archive.getinfo(name).file_size, len(npy) + counts[player] * dtype.itemsize)
        with archive.open(name) as member:
            _check_same(f"beginning of {name}", quote(member.read(len(npy))), quote(npy))
            for board, _ in _boards(solver.subgame, player):
                shape = solver.table(player, board).shape
                codes = _read_codes(member, dtype, shape)
                solver.set_table(player, board, codes)
                done += codes.size
                report(done / total)
            member.read(1)  # at the end the checksum is compared
    return Solution(spot, solver, header.solve, header.stored)


def _read_header(archive: zipfile.ZipFile) -> Header:
    info = archive.getinfo(_HEADER)
    if info.file_size > _MAX_HEADER_BYTES:
        raise SolutionError(f"{_HEADER} has {info.file_size:,} bytes: expected at most {_MAX_HEADER_BYTES:,}")
    with archive.open(info) as member:
        text = member.read(_MAX_HEADER_BYTES)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise SolutionError(f"{_HEADER} is no JSON") from None
    if isinstance(fields, dict) and fields.get("format") == FORMAT and fields.get("version") != VERSION:
        raise SolutionError(f"{_HEADER}: version = {str(fields.get('version'))[:20]}: expected {VERSION}: solve again")
    try:
        return Header.model_validate_json(text)
    except ValidationError as error:
        raise SolutionError(f"{_HEADER}: {problem_words(error, Header)}") from None


def _check_same(what: str, held: object, expected: object) -> None:
    if held != expected:
        raise SolutionError(f"{what}: {held}: expected {expected}: it was written by another version: solve again")


def _boards(subgame: Subgame, player: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Boards on which the player acts, each with the numbers of its decisions' first edges."""
    for board, street in enumerate(subgame.deals.street.tolist()):
        forest = subgame.forests[street]
        starts = forest.edge[forest.player == player].astype(np.int64)
        if starts.size:
            yield board, np.sort(starts)


def _count(subgame: Subgame, player: int) -> int:
    hands = len(subgame.hands[player])
    boards = subgame.deals.street.tolist()
    return sum(subgame.forests[street].edges[player] * hands for street in boards)


def _encode(table: NDArray[np.float64], starts: NDArray[np.int64], bits: int) -> NDArray[Any]:
    """The likeliest action of each decision and hand as the largest number, the others in proportion."""
    likeliest = np.maximum.reduceat(table, starts, axis=0)
    counts = np.diff(np.append(starts, len(table)))
    scale = np.divide(2**bits - 1, likeliest, out=np.zeros_like(likeliest), where=likeliest > 0)
    codes: NDArray[np.float64] = np.rint(table * np.repeat(scale, counts, axis=0))
    return codes.astype(_DTYPES[bits])


def _order(subgame: Subgame) -> str:
    """A hash of which hand, board, decision and action each number of the arrays belongs to."""
    game = subgame.root.game
    digest = hashlib.blake2b(digest_size=8)
    for index in subgame.hand_index:
        digest.update(np.asarray(index, "<i4").tobytes())
    for boards in subgame.boards:
        digest.update(";".join([cards_text(board.cards) for board in boards]).encode())
    for forest in subgame.forests:
        for node, edge in zip(forest.nodes, forest.edge.tolist(), strict=True):
            actions = ",".join([action_text(action, game) for action in node.actions])
            digest.update(f"{node.state.betting}:{actions}:{node.state.actor}:{edge}\n".encode())
    return digest.hexdigest()


def _npy_header(dtype: np.dtype[Any], count: int) -> bytes:
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, {"descr": dtype.str, "fortran_order": False, "shape": (count,)})
    return text.getvalue()


def _read_codes(member: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    wanted = math.prod(shape) * dtype.itemsize
    data = member.read(wanted)
    if len(data) < wanted:
        raise SolutionError("damaged: ends too soon")
    return np.frombuffer(data, dtype).reshape(shape).astype(np.float64)

"""Solution files: what is kept and how exactly, everything that is refused, and what a failure leaves behind."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import cli
from bot.solve import solutions
from bot.solve.lines import parse_line
from bot.solve.records import SolveRecord, exploitability_record, recorded_spot, spot_record
from bot.solve.solutions import Solution, SolutionError, load_solution, read_header, save_solution
from bot.solve.solving import SolveSettings, make_solver
from bot.solve.spots import SolveSpot, parse_board, read_menu, read_range, root_state
from machine.files import whole_file

MEMBERS = ("header.json", "strategy_ip.npy", "strategy_oop.npy")
MEMORY = 1 << 30
LINES = ["", "x", "b50%", "b50%,c,[2h]", "x,x,[8s],b50%,a"]


def spot(board: str = "Qs8d5c3h", menu: str = "50%,a / a") -> SolveSpot:
    """A small spot with ranges of odd weights."""
    oop = read_range("QJs:0.7,88,76s:0.3,KK:1e-5,AhKd:0.123456", "oop")
    return SolveSpot(parse_board(board), 600, 900, (oop, read_range("AQs,55:0.4,T9s,JTo:0.25", "ip")), read_menu(menu))


def solve(asked: SolveSpot, iterations: int = 80, bits: int = 32) -> Solution:
    solver = make_solver(asked, SolveSettings(bits=bits, threads=1))
    solver.iterate(iterations)
    record = SolveRecord(
        algorithm=str(solver.algorithm),
        iterations=iterations,
        seconds=0.5,
        bits=bits,
        seed=0,
        paratus="test",
        exploitability=exploitability_record(solver.exploitability()),
    )
    return Solution(asked, solver, record, record.exploitability)


def load(path: Path, most_bytes: int = MEMORY) -> Solution:
    return load_solution(path, threads=1, most_bytes=most_bytes, report=lambda share: None)


def strategies(solution: Solution) -> list[np.ndarray]:
    """At several decisions."""
    asked, solver = solution.spot, solution.solver
    lines = [parse_line(text, root_state(asked), asked.board, asked.menu) for text in LINES]
    return [solver.strategy(solver.place(line.actions, line.cards)) for line in lines]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Solution]:
    """A file in 8 bits, and the solution as it was left by saving."""
    path = tmp_path_factory.mktemp("solutions") / "turn.paratus"
    solution = solve(spot())
    save_solution(path, solution, 8, lambda share: None)
    return path, solution


# --- What is kept ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "error"), [(8, 1 / 255), (16, 1 / 65535)])
@pytest.mark.parametrize("solver_bits", [32, 16])
def test_strategies_are_kept_to_the_last_bit(tmp_path: Path, bits: int, error: float, solver_bits: int) -> None:
    path = tmp_path / "turn.paratus"
    solution = solve(spot(), bits=solver_bits)
    before = strategies(solution)
    shares: list[float] = []
    kept = save_solution(path, solution, bits, shares.append)  # type: ignore[arg-type]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    back = load(path)
    assert spot_record(back.spot) == spot_record(solution.spot)
    assert back.solve == solution.solve
    assert back.exploitability == kept.exploitability
    if solver_bits == 16:
        error += 1 / 256  # the averages themselves, rounded again
    compared = 0
    for old, new in zip(before, strategies(back), strict=True):
        np.testing.assert_allclose(new, old, atol=error)
        assert new.sum(axis=0) == pytest.approx(1)
        compared += new.size
    assert compared > 100
    if solver_bits == 32:
        for mine, theirs in zip(strategies(solution), strategies(back), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-6)
    found = back.solver.exploitability().mbb
    assert found == pytest.approx(kept.exploitability.mbb, rel=1e-3 if solver_bits == 32 else 0.05)
    assert found == pytest.approx(solution.solve.exploitability.mbb, rel=0.05, abs=5)


@given(st.integers(2, 5), st.integers(1, 4), st.sampled_from([8, 16]), st.randoms(use_true_random=False))
def test_rounding(actions: int, hands: int, bits: int, rng: random.Random) -> None:
    """Of sums of every size, hands that never come included: no probability moves by more than a step."""
    starts = np.array([0, actions])
    sums = [rng.choice([0.0, 10.0 ** rng.uniform(-30, 30)]) for _ in range(hands * (actions + 2))]
    table = np.array(sums).reshape(actions + 2, hands)
    codes = solutions._encode(table, starts, bits)
    assert codes.dtype == (np.uint8 if bits == 8 else np.uint16)
    for begin, end in ((0, actions), (actions, actions + 2)):
        old, new = table[begin:end], codes[begin:end].astype(np.float64)
        for hand in range(hands):
            if old[:, hand].any():
                assert new[:, hand].max() == 2**bits - 1
                shares = old[:, hand] / old[:, hand].sum()
                np.testing.assert_allclose(new[:, hand] / new[:, hand].sum(), shares, atol=actions / 2**bits)
            else:
                assert not new[:, hand].any()


def test_spots_as_text_read_back_to_the_same_bits() -> None:
    asked = spot(menu="turn 33%,450c / 3x,a; river oop 50%,min / -; river ip 71.5%,a / a; cap 3")
    back = recorded_spot(spot_record(asked))
    assert back.menu == asked.menu
    assert (back.board, back.pot, back.stack, back.big_blind) == (asked.board, asked.pot, asked.stack, asked.big_blind)
    for mine, theirs in zip(asked.ranges, back.ranges, strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_a_file_is_readable_without_us(saved: tuple[Path, Solution]) -> None:
    path, solution = saved
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == sorted(MEMBERS)
        header = json.loads(archive.read("header.json"))
        arrays = [np.load(io.BytesIO(archive.read(name)), allow_pickle=False) for name in MEMBERS[1:]]
    assert header["spot"]["board"] == "Qs8d5c3h"
    assert [array.size for array in arrays] == header["counts"][::-1]
    assert all(array.dtype == np.uint8 for array in arrays)
    assert sum(array.size for array in arrays) <= solution.solver.subgame.price.pairs
    assert path.stat().st_size < 60_000


def test_saved_and_loaded_answers_are_alike(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What `--save` printed is what `--load` prints, and a file loaded and saved again is the same."""
    path, again = tmp_path / "one.paratus", tmp_path / "two.paratus"
    asked = ["--board", "KsKh8d8c2s", "--pot", "1000", "--stack", "1000", "--oop", "AA,QcJc", "--ip", "99,KQs"]
    answers = []
    for arguments in (
        [*asked, "--iterations", "100", "--save", path],
        ["--load", path],
        ["--load", path, "--save", again],
        ["--load", again],
    ):
        assert cli.main(["solve", *map(str, arguments), "--json", "--node", "x"]) == 0
        out, err = capsys.readouterr()
        answers.append(json.loads(out))
        assert ("8 bits a probability: exploitability" in err) == ("--save" in arguments)
    assert answers[0]["exploitability"] != answers[0]["solve"]["exploitability"]
    assert all(answer == answers[0] for answer in answers[1:])
    with zipfile.ZipFile(path) as one, zipfile.ZipFile(again) as two:
        for name in MEMBERS[1:]:
            assert one.read(name) == two.read(name)


# --- What is refused -------------------------------------------------------------------------------------------------


def rewritten(path: Path, target: Path, **changes: bytes | None) -> Path:
    """A copy with members changed, dropped (None) or added."""
    with zipfile.ZipFile(path) as archive:
        members: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (members | changes).items():
            if data is not None:
                archive.writestr(name, data)
    return target


def header_with(path: Path, change) -> bytes:
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    change(header)
    return json.dumps(header).encode()


def npy(array: np.ndarray, **options: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def put(key: str, value: object):
    """Change one key of the header, `a.b` inside a."""

    def change(header: dict) -> None:
        *outer, last = key.split(".")
        for name in outer:
            header = header[name]
        header[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("version", 2), "header.json: version = 2: expected 1: solve again"),
        (put("format", "other"), "header.json: format = 'other'"),
        (put("more", 1), "header.json: more = 1: unknown key: expected one of format, version, "),
        (put("bits", 4), "header.json: bits = 4"),
        (put("bits", 16), "bytes of strategy_oop.npy"),
        (put("counts", [1, 2]), "numbers in strategy_oop.npy: 1: expected"),
        (put("counts", [10**30, 2]), "numbers in strategy_oop.npy: 1000"),
        (put("counts", [1, 2, 3]), "header.json: counts"),
        (put("order", "0" * 64), "decisions and hands of the spot: 0000"),
        (put("spot.pot_chips", 602), "decisions and hands of the spot"),
        (put("spot.pot_chips", "600"), "header.json: spot.pot_chips = '600'"),
        (put("spot.pot_chips", 601), "pot 601: expected an even number"),
        (put("spot.board", "Qs8d5c3x"), "board: '3x' is not a card"),
        (put("spot.board", "Qs8d5c"), "decisions and hands of the spot"),
        (put("spot.oop", "@/etc/passwd"), "oop: '@/etc/passwd': expected a range, not the name of a file"),
        (put("spot.oop", "QJs"), "decisions and hands of the spot"),
        (put("spot.menu", "50%"), "decisions and hands of the spot"),
        (put("spot.menu", "many"), "menu part 'many'"),
        (put("solve.iterations", -1), "header.json: solve.iterations = -1"),
        (put("solve.seconds", float("nan")), "header.json: "),
        (put("solve", None), "header.json: solve = None"),
        (lambda header: header.pop("stored"), "header.json: stored"),
    ],
)
def test_headers_that_do_not_match(saved: tuple[Path, Solution], tmp_path: Path, change, said: str) -> None:
    path = rewritten(saved[0], tmp_path / "bad", **{"header.json": header_with(saved[0], change)})
    refused(path, said)


def refused(path: Path, said: str) -> None:
    with pytest.raises(SolutionError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert message.isprintable()
    assert len(message) < 600


def test_members_that_do_not_match(saved: tuple[Path, Solution], tmp_path: Path) -> None:
    path, solution = saved
    count = read_header(path).counts[0]
    assert count == sum(
        solution.solver.table(0, board).size for board in range(len(solution.solver.subgame.deals.street))
    )
    cases: list[tuple[str, bytes | None, str]] = [
        ("strategy_ip.npy", None, "expected header.json, strategy_ip.npy, strategy_oop.npy"),
        ("more.npy", npy(np.zeros(1)), "expected header.json, strategy_ip.npy, strategy_oop.npy"),
        ("header.json", b"{", "header.json is no JSON"),
        ("header.json", b"[]", "header.json: "),
        ("header.json", b"[" * 100_000, "header.json is no JSON"),
        ("header.json", b" " * (2 << 20), "header.json has 2,097,152 bytes"),
        ("strategy_oop.npy", npy(np.zeros(count + 1, np.uint8)), "bytes of strategy_oop.npy"),
        ("strategy_oop.npy", npy(np.zeros(100 << 20, np.uint8)), "bytes of strategy_oop.npy"),
        ("strategy_oop.npy", npy(np.zeros(count // 2, np.uint16))[: count + 128].ljust(count + 128), "beginning of"),
        ("strategy_oop.npy", npy(np.array([{}] * 9, object), allow_pickle=True).ljust(count + 128), "beginning of"),
        ("strategy_oop.npy", b"", "bytes of strategy_oop.npy: 0"),
    ]
    for number, (name, data, said) in enumerate(cases):
        refused(rewritten(path, tmp_path / str(number), **{name: data}), said)


def test_files_that_are_none(saved: tuple[Path, Solution], tmp_path: Path) -> None:
    refused(tmp_path / "missing", "No such file or directory: expected a solution file")
    refused(tmp_path, "Is a directory: expected a solution file")
    whole = saved[0].read_bytes()
    for number, data in enumerate([b"", b"board", whole[: len(whole) // 2], whole[len(whole) // 2 :], whole[:-30]]):
        path = tmp_path / f"cut{number}"
        path.write_bytes(data)
        refused(path, "damaged, or no solution file")


def test_flipped_bits_are_noticed(saved: tuple[Path, Solution], tmp_path: Path) -> None:
    """Anywhere in the file: refused in one line, unless nothing that is read has changed."""
    whole, solution = saved[0].read_bytes(), saved[1]
    rng, path, unread = random.Random(1), tmp_path / "flipped", 0
    for _ in range(80):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            back = load(path)
        except SolutionError:
            continue
        unread += 1
        for mine, theirs in zip(strategies(solution), strategies(back), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert unread < 11


def test_a_file_for_more_memory_than_allowed(saved: tuple[Path, Solution]) -> None:
    with pytest.raises(SolutionError, match=r"needs .*: expected --memory of as much, not 1\.0 kB"):
        load(saved[0], most_bytes=1024)


# --- Writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_a_failure_leaves_is_what_was_there(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "kept.paratus"
    path.write_bytes(b"the old one")
    solution = solve(spot(), iterations=5)

    def fail(share: float) -> None:
        if share > 0.5:
            raise failure

    with pytest.raises(type(failure)):
        save_solution(path, solution, 8, fail)
    assert path.read_bytes() == b"the old one"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.paratus"]
    assert np.isfinite(solution.solver.exploitability().chips)


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with whole_file(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert [each.name for each in tmp_path.iterdir()] == ["new"]

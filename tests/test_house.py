"""The house rules that a reader relies on and no other tool enforces; import-linter has those about imports."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

from bot.doctor import PACKAGES
from strategies.registry import AGENTS

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (*PACKAGES, "benchmarks", "studies", "release")
MOST_MODULES = 18
MOST_LINES = 400
MOST_PARAMETERS = 8
MOST_FUNCTION_LINES = 80
OTHER_MEANINGS = {
    "paratus": "the program",
    "blueprint": "a kind of values, a command, a kind of file, a key of results",
    "random": "a module",
    "all-in": "an action",
}
"""Names of agents that are words for something else too."""


@cache
def modules() -> dict[Path, ast.Module]:
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "__pycache__" not in path.parts]
    return {path.relative_to(ROOT): ast.parse(path.read_text("utf-8")) for path in paths}


def is_kernel(path: Path) -> bool:
    return "kernel" in str(path)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_there_is_something_to_look_at() -> None:
    assert len(modules()) > 300
    assert sum(1 for tree in modules().values() for _ in functions(tree)) > 2000


def test_no_folder_is_crowded() -> None:
    counts = Counter(path.parent for path in modules() if path.name != "__init__.py")
    assert {str(folder): count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_modules_and_functions_can_be_read_at_one_sitting() -> None:
    long = [path for path in modules() if not is_kernel(path) and len(_lines(path)) > MOST_LINES]
    assert long == []
    for path, tree in modules().items():
        for function in functions(tree) if not is_kernel(path) else ():
            assert (function.end_lineno or 0) - function.lineno <= MOST_FUNCTION_LINES, f"{path}: {function.name}"


def _lines(path: Path) -> list[str]:
    return (ROOT / path).read_text("utf-8").splitlines()


def test_functions_take_at_most_eight_parameters() -> None:
    for path, tree in modules().items():
        for function in functions(tree) if not is_kernel(path) else ():
            names = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
            taken = [name for name in names if name not in ("self", "cls")]
            assert len(taken) <= MOST_PARAMETERS, f"{path}: {function.name}({', '.join(taken)})"


def test_no_two_public_classes_have_one_name() -> None:
    where = defaultdict(list)
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(str(path))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_no_modules_import_each_other() -> None:
    """Neither directly nor over others, at whatever time."""
    graph = grimp.build_graph(*ROOMS, cache_dir=None, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) & graph.modules for module in graph.modules}
    assert len(imports) > 300
    while leaves := {module for module, others in imports.items() if not others}:
        imports = {module: others - leaves for module, others in imports.items() if module not in leaves}
    assert imports == {}  # what is left stands on itself


@pytest.mark.parametrize("name", [name for name in AGENTS if name not in OTHER_MEANINGS])
def test_no_agent_is_known_by_name_outside_strategies(name: str) -> None:
    for path, tree in modules().items():
        if path.parts[0] not in ("bot", "dealer_tools"):
            continue  # nothing below strategies knows agents; benchmarks, studies and releases say what they measure
        said = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value == name]
        assert not said, f"{path}:{said}"


def test_agents_are_asked_for_nothing_by_name() -> None:
    """Nor by comparing names that mean something else too with an agent's."""
    for path, tree in modules().items():
        if path.parts[0] not in ("bot", "dealer_tools"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and "agent" in ast.unparse(node.left):
                literals = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                assert not literals & {*AGENTS}, f"{path}:{node.lineno}"

"""Compiled kernels are kept on disk by the files they are made from: if one is forgotten, old code goes on running."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.caching import Cache
from numba.core.dispatcher import Dispatcher

import blueprints
import dealer_tools
import solver
from solver.kernels.compiled import kernels_in


def kernel_modules() -> list[str]:
    """All that stand in files or folders of that name, but the lowest, which calls nobody's kernels."""
    names = []
    for package in (solver, blueprints, dealer_tools):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            parts = (package.__name__, *path.relative_to(root).with_suffix("").parts)
            if "kernels" in parts and parts[-1] != "__init__":
                names.append(".".join(parts))
    return names


def stamp(path: Path) -> tuple[float, int]:
    """As the cache knows a file."""
    return path.stat().st_mtime, path.stat().st_size


def imported(name: str, seen: set[str]) -> Iterator[Path]:
    """The file of a module, and of all kernel modules that it imports."""
    if name in seen:
        return
    seen.add(name)
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    yield Path(spec.origin)
    for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in (node.module, *[f"{node.module}.{alias.name}" for alias in node.names]):
                if "kernels" in each.split(".") and (found := _module(each)) is not None:
                    yield from imported(found, seen)


def _module(name: str) -> str | None:
    """Its name if it is a module, and no package."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.submodule_search_locations is not None else name


def kernels_of(module: ModuleType) -> list[Dispatcher]:
    """Those that are written there and kept."""
    found = [each for each in vars(module).values() if isinstance(each, Dispatcher)]
    return [each for each in found if each.py_func.__module__ == module.__name__ and isinstance(each._cache, Cache)]


def test_there_are_kernels() -> None:
    names = kernel_modules()
    assert len(names) > 20
    assert {"solver.kernels.cfr", "blueprints.boards.kernels", "blueprints.train.public.kernels.walk"} <= set(names)
    assert sum(len(kernels_of(importlib.import_module(name))) for name in names) > 100


@pytest.mark.parametrize("name", kernel_modules())
def test_every_file_that_may_be_inlined_counts(name: str) -> None:
    files = set(imported(name, set()))
    for kernel in kernels_of(importlib.import_module(name)):
        counted = kernel._cache._cache_file._source_stamp
        assert stamp(Path(kernel.py_func.__code__.co_filename)) in counted, (
            f"{kernel.py_func.__name__}: no `kernels_in`"
        )
        missing = [path for path in files if stamp(path) not in counted]
        assert not missing, f"{kernel.py_func.__name__} is compiled with {missing}"


def test_a_folder_counts_with_all_its_modules(tmp_path: Path) -> None:
    for name in ("one.py", "other.py", "notes.md"):
        (tmp_path / name).write_text(f"# {name}\n")

    def counted() -> tuple[tuple[float, int], ...]:
        found: tuple[tuple[float, int], ...] = kernels_in(tmp_path)(_nothing)._cache._cache_file._source_stamp
        return found

    before = counted()
    assert all(stamp(tmp_path / name) in before for name in ("one.py", "other.py"))
    (tmp_path / "other.py").write_text("# changed\n")
    assert counted() != before
    after = counted()
    (tmp_path / "notes.md").write_text("no module\n")
    assert counted() == after


def _nothing() -> None:
    pass

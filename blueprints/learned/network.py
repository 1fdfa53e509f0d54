"""The network as it is stored and asked: plain arrays, and five matrix products; nothing of torch.

In: a root of the turn, by a row of its own; the flop; a group of either player and the pair of them (`learned.flops`).
Out: what the first player wins with each pair of continuations, in pots, beyond what showdowns would bring. Four hidden
layers of 256, 128, 128 and 128, as Modicum's (thesis 5.2). The first layer is a sum of what each input adds, so for
all pairs of groups it costs no more than for single groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from blueprints.container import Container, write_container
from blueprints.learned.flops import FLOP_FEATURES, GROUP_FEATURES, GROUPS, PAIR_FEATURES, Flop
from blueprints.shipped import tables_folder
from blueprints.storage import Blueprint
from protocol.arrays import F32
from protocol.errors import BlueprintError

HIDDEN: Final = (256, 128, 128, 128)
_TURN: Final = 2
_KIND: Final = "leaf values"


def shapes(roots: int, continuations: int) -> dict[str, tuple[int, ...]]:
    """Of all arrays, by name."""
    first = HIDDEN[0]
    found: dict[str, tuple[int, ...]] = {
        "root": (roots, first),
        "flop": (FLOP_FEATURES, first),
        "group0": (GROUP_FEATURES, first),
        "group1": (GROUP_FEATURES, first),
        "pair": (PAIR_FEATURES, first),
        "bias0": (first,),
    }
    for number, (wide, next_wide) in enumerate(zip(HIDDEN, (*HIDDEN[1:], continuations**2), strict=True), 1):
        found |= {f"layer{number}": (wide, next_wide), f"bias{number}": (next_wide,)}
    return found


class LeafNetwork:
    """What a file holds, for one blueprint."""

    def __init__(self, arrays: Mapping[str, F32], first_root: int, bias_factor: float, digest: str) -> None:
        self._arrays = dict(arrays)
        self._first_root = first_root
        self.bias_factor, self.digest = bias_factor, digest
        self.continuations = round(len(self._arrays[f"bias{len(HIDDEN)}"]) ** 0.5)

    @classmethod
    def open(cls, path: Path, blueprint: Blueprint) -> LeafNetwork:
        """Raises `BlueprintError` if it is damaged, or was made for another blueprint."""
        container = Container(path)
        fields = container.fields
        container.check_same("kind", fields.get("kind"), _KIND)
        container.check_same("the blueprint it is for", fields.get("blueprint"), blueprint.digest)
        roots, factor = turn_roots(blueprint), fields.get("bias_factor")
        if not isinstance(factor, float) or fields.get("continuations") != 4:
            raise container.wrong(
                f"continuations {fields.get('continuations')}, bias {factor}: expected 4 and a number"
            )
        expected = shapes(len(roots), 4)
        container.check_same("arrays", {name: record.shape for name, record in container.records.items()}, expected)
        return cls({name: container.checked(name) for name in expected}, roots.start, factor, container.digest)

    def values(self, roots: Sequence[int], flop: Flop) -> F32:
        """[root, group of the first player, group of the second, its continuation, the other's]"""
        of = self._arrays
        shared = of["bias0"] + flop.of_flop @ of["flop"]
        ours, theirs = flop.of_group @ of["group0"], flop.of_group @ of["group1"]
        pairs = ours[:, None] + theirs[None] + flop.of_pair @ of["pair"] + shared
        count = self.continuations
        found = np.empty((len(roots), GROUPS, GROUPS, count, count), np.float32)
        for place, root in enumerate(roots):
            here = np.maximum(pairs + of["root"][root - self._first_root], 0).reshape(GROUPS * GROUPS, -1)
            for layer in range(1, len(HIDDEN)):
                here = np.maximum(here @ of[f"layer{layer}"] + of[f"bias{layer}"], 0)
            last = len(HIDDEN)
            found[place] = (here @ of[f"layer{last}"] + of[f"bias{last}"]).reshape(GROUPS, GROUPS, count, count)
        return found


def network_file(blueprint: Blueprint) -> Path:
    """Where the network of a blueprint is kept unless another place is named."""
    return tables_folder() / "leaves" / f"{blueprint.digest}.values"


def write_network(
    path: Path, blueprint: Blueprint, arrays: Mapping[str, F32], bias_factor: float, training: Mapping[str, object]
) -> str:
    """Write it whole; returns its digest. `training` says how it was made."""
    expected = shapes(len(turn_roots(blueprint)), 4)
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise BlueprintError(f"{path}: expected arrays {expected}")
    fields = {
        "kind": _KIND, "blueprint": blueprint.digest, "continuations": 4, "bias_factor": bias_factor,
        "training": dict(training),
    }  # fmt: skip
    return write_container(path, fields, {name: np.ascontiguousarray(arrays[name], np.float32) for name in expected})


def turn_roots(blueprint: Blueprint) -> range:
    """The numbers of all roots of the turn."""
    return range(int(blueprint.tree.street_at[_TURN]), int(blueprint.tree.street_at[_TURN + 1]))

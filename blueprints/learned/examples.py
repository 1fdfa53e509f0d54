"""Examples to learn from: what groups of hands win below roots of the turn, by roll-outs on random flops.

An example is one root, one player, one group and one continuation of its opponent; its targets are what each of the
player's groups wins with each of its own continuations. The unit is the pot at the root, and what the hands would win
if nobody bet any more is taken off, on the same run-outs: betting is what is to be learnt, showdowns are known exactly
(`learned.flops`), and the luck of the run-outs is in both.

Examples come in *shards* of some flops and some roots, each drawn by its own number: a shard that is lost or was not
finished is made again as it was, and several may be made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blueprints.container import Container, write_container
from blueprints.learned.flops import GROUPS, NONE, Flop
from blueprints.learned.network import turn_roots
from blueprints.storage import Blueprint
from blueprints.values.rollouts import Rollouts
from protocol.arrays import F32
from protocol.cards import Card

FLOPS: Final = 20
"""Of a shard."""
ROOTS: Final = 16
RUN_OUTS: Final = 24
_KIND: Final = "leaf examples"


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """A shard."""

    roots: NDArray[np.int32]
    """[root] numbers among those of the turn."""
    groups: NDArray[np.int32]
    """[flop, root, player] what that player's opponent holds."""
    chosen: NDArray[np.int32]
    """[flop, root, player] how it goes on."""
    targets: F32
    """[flop, root, player, group, continuation] what the player wins, in pots, beyond its showdowns."""
    of_group: F32
    """[flop, group, feature]"""
    of_pair: F32
    """[flop, group, group, feature]"""
    apart: F32
    """[flop, group, group]"""
    of_flop: F32
    """[flop, feature]"""


_ARRAYS: Final = tuple(Examples.__slots__)


def make_shard(blueprint: Blueprint, rollouts: Rollouts, number: int) -> Examples:
    """Draw and play it."""
    rng = np.random.default_rng((number, 0x1EAF))
    all_roots = turn_roots(blueprint)
    roots = np.sort(rng.choice(len(all_roots), min(ROOTS, len(all_roots)), replace=False)).astype(np.int32)
    continuations = len(rollouts.biases)
    shape = FLOPS, len(roots), 2
    groups = rng.integers(GROUPS, size=shape, dtype=np.int32)
    chosen = rng.integers(continuations, size=shape, dtype=np.int32)
    flops = [Flop.of([Card(card) for card in sorted(rng.choice(52, 3, replace=False).tolist())]) for _ in range(FLOPS)]
    targets = np.stack(
        [
            _targets(rollouts, flop, all_roots.start + roots, groups[place], chosen[place], rng)
            for place, flop in enumerate(flops)
        ]
    )
    return Examples(
        roots, groups, chosen, targets,
        np.stack([flop.of_group for flop in flops]), np.stack([flop.of_pair for flop in flops]),
        np.stack([flop.apart for flop in flops]), np.stack([flop.of_flop for flop in flops]),
    )  # fmt: skip


def _targets(
    rollouts: Rollouts,
    flop: Flop,
    roots: NDArray[np.integer],
    groups: NDArray[np.int32],
    chosen: NDArray[np.int32],
    rng: np.random.Generator,
) -> F32:
    """[root, player, group, continuation]"""
    count, continuations = len(roots), len(rollouts.biases)
    chips = rollouts.tree.committed[rollouts.tree.root_at[roots]].max(axis=1).astype(np.float32)
    held = np.zeros((2, count, rollouts.num_hands), np.float32)
    reaches = np.zeros((2, continuations, count, rollouts.num_hands), np.float32)
    for root in range(count):
        for player in range(2):
            hands = flop.groups == groups[root, player]
            held[1 - player, root, hands] = 1.0
            reaches[1 - player, chosen[root, player], root, hands] = 1.0
    total = np.zeros_like(reaches)
    for _ in range(RUN_OUTS):
        run_out = rollouts.draw(flop.board, rng)
        total += rollouts.values(roots.tolist(), flop.board, run_out, reaches)
        total -= rollouts.showdown_values((*flop.board, *run_out), held, chips)[:, None]
    won = flop.summed(total).transpose(2, 0, 3, 1) / (2 * chips[:, None, None, None])
    size = np.bincount(flop.groups[flop.groups != NONE], minlength=GROUPS)
    pairs = flop.apart[groups] * np.multiply.outer(size[groups], size)
    samples = RUN_OUTS * rollouts.chance(flop.board) * pairs
    found: F32 = np.where(samples[..., None] > 0, won / np.maximum(samples, 1e-9)[..., None], 0).astype(np.float32)
    return found


def write_shard(path: Path, blueprint: Blueprint, number: int, examples: Examples) -> None:
    """Written whole or not at all."""
    fields = {"kind": _KIND, "blueprint": blueprint.digest, "number": number}
    arrays = {name: np.ascontiguousarray(getattr(examples, name)) for name in _ARRAYS}
    arrays["targets"] = examples.targets.reshape(*examples.targets.shape[:3], -1)
    write_container(path, fields, arrays)


def read_shard(path: Path, blueprint: Blueprint) -> Examples:
    """Raises `BlueprintError` if it is damaged or of another blueprint."""
    container = Container(path)
    container.check_same("kind", container.fields.get("kind"), _KIND)
    container.check_same("blueprint", container.fields.get("blueprint"), blueprint.digest)
    container.check_same("arrays", sorted(container.records), sorted(_ARRAYS))
    arrays = {name: container.checked(name) for name in _ARRAYS}
    targets = arrays["targets"]
    return Examples(**arrays | {"targets": targets.reshape(*targets.shape[:3], GROUPS, -1)})


def make_examples(
    blueprint: Blueprint, rollouts: Rollouts, folder: Path, shards: int, tell: Callable[[int], None]
) -> list[Path]:
    """The shards of a folder, those that are not there made; `tell` hears how many are done."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:05}.examples" for number in range(shards)]
    for number, path in enumerate(paths):
        if not path.exists():
            write_shard(path, blueprint, number, make_shard(blueprint, rollouts, number))
        tell(number + 1)
    return paths

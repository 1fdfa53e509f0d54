"""The network learns from examples, by torch, which nothing else here needs (`pip install 'paratus[nets]'`).

Huber's loss and Adam, as Modicum's. A tenth of the shards are never learnt from: what is reported is of them, flops
and roots together that the network has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from blueprints.learned.examples import Examples
from blueprints.learned.flops import GROUPS
from blueprints.learned.network import HIDDEN, shapes
from machine.errors import ConfigError
from protocol.arrays import F32

BATCH: Final = 192
"""Examples of a step, each with a target for every group."""
_RATE, _LAST_RATE = 1e-3, 1e-5
_HELD_BACK: Final = 10
"""Every so many-th shard is."""


@dataclass(frozen=True, slots=True)
class LearningProgress:
    """After an epoch: means over the examples that were held back, in pots."""

    epoch: int
    epochs: int
    huber: float
    rms: float
    rms_of_zero: float
    """What is left if all values are taken for those of showdowns."""
    bias: float


def import_torch() -> Any:
    """Or say how to get it."""
    try:
        import torch
    except ImportError:
        raise ConfigError("learning takes torch, which is not here: expected `pip install 'paratus[nets]'`") from None
    return torch


def learn(
    shards: Sequence[Examples],
    roots: int,
    epochs: int,
    seed: int,
    threads: int,
    tell: Callable[[LearningProgress], None],
) -> dict[str, F32]:
    """The arrays of a network; the same for the same shards, seed and threads."""
    torch = import_torch()
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    held_back = [number % _HELD_BACK == _HELD_BACK - 1 for number in range(len(shards))]
    taught, tested = (
        _Pool(torch, [shard for shard, held in zip(shards, held_back, strict=True) if held is kind])
        for kind in (False, True)
    )
    weights = _initial(torch, roots, taught.continuations)
    optimiser = torch.optim.Adam(list(weights.values()), lr=_RATE)
    steps = epochs * math.ceil(taught.size / BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, _LAST_RATE)
    for epoch in range(1, epochs + 1):
        for some in torch.randperm(taught.size).split(BATCH):
            optimiser.zero_grad()
            found, targets, counts = taught.asked(weights, some)
            loss = (torch.nn.functional.huber_loss(found, targets, reduction="none") * counts).sum() / counts.sum()
            loss.backward()
            optimiser.step()
            schedule.step()
        tell(_tested(torch, tested, weights, epoch, epochs))
    return {name: weight.detach().numpy() for name, weight in weights.items()}


class _Pool:
    """Examples of some shards, in one piece."""

    def __init__(self, torch: Any, shards: Sequence[Examples]) -> None:
        self._torch = torch

        def tensor(arrays: Sequence[NDArray[Any]]) -> Any:
            return torch.from_numpy(np.concatenate(arrays))

        self._of_group = tensor([shard.of_group for shard in shards])
        self._of_pair = tensor([shard.of_pair for shard in shards])
        self._of_flop = tensor([shard.of_flop for shard in shards])
        self._apart = tensor([shard.apart for shard in shards])
        shapes = [shard.groups.shape for shard in shards]
        self._groups = tensor([shard.groups.ravel() for shard in shards]).long()
        self._chosen = tensor([shard.chosen.ravel() for shard in shards]).long()
        self.continuations = shards[0].targets.shape[-1]
        self._targets = tensor([shard.targets.reshape(-1, GROUPS, self.continuations) for shard in shards])
        self._roots = tensor(
            [np.tile(np.repeat(shard.roots, 2), shape[0]) for shard, shape in zip(shards, shapes, strict=True)]
        ).long()
        firsts = np.cumsum([0, *[shape[0] for shape in shapes]]).tolist()
        self._flops = tensor(
            [
                np.repeat(first + np.arange(shape[0]), shape[1] * shape[2])
                for first, shape in zip(firsts, shapes, strict=False)
            ]
        ).long()
        self.size = len(self._groups)

    def asked(self, weights: dict[str, Any], some: Any) -> tuple[Any, Any, Any]:
        """[example, group, continuation] what the network says, what was found, and how much that counts."""
        torch = self._torch
        flop, group, chosen = self._flops[some], self._groups[some], self._chosen[some]
        second = (some % 2 == 1)[:, None, None]
        all_groups, one = self._of_group[flop], self._of_group[flop, group][:, None]
        along, across = self._of_pair[flop, :, group], self._of_pair[flop, group]
        here = torch.where(second, one @ weights["group0"], all_groups @ weights["group0"])
        here = here + torch.where(second, all_groups @ weights["group1"], one @ weights["group1"])
        here = here + torch.where(second, across, along) @ weights["pair"]
        here = here + (self._of_flop[flop] @ weights["flop"] + weights["root"][self._roots[some]])[:, None]
        here = torch.relu(here + weights["bias0"])
        for layer in range(1, len(HIDDEN)):
            here = torch.relu(here @ weights[f"layer{layer}"] + weights[f"bias{layer}"])
        last, count = len(HIDDEN), self.continuations
        found = (here @ weights[f"layer{last}"] + weights[f"bias{last}"]).unflatten(2, (count, count))
        picked = torch.arange(len(some))
        found = torch.where(second, -found[picked, :, chosen], found[picked, :, :, chosen])
        counts = torch.where(second[..., 0], self._apart[flop, group], self._apart[flop, :, group])
        return found, self._targets[some], counts[..., None].expand(found.shape)


def _initial(torch: Any, roots: int, continuations: int) -> dict[str, Any]:
    """As He et al.; roots begin alike."""
    weights = {}
    for name, shape in shapes(roots, continuations).items():
        wide = 0.0 if len(shape) == 1 or name == "root" else math.sqrt(2 / shape[0])
        if name == f"layer{len(HIDDEN)}":
            wide *= 0.1
        weights[name] = (torch.randn(shape) * wide).requires_grad_()
    return weights


def _tested(torch: Any, tested: _Pool, weights: dict[str, Any], epoch: int, epochs: int) -> LearningProgress:
    sums = np.zeros(5)
    with torch.no_grad():
        for some in torch.arange(tested.size).split(BATCH):
            found, targets, counts = tested.asked(weights, some)
            apart = found - targets
            huber = torch.nn.functional.huber_loss(found, targets, reduction="none")
            sums += [float((each * counts).sum()) for each in (huber, apart**2, targets**2, apart, torch.ones(()))]
    mean = sums / sums[4]
    huber, square, square_of_zero, apart, _ = mean.tolist()
    return LearningProgress(epoch, epochs, huber, math.sqrt(square), math.sqrt(square_of_zero), apart)

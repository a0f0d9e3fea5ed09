"""
An iteration as a list of accesses, each linked to the next of the same tensor.

An access of a step to a tensor is a slot. Slots are numbered by step, so that a higher one is later; those of a step
are sorted by the rule for ties in next use, the first to be evicted last. The larger tensor is evicted first, and of
equally large ones the one whose name sorts first, where the gradient of x is `dx x`, or `dw x` of a weight. (This is
the rule of the study's reference data; it decides few bytes, but makes them deterministic.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npuc.backends.roofline.iteration.steps import Iteration

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
NEVER = -1


@dataclass(frozen=True)
class Trace:
    """
    Accesses of an iteration, one per slot; the slots of step i are first[i] to first[i + 1].

    `tensor` and `size` (bytes) are those of the access, which `read`s, `write`s or both; `next` and `previous` are the
    slots of the tensor's neighbouring accesses, -1 where there is none. The next of a value that is overwritten before
    it is read is -1. `final`: the value must be in memory at the end. `nearest` lists the slots by step, the smaller
    first, then by name: the order in which a streaming step caches tensors; `listed` lists them in the order of the
    steps' operands. `footprint` is in bytes, by step.
    """

    iteration: Iteration
    first: Ints
    step: Ints
    tensor: Ints
    size: Ints
    read: Bools
    write: Bools
    next: Ints
    previous: Ints
    final: Bools
    nearest: Ints
    listed: Ints
    footprint: Ints

    @property
    def slots(self) -> int:
        """The number of accesses."""
        return len(self.tensor)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.footprint)


def trace_of(iteration: Iteration) -> Trace:
    """The accesses of an iteration."""
    slots: list[tuple[int, int, bool, bool, int]] = []
    first, rank = [0], _ranks(iteration)
    for number, step in enumerate(iteration.steps):
        reads, writes = set(step.reads), set(step.writes)
        touched = sorted(reads | writes, key=rank.__getitem__)
        place = {tensor: i for i, tensor in enumerate((*step.writes, *step.reads))}
        slots += [(number, tensor, tensor in reads, tensor in writes, place[tensor]) for tensor in touched]
        first.append(len(slots))
    table: npt.NDArray[Any] = np.array(slots, dtype=np.int64).reshape(-1, 5)
    step, tensor = table[:, 0].copy(), table[:, 1].copy()
    read, write = table[:, 2] > 0, table[:, 3] > 0
    bytes_of = np.array([t.bytes for t in iteration.tensors], dtype=np.int64)
    size = bytes_of[tensor] if len(tensor) else np.zeros(0, dtype=np.int64)
    following, previous, final = _links(iteration, tensor, read, write)
    footprint = np.add.reduceat(size, first[:-1]) if len(first) > 1 else np.zeros(0, dtype=np.int64)
    return Trace(
        iteration,
        np.array(first, dtype=np.int64),
        step,
        tensor,
        size,
        read,
        write,
        following,
        previous,
        final,
        np.lexsort((-np.arange(len(tensor)), size, step)),
        np.lexsort((table[:, 4], step)),
        footprint,
    )


def _ranks(iteration: Iteration) -> list[int]:
    """The rank of each tensor among those with the same next use: the first to be evicted has the highest."""
    tensors = iteration.tensors
    prefix = {"gradient": "dx ", "weight_gradient": "dw "}
    names = [f"{prefix.get(tensor.kind, '')}{tensor.name}" for tensor in tensors]
    order = sorted(range(len(tensors)), key=names.__getitem__, reverse=True)
    order.sort(key=lambda number: tensors[number].bytes)
    ranks = [0] * len(tensors)
    for rank, number in enumerate(order):
        ranks[number] = rank
    return ranks


def _links(iteration: Iteration, tensor: Ints, read: Bools, write: Bools) -> tuple[Ints, Ints, Bools]:
    """
    The next and the previous access of each slot, and whether its value is the one that must be in memory at the end.
    """
    count = len(tensor)
    following, previous = np.full(count, NEVER, dtype=np.int64), np.full(count, NEVER, dtype=np.int64)
    final = np.zeros(count, dtype=np.bool_)
    seen: dict[int, int] = {}
    for slot in range(count - 1, -1, -1):
        own = int(tensor[slot])
        later = seen.get(own, NEVER)
        if later == NEVER:
            final[slot] = own in iteration.live_out
        elif read[later]:
            following[slot], previous[later] = later, slot
        seen[own] = slot
    return following, previous, final

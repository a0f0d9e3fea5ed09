"""
What bringing a tensor from one form into another moves between devices, in closed form.

A form says for each level of the mesh which axis of the tensor the level cuts; None: each half has it whole. Changing
it takes, in this order, slices (nothing moves), an all-to-all for each level that cuts another axis, and an all-gather
for each level that cuts none any more, the outermost first, while there is least to gather. The gradient goes the same
way back: gathers become slices, slices gathers. A value that every device has whole, and that is read by work that a
level cuts, has a gradient of as many addends: an all-reduce.

Amounts count what all devices read of others, halved: for pairs that is what one side reads of the other. They are
integers, in units of 1 / (2 x devices) of a tensor's elements, so that none is rounded. Each is a row of one amount a
level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

Form = tuple[int | None, ...]
"""The axis that each level cuts."""
Amounts = tuple[int, ...]
Kind = Literal["slice", "all_to_all", "all_gather"]


@dataclass(frozen=True)
class Move:
    """One step: at a level, from one axis (slice: None) to another (gather: None)."""

    kind: Kind
    level: int
    source: int | None
    target: int | None


@lru_cache(maxsize=1 << 16)
def moves(source: Form, target: Form) -> tuple[Move, ...]:
    """The steps from one form to another."""
    levels = range(len(source))
    slices = [h for h in reversed(levels) if source[h] is None and target[h] is not None]
    swaps = [h for h in levels if source[h] is not None and target[h] is not None and source[h] != target[h]]
    gathers = [h for h in levels if source[h] is not None and target[h] is None]
    return (
        *(Move("slice", h, None, target[h]) for h in slices),
        *(Move("all_to_all", h, source[h], target[h]) for h in swaps),
        *(Move("all_gather", h, source[h], None) for h in gathers),
    )


@lru_cache(maxsize=1 << 18)
def moved(source: Form, target: Form, sizes: tuple[int, ...], *, back: bool, scattered: bool = False) -> Amounts:
    """
    What the way there moves, and the gradient's way back if it has one.

    With `scattered` each device has an addend of the gradient of what is gathered, so that the way back of a gather is
    a reduce-scatter, which moves as much.
    """
    found = [0] * len(sizes)
    devices = prod(sizes)
    cut = parts(source, sizes)
    for move in moves(source, target):
        size = sizes[move.level]
        each = devices * (devices // cut) * (size - 1)
        match move.kind:
            case "slice":
                cut *= size
                # what its gradient gathers are parts of this size
                found[move.level] += devices * (devices // cut) * (size - 1) if back else 0
            case "all_to_all":
                found[move.level] += each // size * (2 if back else 1)
            case "all_gather":
                found[move.level] += each * (2 if back and scattered else 1)
                cut //= size
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def summed(form: Form, levels: tuple[int, ...], sizes: tuple[int, ...]) -> Amounts:
    """What the sum of addends over some levels moves: reduced from the innermost level out, gathered back."""
    found = [0] * len(sizes)
    devices = prod(sizes)
    cut = parts(form, sizes)
    for h in sorted(levels, reverse=True):
        found[h] = 2 * devices * (devices // cut) * (sizes[h] - 1) // sizes[h]
        cut *= sizes[h]
    return tuple(found)


def parts(form: Form, sizes: Sequence[int]) -> int:
    """The number of parts that a tensor in that form is cut into."""
    return prod(size for axis, size in zip(form, sizes, strict=True) if axis is not None)

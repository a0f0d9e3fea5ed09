"""
Resharding cost: the elements that devices exchange to turn one layout of a tensor into another, in closed form.

A layout has for each level of the mesh the axis that the level shards, or None where all parts hold the whole. A
reshard takes, in this order, slices (no communication), an all-to-all for each level that shards another axis, and an
all-gather for each level that no longer shards any, outermost level first while there is least to gather. The gradient
goes back by the transposes: gathers become slices and slices gathers. Where a level splits the work that reads a whole
value, each part computes a partial sum of its gradient, and an all-reduce adds them.

Contributions of several consumers are added before they are reduced. At the levels where a value's gradient is deferred
(`deferred_gradient`) no consumer communicates: split work has a partial sum already, a part of the gradient is a
partial sum padded with zeros, and of a gradient that all devices have whole one device keeps it. Partial sums of a
value that are added to others (`partial_value`) are treated alike in the forward pass. Whoever holds the partial sums
reduces them, once.

Amounts count half of what all devices read from others: between two devices, what one of them reads. They are integers
in units of 1 / (2 x devices) of a tensor's elements, so that none is rounded, with one amount per level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

Layout = tuple[int | None, ...]
"""The axis that each level shards; None: whole."""
Amounts = tuple[int, ...]
Levels = tuple[int, ...]
Kind = Literal["slice", "all_to_all", "all_gather", "copy", "once", "place", "addend"]


@dataclass(frozen=True)
class Reshard:
    """
    A change of layout, and the levels with special treatment.

    `partial_gradient`: the consumer's work is split although it reads the whole value, so that its gradient is partial
    sums. `deferred_gradient`: the producer keeps the gradient as partial sums. `partial_value`: the consumer takes
    partial sums of the value. With `scatter_gradient` the gradient of a gathered value is reduce-scattered at the
    levels `partial_gradient`.
    """

    source: Layout
    target: Layout
    partial_gradient: Levels = ()
    deferred_gradient: Levels = ()
    partial_value: Levels = ()
    scatter_gradient: bool = False


@dataclass(frozen=True)
class ReshardStep:
    """
    One step over one level, or several for `copy`, `once` and `addend`: from one axis (slice: None) to another (gather:
    None).

    With `addends` each device has a partial sum of the gradient of the whole value.
    """

    kind: Kind
    levels: Levels
    source: int | None = None
    target: int | None = None
    addends: bool = False

    @property
    def level(self) -> int:
        """The level of a step over one level."""
        (level,) = self.levels
        return level


@lru_cache(maxsize=1 << 16)
def reshard_steps(reshard: Reshard) -> tuple[ReshardStep, ...]:
    """The steps of a reshard, in order."""
    source, target = reshard.source, reshard.target
    levels = range(len(source))
    sliced = [h for h in reversed(levels) if source[h] is None and target[h] is not None]
    swaps = [h for h in levels if source[h] is not None and target[h] is not None and source[h] != target[h]]
    opened = [h for h in levels if source[h] is not None and target[h] is None]
    scattered = [h for h in opened if reshard.scatter_gradient and h in reshard.partial_gradient]
    gathered = [h for h in opened if h not in scattered and h not in reshard.partial_value]
    copied = tuple(h for h in reshard.partial_gradient if h not in reshard.deferred_gradient and h not in scattered)
    once = tuple(h for h in reshard.deferred_gradient if target[h] is None and h not in reshard.partial_gradient)
    masked = tuple(h for h in reshard.partial_value if source[h] is None)
    return (
        *(ReshardStep("slice", (h,), None, target[h], addends=True) for h in sliced if h in reshard.deferred_gradient),
        *(ReshardStep("slice", (h,), None, target[h]) for h in sliced if h not in reshard.deferred_gradient),
        *(ReshardStep("all_to_all", (h,), source[h], target[h]) for h in swaps),
        *(ReshardStep("all_gather", (h,), source[h], None, addends=True) for h in scattered),
        *(ReshardStep("all_gather", (h,), source[h], None) for h in gathered),
        *((ReshardStep("copy", copied),) if copied else ()),
        *((ReshardStep("once", once),) if once else ()),
        *(ReshardStep("place", (h,), source[h], None) for h in opened if h in reshard.partial_value),
        *((ReshardStep("addend", masked),) if masked else ()),
    )


@lru_cache(maxsize=1 << 18)
def reshard_amounts(reshard: Reshard, sizes: tuple[int, ...]) -> tuple[Amounts, Amounts, Amounts]:
    """
    The amounts of a reshard: of the value forward, of its gradient back, and of the reduction of partial gradients.

    The reduce-scatter of a gathered value's gradient counts as going back.
    """
    there, back, sums = ([0] * len(sizes) for _ in range(3))
    devices = prod(sizes)
    cut = part_count(reshard.source, sizes)
    for step in reshard_steps(reshard):
        match step.kind:
            case "slice":
                size = sizes[step.level]
                cut *= size
                # the gradient's all-gather has parts of this size
                back[step.level] += 0 if step.addends else devices * (devices // cut) * (size - 1)
            case "all_to_all":
                size = sizes[step.level]
                each = devices * (devices // cut) * (size - 1) // size
                there[step.level] += each
                back[step.level] += each
            case "all_gather":
                size = sizes[step.level]
                each = devices * (devices // cut) * (size - 1)
                there[step.level] += each
                back[step.level] += each if step.addends else 0
                cut //= size
            case "copy":
                sums = _reduced(cut, step.levels, sizes)
            case "place":
                cut //= sizes[step.level]
            case "once" | "addend":
                pass
    return tuple(there), tuple(back), tuple(sums)


@lru_cache(maxsize=1 << 16)
def reduce_amounts(layout: Layout, levels: Levels, sizes: tuple[int, ...]) -> Amounts:
    """The amounts of an all-reduce over some levels: reduce-scatter from the innermost level out, then all-gather."""
    return tuple(_reduced(part_count(layout, sizes), levels, sizes))


@lru_cache(maxsize=1 << 16)
def scatter_amounts(layout: Layout, levels: Levels, sizes: tuple[int, ...]) -> Amounts:
    """
    The amounts of a reduce-scatter over some levels, from the innermost out; those of an all-gather back are equal.
    """
    return tuple(amount // 2 for amount in _reduced(part_count(layout, sizes), levels, sizes))


def _reduced(cut: int, levels: Levels, sizes: tuple[int, ...]) -> list[int]:
    found = [0] * len(sizes)
    devices = prod(sizes)
    for h in sorted(levels, reverse=True):
        found[h] = 2 * devices * (devices // cut) * (sizes[h] - 1) // sizes[h]
        cut *= sizes[h]
    return found


def part_count(layout: Layout, sizes: Sequence[int]) -> int:
    """The number of parts into which a layout shards a tensor."""
    return prod(size for axis, size in zip(layout, sizes, strict=True) if axis is not None)

"""
What bringing a tensor from one form into another moves between devices, in closed form.

A form says for each level of the mesh which axis of the tensor the level cuts; None: each half has it whole. Changing
it takes, in this order, slices (nothing moves), an all-to-all for each level that cuts another axis, and an all-gather
for each level that cuts none any more, the outermost first, while there is least to gather. The gradient goes the same
way back: gathers become slices, slices gathers. A value that every device has whole, and that is read by work that a
level cuts, has a gradient of as many addends: an all-reduce.

What several readers hand back is added before it is reduced. At the levels at which a value's gradient is `held` as
addends nothing of any reader's moves: work that is cut has an addend already, a part of the gradient is an addend with
zeros around it, and of a gradient that all devices have whole one keeps it. Forward it is the same of sums that several
nodes make addends of (`added`). Whoever holds the addends reduces them, once.

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

Layout = tuple[int | None, ...]
"""The axis that each level cuts."""
Amounts = tuple[int, ...]
Levels = tuple[int, ...]
Kind = Literal["slice", "all_to_all", "all_gather", "copy", "once", "place", "addend"]


@dataclass(frozen=True)
class Reshard:
    """
    From one form to another, and which levels are special.

    `held`: the gradient of what is read is kept as addends. `shared`: work is cut that reads all of the value, so that
    its gradient is addends. `added`: addends of the value are read. `scattered`: where a value is cut and its reader's
    level shared, the gradient is reduced and scattered.
    """

    source: Layout
    target: Layout
    shared: Levels = ()
    held: Levels = ()
    added: Levels = ()
    scattered: bool = False


@dataclass(frozen=True)
class ReshardStep:
    """
    One step over some levels, one but for `copy`: from one axis (slice: None) to another (gather: None).

    With `addends` each device has an addend of the gradient of what is whole.
    """

    kind: Kind
    levels: Levels
    source: int | None = None
    target: int | None = None
    addends: bool = False

    @property
    def level(self) -> int:
        """The level of a step over one."""
        (level,) = self.levels
        return level


@lru_cache(maxsize=1 << 16)
def reshard_steps(reshard: Reshard) -> tuple[ReshardStep, ...]:
    """The steps of a passage."""
    source, target = reshard.source, reshard.target
    levels = range(len(source))
    sliced = [h for h in reversed(levels) if source[h] is None and target[h] is not None]
    swaps = [h for h in levels if source[h] is not None and target[h] is not None and source[h] != target[h]]
    opened = [h for h in levels if source[h] is not None and target[h] is None]
    scattered = [h for h in opened if reshard.scattered and h in reshard.shared]
    gathered = [h for h in opened if h not in scattered and h not in reshard.added]
    copied = tuple(h for h in reshard.shared if h not in reshard.held and h not in scattered)
    once = tuple(h for h in reshard.held if target[h] is None and h not in reshard.shared)
    masked = tuple(h for h in reshard.added if source[h] is None)
    return (
        *(ReshardStep("slice", (h,), None, target[h], addends=True) for h in sliced if h in reshard.held),
        *(ReshardStep("slice", (h,), None, target[h]) for h in sliced if h not in reshard.held),
        *(ReshardStep("all_to_all", (h,), source[h], target[h]) for h in swaps),
        *(ReshardStep("all_gather", (h,), source[h], None, addends=True) for h in scattered),
        *(ReshardStep("all_gather", (h,), source[h], None) for h in gathered),
        *((ReshardStep("copy", copied),) if copied else ()),
        *((ReshardStep("once", once),) if once else ()),
        *(ReshardStep("place", (h,), source[h], None) for h in opened if h in reshard.added),
        *((ReshardStep("addend", masked),) if masked else ()),
    )


@lru_cache(maxsize=1 << 18)
def reshard_amounts(reshard: Reshard, sizes: tuple[int, ...]) -> tuple[Amounts, Amounts, Amounts]:
    """
    What a passage moves there, what its gradient moves back, and what the sum of the gradient's addends moves.

    What is scattered where it is gathered counts as going back.
    """
    there, back, sums = ([0] * len(sizes) for _ in range(3))
    devices = prod(sizes)
    cut = part_count(reshard.source, sizes)
    for step in reshard_steps(reshard):
        match step.kind:
            case "slice":
                size = sizes[step.level]
                cut *= size
                # what its gradient gathers are parts of this size
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
    """What the sum of addends over some levels moves: reduced from the innermost level out, gathered back."""
    return tuple(_reduced(part_count(layout, sizes), levels, sizes))


def _reduced(cut: int, levels: Levels, sizes: tuple[int, ...]) -> list[int]:
    found = [0] * len(sizes)
    devices = prod(sizes)
    for h in sorted(levels, reverse=True):
        found[h] = 2 * devices * (devices // cut) * (sizes[h] - 1) // sizes[h]
        cut *= sizes[h]
    return found


def part_count(layout: Layout, sizes: Sequence[int]) -> int:
    """The number of parts that a tensor in that form is cut into."""
    return prod(size for axis, size in zip(layout, sizes, strict=True) if axis is not None)

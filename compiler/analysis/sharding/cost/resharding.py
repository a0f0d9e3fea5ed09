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

Form = tuple[int | None, ...]
"""The axis that each level cuts."""
Amounts = tuple[int, ...]
Levels = tuple[int, ...]
Kind = Literal["slice", "all_to_all", "all_gather", "copy", "once", "place", "addend"]


@dataclass(frozen=True)
class Passage:
    """
    From one form to another, and which levels are special.

    `held`: the gradient of what is read is kept as addends. `shared`: work is cut that reads all of the value, so that
    its gradient is addends. `added`: addends of the value are read. `scattered`: where a value is cut and its reader's
    level shared, the gradient is reduced and scattered.
    """

    source: Form
    target: Form
    shared: Levels = ()
    held: Levels = ()
    added: Levels = ()
    scattered: bool = False


@dataclass(frozen=True)
class Move:
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
def moves(way: Passage) -> tuple[Move, ...]:
    """The steps of a passage."""
    source, target = way.source, way.target
    levels = range(len(source))
    sliced = [h for h in reversed(levels) if source[h] is None and target[h] is not None]
    swaps = [h for h in levels if source[h] is not None and target[h] is not None and source[h] != target[h]]
    opened = [h for h in levels if source[h] is not None and target[h] is None]
    scattered = [h for h in opened if way.scattered and h in way.shared]
    gathered = [h for h in opened if h not in scattered and h not in way.added]
    copied = tuple(h for h in way.shared if h not in way.held and h not in scattered)
    once = tuple(h for h in way.held if target[h] is None and h not in way.shared)
    masked = tuple(h for h in way.added if source[h] is None)
    return (
        *(Move("slice", (h,), None, target[h], addends=True) for h in sliced if h in way.held),
        *(Move("slice", (h,), None, target[h]) for h in sliced if h not in way.held),
        *(Move("all_to_all", (h,), source[h], target[h]) for h in swaps),
        *(Move("all_gather", (h,), source[h], None, addends=True) for h in scattered),
        *(Move("all_gather", (h,), source[h], None) for h in gathered),
        *((Move("copy", copied),) if copied else ()),
        *((Move("once", once),) if once else ()),
        *(Move("place", (h,), source[h], None) for h in opened if h in way.added),
        *((Move("addend", masked),) if masked else ()),
    )


@lru_cache(maxsize=1 << 18)
def moved(way: Passage, sizes: tuple[int, ...]) -> tuple[Amounts, Amounts, Amounts]:
    """
    What a passage moves there, what its gradient moves back, and what the sum of the gradient's addends moves.

    What is scattered where it is gathered counts as going back.
    """
    there, back, sums = ([0] * len(sizes) for _ in range(3))
    devices = prod(sizes)
    cut = parts(way.source, sizes)
    for move in moves(way):
        match move.kind:
            case "slice":
                size = sizes[move.level]
                cut *= size
                # what its gradient gathers are parts of this size
                back[move.level] += 0 if move.addends else devices * (devices // cut) * (size - 1)
            case "all_to_all":
                size = sizes[move.level]
                each = devices * (devices // cut) * (size - 1) // size
                there[move.level] += each
                back[move.level] += each
            case "all_gather":
                size = sizes[move.level]
                each = devices * (devices // cut) * (size - 1)
                there[move.level] += each
                back[move.level] += each if move.addends else 0
                cut //= size
            case "copy":
                sums = _reduced(cut, move.levels, sizes)
            case "place":
                cut //= sizes[move.level]
            case "once" | "addend":
                pass
    return tuple(there), tuple(back), tuple(sums)


@lru_cache(maxsize=1 << 16)
def summed(form: Form, levels: Levels, sizes: tuple[int, ...]) -> Amounts:
    """What the sum of addends over some levels moves: reduced from the innermost level out, gathered back."""
    return tuple(_reduced(parts(form, sizes), levels, sizes))


def _reduced(cut: int, levels: Levels, sizes: tuple[int, ...]) -> list[int]:
    found = [0] * len(sizes)
    devices = prod(sizes)
    for h in sorted(levels, reverse=True):
        found[h] = 2 * devices * (devices // cut) * (sizes[h] - 1) // sizes[h]
        cut *= sizes[h]
    return found


def parts(form: Form, sizes: Sequence[int]) -> int:
    """The number of parts that a tensor in that form is cut into."""
    return prod(size for axis, size in zip(form, sizes, strict=True) if axis is not None)

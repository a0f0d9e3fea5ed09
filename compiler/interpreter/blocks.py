"""
What tile operations compute with: blocks that know their places, and DRAM tensors that know what of them was written.

Each value remembers the state of its storage when it was made, so that using one that an operation has replaced is an
error instead of a wrong number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.interpreter.contraction import Array, Ranges, View
from npuc.dialects.npu.nest import MAX_POSITIONS, Axis

Mask: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = tuple[npt.NDArray[np.int64], ...]
"""The distinct positions of each axis, ascending."""

FAR = 1 << 62
"""The position up to which indices are computed in 64 bits."""


@dataclass
class Storage:
    """Memory that is updated in place: its contents, a mask of the elements with a value, and the number of updates."""

    data: Array
    written: Mask
    version: int = 0


@dataclass(frozen=True)
class Dram:
    """A tensor in DRAM that is being written; `moved` elements were written to make this value."""

    storage: Storage
    version: int = 0
    moved: int = 0


@dataclass(frozen=True)
class Block:
    """
    A block in SPM; `moved` elements were read to make this value.

    The storage spans the bounding box of `places`, the positions it holds, and begins at `origin`.
    """

    storage: Storage
    places: Places
    version: int = 0
    moved: int = 0

    @property
    def origin(self) -> tuple[int, ...]:
        """The position of the first element of the storage."""
        return tuple(int(axis[0]) if len(axis) else 0 for axis in self.places)

    def view(self, axes: Sequence[Axis]) -> View:
        """The block as seen through an index map."""
        return View(tuple(axes), latest(self).data, self.origin)

    def index(self, places: Places) -> tuple[Any, ...]:
        """The index of these positions in the storage; raises `InterpretationError` where it has others."""
        found = [axis - first for axis, first in zip(places, self.origin, strict=True)]
        for number, (axis, size) in enumerate(zip(found, self.storage.data.shape, strict=True)):
            if len(axis) and not 0 <= axis.min() <= axis.max() < size:
                first, held = places[number], self.places[number]
                has = f"positions {held[0]:,} to {held[-1]:,}" if len(held) else "no positions"
                raise InterpretationError(
                    f"a block has {has} of axis {number}, its use reaches {first.min():,} to {first.max():,}"
                )
        return np.ix_(*found)


def latest(value: object) -> Storage:
    """The storage of a value; an error if it has none of its own, or another operation has updated it since."""
    if not isinstance(value, Block | Dram):
        raise InterpretationError("a whole tensor was used where one is expected that is stored block by block")
    if value.version != value.storage.version:
        raise InterpretationError("a block or tensor was used after an operation that updated it in place")
    return value.storage


def updated(value: Block | Dram) -> int:
    """Count an update of the storage and return its version."""
    value.storage.version += 1
    return value.storage.version


def places_of(axes: Sequence[Axis], ranges: Ranges, sizes: Sequence[int] | None = None) -> Places:
    """The distinct positions that an index map reaches in a box; only those inside the sizes, if any are given."""
    return tuple(
        _positions(axis, tuple(ranges[dim] for dim, _ in axis.terms), None if sizes is None else sizes[number])
        for number, axis in enumerate(axes)
    )


@lru_cache(maxsize=4096)
def _positions(axis: Axis, ranges: tuple[tuple[int, int], ...], size: int | None) -> npt.NDArray[np.int64]:
    """
    The distinct positions of an axis for the ranges of its terms; read-only, as tiles share them.

    Raises `InterpretationError` for positions that 64 bits do not hold, or more than memory does.
    """
    reached = abs(axis.offset) + sum(
        abs(c) * max(abs(low), abs(high)) for (low, high), (_, c) in zip(ranges, axis.terms, strict=True)
    )
    if reached > FAR:
        raise InterpretationError(f"index {axis} reaches position {reached:,}, expected at most {FAR:,}")
    if (count := prod(high - low for low, high in ranges)) > MAX_POSITIONS:
        raise InterpretationError(f"index {axis} reaches {count:,} positions, expected at most {MAX_POSITIONS:,}")
    positions = np.array([axis.offset], np.int64)
    for (low, high), (_, coefficient) in zip(ranges, axis.terms, strict=True):
        reached = coefficient * np.arange(low, high)
        positions = positions + reached if len(positions) == 1 else np.unique(np.add.outer(positions, reached))
    if size is not None:
        positions = positions[(positions >= 0) & (positions < size)]
    positions.flags.writeable = False
    return positions


def new_block(places: Places, dtype: npt.DTypeLike) -> Block:
    """A block of zeros, with no element marked as written."""
    shape = [int(axis[-1] - axis[0]) + 1 if len(axis) else 0 for axis in places]
    return Block(Storage(np.zeros(shape, dtype), np.zeros(shape, np.bool_)), places)


def unwritten(dram: Dram) -> int:
    """The number of elements that no store has written."""
    return int((~latest(dram).written).sum())


def unread(value: Dram | Block, axes: Sequence[int]) -> int:
    """The number of elements of an accumulator initialiser along these axes that no written element has used."""
    written = latest(value).written
    return int((~written.any(axis=tuple(n for n in range(written.ndim) if n not in axes))).sum())


def spread(start: Array, axes: Sequence[int], shape: Sequence[int]) -> Array:
    """A start that runs along these axes, in a shape that broadcasts to `shape`."""
    return start.transpose(np.argsort(axes)).reshape([size if n in axes else 1 for n, size in enumerate(shape)])

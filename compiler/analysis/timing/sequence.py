"""Compressed sequences of tile operations, which `tiles.py` builds and `recurrence.py` evaluates."""

from __future__ import annotations

from npuc.compiler.analysis.machine.edge import FoldRun
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.widths import Width


@frozen(eq=False)
class SequenceNode:
    """
    Consecutive tile operations.

    `items` are (node, bits, count): `bits` move before each of the `count` runs. The first item has count 1, and the
    bits before it belong to the parent. A leaf has no items and is one tile operation. `cycles` are the compute cycles
    of all operations, `first` those of the first one; `moved` counts the bits inside and `loads` the operations that
    move any. `ends` are the folds of a leaf on an array whose edge they may wait for, and `waits` the cycles that they
    wait.
    """

    items: tuple[tuple[SequenceNode, int, int], ...]
    cycles: int
    first: int
    moved: Width = 0
    loads: int = 0
    ends: FoldRun | None = None
    waits: int = 0


@frozen
class TileSequence:
    """
    The operations, the bits that the first one waits for (`head`), and those written after the last (`tail`).

    `spare` are the bits of elements that no operation touches (zeros or initial values of an output): they may move at
    any time. `vector` are the cycles of the epilogue, `beside` those on the last blocks, which follow the last
    operation and overlap with the tail.
    """

    root: SequenceNode
    head: Width
    tail: Width
    spare: Width
    vector: int = 0
    beside: int = 0

    @property
    def moved(self) -> Width:
        """The bits of all transfers."""
        return self.head + self.root.moved + self.tail + self.spare

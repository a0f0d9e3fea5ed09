"""Tile operations that follow each other, compressed: what `tiles.py` builds and `recurrence.py` runs."""

from __future__ import annotations

from dataclasses import dataclass

from npuc.compiler.analysis.machine.edge import FoldRun


@dataclass(frozen=True, eq=False)
class SequenceNode:
    """
    Tile operations that follow each other.

    `items` are (node, bits, count): `bits` move before each of the `count` runs; those of the first item's first
    run are the caller's, and it stands alone. A leaf has none and is one tile operation. `cycles` is the compute of
    all operations, `first` that of the first one; `moved` counts the bits inside and `loads` the operations that
    move any. `ends` are the folds of a leaf, on an array whose edge they may wait for, and `waits` the cycles in which
    they do.
    """

    items: tuple[tuple[SequenceNode, int, int], ...]
    cycles: int
    first: int
    moved: int = 0
    loads: int = 0
    ends: FoldRun | None = None
    waits: int = 0


@dataclass(frozen=True)
class TileSequence:
    """
    The operations, the bits that the first one waits for (`head`), and those written after the last (`tail`).

    `spare` are the bits of elements that no operation touches (zeros or starts of an output): they may move at any
    time. `vector` are the cycles of vector work on finished blocks, `beside` those on the last blocks, which follow the
    last operation and run beside the tail.
    """

    root: SequenceNode
    head: int
    tail: int
    spare: int
    vector: int = 0
    beside: int = 0

    @property
    def moved(self) -> int:
        """All bits."""
        return self.head + self.root.moved + self.tail + self.spare

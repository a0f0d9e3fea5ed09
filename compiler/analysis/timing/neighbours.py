"""
Effects of a tile operation on its neighbours: stationary tiles left in the array, and waits for the array's edge.

The state before the first operation at some position of the loops is a number for each statement: -1 where its
stationary tile is in the array, else the cycles for which instructions wait for the next weights
(`analysis/machine/stationary.py`); it is empty where it makes no difference. Where folds wait for the array's edge
(`analysis/machine/edge.py`), the state is one number: -1 where the operation continues a group, else the length
required of the group in which the position ends (os: begins), or 0.
"""

from collections.abc import Iterator

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import isolated_waits, tile_cycles
from npuc.compiler.analysis.machine.edge import (
    FoldGroups,
    FoldRun,
    edge_cycles,
    left_of,
    lengths_beside,
    tile_groups,
    wait,
)
from npuc.compiler.analysis.machine.row_choice import configured, works
from npuc.compiler.analysis.machine.stationary import changes, group_wait
from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.dialects.npu.nest import Nest, Schedule

Found = tuple[int, ...]
Iterations = list[tuple[dict[str, int], int]]
"""Iterations of a loop: the extents in them, and how many of them are consecutive."""


class Neighbours:
    """The states between tile operations of a scheduled nest; always empty where operations are `isolated`."""

    def __init__(self, nest: Nest, schedule: Schedule, array: Array, *, isolated: bool):
        self.nest, self.schedule, self.isolated = nest, schedule, isolated
        self.array = configured(nest, schedule, array)
        self.finds = array.skips_reloads and not isolated
        # Where no fold waits for the edge, tile operations do not depend on their neighbours.
        edge = not isolated and edge_cycles(nest, schedule, array) > 0
        self.edge = FoldGroups(nest, schedule, array) if edge else None

    def begins(self, level: int, extents: dict[str, int]) -> Found:
        """The state before the first operation inside an iteration of a loop."""
        if self.edge is not None:
            return (0,)
        return self._groups(level, extents) if self.finds else ()

    def leaf(self, extents: dict[str, int], found: Found) -> SequenceNode:
        """One tile operation."""
        if self.array.row_stationary is not None:
            return self._passes(extents)
        found = isolated_waits(self.nest, self.array, extents) if self.isolated else found
        cycles = tile_cycles(self.nest, self.array, extents, found)
        ends: FoldRun | None = None
        waits = 0
        if self.array.most_shift:
            ends = tile_groups(self.nest, self.array, extents)
            beside = wait(found[0], ends.last) if self.edge is not None else 0
            cycles, waits = cycles + beside, ends.waits + beside
        return SequenceNode((), cycles, cycles, ends=ends, waits=waits)

    def _passes(self, extents: dict[str, int]) -> SequenceNode:
        """One tile operation of a row-stationary array, which depends on no other."""
        own = works(self.nest, self.array, extents)
        if self.array.only_streams:
            steady = sum(work.steady for work in own)
            return SequenceNode((), steady, steady)
        cycles = sum(work.cycles for work in own)
        return SequenceNode((), cycles, cycles, waits=sum(work.edge for work in own))

    def runs(
        self, level: int, extents: dict[str, int], found: Found, parts: Iterations
    ) -> Iterator[tuple[int, Found, int]]:
        """
        The iterations of a loop in order, whose dimensions have `extents`: index of the part, state before the first
        operation, count of equal iterations. `found` is the state before the loop; the first iteration of each part is
        listed alone.
        """
        if self.edge is not None:
            yield from self._edge_runs(level, extents, found[0], parts, self.edge)
            return
        for number, (inner, count) in enumerate(parts):
            later = self._found(level, inner)
            yield number, later if number else found, 1
            if count > 1:
                yield number, later, count - 1

    def _edge_runs(
        self, level: int, extents: dict[str, int], outside: int, parts: Iterations, edge: FoldGroups
    ) -> Iterator[tuple[int, Found, int]]:
        """The iterations where folds wait for the array's edge: for their successors, or in os their predecessors."""
        groups = [(edge.inside(level + 1, inner), count) for inner, count in parts]
        if not edge.goes_on(level, extents):
            for number, length, count in lengths_beside(groups, outside, self.array):
                yield number, (length,), count
            return
        # All iterations are one group: its first operation waits for what the others do not hide.
        first = groups[0][0]
        others = sum(own.first * count for own, count in groups) - first.first
        begin = outside if outside < 0 else left_of(max(0, outside - others), first)
        for number, (_, count) in enumerate(parts):
            yield number, (-1,) if number else (begin,), 1
            if count > 1:
                yield number, (-1,), count - 1

    def _found(self, level: int, extents: dict[str, int]) -> Found:
        """Of each statement, -1 if its stationary tile is the same after a step of a loop, else the group's wait."""
        if not self.finds:
            return ()
        new = [changes(self.nest, self.schedule, s, self.array, level, extents) for s in self.nest.statements]
        return tuple(w if n else -1 for w, n in zip(self._groups(level, extents), new, strict=True))

    def _groups(self, level: int, extents: dict[str, int]) -> Found:
        statements = self.nest.statements
        return tuple(group_wait(self.nest, self.schedule, s, self.array, level, extents) for s in statements)

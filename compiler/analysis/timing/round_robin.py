"""
Round-robin execution of sequences of tile operations: A1 B1 A2 B2 …; the longer ones continue when others have ended.

The sequences are trees with repetitions (`tiles.py`), and so is their interleaving. Where all sequences repeat a part,
the interleaving of a common multiple of operations is built once and repeated; parts are expanded only where
repetitions end. So the cost depends on the number of different combinations of parts, not on trip counts.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import lcm
from typing import TypeAlias

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.edge import FoldRun, in_order, lengths_beside, wait
from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.dialects.npu.widths import Width

Run: TypeAlias = tuple[SequenceNode, int, int]
"""A node, the bits that move before each of its runs, how often it runs."""


def round_robin_sequence(sequences: Sequence[tuple[SequenceNode, int]]) -> tuple[SequenceNode, int]:
    """The round-robin sequence of sequences that are given with the bits moved before their first operation."""
    return _Interleaver().whole(tuple((node, moved, 1) for node, moved in sequences)), sequences[0][1]


class _Interleaver:
    def __init__(self) -> None:
        self.sizes: dict[SequenceNode, int] = {}
        self.known: dict[tuple[Run, ...], SequenceNode] = {}

    def whole(self, parts: tuple[Run, ...]) -> SequenceNode:
        """The node of some repetitions of a part of each sequence, all of them run to their end."""
        found = self.known.get(parts)
        if found is None:
            if all(count == 1 and not node.items for node, _, count in parts):
                found = node_of(list(parts))
            else:
                found = node_of(self._runs([_inside(*part) if part[2] == 1 else [part] for part in parts]))
            self.known[parts] = found
        return found

    def _runs(self, stacks: list[list[Run]]) -> list[Run]:
        """The woven runs; each stack holds what is left of a sequence, the next part last."""
        done: list[Run] = []
        while len(left := [stack for stack in stacks if stack]) > 1:
            tops = [stack[-1] for stack in left]
            sizes = [self._size(node) for node, _, _ in tops]
            together = lcm(*sizes)
            needs = [together // size for size in sizes]
            times = min(count // need for (_, _, count), need in zip(tops, needs, strict=True))
            if times > 1 or (times == 1 and max(needs) == 1):
                parts = tuple((node, moved, need) for (node, moved, _), need in zip(tops, needs, strict=True))
                _add(done, (self.whole(parts), tops[0][1], times))
                for stack, need in zip(left, needs, strict=True):
                    _take(stack, times * need)
                continue
            for stack, size in zip(left, sizes, strict=True):
                if size == max(sizes):
                    node, moved, _ = stack[-1]
                    _take(stack, 1)
                    stack += _inside(node, moved, 1)
        for stack in left:
            for run in reversed(stack):
                _add(done, run)
        return done

    def _size(self, node: SequenceNode) -> int:
        """The number of tile operations of a node."""
        found = self.sizes.get(node)
        if found is None:
            found = sum(self._size(child) * count for child, _, count in node.items) or 1
            self.sizes[node] = found
        return found


def _inside(node: SequenceNode, moved: Width, count: int) -> list[Run]:
    """What one run of a node consists of, the first part last."""
    if not node.items:
        return [(node, moved, count)]
    (first, _, times), *others = node.items
    own: list[Run] = [(first, moved, times), *others]
    return own[::-1]


def _take(stack: list[Run], count: int) -> None:
    """Take repetitions of the next part off a stack."""
    node, moved, left = stack.pop()
    if left > count:
        stack.append((node, moved, left - count))


def _add(runs: list[Run], run: Run) -> None:
    """Append a run, as more repetitions of the last one if it is the same part."""
    if runs and runs[-1][:2] == run[:2]:
        runs[-1] = (run[0], run[1], runs[-1][2] + run[2])
    else:
        runs.append(run)


def node_of(runs: list[Run]) -> SequenceNode:
    """The node of these runs; the bits before the first of them are the caller's."""
    first, moved, count = runs[0]
    if len(runs) == 1 and count == 1:
        return first
    again = [(first, moved, count - 1)] if count > 1 else []
    items = [(first, 0, 1), *again, *runs[1:]]
    return SequenceNode(
        tuple(items),
        sum(node.cycles * times for node, _, times in items),
        first.first,
        sum((node.moved + bits) * times for node, bits, times in items),
        sum((node.loads + (bits > 0)) * times for node, bits, times in items),
        waits=sum(node.waits * times for node, _, times in items),
    )


def with_waits(root: SequenceNode, array: Array) -> SequenceNode:
    """The same operations, each with what its outer group waits for the array's edge between it and its neighbour."""
    return _Neighbours(array).node(root, 0) if array.most_shift else root


class _Neighbours:
    def __init__(self, array: Array):
        self.array = array
        self.groups: dict[SequenceNode, FoldRun] = {}
        self.known: dict[tuple[SequenceNode, int], SequenceNode] = {}

    def node(self, node: SequenceNode, length: int) -> SequenceNode:
        """A node whose last group (os: first) must be of a length, 0 where it is."""
        if not length and not self._of(node).waits:
            return node
        found = self.known.get((node, length))
        if found is not None:
            return found
        if not node.items:
            beside = wait(length, self._of(node).last)
            found = replace(node, cycles=node.cycles + beside, first=node.first + beside, waits=node.waits + beside)
        else:
            parts = [(self._of(child), count) for child, _, count in node.items]
            found = node_of(
                [
                    (self.node(node.items[number][0], own), node.items[number][1], count)
                    for number, own, count in lengths_beside(parts, length, self.array)
                ]
            )
        self.known[node, length] = found
        return found

    def _of(self, node: SequenceNode) -> FoldRun:
        """The groups of a node."""
        found = self.groups.get(node)
        if found is None:
            found = node.ends
            if found is None:
                parts = (self._of(child).times(count, same=False) for child, _, count in node.items)
                found = in_order(parts, self.array)
            self.groups[node] = found
        return found

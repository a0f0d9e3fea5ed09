"""The tile operations of a scheduled nest one by one, in order, for timelines of the first of them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import tile_cycles
from npuc.compiler.analysis.machine.edge import is_forward, wait
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import works
from npuc.compiler.analysis.machine.stationary import placement
from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.widths import Width


def leaves(node: SequenceNode, moved: Width) -> Iterator[tuple[SequenceNode, Width]]:
    """The tile operations in order, each with the bits that move before it."""
    if not node.items:
        yield node, moved
    for number, (child, before, count) in enumerate(node.items):
        for _ in range(count):
            yield from leaves(child, before if number else moved)


def tile_extents(nest: Nest, schedule: Schedule, level: int, sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    """The extents of the dimensions in every tile operation, in order."""
    if level == len(schedule.loops):
        yield sizes
        return
    loop = schedule.loops[level]
    for low in range(0, sizes[loop.dim], loop.step):
        inner = sizes | {loop.dim: min(loop.step, sizes[loop.dim] - low)}
        yield from tile_extents(nest, schedule, level + 1, inner)


def tile_folds(nest: Nest, machine: Machine, extents: dict[str, int]) -> Iterator[tuple[int, int]]:
    """The steps that each fold of a tile operation streams, and the rows that it uses."""
    array = machine.array
    for statement in nest.statements:
        batch, m, n, k = gemm_view(nest, statement).sizes(extents)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        for _ in range(batch * -(-size[place.cols] // array.cols)):
            for row in range(0, size[place.rows], array.rows):
                yield place.steps(size), min(array.rows, size[place.rows] - row)


def edge_waits(nest: Nest, machine: Machine, extents: dict[str, int], leaf: SequenceNode) -> list[int]:
    """The waits of a tile operation's folds for the array's edge; an outermost fold has the wait between operations."""
    array, folds = machine.array, list(tile_folds(nest, machine, extents))
    if not array.most_shift:
        return [0 for _ in folds]
    pairs = list(pairwise(folds))
    if is_forward(array):
        between = [wait(array.shift(rows), streamed) for (streamed, _), (_, rows) in pairs]
        return [*between, leaf.waits - sum(between)]
    between = [wait(array.shift(rows), streamed) for (_, rows), (streamed, _) in pairs]
    return [leaf.waits - sum(between), *between]


def pass_parts(
    nest: Nest, array: Array, extents: dict[str, int]
) -> Iterator[tuple[Literal["fill", "steady", "edge"], int]]:
    """What a tile operation of a row-stationary array takes, configured for the nest; all passes of a kind together."""
    own = works(nest, array, extents)
    yield "fill", sum(work.filling for work in own)
    yield "steady", sum(work.steady for work in own)
    if any(work.edge for work in own):
        yield "edge", sum(work.edge for work in own)


def least_cycles(nest: Nest, machine: Machine, extents: dict[str, int]) -> int:
    """The cycles of a tile operation whose stationary tiles are in the array already."""
    return tile_cycles(nest, machine.array, extents, tuple(-1 for _ in nest.statements))


def longest_fold(nest: Nest, machine: Machine, extents: dict[str, int]) -> int:
    """The cycles of the longest fold of a tile operation."""
    longest = 0
    for statement in nest.statements:
        _, m, n, k = gemm_view(nest, statement).sizes(extents)
        longest = max(longest, placement(statement, machine.array).steps({"m": m, "n": n, "k": k}))
    return machine.array.stream(longest)

"""The tile operations of a scheduled nest one by one, in order: for looking at the first of them."""

from collections.abc import Iterator

from npuc.compiler.analysis.compute import tile_cycles
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.residency import placement
from npuc.compiler.analysis.sequence import Node
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule


def leaves(node: Node, moved: int) -> Iterator[tuple[Node, int]]:
    """The tile operations in order, each with the bytes that move before it."""
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


def tile_folds(nest: Nest, machine: Machine, extents: dict[str, int]) -> Iterator[int]:
    """The steps that each fold of a tile operation streams."""
    array = machine.array
    for statement in nest.statements:
        batch, m, n, k = gemm_view(nest, statement).sizes(extents)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        for _ in range(batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)):
            yield size[place.streamed]


def least_cycles(nest: Nest, machine: Machine, extents: dict[str, int]) -> int:
    """The cycles of a tile operation that finds its tiles in the array."""
    return tile_cycles(nest, machine.array, extents, tuple(-1 for _ in nest.statements))


def longest_fold(nest: Nest, machine: Machine, extents: dict[str, int]) -> int:
    """The cycles of the longest fold of a tile operation."""
    longest = 0
    for statement in nest.statements:
        _, m, n, k = gemm_view(nest, statement).sizes(extents)
        longest = max(longest, {"m": m, "n": n, "k": k}[placement(statement, machine.array).streamed])
    return machine.array.stream(longest)

"""
Which layer of one report is which of another: by name, then by shape and place.

Layers of one name are the same layer. Those that have a name in one report alone are compared by what their forward
pass computes, in the order of the program: between two neighbours that the reports have in common by name and in the
same order, the longest common subsequence of these shapes is what was renamed; where what is left between two of these
is, one for one, of the same operations in other sizes, that was renamed, too. Nothing is paired across neighbours.

The pairs do not depend on which report comes first. They take O(n log n) time, and O(n m / w) of the n and m layers
that are in one report alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

from npuc.compiler.report.difference.subsequence import common_subsequence, increasing_subsequence
from npuc.compiler.report.layers import Line
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import Section


class _MeantFacts(Section, frozen=True):
    """Of vector work the train operation that it stands for, where the backend says it."""

    work: str


Shape = tuple[tuple[str | int, ...], ...]
"""What a layer computes: of each row its phase, kind and operation, how often it runs, its sizes and work."""
Pair = tuple[int | None, int | None]
"""The positions of a layer in both reports; None where it is not there."""


def operation_of(row: OpRow) -> str:
    """What an operation computes: the train operation that vector work stands for, where the backend says it."""
    facts = _MeantFacts.found_in(row)
    return row.op if facts is None else facts.work


def shape_of(line: Line) -> Shape:
    """
    What a layer computes, in whatever schedule: operations, sizes and work of its forward pass, of all its rows where
    it has none. Its gradients follow from that, and may be one row or two.
    """
    rows = [row for row in line.rows if row.phase == "forward"] or line.rows
    return tuple(
        (
            *(row.phase, row.kind, operation_of(row), row.repeat),
            *(-1 if n is None else n for n in (row.batch, row.m, row.n, row.k, row.macs, row.vector_ops)),
        )
        for row in rows
    )


def aligned(a: Sequence[Line], b: Sequence[Line]) -> list[Pair]:
    """The layers of both reports, in the order of A; those of B alone behind the layer that they follow in B."""
    shapes_a, shapes_b = [*map(shape_of, a)], [*map(shape_of, b)]
    names_a, names_b = [line.name for line in a], [line.name for line in b]
    if [*zip(names_b, shapes_b, strict=True)] < [*zip(names_a, shapes_a, strict=True)]:  # of ties always the same
        pairs = [(i, j) for j, i in _pairs(names_b, shapes_b, names_a, shapes_a)]
    else:
        pairs = _pairs(names_a, shapes_a, names_b, shapes_b)
    return _in_order(pairs, len(a), len(b))


def _pairs(
    names_a: Sequence[str], shapes_a: Sequence[Shape], names_b: Sequence[str], shapes_b: Sequence[Shape]
) -> list[tuple[int, int]]:
    place = {name: j for j, name in enumerate(names_b)}
    named = [(i, place[name]) for i, name in enumerate(names_a) if name in place]
    in_order = [named[n] for n in increasing_subsequence([j for _, j in named])]
    known_a, known_b = {i for i, _ in named}, {j for _, j in named}
    found = list(named)
    ends = [(-1, -1), *in_order, (len(names_a), len(names_b))]
    for (i0, j0), (i1, j1) in pairwise(ends):
        free_a = [i for i in range(i0 + 1, i1) if i not in known_a]
        free_b = [j for j in range(j0 + 1, j1) if j not in known_b]
        common = common_subsequence([shapes_a[i] for i in free_a], [shapes_b[j] for j in free_b])
        pairs = [(free_a[i], free_b[j]) for i, j in common]
        found += [*pairs, *_resized(free_a, free_b, pairs, shapes_a, shapes_b)]
    return found


def _resized(
    free_a: Sequence[int],
    free_b: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    shapes_a: Sequence[Shape],
    shapes_b: Sequence[Shape],
) -> Iterator[tuple[int, int]]:
    """
    Layers that have another name and other sizes: where all that are left between two neighbours are, one for one, of
    the same operations.
    """
    ends = [(-1, -1), *pairs, (max(free_a, default=0) + 1, max(free_b, default=0) + 1)]
    for (i0, j0), (i1, j1) in pairwise(ends):
        own_a = free_a[bisect_right(free_a, i0) : bisect_left(free_a, i1)]
        own_b = free_b[bisect_right(free_b, j0) : bisect_left(free_b, j1)]
        if [_operations(shapes_a[i]) for i in own_a] == [_operations(shapes_b[j]) for j in own_b]:
            yield from zip(own_a, own_b, strict=True)


def _operations(shape: Shape) -> Hashable:
    """The operations of a shape without sizes and work."""
    return tuple(row[:3] for row in shape)


def _in_order(pairs: Sequence[tuple[int, int]], count_a: int, count_b: int) -> list[Pair]:
    """The pairs with the layers that have none."""
    partner_b, partner_a = dict(pairs), {j: i for i, j in pairs}
    placed: list[tuple[tuple[int, int, int], Pair]] = [((i, 0, 0), (i, partner_b.get(i))) for i in range(count_a)]
    behind = -1
    for j in range(count_b):
        if j in partner_a:
            behind = partner_a[j]
        else:
            placed.append(((behind, 1, j), (None, j)))
    return [pair for _, pair in sorted(placed, key=lambda one: one[0])]

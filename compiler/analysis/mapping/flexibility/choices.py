"""The choices of three axes as plain sets: orders of loops, pairs of parallel dimensions, shapes of the array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import factorial, prod

from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction

Order = tuple[str, ...]
Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""The dimensions that the rows of an array share, and those that its columns share; mostly one each."""
Shape = tuple[int, int]


def order_count(dims: int) -> int:
    """All orders of so many loops: 720 of a convolution's six."""
    return factorial(dims)


def stationary_orders(work: Contraction, own: Order) -> tuple[Order, ...]:
    """
    One order for each tensor that can stay while the loops inside run: its dimensions outside, the others inside.

    `own`, the order of the machine's dataflow, stands for the tensor that it keeps longest; the others are as close to
    it as can be.
    """
    kept = max(range(len(ROLES)), key=lambda n: _still(set(work.coupled(ROLES[n])), own))
    found: list[Order] = []
    for number, role in enumerate(ROLES):
        coupled = set(work.coupled(role))
        outside = tuple(dim for dim in own if dim in coupled)
        inside = tuple(dim for dim in own if dim not in coupled)
        found.append(own if number == kept else outside + inside)
    return tuple(dict.fromkeys(found))


def _still(coupled: set[str], order: Order) -> int:
    """How many innermost loops run while a tensor stays."""
    count = 0
    for dim in reversed(order):
        if dim in coupled:
            break
        count += 1
    return count


def usable_orders(orders: tuple[Order, ...], sizes: dict[str, int]) -> int:
    """How many of the orders differ for loops of these sizes: a loop with a single step has no place."""
    return len({tuple(dim for dim in order if sizes[dim] > 1) for order in orders})


def keeps(order: Order, before: Sequence[tuple[str, str]], sizes: dict[str, int]) -> bool:
    """Whether an order has the first loop of each pair outside of the second, as far as both have several steps."""
    place = {dim: number for number, dim in enumerate(order) if sizes[dim] > 1}
    return all(place[a] < place[b] for a, b in before if a in place and b in place)


def kept_orders(dims: Sequence[str], before: Sequence[tuple[str, str]]) -> int:
    """How many orders of loops have the first one of each pair outside of the second."""
    outside = [[dims.index(a) for a, b in before if b == dim and a in dims] for dim in dims]
    ways = [1] + [0] * ((1 << len(dims)) - 1)  # of each set of loops, those outside of all others
    for some, count in enumerate(ways):
        for at in range(len(dims)):
            if not some >> at & 1 and all(some >> other & 1 for other in outside[at]):
                ways[some | 1 << at] += count
    return ways[-1]


def pairs_of(dims: tuple[str, ...]) -> tuple[Pair, ...]:
    """All ordered pairs of different dimensions: what rows of the array share, and what its columns share."""
    return tuple(((rows,), (columns,)) for rows, columns in permutations(dims, 2))


def shapes_of(elements: int, block: int = 1) -> tuple[Shape, ...]:
    """All shapes rows x columns of so many elements, both multiples of `block`."""
    return tuple(
        (rows, elements // rows)
        for rows in range(1, elements + 1)
        if elements % rows == 0 and rows % block == 0 and (elements // rows) % block == 0
    )


def size_of(dims: tuple[str, ...], sizes: dict[str, int]) -> int:
    """How many sub-clusters dimensions that are spread together can use: 1 of no dimension."""
    return prod(sizes[dim] for dim in dims)


def is_usable(pair: Pair, shape: Shape, sizes: dict[str, int]) -> bool:
    """Whether dimensions of these sizes have work for every row and every column of the array."""
    return all(size_of(dims, sizes) >= count for dims, count in zip(pair, shape, strict=True))

"""
A graph of choices: nodes that each take one of some labels, and what their labels cost alone and by pairs.

    cost of a choice x  =  sum over nodes i of unary_i[x_i]  +  sum over pairs (i, j) of pairs_ij[x_i, x_j]

Costs are int64, float64 with inf where labels are not allowed, or Python's whole numbers and fractions (dtype object)
with inf likewise. Sums of whole numbers are exact: where 64 bits do not hold them, Python's numbers are taken.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[Any]
Number = int | float | Fraction
MOST = 2.0**62
"""Whole numbers whose sums may reach this are Python's: some room is left for what a sum is compared with."""
MOST_FLOAT = 2.0**53
"""Whole numbers that stand beside floats are floats as long as their sums are below this: then these are exact."""
MOST_ENTRIES = 1 << 20
"""So many costs are looked at together."""


@dataclass(frozen=True, eq=False)
class Choices:
    """
    What may be chosen, and at what cost: the number of labels of each node, its costs, and the costs of pairs.

    A pair may be given as (i, j) and as (j, i): both count. Raises `ValueError` where costs do not fit the labels, or
    are neither numbers nor inf. Arrays that are given may be shared and must not change later.
    """

    sizes: Sequence[int]
    unary: Sequence[Table]
    pairs: Mapping[tuple[int, int], Table]

    def __post_init__(self) -> None:
        sizes = tuple(int(size) for size in self.sizes)
        _check_shapes(sizes, self.unary, self.pairs)
        tables = alike([*self.unary, *self.pairs.values()])
        pairs: dict[tuple[int, int], Table] = {}
        total = SharedSums()
        for (i, j), table in zip(self.pairs, tables[len(sizes) :], strict=True):
            key, turned = ((i, j), table) if i < j else ((j, i), table.T)
            pairs[key] = total(pairs[key], turned) if key in pairs else turned
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "unary", tuple(tables[: len(sizes)]))
        object.__setattr__(self, "pairs", {key: pairs[key] for key in sorted(pairs)})

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of all costs: int64, float64 or object."""
        return self.unary[0].dtype if self.unary else np.dtype(np.int64)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every cost is a whole number by its type, or inf."""
        if self.dtype != np.object_:
            return self.dtype == np.int64
        tables = (*self.unary, *self.pairs.values())
        return all(isinstance(x, int) or x == math.inf for table in tables for x in table.flat)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that each node has pairs with, ascending."""
        found: list[list[int]] = [[] for _ in self.sizes]
        for i, j in self.pairs:
            found[i].append(j)
            found[j].append(i)
        return tuple(tuple(sorted(nodes)) for nodes in found)

    def facing(self, i: int, j: int) -> Table:
        """The costs of a pair by the labels of i, then of j."""
        return self.pairs[i, j] if i < j else self.pairs[j, i].T

    def restricted(self, kept: Sequence[Sequence[int]]) -> Choices:
        """The same, of some labels of each node alone. Pairs of equal labels that share a table share one again."""
        if all(len(labels) == size for labels, size in zip(kept, self.sizes, strict=True)):
            return self
        unary = [table[np.array(labels, np.intp)] for table, labels in zip(self.unary, kept, strict=True)]
        own = [tuple(labels) for labels in kept]
        known: dict[Hashable, Table] = {}
        pairs: dict[tuple[int, int], Table] = {}
        for (i, j), table in self.pairs.items():
            key = memory_of(table), own[i], own[j]
            if key not in known:
                known[key] = table[np.ix_(own[i], own[j])]
            pairs[i, j] = known[key]
        return Choices([len(labels) for labels in kept], unary, pairs)

    def cost(self, choice: Sequence[int]) -> Number:
        """What a choice costs: exact for whole numbers and fractions, rounded once for floats."""
        terms = [table.item(label) for table, label in zip(self.unary, choice, strict=True)]
        terms += [table.item(choice[i], choice[j]) for (i, j), table in self.pairs.items()]
        return math.fsum(terms) if self.dtype == np.float64 else sum(terms)


@dataclass(frozen=True)
class Result:
    """
    A choice, what it costs, and a cost that none goes below.

    `cost` is inf where nothing is allowed. `exact`: no choice costs less, and `bound` is `cost` (for floats, to the
    rounding of their sums; a bound of a choice that is not exact is rounded down). `width` is the induced width of the
    order in which nodes were eliminated: the most nodes that one of them leaves a table of.
    """

    choice: tuple[int, ...]
    cost: Number
    bound: Number
    exact: bool
    width: int


def alike(tables: Sequence[Table]) -> list[Table]:
    """The same costs as arrays of one type that holds their sums. Raises `ValueError` for what is no cost."""
    kinds = {table.dtype.kind for table in tables}
    if kinds - set("biufO"):
        raise ValueError(f"costs are numbers: found arrays of the kinds {sorted(kinds)}")
    floats = [table for table in tables if table.dtype.kind == "f"]
    most, most_whole = largest_sum(floats), largest_sum([table for table in tables if table.dtype.kind in "biu"])
    if "O" in kinds or most_whole >= (MOST_FLOAT if floats else MOST):
        return each_once(tables, _python_numbers)
    if floats and most == math.inf:
        raise ValueError("costs are too large: their sums have to be finite floats")
    kind = np.dtype(np.float64 if floats else np.int64)
    return [table.astype(kind, copy=False) for table in tables]


def largest_sum(tables: Sequence[Table]) -> float:
    """
    The sum of the largest amount in each array, inf left out. Raises `ValueError` for NaN and -inf.

    Arrays of the same memory, as in graphs of many equal nodes, are looked at once.
    """
    memories = [memory_of(table) for table in tables if table.size]
    known = dict(zip(memories, (table for table in tables if table.size), strict=True))
    place = {memory: number for number, memory in enumerate(known)}
    most = [_largest(some) for some in _in_parts([*known.values()])]
    with np.errstate(over="ignore"):
        return float(np.concatenate(most)[[place[memory] for memory in memories]].sum()) if memories else 0.0


def distinct(tables: Sequence[Table]) -> list[Table]:
    """One array of each memory."""
    return [*{memory_of(table): table for table in tables}.values()]


def has_inf(tables: Sequence[Table]) -> bool:
    """Whether something is not allowed."""
    return any((table == np.inf).any() for table in distinct(tables))


def each_once(tables: Sequence[Table], change: Callable[[Table], Table]) -> list[Table]:
    """What a function makes of each array: arrays of the same memory share what is made of one of them."""
    known: dict[Hashable, Table] = {}
    found: list[Table] = []
    for table in tables:
        memory = memory_of(table)
        if memory not in known:
            known[memory] = change(table)
        found.append(known[memory])
    return found


class SharedSums:
    """Sums of two arrays by `add`: arrays of the same memory have one sum, so that graphs of equal nodes stay small."""

    def __init__(self, add: Callable[[Table, Table], Table] = operator.add):
        self._add = add
        self._known: dict[Hashable, tuple[Table, Table, Table]] = {}

    def __call__(self, a: Table, b: Table) -> Table:
        key = memory_of(a), memory_of(b)
        if key not in self._known:  # with what is added, so that its memory is not that of others later
            self._known[key] = a, b, self._add(a, b)
        return self._known[key][2]


def memory_of(table: Table) -> Hashable:
    """What is equal for arrays that look at the same memory in the same way."""
    return table.__array_interface__["data"][0], table.shape, table.strides, table.dtype


def _in_parts(tables: Sequence[Table]) -> Iterator[list[Table]]:
    """Arrays in groups of at most `MOST_ENTRIES` entries, or of one."""
    part, entries = list[Table](), 0
    for table in tables:
        if part and entries + table.size > MOST_ENTRIES:
            yield part
            part, entries = [], 0
        part.append(table)
        entries += table.size
    if part:
        yield part


def _largest(tables: Sequence[Table]) -> npt.NDArray[np.float64]:
    """The largest amount in each array but inf. Raises `ValueError` for NaN and -inf."""
    flat: npt.NDArray[np.float64] = np.concatenate([table.ravel() for table in tables]).astype(np.float64)
    if np.isnan(flat).any() or (flat == -np.inf).any():
        raise ValueError("costs are numbers or inf: found NaN or -inf")
    amounts = np.where(flat == np.inf, 0.0, np.abs(flat))
    starts: npt.NDArray[np.intp] = np.cumsum([0, *(table.size for table in tables[:-1])])
    return np.maximum.reduceat(amounts, starts)


def times(table: Table, factor: int) -> Table:
    """Whole numbers times another, which are Python's where 64 bits do not hold them."""
    if table.dtype == np.int64 and table.size and int(np.abs(table).max()) * abs(factor) >= 2**60:
        table = table.astype(np.object_)
    return table * factor


def plus(a: Table, b: Table) -> Table:
    """The sum of tables of whole numbers, one of many: Python's where 64 bits might not hold all of them."""
    if a.dtype == np.int64 and b.dtype == np.int64 and int(np.abs(a).max()) + int(np.abs(b).max()) >= 2**61:
        a = a.astype(np.object_)
    return a + b


def sum_down(a: Number, b: Number) -> Number:
    """The sum, rounded down if it is a float."""
    total = a + b
    return math.nextafter(total, -math.inf) if isinstance(total, float) and total < math.inf else total


def _check_shapes(sizes: tuple[int, ...], unary: Sequence[Table], pairs: Mapping[tuple[int, int], Table]) -> None:
    if len(unary) != len(sizes):
        raise ValueError(f"there are {len(sizes)} nodes and costs of {len(unary)}")
    for node, (size, table) in enumerate(zip(sizes, unary, strict=True)):
        if size < 1 or table.shape != (size,):
            raise ValueError(f"node {node} has {size} labels (at least 1) and costs of shape {table.shape}")
    for (i, j), table in pairs.items():
        if i == j or not (0 <= i < len(sizes) and 0 <= j < len(sizes)):
            raise ValueError(f"({i}, {j}) is no pair of two of {len(sizes)} nodes")
        if table.shape != (sizes[i], sizes[j]):
            raise ValueError(f"nodes {i} and {j} have {sizes[i]} and {sizes[j]} labels, costs of shape {table.shape}")


def _python_numbers(table: Table) -> Table:
    """The costs as Python's numbers, exactly."""
    numbers = np.empty(table.shape, dtype=np.object_)
    numbers.reshape(-1)[:] = [_python_number(x) for x in table.ravel().tolist()]
    return numbers


def _python_number(x: object) -> Number:
    match x:
        case Fraction():
            return x
        case int() | np.integer():
            return int(x)
        case float() | np.floating() if x == math.inf:
            return math.inf
        case float() | np.floating() if math.isfinite(x):
            return int(x) if float(x).is_integer() else Fraction(float(x))
        case _:
            raise ValueError(f"costs are numbers or inf: found {x!r}")

"""Array cycles and SPM accesses at every combination of tilings of a schedule search."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import members, placement
from npuc.compiler.analysis.nest.elements import Bits, real
from npuc.compiler.analysis.schedule.grid.edge_work import edge_work
from npuc.compiler.analysis.schedule.grid.places import Places, values_at
from npuc.compiler.analysis.schedule.grid.space import DimGroup, Grid, Order, Reals, along, total
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest
from npuc.dialects.products import Passes, whole_cycles


@lru_cache(maxsize=128)
def array_work(nest: Nest, array: Array, groups: tuple[DimGroup, ...], widths: Bits, *, energy: bool) -> "ArrayWork":
    """The array's work for one nest, which all its searches share, whatever their SPM, channel and orders."""
    return ArrayWork(nest, array, groups, widths, energy=energy)


class ArrayWork:
    """The array's work for one nest; SPM accesses are needed with `energy` only."""

    def __init__(self, nest: Nest, array: Array, groups: tuple[DimGroup, ...], widths: Bits, *, energy: bool):
        self.nest, self.array, self.groups = nest, array, groups
        self.width = {name: real(width) for name, width in widths.with_sums(nest).items()}
        self.trips = [along(g.trips, n, len(groups)).astype(np.float64) for n, g in enumerate(groups)]
        self.energy, self.edge = energy, edge_work(nest, array, groups)
        self.works: dict[tuple[int, ...], tuple[Reals, Reals]] = {}
        self.reused: dict[object, Reals] = {}
        self.sums: dict[int, Reals] = {}
        self.cycles, self.accesses = self._array_work()

    def of(self, order: tuple[int, ...]) -> tuple[Reals, Reals]:
        """
        Cycles and accessed bits under a loop order, which decides the reuse of stationary tiles. Equal results of
        several orders may be one object.
        """
        array = self.array
        if not array.reuses_stationary:
            return self.cycles, self.accesses
        if order not in self.works:
            cycles, accesses = self.cycles, self.accesses
            if array.grouped:
                self.works[order] = (
                    self._cycles_with_waits(order),
                    self._accesses_with_reuse(order) if self.energy else accesses,
                )
                return self.works[order]
            for (tiles, size), (folds, streamed) in zip(self._reused(order), self.folds, strict=True):
                cycles, accesses = cycles - tiles * array.reload, accesses - size
                if array.stages is not None:
                    # At least the loads one after another; no load follows the last group.
                    loads = np.maximum((folds - tiles) * array.stages.hidden - streamed, 0.0)
                    cycles = cycles + np.maximum(loads - array.stages.hidden, 0.0)
            self.works[order] = cycles, accesses
        return self.works[order]

    @property
    def bounds_cycles(self) -> bool:
        """Whether cycles are a lower bound alone: waits of tiles that stream several groups of dimensions are."""
        return self.array.grouped and len(self.edge.streamed) > 1

    def least(self, order: tuple[int, ...]) -> Reals:
        """A lower bound of the cycles under a loop order, at least as close as those of `of`."""
        return self._with_waits(self.edge.least(order)) if self.array.grouped else self.of(order)[0]

    def _cycles_with_waits(self, order: tuple[int, ...]) -> Reals:
        """The cycles including the waits of fold groups for the array's edge."""
        return self._with_waits(self.edge.of(order))

    def _with_waits(self, waits: Reals) -> Reals:
        if id(waits) not in self.sums:
            self.sums[id(waits)] = self.cycles + waits
        return self.sums[id(waits)]

    def _accesses_with_reuse(self, order: tuple[int, ...]) -> Reals:
        """The accessed bits without reused stationary tiles; with several statements none is reused."""
        if len(self.nest.statements) > 1:
            return self.accesses
        # Each streamed group with the groups inside it is all that `_reused` takes of an order.
        key = tuple((g, frozenset(order[n + 1 :])) for n, g in enumerate(order) if g in self.edge.streamed)
        if key not in self.reused:
            ((_, size),) = self._reused(order)
            self.reused[key] = self.accesses - size
        return self.reused[key]

    def _reused(self, order: tuple[int, ...]) -> Iterator[tuple[Reals, Reals]]:
        """For each statement, the number of tile operations that reuse their stationary tile, and the bits of those."""
        array = self.array
        for statement in self.nest.statements:
            view, place = gemm_view(self.nest, statement), placement(statement, array)
            streamed = members(view, place.streamed)
            rows, cols = members(view, place.rows), members(view, place.cols)
            inner, alone = np.ones((1,) * len(self.groups)), np.ones((1,) * len(self.groups), dtype=np.bool_)
            for g in reversed(order):
                if set(self.groups[g].dims) <= set(streamed):
                    inner = np.where(alone, inner * self.trips[g], inner)
                else:
                    alone = alone & (self.trips[g] == 1)
            again = self._role(streamed, "tiles")
            again = again - again / inner
            one = self._role(view.batch, "single")
            tiles = self._role(rows, "on rows") * self._role(cols, "on cols")
            sizes = self._role(rows, "size on rows") * self._role(cols, "size on cols")
            yield one * tiles * again, self.width[place.stationary(statement)] * one * sizes * again

    def _role(self, dims: tuple[str, ...], kind: str, passes: Passes = 1) -> Reals:
        """The sum of a factor over the tiles of one role (m, n, k, batch) of a product of so many passes."""
        found = [n for n, g in enumerate(self.groups) if set(g.dims) <= set(dims)]
        shape = [len(g.tilings) if n in found else 1 for n, g in enumerate(self.groups)]
        return _sums(tuple(self.groups[n] for n in found), kind, self.array, passes).reshape(shape)

    def _array_work(self) -> tuple[Reals, Reals]:
        """Cycles, and bits that the array reads and writes, at every combination of tilings."""
        array, count, role = self.array, len(self.groups), self._role
        cycles: Reals = np.full((1,) * count, float(array.op_overhead))
        self.folds: list[tuple[Reals, Reals]] = []
        accesses: Reals = np.zeros((1,) * count)
        for statement in self.nest.statements:
            view, place = gemm_view(self.nest, statement), placement(statement, array)
            rows, cols, streamed = place.rows, place.cols, place.streamed
            dims = {"m": view.m, "n": view.n, "k": view.k}
            again = {rows: role(dims[rows], "rows"), cols: role(dims[cols], "cols")}
            batch = role(view.batch, "size")
            step = batch * again[rows] * again[cols] * role(dims[streamed], "streamed", place.passes)
            cycles = cycles + step
            again[streamed] = role(dims[streamed], "tiles")
            self.folds.append((batch * again[rows] * again[cols] * again[streamed], step))
            m, n, k = (role(dims[letter], "size") for letter in "mnk")
            lhs, rhs, out = (self.width[name] for name in (statement.lhs, statement.rhs, statement.out))
            reads = lhs * m * k * again["n"] + rhs * k * n * again["m"]
            accesses = accesses + batch * (reads + out * m * n * again["k"])
        return cycles, accesses


def searched_edges(array: Array) -> tuple[Array, ...]:
    """
    The array with each edge that a search distinguishes: one element, each power of two up to all rows, no limit.

    None of an array whose edge does not matter.
    """
    if not array.grouped:
        return ()
    powers = (1 << power for power in range((array.rows - 1).bit_length() + 1))
    return tuple(replace(array, edge_elements=elements) for elements in (*powers, None))


@lru_cache(maxsize=4096)
def _sums(groups: tuple[DimGroup, ...], kind: str, array: Array, passes: Passes) -> Reals:
    """The sum of a factor over all tiles of some groups, at every combination of their tilings."""
    factors: dict[str, Callable[[int], int]] = {
        "rows": lambda size: -(-size // array.rows),
        "cols": lambda size: -(-size // array.cols),
        "size": lambda size: size,
        "tiles": lambda _: 1,
        "streamed": lambda size: array.stream(whole_cycles(passes, size)) + array.reload,
        "single": lambda size: size == 1,
        "on rows": lambda size: size <= array.rows,
        "on cols": lambda size: size <= array.cols,
        "size on rows": lambda size: size * (size <= array.rows),
        "size on cols": lambda size: size * (size <= array.cols),
    }
    return total(groups, factors[kind]).astype(np.float64)


def times_every_edge(array: Array) -> bool:
    """Whether a search times the same candidates with every edge: where it does not matter, or is the narrowest."""
    return not array.grouped or array.edge_elements == 1


def narrower_edge(machine: Machine) -> Machine | None:
    """
    The machine whose edge takes the next smaller power of two of elements, whose schedules are tried as well; None
    where the edge takes one element, or does not matter.
    """
    array = machine.array
    if not array.grouped or array.edge_elements == 1 or machine.policy == "lru":
        return None
    # With as many elements as rows, a whole column crosses in one cycle.
    enough = 1 << (array.rows - 1).bit_length()
    elements = array.edge_elements
    fewer = enough if elements is None else 1 << (min(elements, 2 * enough) - 1).bit_length() - 1
    return replace(machine, array=replace(array, edge_elements=fewer))


def is_searched_edge(array: Array) -> bool:
    """Whether schedules are searched for this edge: a power of two of elements, or no limit."""
    elements = array.edge_elements
    return elements is None or (elements & (elements - 1) == 0 and elements // 2 < array.rows)


@lru_cache(maxsize=128)
def every_edge(nest: Nest, array: Array, groups: tuple[DimGroup, ...], work: ArrayWork) -> "EveryEdge":
    """Those of one nest, of which this is the array's `work`."""
    return EveryEdge(nest, array, groups, work.cycles)


class EveryEdge:
    """Those of one nest; `cycles` are the array's without waits, at every combination of tilings."""

    def __init__(self, nest: Nest, array: Array, groups: tuple[DimGroup, ...], cycles: Reals):
        self.groups, self.cycles = groups, cycles
        self.shape = tuple(len(group.tilings) for group in groups)
        self.own = edge_work(nest, array, groups)
        self.edges = [edge_work(nest, one, groups) for one in searched_edges(array)]
        self.known: dict[frozenset[int], list[Reals]] = {}

    def of(self, orders: Sequence[Order], which: Grid, at: Grid, places: Callable[[Grid], Places]) -> Reals:
        """
        The cycles of candidates with the loop orders of these numbers (`which`) and positions in the grid (`at`), a row
        for each edge; no rows where they are the same for all candidates, as far as that shows without them.
        """
        numbers = [int(number) for number in np.unique(which)]
        if self._are_alike([orders[number] for number in numbers], at):
            return np.empty((0, len(at)))
        edges = self._that_matter(places(at))
        found = np.empty((edges + 1, len(at)))
        for number in numbers:
            some = which == number
            found[:, some] = values_at(places(at[some]), [*self._with_waits(orders[number], edges), self.cycles])
        return found if edges < len(self.edges) else found[:-1]

    def _that_matter(self, place: Places) -> int:
        """
        The number of edges up to the last one with which a fold waits at some of these positions.

        Where no fold waits with one edge none does with a wider one, as transfers over it take no longer. All these
        have the cycles without waits, and a row of them compares as one for each does.
        """
        for number, edge in enumerate(self.edges):
            if edge.flows is not None and place.of(edge.flows).all():
                return number
        return len(self.edges)

    def _are_alike(self, orders: Sequence[Order], at: Grid) -> bool:
        """Whether all candidates have the same tiles, and their orders the same waits for these."""
        position = np.unravel_index(at, self.shape)
        if any(len(set(group.first_alike[n])) > 1 for group, n in zip(self.groups, position, strict=True)):
            return False
        trips = [int(group.trips[n[0]]) for group, n in zip(self.groups, position, strict=True)]
        return len({self.own.streams_last(order, trips) for order in orders}) == 1

    def _with_waits(self, order: Order, edges: int) -> list[Reals]:
        """The cycles in a loop order with each of so many edges, the narrowest first."""
        known = self.known.setdefault(self.own.inside(order), [])
        for edge in self.edges[len(known) : edges]:
            known.append(self.cycles + edge.of(order))
        return known[:edges]

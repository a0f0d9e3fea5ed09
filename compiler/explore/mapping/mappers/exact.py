"""
The mapper `exact`: branch and bound, which ends with a mapping that is proved to be the best of its space.

It begins as the mapper `genetic` does, whose best mapping prunes the tree. A branch of the tree is a
choice of clusters and of what they spread, then the tiles of each level from the top, then the orders of loops; those
with the least lower bound (`..bounds`) are taken first, and those whose bound is no less than the best cost are left
out. Once branches are complete their mappings and those of `genetic` take turns. Where the budget ends before the tree
does, or the number of branches that are bounded, the least bound of what is left is proved.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.constraints.check import ROUNDED
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.explore.mapping.best import BATCH
from npuc.compiler.explore.mapping.bounds import MOST_SPREADS, CostBound, count_spreads, spread_choices
from npuc.compiler.explore.mapping.candidates import Candidates, Portions, join
from npuc.compiler.explore.mapping.mapper import Algorithm, MapRequest, Refusal
from npuc.compiler.explore.mapping.mappers.exhaustive import OrderBlock
from npuc.compiler.explore.mapping.mappers.genetic import GeneticMapper

WARM, EVOLVED = 1_500, 4_000
"""The mappings of `genetic` after which branches are bounded, and after which their mappings are evaluated."""
BOUNDED = 8_000_000
"""How many branches are bounded."""
CHUNK = 1 << 16
"""Branches bounded at once."""


@dataclass
class _Group:
    """Branches that differ in the tiles of their last level, [level, dimension, branch], by ascending bound."""

    fanouts: tuple[int, ...]
    widths: Floats
    tiles: Floats
    bounds: Floats
    next: int = 0

    @property
    def bound(self) -> float:
        """The bound of the first branch that was not taken."""
        return float(self.bounds[self.next])


class BranchTree:
    """The branches that are left, and `best`, the cost of the best mapping that is known."""

    def __init__(self, request: MapRequest, bound: CostBound):
        self.request, self._bound = request, bound
        self.best = inf
        self._groups = list[tuple[float, int, _Group]]()
        self._number = 0
        self.left = BOUNDED
        """How many branches may still be bounded."""
        none = np.zeros((0, len(request.space.dims), 1))
        for fanouts, choices in spread_choices(request.space):
            bounds = bound.of(choices, none.repeat(choices.shape[-1], axis=2))
            for number in range(len(bounds)):
                self._add(_Group(fanouts, choices[:, :, number], none, bounds[number : number + 1]))

    def _add(self, group: _Group) -> None:
        self._number += 1
        heapq.heappush(self._groups, (group.bound, self._number, group))

    @property
    def bound(self) -> float:
        """No mapping of the branches that are left costs less; infinite where none is left."""
        least = self._groups[0][0] if self._groups else inf
        return least if least < self.best else inf

    def grow(self, levels: int) -> None:
        """Replace the branches with fewer levels of tiles than so many by their own, while that is allowed."""
        entries, self._groups = sorted(self._groups, key=lambda entry: entry[:2]), []
        for bound, _, group in entries:
            if bound >= self.best:
                break
            if len(group.tiles) < levels and self._size(group) <= self.left:
                self._split(group)
            else:
                self._add(group)

    def blocks(self) -> Iterator[tuple[float, OrderBlock]]:
        """
        The mappings of branches whose tiles are all known, with the bound of each branch, as far as there may be better
        ones.
        """
        levels = self.request.space.levels
        while self.bound < self.best:
            group = self._groups[0][2]
            if len(group.tiles) < levels and self._size(group) > self.left:
                return
            heapq.heappop(self._groups)
            at, bound = group.next, group.bound
            group.next += 1
            one = _Group(group.fanouts, group.widths, group.tiles[:, :, at : at + 1], group.bounds[at : at + 1])
            if group.next < len(group.bounds):
                self._add(group)
            if len(group.tiles) < levels:
                self._split(one)
            else:
                yield bound, self._orders(one)

    def _options(self, group: _Group) -> list[tuple[int, ...]]:
        """The tiles of each dimension that a branch can have at its next level."""
        space, level = self.request.space, len(group.tiles)
        found: list[tuple[int, ...]] = []
        for at, (_, size) in enumerate(space.dims):
            given = int(group.tiles[-1, at, group.next]) if level else size
            tiles = tuple(space.tiles(level, at, given))
            # A dimension counts as spread where several sub-clusters get some of it; another branch has the rest.
            found.append(tuple(t for t in tiles if t < given) if group.widths[level, at] > 1 else tiles)
        return found

    def _size(self, group: _Group) -> int:
        return prod(map(len, self._options(group)))

    def _split(self, group: _Group) -> None:
        """Add the branches of a single one that may be better than the best mapping."""
        options, level = self._options(group), len(group.tiles)
        count = prod(map(len, options))
        self.left -= count
        before = group.tiles[:, :, group.next]
        found, bounds = list[Floats](), list[Floats]()
        for start in range(0, count, CHUNK):
            picked = np.unravel_index(np.arange(start, min(start + CHUNK, count)), [len(one) for one in options])
            new = np.array([np.array(one, float)[at] for one, at in zip(options, picked, strict=True)])
            tiles = np.concatenate([np.repeat(before[:, :, None], new.shape[1], axis=2), new[None]])
            widths = np.broadcast_to(group.widths[:, :, None], (*group.widths.shape, new.shape[1]))
            own = np.maximum(self._bound.of(widths, tiles), group.bound)
            rows = np.flatnonzero((own < self.best) & self._fits(level, group, tiles))
            found.append(tiles[:, :, rows])
            bounds.append(own[rows])
        if not sum(map(len, bounds)):
            return
        own = np.concatenate(bounds)
        order = np.argsort(own, kind="stable")
        self._add(_Group(group.fanouts, group.widths, np.concatenate(found, axis=2)[:, :, order], own[order]))

    def _fits(self, level: int, group: _Group, tiles: Floats) -> NDArray[np.bool_]:
        """Which tiles of a level, with those outside, the buffers can hold and constraints on work allow."""
        widths = group.widths
        capacity, space = self.request.capacity, self.request.space
        fine = np.ones(tiles.shape[-1], bool)
        if level == 0 and capacity.l2 is not None:
            whole = np.array([[float(size)] for _, size in space.dims])
            fine &= capacity.need(np.minimum(tiles[0] * widths[0][:, None], whole), capacity.sum_size) <= capacity.l2
        if level + 1 == space.levels and capacity.l1 is not None:
            fine &= capacity.need(tiles[-1], capacity.l1_sum_size) <= capacity.l1
        return fine & self._works(level, group, tiles)

    def _works(self, level: int, group: _Group, tiles: Floats) -> NDArray[np.bool_]:
        """Which tiles of a level, with those outside, can give enough elements work."""
        space, widths, fanouts = self.request.space, group.widths, group.fanouts
        fine = np.ones(tiles.shape[-1], bool)
        if space.constraints is None or not space.constraints.needs_work:
            return fine
        given = np.array([[float(size)] for _, size in space.dims])
        total = widths[level + 1 :].prod() * np.ones(tiles.shape[-1])
        for number in range(level + 1):
            step = np.minimum(tiles[number] * widths[number][:, None], given)
            parts = np.ceil(step / tiles[number]).prod(axis=0)
            fine &= parts >= space.constraints.levels[number].utilization * fanouts[number] - ROUNDED
            total, given = total * parts, tiles[number]
        return fine & (total >= space.constraints.utilization * space.constraints.elements - ROUNDED)

    def _orders(self, group: _Group) -> OrderBlock:
        """All orders of a branch whose tiles are known."""
        given = [float(size) for _, size in self.request.space.dims]
        levels = list[list[tuple[int, int]]]()
        moving = list[list[bool]]()
        for level in range(len(group.tiles)):
            spatial = [float(value) for value in group.tiles[level, :, 0]]
            temporal = [min(t * w, g) for t, w, g in zip(spatial, group.widths[level], given, strict=True)]
            levels.append([(int(t), int(s)) for t, s in zip(temporal, spatial, strict=True)])
            moving.append([t < g for t, g in zip(temporal, given, strict=True)])
            given = spatial
        return OrderBlock.of(
            self.request.space, group.fanouts, moving, [(chain,) for chain in zip(*levels, strict=True)]
        )


class ExactMapper:
    """The candidates of `genetic`, then of the branches that are left; `bound` is what is proved."""

    def __init__(self, request: MapRequest, bound: CostBound):
        self._tree = BranchTree(request, bound)
        self._genetic = GeneticMapper(request.space, request.seed, request.capacity, bound=bound)
        self._told = 0
        self._open = inf  # the least bound among branches that are taken, but not evaluated to the end
        self._is_genetic = False
        self._portions = Portions(self._search())

    @property
    def bound(self) -> float:
        """No mapping of the space costs less; the cost of the best one where that is proved to be the best."""
        return min(self._tree.best, self._tree.bound, self._open)

    def propose(self, most: int) -> Candidates | None:
        """The next candidates; None when the best is proved."""
        return self._portions.take(most)

    def tell(self, costs: Floats) -> None:
        """Their costs."""
        self._told += len(costs)
        self._tree.best = min(self._tree.best, float(costs.min()))
        if self._is_genetic:
            self._genetic.tell(costs)

    def _search(self) -> Iterator[Candidates]:
        yield from self._evolve(WARM)
        self._tree.grow(1)
        yield from self._evolve(EVOLVED)
        for block in self._branch():
            yield block
            yield from self._evolve(self._told + BATCH)
        yield from self._evolve(None)

    def _evolve(self, until: int | None) -> Iterator[Candidates]:
        """The candidates of `genetic`, while branches are left that may be better."""
        while (until is None or self._told < until) and self._tree.bound < self._tree.best:
            self._is_genetic = True
            block = self._genetic.propose(BATCH)
            if block is None:
                break
            yield block
        self._is_genetic = False

    def _branch(self) -> Iterator[Candidates]:
        """The mappings of the branches, many at a time."""
        parts = list[Candidates]()
        for bound, block in self._tree.blocks():
            self._open = min(self._open, bound)
            start = 0
            while start < block.count and bound < self._tree.best:
                end = min(block.count, start + BATCH - sum(map(len, parts)))
                parts.append(block.part(start, end))
                start = end
                if sum(map(len, parts)) == BATCH:
                    yield join(parts)
                    parts.clear()
            # What is in `parts` has no lower bound than the branches to come.
            self._open = bound if parts else inf
        if parts:
            yield join(parts)
        self._open = inf


class Exact(Algorithm):
    """Branch and bound: the best mapping of the space, proved, or how much better one could be."""

    def mapper(self, request: MapRequest) -> ExactMapper:
        assert request.bound is not None
        return ExactMapper(request, request.bound)

    def refusal(self, request: MapRequest) -> Refusal | None:
        if request.bound is None:
            reason = "has no lower bounds in mode parity, whose counts are MAESTRO's approximations"
            return Refusal(reason, "--mode exact, or --mapper exhaustive")
        count = count_spreads(request.space)
        if count > MOST_SPREADS:
            reason = f"has {count:,} choices of what levels spread, more than the {MOST_SPREADS:,} that are bounded"
            return Refusal(reason, "--mapper genetic, a smaller --spread, or fewer --levels")
        return None


MAPPER = Exact()

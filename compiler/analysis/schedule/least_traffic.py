"""
The least traffic of a product, or of two that share an operand, over every order of loops, with dimensions cut again.

A schedule is a chain of ever smaller tiles. Each tensor has its level in it: the tile at which its block changes. Let
g be the group of dimensions that a tensor does not use (n for X of Y = X W). It moves once for each tile of g at its
level, and its room depends on the other two groups only. So a group is cut where the next tensor of the chain needs
the room, and no further than the tensors after it, which move once for each of its tiles, can bear; after the last of
them it is cut to the finest. A tensor inside of all others comes by single elements.

What is left is an order of the tensors, and of each the cut of its group g. Of tensors with the same indices the one
that costs more per move comes first, unless it is the wider one in SPM, where the outer block is the larger. All cuts
of two groups are looked at; of the third, which only one tensor lacks, the least that fits follows. Dimensions step as
in `space.py`: small ones in all ways, so that for products of them this is the least traffic of all schedules, but for
what a ragged edge may save (`analysis/nest/traffic.py`: seams).

The candidates of `search.py` cut no dimension twice, which costs traffic where SPM is small for the tiles: a product
of 4 x 4 x 4 in 7 words takes 96 words there, and 80 here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import ceil, gcd, inf, prod

import numpy as np

from npuc.compiler.analysis.nest.blocks import is_plain
from npuc.compiler.analysis.nest.elements import BYTE, Bits, footprint_bytes
from npuc.compiler.analysis.schedule.space import SMALL, DimGroup, Grid
from npuc.dialects.npu.nest import Loop, Nest, Schedule

RATIO = 1.25
"""How much more tiles each next step of a large dimension makes, at least."""


@dataclass(frozen=True)
class _Tensor:
    """
    A tensor: the group that it lacks, the two that it has, the bits of moving it once, and those of an element in SPM.

    A result moves twice, but for the `once` bits that it is not read at first and that it has less when it is finished.
    """

    name: str
    lacks: int
    has: tuple[int, int]
    weight: int
    width: int
    once: int


@lru_cache(maxsize=1024)
def least_traffic(nest: Nest, spm_bytes: int, widths: Bits, limit: float = inf, edge: int = 1) -> Schedule | None:
    """
    The schedule of the least traffic, below `limit` bits, that fits in so many bytes, in tiles not below `edge`.

    None where there is none, and for nests that are not one
    product or two that share an operand, each axis of a tensor being one dimension, with sums that start from nothing.
    """
    problem = _problem(nest, widths)
    if problem is None:
        return None
    groups, tensors = problem
    # Blocks take whole bytes.
    budget = BYTE * spm_bytes - sum(BYTE - gcd(BYTE, t.width) for t in tensors)
    finest = tuple(_finest(group, edge) for group in groups)
    limit += sum(t.once for t in tensors)
    best: tuple[float, tuple[_Tensor, ...], tuple[int, ...]] | None = None
    for order in _orders(tensors):
        found = _cuts(order, groups, finest, budget, best[0] if best else limit)
        if found is not None:
            best = found[0], order, found[1]
    if best is None:
        return None
    _, order, cuts = best
    return _coarsened(nest, _Chain(groups, order, cuts), finest, spm_bytes, widths)


def _problem(nest: Nest, widths: Bits) -> tuple[tuple[DimGroup, ...], tuple[_Tensor, ...]] | None:
    """The groups that are not batch, and the tensors; None where this search does not apply."""
    tensors = (*nest.ins, *nest.outs)
    if len(nest.tensors) > len(tensors) or len(tensors) > 5:
        return None
    if not all(is_plain(axis) for tensor in tensors for axis in tensor.axes):
        return None
    members: dict[frozenset[str], list[str]] = {}
    for dim in nest.sizes:
        members.setdefault(frozenset(t.name for t in tensors if dim in t.dims), []).append(dim)
    groups = tuple(
        _group(tuple(dims), tuple(nest.sizes[dim] for dim in dims))
        for users, dims in members.items()
        if len(users) < len(tensors)
    )
    if len(groups) != 3:
        return None
    found: list[_Tensor] = []
    stored, rooms = widths.by_name(nest), widths.occupied(nest)
    for tensor, width in zip(tensors, widths.with_sums(nest).values(), strict=True):
        lacking = [n for n, group in enumerate(groups) if not set(group.dims) <= tensor.dims]
        if len(lacking) != 1:
            return None
        (lacks,) = lacking
        first, second = (n for n in range(3) if n != lacks)
        weight = width * tensor.elements
        twice = tensor in nest.outs
        once = 2 * weight - stored[tensor.name] * tensor.elements if twice else 0
        found.append(_Tensor(tensor.name, lacks, (first, second), weight * (1 + twice), rooms[tensor.name], once))
    counts = sorted(sum(tensor.lacks == n for tensor in found) for n in range(3))
    return (groups, tuple(found)) if counts in ([1, 1, 1], [1, 2, 2]) else None


@lru_cache(maxsize=4096)
def _group(dims: tuple[str, ...], sizes: tuple[int, ...]) -> DimGroup:
    """A group with a chain down to single elements: at each step the least that makes so many tiles."""
    chain: list[tuple[Loop, ...]] = [()]
    outer: list[Loop] = []
    for dim, size in zip(dims, sizes, strict=True):
        if size > 1:
            chain += [(*outer, Loop(dim, step)) for step in _steps(size)]
            outer.append(Loop(dim, 1))
    return DimGroup(dims, sizes, tuple(chain))


def _steps(size: int) -> list[int]:
    """Steps below a size, large first: all of a small one, else the least for 2, 3, … tiles, later every so many."""
    if size <= SMALL:
        return list(range(size - 1, 0, -1))
    steps: list[int] = []
    tiles = 2
    while tiles <= size:
        step = ceil(size / tiles)
        if not steps or step < steps[-1]:
            steps.append(step)
        tiles = max(tiles + 1, int(tiles * RATIO))
    return steps if steps[-1] == 1 else [*steps, 1]


def _finest(group: DimGroup, edge: int) -> int:
    """The position of the least tile of a group that is not below `edge`."""
    sizes = _sizes(group)
    return int(np.flatnonzero(sizes >= min(edge, int(sizes[0])))[-1])


@lru_cache(maxsize=4096)
def _sizes(group: DimGroup) -> Grid:
    """The size of the tile at each position of a group's chain."""
    sizes = dict(zip(group.dims, group.sizes, strict=True))
    return np.array([prod((sizes | group.steps(p)).values()) for p in range(len(group.chain))], dtype=np.int64)


@lru_cache(maxsize=4096)
def _nested(group: DimGroup) -> Grid:
    """The tiles of position j inside those of position i."""
    count = np.ones((len(group.chain), len(group.chain)), dtype=np.int64)
    for dim, size in zip(group.dims, group.sizes, strict=True):
        steps = np.array([group.steps(p).get(dim, size) for p in range(len(group.chain))])
        outer, inner = steps[:, None], np.minimum(steps[:, None], steps[None, :])
        count = count * (size // outer * -(-outer // inner) + -(-(size % outer) // inner))
    return count


def _orders(tensors: Sequence[_Tensor]) -> Iterator[tuple[_Tensor, ...]]:
    """The orders of the tensors; of those that lack the same group, the heavier comes first if it is not wider too."""
    ranked = sorted(tensors, key=lambda tensor: -tensor.weight)
    for order in permutations(ranked):
        if all(
            ranked.index(one) < ranked.index(other) or other.width > one.width
            for n, one in enumerate(order)
            for other in order[n + 1 :]
            if one.lacks == other.lacks
        ):
            yield order


def _cuts(
    order: tuple[_Tensor, ...], groups: Sequence[DimGroup], finest: Sequence[int], budget: int, limit: float
) -> tuple[float, tuple[int, ...]] | None:
    """The least weight below `limit`, and the position of each tensor's own group at its level; None if none fits."""
    users = [[t for t in order if t.lacks == g] for g in range(len(groups))]
    # The group of one tensor comes last: its cut follows from what room is left.
    last = min(range(len(groups)), key=lambda g: (len(users[g]), -g))
    free = [g for g in range(len(groups)) if g != last]
    (alone,) = users[last]
    ways = [_ways(users[g], groups[g], finest[g]) for g in free]
    least = [float(way.weight.min()) for way in ways]
    ways = [way.below(limit - alone.weight - (sum(least) - own)) for way, own in zip(ways, least, strict=True)]
    cost = ways[0].weight[:, None] + ways[1].weight[None, :]
    chosen = np.nonzero(cost + alone.weight < limit)
    if not len(chosen[0]):
        return None
    at = {
        t.name: _sizes(groups[g])[place[which]]
        for which, g, way in zip(chosen, free, ways, strict=True)
        for t, place in zip(users[g], way.places, strict=True)
    }
    fixed, scaled = _rooms(order, groups, finest, at, last)
    sizes = _sizes(groups[last])[: finest[last] + 1]
    room = np.where(fixed <= budget, (budget - fixed) // np.maximum(scaled, 1), 0)
    # The coarsest position whose size is at most the room.
    place = np.where(scaled == 0, 0, len(sizes) - np.searchsorted(sizes[::-1], room, side="right"))
    fits = (fixed <= budget) & (place < len(sizes))
    total = cost[chosen] + alone.weight * groups[last].trips[np.minimum(place, len(sizes) - 1)]
    total = np.where(fits, total, np.inf)
    best = int(total.argmin())
    if not total[best] < limit:
        return None
    cuts = {alone.name: int(place[best])}
    for which, g, way in zip(chosen, free, ways, strict=True):
        cuts |= {t.name: int(own[which[best]]) for t, own in zip(users[g], way.places, strict=True)}
    return float(total[best]), tuple(cuts[t.name] for t in order)


@dataclass(frozen=True, eq=False)
class _Ways:
    """The positions of one tensor or two that lack a group, outer first, and the bits that both then move."""

    places: tuple[Grid, ...]
    weight: Grid

    def below(self, limit: float) -> "_Ways":
        """Those that move less."""
        few = self.weight < limit
        return _Ways(tuple(place[few] for place in self.places), self.weight[few])


def _ways(users: Sequence[_Tensor], group: DimGroup, finest: int) -> _Ways:
    """Every way to cut a group for the tensors that lack it."""
    if len(users) == 1:
        place = np.arange(finest + 1)
        return _Ways((place,), users[0].weight * group.trips[place])
    outer, inner = np.triu_indices(finest + 1)
    weight = users[0].weight * group.trips[outer] + users[1].weight * _nested(group)[outer, inner]
    return _Ways((outer, inner), weight)


def _rooms(
    order: tuple[_Tensor, ...], groups: Sequence[DimGroup], finest: Sequence[int], at: Mapping[str, Grid], last: int
) -> tuple[Grid, Grid]:
    """The room of all blocks: what is fixed, and what is multiplied by the tile of the group `last`."""
    count = len(next(iter(at.values())))
    fixed, scaled = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for level, tensor in enumerate(order):
        room, open_ = np.full(count, tensor.width, dtype=np.int64), False
        for g in tensor.has:
            later = next((t for t in order[level + 1 :] if t.lacks == g), None)
            if later is None:
                room = room * _sizes(groups[g])[finest[g]]
            elif g == last:
                open_ = True
            else:
                room = room * at[later.name]
        if open_:
            scaled = scaled + room
        else:
            fixed = fixed + room
    return fixed, scaled


@dataclass(frozen=True)
class _Chain:
    """Groups, the tensors in the order of their levels, and of each the position of the group that it lacks."""

    groups: tuple[DimGroup, ...]
    order: tuple[_Tensor, ...]
    cuts: tuple[int, ...]

    def schedule(self, nest: Nest, finest: Sequence[int], spm_bytes: int) -> Schedule:
        """The schedule; a group that no later tensor lacks is cut to `finest`."""
        inner = {dim for group in self.groups for dim in group.dims}
        loops = [Loop(dim, 1) for dim, size in nest.dims if dim not in inner and size > 1]
        place = [group.full for group in self.groups]
        depths: list[int] = []
        for level, tensor in enumerate(self.order):
            for g in tensor.has:
                later = (
                    cut
                    for t, cut in zip(self.order, self.cuts, strict=True)
                    if t in self.order[level + 1 :] and t.lacks == g
                )
                target = next(later, finest[g])
                loops += self._between(g, place[g], target)
                place[g] = target
            depths.append(len(loops))
        keep = tuple((t.name, len(loops) - d) for t, d in zip(self.order, depths, strict=True) if len(loops) > d)
        return Schedule(tuple(loops), keep, spm_bytes)

    def _between(self, group: int, outer: int, inner: int) -> list[Loop]:
        """The loops that cut a tile of one position into those of another."""
        here = self.groups[group].steps(outer)
        return [loop for loop in self.groups[group].chain[inner] if here.get(loop.dim) != loop.step]


def _coarsened(nest: Nest, chain: _Chain, finest: Sequence[int], spm_bytes: int, widths: Bits) -> Schedule:
    """The schedule with the largest finest tiles that fit and move no more, one group after another."""
    places = list(finest)
    best = chain.schedule(nest, places, spm_bytes)
    for g in range(len(places)):
        lowest = max((cut for t, cut in zip(chain.order, chain.cuts, strict=True) if t.lacks == g), default=0)
        low, high = lowest, places[g]
        while low < high:
            middle = (low + high) // 2
            tried = chain.schedule(nest, [*places[:g], middle, *places[g + 1 :]], spm_bytes)
            if footprint_bytes(nest, tried, widths) <= spm_bytes:
                high = middle
            else:
                low = middle + 1
        places[g] = high
        best = chain.schedule(nest, places, spm_bytes)
    return best

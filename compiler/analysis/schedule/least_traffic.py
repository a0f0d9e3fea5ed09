"""
The least traffic of a product, or of two that share an operand, over all loop orders and nested tilings.

A schedule refines the nest through nested tilings. A tensor is refetched at one of them: its refetch level. Let g be
the group of dimensions that a tensor does not use (n for X of Y = X W). The tensor moves once for each tile of g at its
refetch level, and its block depends on the other two groups only. So g is tiled where the next tensor of the nested
tilings needs the room, and no further than the tensors after it allow, which move once for each of its tiles; after the
last of them g is tiled as finely as possible. A tensor refetched innermost is streamed element by element.

What remains to choose is an order of the tensors, and for each the tiling of its group g. Of tensors with equal indices
the one that costs more per move comes first, unless it is also the wider one in SPM, where the outer block is the
larger. All tilings of two groups are enumerated; for the third, which only one tensor does not use, the coarsest that
fits follows. Dimensions step as in `space.py`: small ones take every step, so that for products of small dimensions
this is the least traffic of all schedules, except for savings at ragged edges (seams in `analysis/nest/traffic.py`).

The candidates of `candidates.py` tile no dimension twice: with 7 words of SPM a product of 4 x 4 x 4 moves 96 words
there, and 80 here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import ceil, gcd, inf, lcm, prod

import numpy as np

from npuc.compiler.analysis.nest.blocks import is_plain
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.schedule.nested_tilings import MovedTensor, NestedTilings
from npuc.compiler.analysis.schedule.space import SMALL, DimGroup, Grid
from npuc.dialects.npu.nest import Loop, Nest, Schedule

RATIO = 1.25
"""The least ratio of the numbers of tiles of consecutive steps of a large dimension."""


def least_traffic(nest: Nest, spm_bytes: int, widths: Bits, limit: float = inf, edge: int = 1) -> Schedule | None:
    """
    The schedule of the least traffic below `limit` bits that fits in `spm_bytes`, in tiles no smaller than `edge`.

    None if there is none. Also None for nests other than one product, or two that share an operand, with plain axes and
    sums that start from zero.
    """
    found = least_tilings(nest, spm_bytes, widths, limit, edge)
    return None if found is None else found.coarsened(nest, spm_bytes, widths)[0]


@lru_cache(maxsize=4096)
def least_tilings(nest: Nest, spm_bytes: int, widths: Bits, limit: float = inf, edge: int = 1) -> NestedTilings | None:
    """The tilings of `least_traffic`."""
    # Counted in such parts of a bit that all widths are integers.
    scale = lcm(*(width.denominator for width in (*widths.stored, *widths.sums, *widths.room)))
    problem, byte = _problem(nest, widths, scale), BYTE * scale
    if problem is None:
        return None
    groups, tensors = problem
    # Blocks take whole bytes.
    rounding = sum(byte - gcd(byte, t.width) for t in tensors)
    budget = byte * spm_bytes - rounding
    finest = tuple(_finest(group, edge) for group in groups)
    once = sum(t.once for t in tensors)
    best: tuple[_Cuts, tuple[MovedTensor, ...]] | None = None
    for order in _orders(tensors):
        found = _best_cuts(order, groups, finest, budget, best[0].weight if best else limit * scale + once)
        if found is not None:
            best = found, order
    if best is None:
        return None
    cuts, order = best
    needs = -(-(cuts.room + rounding) // byte)
    return NestedTilings(groups, order, cuts.places, finest, (cuts.weight - once) / scale, needs)


@dataclass(frozen=True)
class _Cuts:
    """What tensors move, the tiling of each one's missing group, and the SPM that all blocks take, in parts of bits."""

    weight: float
    places: tuple[int, ...]
    room: int


def _problem(nest: Nest, widths: Bits, scale: int) -> tuple[tuple[DimGroup, ...], tuple[MovedTensor, ...]] | None:
    """
    The groups other than batch, and the tensors, whose bits are counted in parts, `scale` of them a bit; None where
    this search does not apply.
    """
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
    found: list[MovedTensor] = []
    stored, rooms = widths.by_name(nest), widths.occupied(nest)
    for tensor, width in zip(tensors, widths.with_sums(nest).values(), strict=True):
        lacking = [n for n, group in enumerate(groups) if not set(group.dims) <= tensor.dims]
        if len(lacking) != 1:
            return None
        (missing,) = lacking
        first, second = (n for n in range(3) if n != missing)
        weight = int(scale * width) * tensor.elements
        twice = tensor in nest.outs
        once = 2 * weight - int(scale * stored[tensor.name]) * tensor.elements if twice else 0
        room = int(scale * rooms[tensor.name])
        found.append(MovedTensor(tensor.name, missing, (first, second), weight * (1 + twice), room, once))
    counts = sorted(sum(tensor.missing == n for tensor in found) for n in range(3))
    return (groups, tuple(found)) if counts in ([1, 1, 1], [1, 2, 2]) else None


@lru_cache(maxsize=4096)
def _group(dims: tuple[str, ...], sizes: tuple[int, ...]) -> DimGroup:
    """A group with tilings down to single elements, each the smallest step for its number of tiles."""
    tilings: list[tuple[Loop, ...]] = [()]
    outer: list[Loop] = []
    for dim, size in zip(dims, sizes, strict=True):
        if size > 1:
            tilings += [(*outer, Loop(dim, step)) for step in _steps(size)]
            outer.append(Loop(dim, 1))
    return DimGroup(dims, sizes, tuple(tilings))


def _steps(size: int) -> list[int]:
    """Steps below a size, large first: all for a small size, else the smallest for 2, 3, … tiles, then by `RATIO`."""
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
    """The index of the finest tiling of a group whose tile is no smaller than `edge`."""
    sizes = _sizes(group)
    return int(np.flatnonzero(sizes >= min(edge, int(sizes[0])))[-1])


@lru_cache(maxsize=4096)
def _sizes(group: DimGroup) -> Grid:
    """The tile size of each tiling of a group."""
    sizes = dict(zip(group.dims, group.sizes, strict=True))
    return np.array([prod((sizes | group.steps(p)).values()) for p in range(len(group.tilings))], dtype=np.int64)


@lru_cache(maxsize=4096)
def _nested(group: DimGroup) -> Grid:
    """The number of tiles of tiling j nested in those of tiling i, as a matrix over (i, j)."""
    count = np.ones((len(group.tilings), len(group.tilings)), dtype=np.int64)
    for dim, size in zip(group.dims, group.sizes, strict=True):
        steps = np.array([group.steps(p).get(dim, size) for p in range(len(group.tilings))])
        outer, inner = steps[:, None], np.minimum(steps[:, None], steps[None, :])
        count = count * (size // outer * -(-outer // inner) + -(-(size % outer) // inner))
    return count


def _orders(tensors: Sequence[MovedTensor]) -> Iterator[tuple[MovedTensor, ...]]:
    """The orders of the tensors; of two that miss the same group the heavier comes first unless it is also wider."""
    ranked = sorted(tensors, key=lambda tensor: -tensor.weight)
    for order in permutations(ranked):
        if all(
            ranked.index(one) < ranked.index(other) or other.width > one.width
            for n, one in enumerate(order)
            for other in order[n + 1 :]
            if one.missing == other.missing
        ):
            yield order


def _best_cuts(
    order: tuple[MovedTensor, ...], groups: Sequence[DimGroup], finest: Sequence[int], budget: int, limit: float
) -> _Cuts | None:
    """The least weight below `limit`, the first of equal ones; None if none fits."""
    users = [tuple(t for t in order if t.missing == g) for g in range(len(groups))]
    # The group that one tensor misses comes last: its tiling follows from the remaining room.
    last = min(range(len(groups)), key=lambda g: (len(users[g]), -g))
    free = [g for g in range(len(groups)) if g != last]
    (alone,) = users[last]
    choices = [_tiling_choices(users[g], groups[g], finest[g]) for g in free]
    least = [float(choice.weight.min()) for choice in choices]
    slack = limit - alone.weight - sum(least)
    choices = [choice.below(slack + own) for choice, own in zip(choices, least, strict=True)]
    cost = choices[0].weight[:, None] + choices[1].weight[None, :]
    chosen = np.nonzero(cost + alone.weight < limit)
    if not len(chosen[0]):
        return None
    at = {
        t.name: _sizes(groups[g])[place[which]]
        for which, g, choice in zip(chosen, free, choices, strict=True)
        for t, place in zip(users[g], choice.places, strict=True)
    }
    fixed, scaled = _rooms(order, groups, finest, at, last)
    sizes = _sizes(groups[last])[: finest[last] + 1]
    room = np.where(fixed <= budget, (budget - fixed) // np.maximum(scaled, 1), 0)
    # The coarsest tiling whose tile fits the room.
    place = np.where(scaled == 0, 0, len(sizes) - np.searchsorted(sizes[::-1], room, side="right"))
    fits = (fixed <= budget) & (place < len(sizes))
    total = cost[chosen] + alone.weight * groups[last].trips[np.minimum(place, len(sizes) - 1)]
    total = np.where(fits, total, np.inf)
    best = int(total.argmin())
    if not total[best] < limit:
        return None
    cuts = {alone.name: int(place[best])}
    for which, g, choice in zip(chosen, free, choices, strict=True):
        cuts |= {t.name: int(own[which[best]]) for t, own in zip(users[g], choice.places, strict=True)}
    taken = int(fixed[best] + scaled[best] * sizes[place[best]])
    return _Cuts(float(total[best]), tuple(cuts[t.name] for t in order), taken)


@dataclass(frozen=True, eq=False)
class _TilingChoices:
    """Tilings of a group for the one or two tensors that miss it, outer first, and the bits that these then move."""

    places: tuple[Grid, ...]
    weight: Grid

    def below(self, limit: float) -> "_TilingChoices":
        """The choices that move less than `limit` bits."""
        few = self.weight < limit
        return _TilingChoices(tuple(place[few] for place in self.places), self.weight[few])


@lru_cache(maxsize=256)
def _tiling_choices(users: tuple[MovedTensor, ...], group: DimGroup, finest: int) -> _TilingChoices:
    """All tilings of a group for the tensors that miss it."""
    if len(users) == 1:
        place = np.arange(finest + 1)
        return _TilingChoices((place,), users[0].weight * group.trips[place])
    outer, inner = np.triu_indices(finest + 1)
    weight = users[0].weight * group.trips[outer] + users[1].weight * _nested(group)[outer, inner]
    return _TilingChoices((outer, inner), weight)


def _rooms(
    order: tuple[MovedTensor, ...], groups: Sequence[DimGroup], finest: Sequence[int], at: Mapping[str, Grid], last: int
) -> tuple[Grid, Grid]:
    """The room of all blocks in bits: a fixed part, and a part that is multiplied by the tile of the group `last`."""
    count = len(next(iter(at.values())))
    fixed, scaled = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for level, tensor in enumerate(order):
        room, open_ = np.full(count, tensor.width, dtype=np.int64), False
        for g in tensor.has:
            later = next((t for t in order[level + 1 :] if t.missing == g), None)
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

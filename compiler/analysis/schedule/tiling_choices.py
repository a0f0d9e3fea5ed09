"""
The tilings of three groups among which the least traffic is sought, as arrays: see `least_traffic.py`.

A choice is an order of the tensors, and a tiling for each tensor that misses one of two groups. The third group, which
one tensor misses alone, is tiled as coarsely as the room left allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.schedule.grid.space import DimGroup, Grid
from npuc.compiler.analysis.schedule.nested_tilings import MovedTensor
from npuc.compiler.core.frozen import frozen

Mask = NDArray[np.bool_]

JOINED = 1 << 16
"""Up to so many choices of all orders are kept and compared at once; of more, those of each order below a limit."""


@frozen
class Cuts:
    """
    What tensors move, their order, the tiling of each one's missing group, and the SPM that all blocks take, in parts
    of bits.
    """

    weight: float
    order: tuple[MovedTensor, ...]
    places: tuple[int, ...]
    room: int


class TilingChoices:
    """All choices of three groups, in some orders of the tensors that use them."""

    def __init__(self, groups: tuple[DimGroup, ...], orders: Sequence["OrderedCuts"]):
        self._groups, self._orders = groups, orders

    def best(self, budget: int, limit: float) -> Cuts | None:
        """The least weight below `limit` within a budget of room, the first of equal ones; None if none fits."""
        if self._joined is not None:
            return self._joined.best(budget, limit)
        best: Cuts | None = None
        for order in self._orders:
            choices = order.below(limit if best is None else best.weight)
            best = (None if choices is None else choices.best(budget, limit if best is None else best.weight)) or best
        return best

    @cached_property
    def _joined(self) -> "_Choices | None":
        if sum(order.count for order in self._orders) > JOINED:
            return None
        parts = [order.below(np.inf) for order in self._orders]
        return _joined(_undominated([part for part in parts if part is not None]))


class OrderedCuts:
    """The choices of one order of the tensors."""

    def __init__(self, order: tuple[MovedTensor, ...], groups: tuple[DimGroup, ...], finest: Sequence[int]):
        self._order, self._groups, self._finest = order, groups, finest
        self._users = [tuple(t for t in order if t.missing == g) for g in range(len(groups))]
        # The group that one tensor misses comes last: its tiling follows from the remaining room.
        self._last = min(range(len(groups)), key=lambda g: (len(self._users[g]), -g))
        self._free = [g for g in range(len(groups)) if g != self._last]
        self._tilings = [_tilings(self._users[g], groups[g], finest[g]) for g in self._free]

    @property
    def count(self) -> int:
        """The number of choices."""
        return len(self._tilings[0].weight) * len(self._tilings[1].weight)

    def below(self, limit: float) -> "_Choices | None":
        """The choices that may move less than `limit`; None if there are none."""
        (alone,) = self._users[self._last]
        least = [float(tilings.weight.min()) for tilings in self._tilings]
        slack = limit - alone.weight - sum(least)
        few = [tilings.below(slack + own) for tilings, own in zip(self._tilings, least, strict=True)]
        cost = few[0].weight[:, None] + few[1].weight[None, :]
        chosen = np.nonzero(cost + alone.weight < limit)
        if not len(chosen[0]):
            return None
        places = {
            t.name: place[which]
            for which, g, tilings in zip(chosen, self._free, few, strict=True)
            for t, place in zip(self._users[g], tilings.places, strict=True)
        }
        fixed, scaled = self._rooms({name: self._sizes_of(name)[own] for name, own in places.items()}, len(chosen[0]))
        group, finest = self._groups[self._last], self._finest[self._last]
        sizes = np.array(group.tile_sizes[: finest + 1], dtype=np.int64)
        part = _Part(self._order, places)
        return _Choices(cost[chosen], fixed, scaled, sizes, alone, group.trips[: finest + 1], (part,), (0,))

    def _sizes_of(self, tensor: str) -> Grid:
        """The tile sizes of the group that a tensor misses."""
        (missing,) = (t.missing for t in self._order if t.name == tensor)
        return np.array(self._groups[missing].tile_sizes, dtype=np.int64)

    def _rooms(self, at: Mapping[str, Grid], count: int) -> tuple[Grid, Grid]:
        """The room of all blocks: a fixed part, and a part that is multiplied by the tile of the last group."""
        fixed, scaled = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for level, tensor in enumerate(self._order):
            room, open_ = np.full(count, tensor.width, dtype=np.int64), False
            for g in tensor.has:
                later = next((t for t in self._order[level + 1 :] if t.missing == g), None)
                if later is None:
                    room = room * self._groups[g].tile_sizes[self._finest[g]]
                elif g == self._last:
                    open_ = True
                else:
                    room = room * at[later.name]
            if open_:
                scaled = scaled + room
            else:
                fixed = fixed + room
        return fixed, scaled


@frozen(eq=False)
class _Part:
    """The choices of one order: for each tensor, but that which misses the last group alone, its tiling in each."""

    order: tuple[MovedTensor, ...]
    places: Mapping[str, Grid]


@frozen(eq=False)
class _Choices:
    """
    Choices of one order after another (`parts`, that begin at `starts`): what they move but for the tensor that misses
    the last group `alone`, and the rooms. `sizes` and `trips` are those of the tilings of that group.
    """

    cost: Grid
    fixed: Grid
    scaled: Grid
    sizes: Grid
    alone: MovedTensor
    trips: Grid
    parts: tuple[_Part, ...]
    starts: tuple[int, ...]

    def only(self, chosen: Mask) -> "_Choices":
        """Chosen ones of the choices of one order."""
        (part,) = self.parts
        part = _Part(part.order, {name: own[chosen] for name, own in part.places.items()})
        cost, fixed, scaled = (values[chosen] for values in (self.cost, self.fixed, self.scaled))
        return replace(self, cost=cost, fixed=fixed, scaled=scaled, parts=(part,))

    def best(self, budget: int, limit: float) -> Cuts | None:
        """The least weight below `limit`, the first of equal ones; None if none fits."""
        room = np.where(self.fixed <= budget, (budget - self.fixed) // np.maximum(self.scaled, 1), 0)
        # The coarsest tiling whose tile fits the room.
        count = len(self.sizes)
        place = np.where(self.scaled == 0, 0, count - np.searchsorted(self.sizes[::-1], room, side="right"))
        fits = (self.fixed <= budget) & (place < count)
        total = np.where(fits, self.cost + self.alone.weight * self.trips[np.minimum(place, count - 1)], np.inf)
        best = int(total.argmin())
        if not total[best] < limit:
            return None
        number = max(n for n, start in enumerate(self.starts) if start <= best)
        part = self.parts[number]
        cuts = {name: int(own[best - self.starts[number]]) for name, own in part.places.items()}
        cuts[self.alone.name] = int(place[best])
        taken = int(self.fixed[best] + self.scaled[best] * self.sizes[place[best]])
        return Cuts(float(total[best]), part.order, tuple(cuts[t.name] for t in part.order), taken)


def _undominated(parts: Sequence[_Choices]) -> list[_Choices]:
    """
    The choices of each order without those of equal cost that an earlier order has in no more room, where all have the
    same tilings in the same places.
    """
    kept: list[_Choices] = []
    for number, part in enumerate(parts):
        left = np.full(len(part.cost), True)
        for earlier in parts[:number]:
            if len(earlier.cost) == len(part.cost) and (earlier.cost == part.cost).all():
                left &= (earlier.fixed > part.fixed) | (earlier.scaled > part.scaled)
        kept.append(part.only(left))
    return [part for part in kept if len(part.cost)]


def _joined(parts: Sequence[_Choices]) -> _Choices | None:
    """The choices of several orders, one after the other; None of none."""
    if not parts:
        return None
    starts = np.cumsum([0, *(len(part.cost) for part in parts[:-1])])
    cost, fixed, scaled = (
        np.concatenate(rows) for rows in zip(*((part.cost, part.fixed, part.scaled) for part in parts), strict=True)
    )
    same = parts[0]
    return _Choices(
        cost,
        fixed,
        scaled,
        same.sizes,
        same.alone,
        same.trips,
        tuple(part.parts[0] for part in parts),
        tuple(starts.tolist()),
    )


@frozen(eq=False)
class _GroupTilings:
    """Tilings of a group for the one or two tensors that miss it, outer first, and the bits that these then move."""

    places: tuple[Grid, ...]
    weight: Grid

    def below(self, limit: float) -> "_GroupTilings":
        """The tilings that move less than `limit` bits."""
        few = self.weight < limit
        return _GroupTilings(tuple(place[few] for place in self.places), self.weight[few])


@lru_cache(maxsize=256)
def _tilings(users: tuple[MovedTensor, ...], group: DimGroup, finest: int) -> _GroupTilings:
    """All tilings of a group for the tensors that miss it."""
    if len(users) == 1:
        place = np.arange(finest + 1)
        return _GroupTilings((place,), users[0].weight * group.trips[place])
    outer, inner = np.triu_indices(finest + 1)
    weight = users[0].weight * group.trips[outer] + users[1].weight * _nested(group)[outer, inner]
    return _GroupTilings((outer, inner), weight)


@lru_cache(maxsize=4096)
def _nested(group: DimGroup) -> Grid:
    """The number of tiles of tiling j nested in those of tiling i, as a matrix over (i, j)."""
    count = np.ones((len(group.tilings), len(group.tilings)), dtype=np.int64)
    for dim, size in zip(group.dims, group.sizes, strict=True):
        steps = np.array([group.steps(p).get(dim, size) for p in range(len(group.tilings))])
        outer, inner = steps[:, None], np.minimum(steps[:, None], steps[None, :])
        count = count * (size // outer * -(-outer // inner) + -(-(size % outer) // inner))
    return count

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

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from math import ceil, gcd, inf, lcm

from npuc.compiler.analysis.nest.blocks import is_plain
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.schedule.grid.space import SMALL, DimGroup
from npuc.compiler.analysis.schedule.nested_tilings import MovedTensor, NestedTilings
from npuc.compiler.analysis.schedule.tiling_choices import OrderedCuts, TilingChoices
from npuc.dialects.npu.nest import Loop, Nest, Schedule

RATIO = 1.25
"""The least ratio of the numbers of tiles of consecutive steps of a large dimension."""


def least_traffic(nest: Nest, spm_bytes: int, widths: Bits, limit: float = inf, edge: int = 1) -> Schedule | None:
    """
    The schedule of the least traffic below `limit` bits that fits in `spm_bytes`, in tiles no smaller than `edge`.

    None if there is none. Also None for nests other than one product, or two that share an operand, with plain axes and
    sums that start from zero.
    """
    search = tilings_search(nest, widths, edge)
    found = None if search is None else search.least(spm_bytes, limit)
    return None if found is None else found.coarsened(nest, spm_bytes)[0]


@lru_cache(maxsize=512)
def tilings_search(nest: Nest, widths: Bits, edge: int) -> "TilingsSearch | None":
    """The search of the nested tilings of a nest, in tiles no smaller than `edge`; None where `least_traffic` is."""
    # Counted in such parts of a bit that all widths are integers.
    scale = lcm(*(width.denominator for width in (*widths.stored, *widths.sums, *widths.room)))
    problem = _problem(nest, widths, scale)
    if problem is None:
        return None
    groups, tensors = problem
    return TilingsSearch(groups, tensors, tuple(_finest(group, edge) for group in groups), scale)


class TilingsSearch:
    """
    The nested tilings of three groups, of which those of the least traffic are sought with several sizes of SPM.

    Widths of tensors are counted in parts, `scale` of them a bit.
    """

    def __init__(
        self, groups: tuple[DimGroup, ...], tensors: tuple[MovedTensor, ...], finest: tuple[int, ...], scale: int
    ):
        self._groups, self._finest, self._scale = groups, finest, scale
        self._byte = BYTE * scale
        # Blocks take whole bytes.
        self._rounding = sum(self._byte - gcd(self._byte, t.width) for t in tensors)
        self._once = sum(t.once for t in tensors)
        self._choices = TilingChoices(groups, [OrderedCuts(order, groups, finest) for order in _orders(tensors)])
        self._found: dict[tuple[int, float], NestedTilings | None] = {}
        self._walked: dict[int, tuple[Schedule, int] | None] = {}

    def least(self, spm_bytes: int, limit: float = inf) -> NestedTilings | None:
        """The tilings that move the least, below `limit` bits, in so many bytes of SPM; None if there are none."""
        key = spm_bytes, limit
        if key not in self._found:
            self._found[key] = self._least(self._byte * spm_bytes - self._rounding, limit * self._scale + self._once)
        return self._found[key]

    def walked(self, nest: Nest, spm_bytes: int) -> tuple[Schedule, int] | None:
        """
        The schedule of the nest that moves the least in so many bytes of SPM, and the least SPM with which it is the
        same (`NestedTilings.coarsened`); None if there is none. It is kept: walks of one nest meet the same ones.
        """
        if spm_bytes not in self._walked:
            tilings = self.least(spm_bytes)
            self._walked[spm_bytes] = None if tilings is None else tilings.coarsened(nest, spm_bytes)
        return self._walked[spm_bytes]

    def _least(self, budget: int, limit: float) -> NestedTilings | None:
        cuts = self._choices.best(budget, limit)
        if cuts is None:
            return None
        needs = -(-(cuts.room + self._rounding) // self._byte)
        weight = (cuts.weight - self._once) / self._scale
        return NestedTilings(self._groups, cuts.order, cuts.places, self._finest, weight, needs, self._byte)


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
    least = min(edge, group.tile_sizes[0])
    return max(n for n, size in enumerate(group.tile_sizes) if size >= least)


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

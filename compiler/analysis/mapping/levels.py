"""
The cluster levels of a mapping with every size in numbers: what MAESTRO works on after reading directives.

A level has a directive for each dimension of input and weights: those written, those inherited from the level above,
and whole dimensions for the rest. Sizes are input-centric and account for strides. From the rules of MAESTRO's
source (commit 4eb08d1), its constant tables included: they hold for a level, whatever tile it is entered with.
"""

from __future__ import annotations

from npuc.compiler.core.frozen import frozen
from npuc.dialects.mapping import Mapping, Problem
from npuc.dialects.mapping.problem import OUTPUT, SLIDES


class Unmappable(Exception):
    """A mapping that cannot be analysed; `fits` is False where only the number of processing elements is too small."""

    def __init__(self, message: str, *, fits: bool = True):
        super().__init__(message)
        self.fits = fits


def tdiv(a: int, b: int) -> int:
    """Integer division that rounds towards zero, as in C++."""
    return a // b if a >= 0 else -(-a // b)


@frozen
class DirectiveTiles:
    """One directive of a level in numbers: tiles of `size`, `offset` apart, of a dimension of `whole` elements."""

    dim: str
    size: int
    offset: int
    spatial: bool
    whole: int

    @property
    def _rest(self) -> int:
        steps = max(tdiv(self.whole - self.size, self.offset), 0)
        rest = self.whole - (steps + 1) * self.offset
        return self.whole if rest < 0 else rest

    @property
    def mapped_edge(self) -> int:
        """The size of the last tile."""
        steps = max(tdiv(self.whole - self.size, self.offset), 0)
        partial = steps * self.offset + self.size < self.whole or self.size > self.whole
        return self._rest if partial else self.size

    @property
    def unique(self) -> int:
        """What a tile has that the one before it has not; 0 for a dimension that does not move."""
        return 0 if not self.spatial and self.whole <= self.size else min(self.size, self.offset)

    @property
    def unique_edge(self) -> int:
        """What the last tile has that the one before it has not."""
        return max(self.offset - (self.size - self._rest), 0)


@frozen
class TileSizes:
    """The sizes of a tile along one dimension: in the middle and at the edge, whole and what is new in it."""

    mapped: int
    mapped_edge: int
    unique: int
    unique_edge: int


@frozen
class DirectiveLevel:
    """
    One cluster level: `width` sub-clusters (or processing elements) and directives, outermost first.

    `sizes` are by dimension, with those of Y' and X' of the output. `edges` is the number of sub-clusters at work at
    the edge of the first spatial map.
    """

    problem: Problem
    width: int
    tiles: tuple[DirectiveTiles, ...]
    sizes: dict[str, TileSizes]
    edges: int


def resolve(mapping: Mapping, num_pes: int) -> tuple[DirectiveLevel, ...]:
    """The levels of a mapping on `num_pes` processing elements, from the top. Raises `Unmappable`."""
    inner = 1
    for size in mapping.clusters:
        inner *= size
    if num_pes < inner:
        raise Unmappable(f"its clusters hold {inner:,} processing elements, the machine has {num_pes:,}", fits=False)
    widths = (num_pes // inner, *mapping.clusters)
    levels: list[DirectiveLevel] = []
    whole = dict(mapping.problem.sizes)
    above: tuple[DirectiveTiles, ...] = ()
    for number, width in enumerate(widths):
        tiles = _level_tiles(mapping, number, above, whole)
        levels.append(_level(mapping.problem, width, tiles))
        above = tiles
        whole = {t.dim: min(t.size, whole[t.dim]) for t in tiles}
    return tuple(levels)


def _level_tiles(
    mapping: Mapping, number: int, above: tuple[DirectiveTiles, ...], whole: dict[str, int]
) -> tuple[DirectiveTiles, ...]:
    """The directives of a level, completed, with their strides."""
    written = mapping.levels[number]
    sizes = {m.dim: mapping.extent(m.size) for m in written}
    rows: list[tuple[str, int, int, bool]] = []
    for m in written:
        dim, size, offset = m.dim, mapping.extent(m.size), mapping.extent(m.offset)
        if dim.endswith("'"):
            dim = dim[0]
            filter_dim = SLIDES[dim]
            if filter_dim not in sizes:
                raise Unmappable(f"{m} needs a map of {filter_dim} at the same level")
            size += sizes[filter_dim] - 1
        rows.append((dim, size, offset, m.spatial))
    for t in above:
        if all(t.dim != dim for dim, *_ in rows):
            rows.insert(0, (t.dim, t.size, t.offset, False))
    for dim in mapping.problem.named:
        if all(dim != other for other, *_ in rows):
            rows.append((dim, whole[dim], whole[dim], False))
    found = tuple(
        DirectiveTiles(dim, *_strided(mapping.problem, dim, size, offset, number), spatial, whole[dim])
        for dim, size, offset, spatial in rows
    )
    count = sum(t.spatial for t in found)
    if not 1 <= count <= 2:
        raise Unmappable(f"level {number} has {count or 'no'} spatial maps, expected one or two")
    return found


def _strided(problem: Problem, dim: str, size: int, offset: int, number: int) -> tuple[int, int]:
    """Size and offset of a map of Y or X where windows are a stride apart."""
    stride = problem.stride.get(dim, 1) if problem.slides else 1
    if stride == 1:
        return size, offset
    window = problem.sizes[SLIDES[dim]]
    if size < window:
        return size, offset
    outputs = (size + stride - window) // stride
    step = window if number > 0 and window < stride else stride
    return outputs * min(stride, window) + max(window - stride, 0), outputs * step


def _level(problem: Problem, width: int, tiles: tuple[DirectiveTiles, ...]) -> DirectiveLevel:
    sizes = {t.dim: TileSizes(t.size, t.mapped_edge, t.unique, t.unique_edge) for t in tiles}
    if problem.slides:
        for dim, filter_dim in SLIDES.items():
            own, window = sizes[dim], sizes[filter_dim]
            offset, size = next((t.offset, t.size) for t in tiles if t.dim == dim)
            edge = own.mapped_edge - window.mapped_edge + 1
            sizes[OUTPUT[dim]] = TileSizes(own.mapped - window.mapped + 1, edge, min(offset, size), min(offset, edge))
    first = next(t for t in tiles if t.spatial)
    return DirectiveLevel(problem, width, tiles, sizes, _edges(first, width))


def _edges(t: DirectiveTiles, width: int) -> int:
    """The number of sub-clusters at work in the last fold of a spatial map."""
    covered = t.offset * (width - 1) + t.size
    if t.whole > covered:
        steady = tdiv(tdiv(t.whole - t.size, t.offset) + 1, width) - 1
        rest = t.whole - (steady + 1) * t.offset * width
        return 1 if rest < t.size else (rest - t.size) // t.offset + 1
    if t.whole > t.size:
        count = (t.whole - t.size) // t.offset + 1
        return count + (t.offset * (count - 1) + t.size < t.whole)
    return 1

"""
What sums over the tiles of a nest are made of, on a row-stationary array: factors for rows, taps, images, filters and
channels, each of which may be a number or an array.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from math import prod
from typing import Generic, TypeAlias, TypeVar

from npuc.compiler.analysis.machine.array import Numbers
from npuc.compiler.analysis.machine.row_passes import shares
from npuc.compiler.analysis.machine.row_roles import RowRoles, Window, convolutions
from npuc.compiler.analysis.machine.row_stationary import PassMapping, split
from npuc.compiler.core.frozen import frozen

Number = TypeVar("Number", int, Numbers)
Tiles: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]
"""Of each of some dimensions, the extents that its tiles have, and how many have each."""


@frozen
class Factors(Generic[Number]):
    """
    The factors of some tiles under a mapping, summed up over them.

    Of rows: `turns` are the strips of output rows, once for each part of the filter rows, `lines` the rows of inputs
    that they need, `sum_rows` the output rows, as often, `filter_rows` the filter rows, `heights` those of all turns.
    Of taps: `macs` in an element, `words` of inputs, `sum_places`, `filter_taps`, and the `parts` that a filter row is
    cut in. `images`, and the tiles of images (`alone`). `filters`, the most in a set summed over passes
    (`filter_turns`), and `filter_passes`; and so for channels, with the sets in use (`channel_stacks`). `passes` are
    those of a product through a multiplier.
    """

    turns: Number
    lines: Number
    sum_rows: Number
    filter_rows: Number
    heights: Number
    macs: Number
    words: Number
    sum_places: Number
    filter_taps: Number
    parts: Number
    images: Number
    alone: Number
    filters: Number
    filter_turns: Number
    filter_passes: Number
    channels: Number
    channel_turns: Number
    channel_passes: Number
    channel_stacks: Number
    batch: Number
    passes: int = 1

    @property
    def inputs(self) -> Number:
        """The words of inputs that enter the array."""
        return self.batch * self.images * self.lines * self.words * self.filter_passes * self.channels

    @property
    def weights(self) -> Number:
        """The words of filters that enter it."""
        own = self.filter_rows * self.filter_taps * self.filters * self.channels
        return self.batch * self.alone * own

    @property
    def sums(self) -> Number:
        """The sums that leave it; but for the first of each, as many come in."""
        return self.batch * self.images * self.sum_rows * self.sum_places * self.filters * self.channel_passes

    @property
    def steady(self) -> Number:
        """The cycles in which elements compute."""
        own = self.turns * self.macs * self.filter_turns * self.channel_turns
        return self.passes * self.batch * self.images * own

    @property
    def last_sums(self) -> Number:
        """The sums of the last step of each pass."""
        own = self.sum_rows * self.parts * self.filters * self.channel_passes
        return self.batch * self.alone * own

    @property
    def first_inputs(self) -> Number:
        """The words of the first step of each pass."""
        own = self.lines * self.filter_taps * self.filter_passes * self.channels
        return self.batch * self.alone * own

    @property
    def single_steps(self) -> Number:
        """The cycles in which elements compute one step of each pass."""
        own = self.turns * self.filter_taps * self.filter_turns * self.channel_turns
        return self.passes * self.batch * self.alone * own

    @property
    def hops(self) -> Number:
        """The cycles in which the last sums of passes go up the columns."""
        own = self.heights * self.channel_stacks - self.turns * self.channel_passes
        return self.batch * self.alone * own * self.parts * self.filter_passes


@lru_cache(maxsize=65536)
def row_factors(
    window: Window | None,
    positions: tuple[tuple[int, int], ...],
    taps: tuple[tuple[int, int], ...],
    rows: int,
    strip: int,
) -> tuple[int, int, int, int, int]:
    """`turns`, `lines`, `sum_rows`, `filter_rows` and `heights` of tiles of these extents."""
    turns = lines = sums = filter_rows = heights = 0
    for (length, many), (high, times) in product(positions, taps):
        for one in convolutions(window, _extents(window, length, high)):
            count = many * times * one.count
            highs, strips = split(one.taps, rows), split(one.positions, strip)
            chunks = sum(number for _, number in highs)
            turns += count * chunks * sum(number for _, number in strips)
            heights += count * one.taps * sum(number for _, number in strips)
            lines += count * sum(
                number * several * one.inputs(wide, size) for size, number in highs for wide, several in strips
            )
            sums += count * chunks * one.positions
            filter_rows += count * one.taps
    return turns, lines, sums, filter_rows, heights


@lru_cache(maxsize=65536)
def tap_factors(
    window: Window | None, positions: tuple[tuple[int, int], ...], taps: tuple[tuple[int, int], ...], most: int
) -> tuple[int, int, int, int, int]:
    """`macs`, `words`, `sum_places`, `filter_taps` and `parts` of tiles of these extents."""
    macs = words = sums = filter_taps = parts = 0
    for (length, many), (wide, times) in product(positions, taps):
        for one in convolutions(window, _extents(window, length, wide)):
            count = many * times * one.count
            cut = split(one.taps, most)
            macs += count * one.positions * one.taps
            words += count * sum(
                number * (one.phases * size + (one.positions - one.phases) * one.fresh(size)) for size, number in cut
            )
            parts += count * sum(number for _, number in cut)
            sums += count * one.positions * sum(number for _, number in cut)
            filter_taps += count * one.taps
    return macs, words, sums, filter_taps, parts


def _extents(window: Window | None, position: int, tap: int) -> dict[str, int]:
    return {} if window is None else {window.position: position, window.tap: tap}


@lru_cache(maxsize=65536)
def share_factors(tiles: Tiles, sets: int, most: int) -> tuple[int, int, int, int]:
    """
    The size of tiles, the most in one of some sets summed over passes, the passes, and the sets in use in all of them,
    of filters or channels.
    """
    whole = turns = passes = used = 0
    for size, count in products(tiles):
        whole, turns = whole + count * size, turns + count * -(-size // sets)
        for own, together, times in shares(size, sets, most):
            passes, used = passes + count * times, used + count * times * -(-together // own)
    return whole, turns, passes, used


@lru_cache(maxsize=65536)
def image_factors(tiles: Tiles) -> tuple[int, int]:
    """The size of tiles, and their number."""
    return sum(size * count for size, count in products(tiles)), prod(sum(n for _, n in one) for one in tiles)


@lru_cache(maxsize=65536)
def products(tiles: Tiles) -> tuple[tuple[int, int], ...]:
    """The sizes of tiles of several dimensions together, with how many have each."""
    counts = {1: 1}
    for one in tiles:
        joined: dict[int, int] = {}
        for (size, count), (extent, times) in product(counts.items(), one):
            joined[size * extent] = joined.get(size * extent, 0) + count * times
        counts = joined
    return tuple(counts.items())


def factors_of(roles: RowRoles, mapping: PassMapping, tiles: Mapping[str, tuple[tuple[int, int], ...]]) -> Factors[int]:
    """The factors of all tiles of a nest, whose extents are given for each dimension."""
    one = ((1, 1),)

    def of(dims: tuple[str, ...]) -> Tiles:
        return tuple(tiles[d] for d in dims)

    def both(window: Window | None) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        return (one, one) if window is None else (tiles[window.position], tiles[window.tap])

    return Factors(
        *row_factors(roles.rows, *both(roles.rows), mapping.rows, mapping.strip),
        *tap_factors(roles.taps, *both(roles.taps), mapping.taps),
        *image_factors(of(roles.images)),
        *share_factors(of(roles.filters), mapping.filter_sets, mapping.filters)[:3],
        *share_factors(of(roles.channels), mapping.channel_sets, mapping.channels),
        image_factors(of(roles.batch))[0],
        roles.passes,
    )

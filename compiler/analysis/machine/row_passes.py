"""
The passes of a tile operation on a row-stationary array: cycles and accesses in closed form.

A *step* is one position of one image: each element does p x q x s multiply-accumulates, one a cycle (in as many cycles
as its multiplier takes passes for one), on the windows in its scratchpad; the sums pass up the columns of the sets.
While a step is computed the networks bring what the next one needs and take away the sums of the one before, and it
lasts as long as the longest of the three:

    compute   p q s, times the passes of a product
    inputs    the words that no element's window has yet, each once for all elements that share it
    sums      one for each filter and output row of the pass, in and out at the same time

Before its first step a pass waits for the words of that step, and where its filters are new for them, which the
scratchpad holds once; after the last one its sums pass up the column, an element a cycle, and leave. Filters stay for
all strips of rows; a row, a tap or a channel that does not fit takes passes of its own, whose sums come back from the
SPM. Where sizes do not divide, the parts are as even as possible, and a smaller one takes as long as it is.

Derived from a model of the elements (`tests/unit/cycle/row_elements.py`).
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import prod

from npuc.compiler.analysis.machine.row_roles import Convolution, RowRoles, convolutions
from npuc.compiler.analysis.machine.row_stationary import PassMapping, RowStationary, crossing, split
from npuc.compiler.core.frozen import frozen


@frozen
class PassWork:
    """
    Work of passes: cycles in which elements compute, wait for a network, and are filled or drained.

    `passes` are the passes, `loads` those that bring filters; `inputs`, `weights` and `sums` the words of ifmap and
    filter that come from the SPM, and the sums that go there.
    """

    steady: int = 0
    edge: int = 0
    filling: int = 0
    passes: int = 0
    loads: int = 0
    inputs: int = 0
    weights: int = 0
    sums: int = 0

    @property
    def cycles(self) -> int:
        """All cycles."""
        return self.steady + self.edge + self.filling

    def plus(self, other: "PassWork", count: int) -> "PassWork":
        """This and other work `count` times."""
        return PassWork(
            self.steady + count * other.steady,
            self.edge + count * other.edge,
            self.filling + count * other.filling,
            self.passes + count * other.passes,
            self.loads + count * other.loads,
            self.inputs + count * other.inputs,
            self.weights + count * other.weights,
            self.sums + count * other.sums,
        )


def shares(total: int, sets: int, most: int) -> Iterator[tuple[int, int, int]]:
    """
    How `total` filters or channels come in passes of `sets` sets with at most `most` in each.

    Yields what the largest set has, what all have, and how many passes are so; the last one stands alone.
    """
    *full, (size, times) = split(-(-total // sets), most)
    before = 0
    for own, alike in (*full, (size, times - 1)):
        if alike:
            yield own, sets * own, alike
        before += own * alike
    yield size, total - sets * before, 1


def tile_work(roles: RowRoles, own: RowStationary, mapping: PassMapping, extents: Mapping[str, int]) -> PassWork:
    """The work of a tile operation whose dimensions have these extents."""
    sizes = tuple(prod(extents[d] for d in dims) for dims in (roles.images, roles.filters, roles.channels))
    batch = prod(extents[d] for d in roles.batch)
    windows = (convolutions(roles.rows, extents), convolutions(roles.taps, extents))
    one = _work(*windows, sizes, own, mapping, roles.passes)
    return one if batch == 1 else PassWork().plus(one, batch)


@lru_cache(maxsize=65536)
def _work(
    rows: tuple[Convolution, ...],
    taps: tuple[Convolution, ...],
    sizes: tuple[int, ...],
    own: RowStationary,
    mapping: PassMapping,
    passes: int,
) -> PassWork:
    images, filters, channels = sizes
    found = PassWork()
    parts = (
        [(row, size, row.count * count) for row in rows for size, count in split(row.taps, mapping.rows)],
        [(tap, size, tap.count * count) for tap in taps for size, count in split(tap.taps, mapping.taps)],
        list(shares(filters, mapping.filter_sets, mapping.filters)),
        list(shares(channels, mapping.channel_sets, mapping.channels)),
    )
    for (row, high, row_count), (tap, wide, tap_count), some, summed in product(*parts):
        group = _Group(row, high, tap, wide, images, some[:2], summed[:2], own, mapping, passes)
        found = found.plus(group.work(), row_count * tap_count * some[2] * summed[2])
    return found


@frozen
class _Group:
    """
    Passes with the same filters: `high` filter rows and `wide` taps, `filters` and `channels` in the largest element
    and in all sets; a product takes so many `passes` through a multiplier.
    """

    row: Convolution
    high: int
    tap: Convolution
    wide: int
    images: int
    filters: tuple[int, int]
    channels: tuple[int, int]
    own: RowStationary
    mapping: PassMapping
    passes: int

    def work(self) -> PassWork:
        """All of them: the strips of output rows in turn, of which the first brings the filters."""
        weights = self.filters[1] * self.channels[1] * self.high * self.wide
        load = crossing(weights, self.own.filter_port)
        found = PassWork(loads=1, weights=weights)
        for number, (strip, count) in enumerate(split(self.row.positions, self.mapping.strip)):
            if not number:
                found = found.plus(self._pass(strip, load), 1)
            found = found.plus(self._pass(strip, 0), count - (not number))
        return found

    def _pass(self, strip: int, load: int) -> PassWork:
        """One pass on a strip of rows, which waits for the load of its filters."""
        (own_filters, filters), (own_channels, channels) = self.filters, self.channels
        compute = self.passes * own_filters * own_channels * self.wide
        lines = self.row.inputs(strip, self.high) * channels
        fresh = lines * self.tap.fresh(self.wide)
        sums = filters * strip
        out = crossing(sums, self.own.psum_port)
        whole = max(crossing(lines * self.wide, self.own.ifmap_port), out)
        next_one = max(crossing(fresh, self.own.ifmap_port), out)
        steps, begins = self.images * self.tap.positions, self.images * self.tap.phases
        waits = 0
        if steps > 1:
            # In the first step no sums leave, in the last one nothing comes in.
            first_fresh = self.tap.positions > self.tap.phases
            wholes, freshes = begins - 1 - (not first_fresh), steps - begins - first_fresh
            waits = max(0, (next_one if first_fresh else whole) - compute) + max(0, out - compute)
            waits += wholes * max(0, whole - compute) + freshes * max(0, next_one - compute)
        stacked = -(-channels // own_channels)
        return PassWork(
            steady=steps * compute,
            edge=waits,
            filling=max(load, whole) + self.high * stacked - 1 + out,
            passes=1,
            inputs=begins * lines * self.wide + (steps - begins) * fresh,
            sums=steps * sums,
        )

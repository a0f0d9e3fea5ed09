"""
The elements of a row-stationary array that work in each cycle of a pass, in closed form.

In a step all elements compute at the same time, each as long as it has filters, channels and taps; a step lasts until
the networks have brought what the next one needs, too (`row_passes.py`). Before the first step the filters and inputs
come; after the last one the sums go up the columns and leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.row_choice import row_stationary
from npuc.compiler.analysis.machine.row_passes import shares
from npuc.compiler.analysis.machine.row_roles import Convolution, convolutions, roles_of
from npuc.compiler.analysis.machine.row_stationary import PassMapping, RowStationary, crossing, split
from npuc.dialects.npu.nest import Nest, Statement


@dataclass(frozen=True)
class Sets:
    """
    The PE sets of a pass on an array of `cols` columns: each is `high` filter rows x `strip` output rows.

    `filters` and `channels` are those in an element of each of the sets that differ in them.
    """

    high: int
    strip: int
    taps: int
    filters: tuple[int, ...]
    channels: tuple[int, ...]
    mapping: PassMapping
    cols: int

    @property
    def elements(self) -> int:
        """The elements in use."""
        return len(self.filters) * len(self.channels) * self.high * self.strip

    def set_of(self, row: int, col: int) -> tuple[int, int] | None:
        """The set of an element, by its number among those with other filters, and with other channels."""
        own, line = divmod(row, self.mapping.rows)
        stack, channel = divmod(own, self.mapping.channel_sets)
        if self.mapping.strip <= self.cols:
            beside = self.cols // self.mapping.strip
            place, column = divmod(col, self.mapping.strip)
            if place >= beside:
                return None
            number = stack * beside + place
        else:
            # A wide set is folded over several bands.
            number, part = divmod(stack, -(-self.mapping.strip // self.cols))
            column = part * self.cols + col
        inside = line < self.high and column < self.strip
        return (number, channel) if inside and number < len(self.filters) and channel < len(self.channels) else None

    def macs(self, number: int, channel: int) -> int:
        """The multiply-accumulates of an element in a step."""
        return self.filters[number] * self.channels[channel] * self.taps


@dataclass(frozen=True)
class PassWave:
    """
    The first pass of a statement: `ports` are the networks, `convolution` is along the taps of a row, `lines` are the
    rows of inputs that a step reads, of `images` one after another, in so many `passes` of each product.
    """

    sets: Sets
    convolution: Convolution
    lines: int
    images: int
    ports: RowStationary
    passes: int = 1

    @property
    def steps(self) -> int:
        """Its steps: one for each position of each image."""
        return self.images * self.convolution.positions

    @property
    def compute(self) -> int:
        """The cycles of a step in the element that has most to do."""
        return self.passes * max(self.sets.filters) * max(self.sets.channels) * self.sets.taps

    @property
    def load(self) -> int:
        """The cycles before the first step, in which filters come, and the inputs of that step."""
        weights = sum(self.sets.filters) * sum(self.sets.channels) * self.sets.high * self.sets.taps
        return max(crossing(weights, self.ports.filter_port), self.bring(0))

    @property
    def leave(self) -> int:
        """The cycles in which the sums of a step leave."""
        return crossing(sum(self.sets.filters) * self.sets.strip, self.ports.psum_port)

    @property
    def after(self) -> int:
        """The cycles after the last step, in which its sums go up the columns and leave."""
        return self.sets.high * len(self.sets.channels) - 1 + self.leave

    @property
    def macs(self) -> int:
        """The passes of all multiply-accumulates."""
        own = self.passes * sum(self.sets.filters) * sum(self.sets.channels) * self.sets.taps
        return self.steps * own * self.sets.high * self.sets.strip

    def bring(self, step: int) -> int:
        """The cycles in which the networks bring what a step needs, and take as many sums."""
        taps = self.sets.taps
        words = taps if self._begins(step) else self.convolution.fresh(taps)
        return max(crossing(self.lines * words, self.ports.ifmap_port), self.leave)

    def step_cycles(self, step: int) -> int:
        """The cycles of a step, with what it waits for the networks."""
        beside = self.bring(step + 1) if step + 1 < self.steps else 0
        return max(self.compute, beside, self.leave if step else 0)

    def starts(self, count: int) -> tuple[int, ...]:
        """The cycles in which the first steps begin, and the one after the last of them ends."""
        return tuple(accumulate((self.step_cycles(step) for step in range(count)), initial=self.load))

    def busy(self, within: int) -> tuple[int, int]:
        """
        How many elements work in a cycle of a step, counted from its first one: of sets with an even number, and of
        those between them.
        """
        sets, size = self.sets, self.sets.high * self.sets.strip
        at_work = [(f + c) % 2 for f in self._filters for c in self._channels if self.passes * sets.macs(f, c) > within]
        return at_work.count(0) * size, at_work.count(1) * size

    @property
    def _filters(self) -> range:
        return range(len(self.sets.filters))

    @property
    def _channels(self) -> range:
        return range(len(self.sets.channels))

    def _begins(self, step: int) -> bool:
        """Whether the window of a step shares nothing with the one before: it is the first of an image and phase."""
        own = step % self.convolution.positions
        phases = self.convolution.phases
        lengths = (-(-(self.convolution.positions - phase) // phases) for phase in range(phases))
        return own in accumulate(lengths, initial=0)


def first_pass(nest: Nest, statement: Statement, array: Array, extents: dict[str, int]) -> PassWave:
    """The first pass of a statement in a tile operation, on an array that is configured for the nest."""
    own, roles = row_stationary(array), roles_of(nest, statement)
    mapping = own.mappings[nest.statements.index(statement)]
    row, tap = convolutions(roles.rows, extents)[0], convolutions(roles.taps, extents)[0]
    high, taps = split(row.taps, mapping.rows)[0][0], split(tap.taps, mapping.taps)[0][0]
    strip = split(row.positions, mapping.strip)[0][0]
    images, filters, channels = 1, 1, 1
    for dim, size in extents.items():
        images *= size if dim in roles.images else 1
        filters *= size if dim in roles.filters else 1
        channels *= size if dim in roles.channels else 1
    sets = Sets(
        high,
        strip,
        taps,
        _each(filters, mapping.filter_sets, mapping.filters),
        _each(channels, mapping.channel_sets, mapping.channels),
        mapping,
        array.cols,
    )
    return PassWave(sets, tap, row.inputs(strip, high) * sum(sets.channels), images, own, roles.passes)


def _each(total: int, sets: int, most: int) -> tuple[int, ...]:
    """What each set has in the first pass."""
    _, together, _ = next(shares(total, sets, most))
    each = -(-together // sets)
    return tuple(high - low for low, high in pairwise([*range(0, together, each), together]))

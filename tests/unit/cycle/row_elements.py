"""
A row-stationary array, element by element: what the closed form of its passes is tested against.

Every element has a scratchpad for filters, one for the window of inputs of a step, one for sums, and does one
multiply-accumulate a cycle. Three networks bring filters and inputs, bring sums and take them away, so many words a
cycle; a word that several elements want is sent once. A step is one position of one image. In a slot the elements
compute a step, the networks bring what the next one needs and take the sums of the one before; the slot ends when all
three are done. Sums pass from an element to the one above it, a cycle each.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import gcd
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.machine.row_stationary import PassMapping, RowStationary

Values: TypeAlias = npt.NDArray[np.int64]
Word = tuple[int, ...]


@dataclass
class Element:
    """One element: its filter words by (filter, channel, tap), and its window by (image, channel, row, column)."""

    memory: RowStationary
    weights: dict[Word, int] = field(default_factory=dict[Word, int])
    window: dict[Word, int] = field(default_factory=dict[Word, int])

    def take(self, weights: dict[Word, int]) -> None:
        """New filters in the place of the old ones."""
        assert len(weights) <= self.memory.filter_words
        self.weights, self.window = weights, {}

    def wants(self, words: set[Word]) -> set[Word]:
        """Which words of the next window it has not."""
        assert len(words) <= self.memory.ifmap_words
        return words - set(self.window)


@dataclass
class Job:
    """
    A convolution: inputs [image, channel, row, column], filters [filter, channel, row, tap], the output rows and
    columns, and stride and dilation of rows and of columns.
    """

    inputs: Values
    filters: Values
    shape: tuple[int, int]
    rows: tuple[int, int]
    taps: tuple[int, int]

    def result(self) -> Values:
        """The outputs [image, filter, row, column], without an array."""
        (high, wide), (_, _, r, s) = self.shape, self.filters.shape
        out = np.zeros((len(self.inputs), len(self.filters), high, wide), np.int64)
        for i, j in product(range(r), range(s)):
            (a, b), (c, d) = self.rows, self.taps
            part = self.inputs[:, :, i * b : i * b + a * (high - 1) + 1 : a, j * d : j * d + c * (wide - 1) + 1 : c]
            out += np.einsum("ncyx,mc->nmyx", part, self.filters[:, :, i, j])
        return out


@dataclass
class Array:
    """The array at work: its sums so far, and what it counts."""

    size: tuple[int, int]
    memory: RowStationary
    mapping: PassMapping
    cycles: int = 0
    steady: int = 0
    passes: int = 0
    loads: int = 0
    inputs: int = 0
    weights: int = 0
    sums: int = 0
    returned: int = 0

    def run(self, job: Job) -> Values:
        """All passes of a convolution. Returns its outputs."""
        m = self.mapping
        images, channels, _, _ = job.inputs.shape
        filters, _, r, s = job.filters.shape
        out = np.zeros((images, filters, *job.shape), np.int64)
        begun = np.zeros(out.shape, np.bool_)
        groups = product(
            even_parts(range(r), m.rows),
            even_parts(range(s), m.taps),
            set_parts(range(filters), m.filter_sets, m.filters),
            set_parts(range(channels), m.channel_sets, m.channels),
        )
        for high, wide, of_filters, of_channels in groups:
            self.loads += 1
            for number, strip in enumerate(even_parts(range(job.shape[0]), m.strip)):
                self._pass(job, out, begun, (high, wide, of_filters, of_channels), strip, first=not number)
        return out

    def _place(self, t: int, c: int, j: int, i: int) -> tuple[int, int]:
        """Row and column of the element for filter row i and output row j of a set."""
        m, (rows, cols) = self.mapping, self.size
        if m.strip <= cols:
            beside = cols // m.strip
            band, col = t // beside * m.channel_sets + c, t % beside * m.strip + j
        else:
            folds = -(-m.strip // cols)
            band, col = (t * folds + j // cols) * m.channel_sets + c, j % cols
        row = band * m.rows + i
        assert row < rows
        assert col < cols
        return row, col

    def _pass(
        self,
        job: Job,
        out: Values,
        begun: npt.NDArray[np.bool_],
        group: tuple[list[int], list[int], list[list[int]], list[list[int]]],
        strip: list[int],
        *,
        first: bool,
    ) -> None:
        high, wide, of_filters, of_channels = group
        elements: dict[tuple[int, int], tuple[Element, int, int, int, int]] = {}
        loaded: set[Word] = set()
        for (t, some), (c, summed) in product(enumerate(of_filters), enumerate(of_channels)):
            for (j, y), (i, row) in product(enumerate(strip), enumerate(high)):
                place = self._place(t, c, j, i)
                assert place not in elements
                element = Element(self.memory)
                element.take({(f, k, s): int(job.filters[f, k, row, s]) for f in some for k in summed for s in wide})
                loaded |= {(f, k, row, s) for f, k, s in element.weights}
                elements[place] = element, t, c, y, row
        self.passes += 1
        if first:
            self.weights += len(loaded)
        a, b = job.taps
        phase = b // gcd(a, b)
        steps = [(n, x) for n in range(len(out)) for at in range(phase) for x in range(at, out.shape[3], phase)]
        sums = sum(map(len, of_filters)) * len(strip)
        leaving = words_take(sums, self.memory.psum_port)
        bring: list[int] = []
        computed = 0
        for n, x in steps:
            words: set[Word] = set()
            for element, _, c, y, row in elements.values():
                needed = {
                    (n, k, job.rows[0] * y + job.rows[1] * row, a * x + b * s) for k in of_channels[c] for s in wide
                }
                words |= element.wants(needed)
                element.window = {word: int(job.inputs[word]) for word in needed}
            self.inputs += len(words)
            bring.append(max(words_take(len(words), self.memory.ifmap_port), leaving))
            computed = self._step(job, out, elements, n, x)
            self.sums += sums
            place = np.ix_([n], [f for some in of_filters for f in some], strip, [x])
            self.returned += int(begun[place].sum())
            begun[place] = True
        self.cycles += max(bring[0], words_take(len(loaded), self.memory.filter_port) if first else 0)
        for number in range(len(steps)):
            nothing_left = number + 1 == len(steps)
            self.cycles += max(computed, 0 if nothing_left else bring[number + 1], leaving if number else 0)
            self.steady += computed
        self.cycles += len(high) * len(of_channels) - 1 + leaving

    def _step(
        self,
        job: Job,
        out: Values,
        elements: dict[tuple[int, int], tuple[Element, int, int, int, int]],
        n: int,
        x: int,
    ) -> int:
        """One step: the sums of each column pass up and are added to. Returns the cycles of the longest element."""
        longest = 0
        above: dict[tuple[int, int], dict[int, int]] = {}
        for (row, col), (element, t, _, y, filter_row) in sorted(elements.items(), reverse=True):
            own: dict[int, int] = {}
            cycles = 0
            for (f, k, s), weight in element.weights.items():
                line, column = job.rows[0] * y + job.rows[1] * filter_row, job.taps[0] * x + job.taps[1] * s
                own[f] = own.get(f, 0) + weight * element.window[n, k, line, column]
                cycles += 1
            assert len(own) <= self.memory.psum_words
            longest = max(longest, cycles)
            below = elements.get((row + 1, col))
            if below is not None and below[1] == t and below[3] == y:
                own = {f: value + above[row + 1, col][f] for f, value in own.items()}
            above[row, col] = own
            upper = elements.get((row - 1, col))
            if upper is None or upper[1] != t or upper[3] != y:
                for f, value in own.items():
                    out[n, f, y, x] += value
        return longest


def words_take(words: int, port: int | None) -> int:
    """The cycles in which words pass a port."""
    return 0 if port is None else -(-words // port)


def even_parts(among: range, most: int) -> Iterator[list[int]]:
    """As few parts as possible of at most so many, the first ones alike."""
    count = -(-len(among) // most)
    size = -(-len(among) // count)
    for low in range(0, len(among), size):
        yield list(among[low : low + size])


def set_parts(among: range, sets: int, most: int) -> Iterator[list[list[int]]]:
    """The parts of each pass, one a set: as few passes as possible of at most so many in each set."""
    for share in even_parts(range(-(-len(among) // sets)), most):
        size, low = len(share), share[0] * sets
        own = list(among[low : low + sets * size])
        each = -(-len(own) // sets)
        yield [own[at : at + each] for at in range(0, len(own), each)]

"""
A row-stationary array: scratchpads, networks, and the mapping it is configured with.

Y.-H. Chen, J. Emer, V. Sze, ISCA 2016, and Y.-H. Chen, T. Krishna, J. Emer, V. Sze, IEEE JSSC 52(1), 2017. A *PE set*
of R x e elements computes e rows of outputs: the element in row i and column j convolves filter row i with the row of
inputs that output row j needs there, in one dimension. Filter rows are shared along the rows of a set, rows of inputs
along its diagonals, and sums pass up its columns. In an element p filters and q channels take turns, bounded by its
scratchpads. On the array r sets stand above each other that add up other channels, and t such stacks work on other
filters. A *pass* is what all of them do on one strip of e rows with the same filters, for all images of a tile.
`row_passes.py` has its cycles and accesses.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated

from npuc.compiler.analysis.machine.fact import Description, FromKey
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import COUNT, Limit


@frozen
class PassMapping:
    """
    The most that a pass takes.

    `rows` are filter rows and `strip` output rows of a PE set; `taps` of a filter row, `filters` and `channels` are in
    an element; `channel_sets` sets add up other channels, `filter_sets` have other filters.
    """

    rows: int
    strip: int
    taps: int
    filters: int
    channels: int
    channel_sets: int
    filter_sets: int

    @property
    def active(self) -> int:
        """The elements at work in a full pass."""
        return self.rows * self.strip * self.channel_sets * self.filter_sets


_PORT = Limit(1 << 20)


def _is_rs(hardware: Description) -> bool:
    return hardware.get("array.dataflow") == "rs"


@frozen
class RowStationary:
    """
    What a row-stationary array has beside its elements.

    `ifmap_words`, `filter_words` and `psum_words` are the words of an element's scratchpads; the ports are the words
    that the networks bring in a cycle to all elements, and of sums as many that they take back; None: as many as come.
    `mappings` is what the array is configured with, one for each statement of a nest; empty before.
    """

    ifmap_words: Annotated[
        int, FromKey("array.ifmap_words", COUNT, "scratchpad of an element for inputs, words", _is_rs)
    ]
    filter_words: Annotated[
        int, FromKey("array.filter_words", COUNT, "scratchpad of an element for filters, words", _is_rs)
    ]
    psum_words: Annotated[
        int, FromKey("array.psum_words", COUNT, "scratchpad of an element for partial sums, words", _is_rs)
    ]
    ifmap_port: Annotated[
        int | None,
        FromKey(
            "array.ifmap_port", _PORT, "words of inputs that enter the array in a cycle (array.dataflow rs)", _is_rs
        ),
    ]
    filter_port: Annotated[
        int | None,
        FromKey("array.filter_port", _PORT, "words of filters that enter it in a cycle (array.dataflow rs)", _is_rs),
    ]
    psum_port: Annotated[
        int | None,
        FromKey(
            "array.psum_port",
            _PORT,
            "partial sums that enter it, and that leave it, in a cycle (array.dataflow rs)",
            _is_rs,
        ),
    ]
    mappings: tuple[PassMapping, ...] = ()

    def in_element(self, taps: int, filters: int, channels: int) -> tuple[int, int, int]:
        """
        The taps, filters and channels that an element takes of as many.

        A window of all its channels is in the scratchpad of inputs; then as many filters as the two others hold.
        """
        own_taps = even(taps, min(self.ifmap_words, self.filter_words))
        own_channels = min(channels, max(1, min(self.ifmap_words, self.filter_words) // own_taps))
        return own_taps, min(filters, self.psum_words, self.filter_words // (own_taps * own_channels)), own_channels


def crossing(words: int, port: int | None) -> int:
    """The cycles in which words pass a port."""
    return 0 if port is None else -(-words // port)


def even(total: int, most: int) -> int:
    """The size of the parts of `total` if there are as few as possible of at most `most`, as even as possible."""
    return -(-total // -(-total // most))


def split(total: int, most: int) -> list[tuple[int, int]]:
    """The sizes of these parts, in order, with how many have each."""
    size = even(total, most)
    whole, rest = divmod(total, size)
    return [(size, whole), (rest, 1)] if rest else [(size, whole)]


@lru_cache(maxsize=4096)
def mappings_of(
    array: tuple[int, int], own: RowStationary, sizes: tuple[int, int, int, int, int]
) -> tuple[PassMapping, ...]:
    """
    The mappings to choose from, on an array of so many rows and columns.

    `sizes` are filter rows, output rows, taps, filters and channels of the whole nest. Sets up to as wide as the array
    stand side by side in bands as high as they are; a wider one is folded over several bands. Filter rows are cut where
    more of the array is at work then.
    """
    height, width = array
    filter_rows, output_rows, taps, filters, channels = sizes
    own_taps, own_filters, own_channels = own.in_element(taps, filters, channels)
    found: dict[PassMapping, None] = {}
    for rows in _heights(filter_rows, height):
        for strip, stacked, beside in _arrangements(height // rows, width, output_rows):
            for channel_sets in _stacks(stacked, channels):
                filter_sets = min(filters, stacked // channel_sets * beside)
                mapping = PassMapping(rows, strip, own_taps, own_filters, own_channels, channel_sets, filter_sets)
                found[mapping] = None
    return tuple(found)


def _heights(filter_rows: int, height: int) -> Iterator[int]:
    """The heights of sets, the largest first: the next one where the parts of the filter rows fill the array better."""
    least: tuple[int, int] | None = None
    for bands in range(1, height + 1):
        rows = even(filter_rows, height // bands)
        turns, beside = -(-filter_rows // rows), height // rows
        if least is None or turns * least[1] < least[0] * beside:
            least = turns, beside
            yield rows


def _arrangements(bands: int, width: int, output_rows: int) -> Iterator[tuple[int, int, int]]:
    """Strips of output rows, widest first, with the sets that stand above each other and side by side."""
    most = min(bands, -(-output_rows // width))
    for folds in range(most, 1, -1):
        if folds == most or bands // folds != bands // (folds + 1):
            yield min(output_rows, folds * width), bands // folds, 1
    for beside in range(max(1, width // output_rows), width + 1):
        strip = min(output_rows, width // beside)
        if width // strip == beside or strip == output_rows:
            yield strip, bands, beside


def _stacks(stacked: int, channels: int) -> Iterator[int]:
    """How many sets may add up channels: the most for each number of sets that are left for filters."""
    most = min(stacked, channels)
    for sets in range(1, most + 1):
        if sets == most or stacked // sets != stacked // (sets + 1):
            yield sets

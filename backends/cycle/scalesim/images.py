"""
DRAM reads of a convolution's input: the epochs of `reads.py` where windows overlap.

The address of element (m, k) of the windows' matrix is a sum: where window m begins, and where k lies in a window,
pixels being stored row by row with channels innermost. So a fold asks for `stream[t] + lanes[p]` in line t + p, and its
lines come from two vectors. Elements that hang over the edge are counted as SRAM reads, but never fetched.

In closed form: an input that fits, and one whose words come again only after an epoch's worth of others. Else folds
are taken in stretches of as many requests as the epoch still needs, where the new ones are found all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from npuc.backends.cycle.scalesim.compute import Folds
from npuc.backends.cycle.scalesim.layer import Image, Layer
from npuc.backends.cycle.scalesim.reads import Epochs, every_word
from npuc.backends.cycle.scalesim.streams import Stream
from npuc.compiler.analysis.machine.array import Numbers

# Requests looked at together: enough to pay for the calls, few enough to stay in cache.
SHORTEST, LONGEST = 1 << 12, 1 << 16
# The mark of an address that is never fetched.
OUTSIDE = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Block:
    """The requests of one fold: in line `first` + l, lane p requests address `starts[l, p] + lanes[p]`."""

    starts: Numbers
    lanes: Numbers
    first: int

    @property
    def requests(self) -> int:
        """The slots of its lines, empty ones included."""
        return self.starts.shape[0] * self.lanes.size

    def stretch(self, begin: int, atleast: int) -> Numbers:
        """The addresses wanted from slot `begin` on, to the end of the line that completes `atleast` slots."""
        width = self.lanes.size
        line, lane = divmod(begin, width)
        return (self.starts[line : line + -(-(lane + atleast) // width)] + self.lanes).reshape(-1)[lane:]


class Windows:
    """The windows of a convolution as the array asks for them."""

    def __init__(self, layer: Layer, image: Image, folds: Folds) -> None:
        self.image, self.folds = image, folds
        row = image.reach_width * image.channels
        self.end = image.images * image.reach_height * row  # beyond the last address, those outside included
        begins = (
            np.arange(image.images)[:, None, None] * (image.reach_height * row),
            np.arange(image.output_height)[:, None] * (image.stride_h * row),
            np.arange(image.output_width) * (image.stride_w * image.channels),
        )
        self.begins: Numbers = (begins[0] + begins[1] + begins[2]).reshape(-1)
        k = np.arange(layer.k)
        if layer.sparsity is not None:
            k = k[k % layer.sparsity.block < layer.sparsity.kept]
        run = image.filter_width * image.channels
        self.places: Numbers = k // run * row + k % run
        self.sweeps = 1 if folds.dataflow == "is" else folds.col_folds
        self.blocks = folds.count // self.sweeps
        self.sweep_lines = self.blocks * folds.lines_of_fold

    @cached_property
    def marks(self) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """For each address 0, or OUTSIDE; one more for empty slots."""
        marks = np.zeros(self.end + 1, np.int32)
        marks[-1] = OUTSIDE
        pixels = marks[:-1].reshape(-1, self.image.reach_height, self.image.reach_width, self.image.channels)
        pixels[:, self.image.height :] = OUTSIDE
        pixels[:, :, self.image.width :] = OUTSIDE
        return marks

    def block(self, number: int) -> Block:
        """The fold `number` of a sweep."""
        folds = self.folds
        first = number * folds.lines_of_fold
        column, row = divmod(number, folds.row_folds)
        rows = slice(row * folds.rows, (row + 1) * folds.rows)
        if folds.dataflow == "is":
            places = self.places[rows][::-1]
            lanes = self.begins[column * folds.cols : (column + 1) * folds.cols]
            return Block(places[:, None], lanes, first + folds.rows - places.size)
        lanes = (self.places if folds.dataflow == "ws" else self.begins)[rows]
        skipped = folds.rows - lanes.size
        starts = sliding_window_view(self._padded[skipped : self._padded.size - skipped], lanes.size)[:, ::-1]
        return Block(starts, lanes, first + (folds.rows if folds.dataflow == "ws" else 0))

    def last_line(self) -> int:
        """The last line with a request that is not outside."""
        for number in reversed(range(self.blocks)):
            block = self.block(number)
            slots = self._inside(block)
            if slots.size:
                return (self.sweeps - 1) * self.sweep_lines + block.first + int(slots[-1]) // block.lanes.size
        raise AssertionError("the first window lies inside the image")

    def line_of(self, word: int) -> int:
        """The line of a request of the first sweep, counted from 0 among those that are not outside."""
        for number in range(self.blocks):
            block = self.block(number)
            slots = self._inside(block)
            if word < slots.size:
                return block.first + int(slots[word]) // block.lanes.size
            word -= slots.size
        raise AssertionError("a sweep has more requests")

    def _inside(self, block: Block) -> Numbers:
        """The slots of a block whose requests are not outside."""
        return np.flatnonzero(self.marks.take(block.stretch(0, block.requests), mode="clip") == 0)

    @cached_property
    def _padded(self) -> Numbers:
        """The streamed vector, with empty slots on both sides."""
        stream = self.begins if self.folds.dataflow == "ws" else self.places
        return np.pad(stream, self.folds.rows - 1, constant_values=self.end)


def image_epochs(windows: Windows, layer: Layer, stream: Stream, capacity: int) -> Epochs:
    """The epochs of a convolution's input, whose requests are `stream`."""
    image = windows.image
    if layer.sparsity is None:
        distinct = _touched(image)
        if distinct < capacity:
            return Epochs(distinct, None)
        apart = not image.overlaps or _distance(layer, image, windows.folds) >= capacity
        if apart and not image.overhangs:
            return every_word(stream, capacity)
        if not image.overlaps:
            # Every sweep requests each word once, in the same order: no word is still held when it is requested again.
            reads = distinct * windows.sweeps
            sweep, word = divmod(reads // capacity * capacity - 1, distinct)
            return Epochs(reads, sweep * windows.sweep_lines + windows.line_of(word))
    return _walk(windows, capacity)


def _touched(image: Image) -> int:
    """The number of words of the input that lie in some window."""
    words = image.images * image.channels
    for size, kernel, stride, positions in (
        (image.height, image.filter_height, image.stride_h, image.output_height),
        (image.width, image.filter_width, image.stride_w, image.output_width),
    ):
        last = (positions - 1) * stride
        words *= size if stride <= kernel else (positions - 1) * kernel + min(max(size - last, 0), kernel)
    return words


def _distance(layer: Layer, image: Image, folds: Folds) -> int:
    """
    A lower bound of the requests between two of the same word, in ws; 0 for the other dataflows, where it is small.

    A word comes again in a later column of the windows' matrix, at least `gap` columns on (with the sweep's end joined
    to the next one's beginning). So whole folds lie between; the one at the end of a sweep may be smaller.
    """
    if folds.dataflow != "ws":
        return 0
    gaps = [image.channels] if folds.col_folds > 1 else []
    if image.stride_w < image.filter_width:
        gaps.append(image.stride_w * image.channels)
    if image.stride_h < image.filter_height:
        back = (image.filter_width - 1) // image.stride_w * image.stride_w
        gaps.append((image.stride_h * image.filter_width - back) * image.channels)
    between = min(gaps) // folds.rows - 1
    missing = folds.rows * folds.row_folds - layer.k if folds.col_folds > 1 else 0
    return layer.m * (between * folds.rows - missing)


def _walk(windows: Windows, capacity: int) -> Epochs:
    """
    Epoch by epoch over the stretches of the folds.

    All sweeps are equal, so where an epoch begins at the same place of a sweep as one before, what lies between
    repeats, and whole periods are skipped.
    """
    marks, firsts = windows.marks.copy(), np.empty(windows.end + 1, np.int32)
    shortest = min(capacity, SHORTEST)
    full, needed, sweep = 0, capacity, 0
    filled: int | None = None
    begun: dict[tuple[int, int], tuple[int, int]] = {}
    while sweep < windows.sweeps and (sweep == 0 or full):
        for number in range(windows.blocks):
            block, slot = windows.block(number), 0
            while slot < block.requests:
                wanted = block.stretch(slot, min(max(needed, shortest), LONGEST))
                # A read: not marked with this epoch, and the first of its address in the stretch.
                unmarked = np.flatnonzero(marks.take(wanted, mode="clip") <= full)
                addresses, order = wanted[unmarked], np.arange(unmarked.size, dtype=np.int32)
                firsts[addresses[::-1]] = order[::-1]
                reads = unmarked[firsts[addresses] == order]
                if reads.size < needed:
                    marks[addresses] = full + 1
                    needed -= reads.size
                    slot += wanted.size
                    continue
                slot += int(reads[needed - 1]) + 1
                full, needed = full + 1, capacity
                filled = sweep * windows.sweep_lines + block.first + (slot - 1) // block.lanes.size
                before, count = begun.setdefault((number, slot), (sweep, full))
                if before < sweep:
                    periods = (windows.sweeps - 1 - sweep) // (sweep - before)
                    full += periods * (full - count)
                    filled += periods * (sweep - before) * windows.sweep_lines
                    sweep += periods * (sweep - before)
        sweep += 1
    return Epochs(full * capacity + capacity - needed, filled)

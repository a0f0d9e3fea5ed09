"""
SCALE-Sim's DRAM reads of an operand in CALC mode: epochs over the demanded words.

A buffer of S words is cut in 100 sets of floor(S / 100); half of them hold an epoch (`capacity`). Words are taken in
the order of the lines, lanes in order within a line. A word that the epoch does not hold is one DRAM read and enters
it; when the epoch is full, all of it is thrown away (even if the operand fits exactly). Reads never stall.

Quirks: 10 words a cycle are assumed for the first fetch, whatever the hardware; what is read after the last full epoch
is charged to that epoch's time.
"""

from dataclasses import dataclass

from npuc.backends.cycle.scalesim.streams import Stream

# Words a cycle that SCALE-Sim assumes for the first fetch in CALC mode.
FIRST_FETCH = 10


@dataclass(frozen=True)
class Buffer:
    """The read buffer of an operand."""

    kb: int

    @property
    def set_words(self) -> int:
        """The words of one of its 100 sets."""
        return 1024 * self.kb // 100

    @property
    def capacity(self) -> int:
        """The words of an epoch."""
        return 50 * self.set_words


@dataclass(frozen=True)
class Epochs:
    """The number of words read, and the line in which the last full epoch was filled (None: none was)."""

    reads: int
    filled: int | None


@dataclass(frozen=True)
class Transfers:
    """DRAM accesses in words, and the cycles of the first and the last."""

    words: int
    start: int
    stop: int


def transfers(epochs: Epochs, first_line: int, buffer: Buffer) -> Transfers:
    """The time of DRAM reads, `first_line` being the first line with a request."""
    if epochs.filled is None:
        fetched = -(-epochs.reads // buffer.set_words) * buffer.set_words
        return Transfers(epochs.reads, -fetched // FIRST_FETCH, -1)
    return Transfers(epochs.reads, first_line + -buffer.capacity // FIRST_FETCH, epochs.filled + 1)


def every_word(stream: Stream, capacity: int) -> Epochs:
    """Every request is a read: no word comes again within `capacity` requests."""
    full = stream.words // capacity
    return Epochs(stream.words, stream.line_of(full * capacity - 1) if full else None)


def sweeps(stream: Stream, distinct: int, capacity: int) -> Epochs:
    """A stream of whole sweeps over `distinct` words, always in the same order."""
    return Epochs(distinct, None) if distinct < capacity else every_word(stream, capacity)


def panels(stream: Stream, capacity: int) -> Epochs:
    """
    The filter of os: every column fold sweeps over its own words, once a row fold.

    Where an epoch ends inside the first sweep over a panel that fits, the words before the end are read once more.
    """
    passes = stream.folds.row_folds
    reads, held, start = 0, 0, 0
    filled: int | None = None
    for col_fold in range(stream.folds.col_folds):
        words = stream.words_of(col_fold)
        panel = words // passes
        full = (held + (words if panel >= capacity else panel)) // capacity
        if full:
            filled = stream.line_of(start + full * capacity - held - 1)
        if panel >= capacity:
            reads += words
            held = (held + words) % capacity
        elif full:
            lost = capacity - held if passes > 1 else 0
            reads += panel + lost
            held = held + panel - capacity + lost
        else:
            reads += panel
            held += panel
        start += words
    return Epochs(reads, filled)

"""
SCALE-Sim's DRAM writes in CALC mode: the FIFO of the ofmap.

A FIFO of S words in rows of C words, the width of the array. A word that leaves more than S / 2 words held, while no
drain runs, starts one: the half-filled row is forced out, and ceil(S / 2 / C) rows leave at one a cycle, the first in
the same cycle. At the end all that is left leaves from the last line on, whether or not a drain runs.

Quirk: of every drain only the last row is counted by its words; rows forced out in the middle count as full. The same
count frees the space, so more words than S are held over time. In CALC mode there is never a stall: a drain frees its
D > (rows - 1) C words at once, leaving S / 2 - 1 + D free, and at most (rows - 1) C words arrive while it runs.
"""

from collections import deque

from npuc.backends.cycle.scalesim.reads import Transfers
from npuc.backends.cycle.scalesim.streams import Stream


def write_transfers(stream: Stream, size: int) -> Transfers:
    """The DRAM writes of the ofmap, through a buffer of `size` words, an even number."""
    half, width = size // 2, stream.folds.cols
    fifo = _Fifo(width, -(-half // width))
    words, word = stream.words, 0
    start: int | None = None
    stop = end = 0
    while True:
        # The next word that finds more than half held, and no drain running.
        word = max(fifo.drained + half + 1, stream.before(end) + 1, word + 1)
        if word > words:
            break
        cycle = stream.line_of(word - 1)
        fifo.force(word)
        end = cycle + fifo.drain() - 1
        start = cycle if start is None else start
        stop = max(stop, end)
    fifo.force(words)
    cycle = stream.folds.lines - 1
    start = cycle if start is None else start
    while fifo.rows:
        cycle += fifo.drain()
        stop = max(stop, cycle - 1)
    return Transfers(fifo.drained, start, stop)


class _Fifo:
    """Rows of `width` words; `group` of them leave together."""

    def __init__(self, width: int, group: int) -> None:
        self.width, self.group = width, group
        self.rows = 0  # held
        self.drained = 0  # words, as counted
        self._in = 0  # words
        self._out = 0  # rows
        self._partial: deque[tuple[int, int]] = deque()  # number of a row that is not full, words it lacks

    def force(self, words: int) -> None:
        """Take in all of the first `words` words, the last row as it is."""
        new, lacking = -(-(words - self._in) // self.width), (self._in - words) % self.width
        self.rows += new
        self._in = words
        if lacking:
            self._partial.append((self._out + self.rows - 1, lacking))

    def drain(self) -> int:
        """Let a group of rows leave; how many they are."""
        rows = min(self.group, self.rows)
        self._out += rows
        self.rows -= rows
        self.drained += rows * self.width
        while self._partial and self._partial[0][0] < self._out:
            row, lacking = self._partial.popleft()
            if row == self._out - 1:
                self.drained -= lacking
        return rows

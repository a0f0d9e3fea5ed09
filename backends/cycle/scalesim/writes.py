"""
SCALE-Sim's DRAM writes in CALC mode: the FIFO of the ofmap, in closed form.

A FIFO of S words in rows of C words, the width of the array. A word that leaves more than h = S / 2 words held, while
no drain runs, starts one: the half-filled row is forced out, and g = ceil(h / C) rows leave at one a cycle, the first
in the same cycle. At the end all that is left leaves from the last line on, whether or not a drain runs.

Quirk: of every drain only the last row is counted by its words; a row forced out in the middle counts as full. The same
count frees the space.

There are no stalls: a drain frees more than (g - 1) C words, and fewer than that arrive while it runs. For the same
reason none is put off by the one before, so each starts when as many words have come as the last one freed. If C does
not divide h, the first finds h + 1 words in g rows: all leave, and the next finds the same. If it does, the first
leaves one row of one word, which the next takes away first, counted as full; from then on each frees h and leaves one
full row. Only if a row is all of h do drains of one row take C words and one word in turn.
"""

from npuc.backends.cycle.scalesim.reads import Transfers
from npuc.backends.cycle.scalesim.streams import Stream


def write_transfers(stream: Stream, size: int) -> Transfers:
    """The DRAM writes of the ofmap, through a buffer of `size` words, an even number."""
    half, width = size // 2, stream.folds.cols
    words, last = stream.words, stream.folds.lines - 1
    if words <= half:
        return Transfers(words, last, last + -(-words // width) - 1)
    extra = 0
    if half % width:
        drains, rest = divmod(words, half + 1)
        trigger, left = drains * (half + 1), -(-rest // width)
    elif half > width:
        drains, rest = divmod(words - 1, half)
        trigger, left = drains * half + 1, 1 + -(-rest // width)
        extra = width - 1 if words > half + 1 else 0
    else:
        drains, rest = divmod(words, half + 1)
        trigger, left = drains * (half + 1), 2 if 0 < rest < width else 1
    stop = stream.line_of(trigger - 1) + -(-half // width) - 1
    if left:
        stop = max(stop, last + left - 1)
    return Transfers(words + extra, stream.line_of(half), stop)

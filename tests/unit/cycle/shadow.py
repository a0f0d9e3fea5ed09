"""
A systolic array with a second set of registers, element by element and cycle by cycle: groups of folds that overlap.

Every element has a working register and a shadow. Along each column run as many lanes as the port at its edge takes
elements in a cycle; what is on a lane moves a row a cycle. A group is a stationary tile and the vectors that stream
past it; its first vector, which carries a mark, makes each element that it reaches change over:

    ws    the weight in the shadow becomes the working one. From then on weights of the next group may come in at the
          top, and each stays in the shadow of its row
    os    the sum goes to the shadow, and a new one begins. From the shadow it goes out at the bottom

So all events of an element at row r and column c happen r + c cycles later than those of the first. A `Clash` is a
weight that is not there when it is needed, a shadow that is overwritten too early, or a lane that would carry too much.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Matrix: TypeAlias = npt.NDArray[np.int64]
Place = tuple[int, int]


class Clash(Exception):
    """Groups follow each other too closely."""


def stationary_weights(
    rows: int, cols: int, lanes: int, groups: Sequence[tuple[Matrix, Matrix]], starts: Sequence[int]
) -> tuple[list[Matrix], int]:
    """
    The products X W of groups (X, W), and the cycles until the last sum has left at the bottom.

    Group g's first vector enters in cycle `starts[g]`. Raises `Clash`.
    """
    places = [(k, c) for k in range(rows) for c in range(cols)]
    working: dict[Place, int] = dict.fromkeys(places, 0)
    shadow: dict[Place, tuple[int, int]] = {}
    moving: dict[Place, list[tuple[int, int, int]]] = {place: [] for place in places}
    right: dict[Place, tuple[int, int, int]] = {}
    down: dict[Place, int] = {}
    outs = [np.zeros((len(x), w.shape[1]), np.int64) for x, w in groups]
    # Of each column: the next group to be sent, and its rows that are still to go.
    sending = [[(g, k) for g, (_, w) in enumerate(groups) for k in range(len(w))] for _ in range(cols)]
    allowed = [1] * cols
    end = starts[-1] + len(groups[-1][0]) + rows + cols - 2
    for cycle in range(end):
        entered = {
            (k, 0): (g, m, int(x[m, k]) if k < x.shape[1] else 0)
            for g, (x, _) in enumerate(groups)
            for k in range(rows)
            if 0 <= (m := cycle - k - starts[g]) < len(x)
        }
        before, above = right, down
        right, down = {}, {}
        for k, c in places:
            item = entered.get((k, c)) if c == 0 else before.get((k, c - 1))
            if item is None:
                continue
            g, m, value = item
            if m == 0:
                working[k, c] = 0
                if k < len(groups[g][1]) and c < groups[g][1].shape[1]:
                    number, weight = shadow.pop((k, c), (-1, 0))
                    if number != g:
                        raise Clash(f"the weight of group {g} is not in {k, c} in cycle {cycle}")
                    working[k, c] = weight
                if k == 0:
                    allowed[c] = g + 2
            total = (above[k - 1, c] if k else 0) + value * working[k, c]
            right[k, c], down[k, c] = item, total
            if k == rows - 1 and c < outs[g].shape[1]:
                outs[g][m, c] = total
        # What the ports send in this cycle is in the first row at its end, and a row further a cycle later.
        following: dict[Place, list[tuple[int, int, int]]] = {place: [] for place in places}
        for c in range(cols):
            ready = sending[c] if cycle >= c else []
            while ready and ready[0][0] < allowed[c] and len(following[0, c]) < lanes:
                g, k = ready.pop(0)
                w = groups[g][1]
                following[0, c].append((g, k, int(w[k, c]) if c < w.shape[1] else 0))
        for (k, c), items in moving.items():
            if k + 1 < rows:
                following[k + 1, c] += [item for item in items if item[1] != k]
        moving = following
        for (k, c), items in moving.items():
            for g, row, weight in items:
                if row == k and c < groups[g][1].shape[1]:
                    if (k, c) in shadow:
                        raise Clash(f"the shadow of {k, c} is overwritten in cycle {cycle}")
                    shadow[k, c] = g, weight
    return outs, end


def stationary_sums(
    rows: int, cols: int, lanes: int, groups: Sequence[tuple[Matrix, Matrix]], starts: Sequence[int], *, full: bool
) -> tuple[list[Matrix], int]:
    """
    The products X W of groups (X, W), and the cycles until the last sum is in its shadow, or (`full`) the last group's
    have left, as if they were in all columns.

    Group g's first step enters in cycle `starts[g]`; `starts` has the end of the last one besides. Raises `Clash`.
    """
    places = [(r, c) for r in range(rows) for c in range(cols)]
    sums: dict[Place, int] = {}
    shadow: dict[Place, tuple[int, int, int]] = {}
    moving: dict[Place, list[tuple[int, int, int]]] = {place: [] for place in places}
    outs = [np.zeros((len(x), w.shape[1]), np.int64) for x, w in groups]
    cycle, left = 0, sum(len(x) * w.shape[1] for x, w in groups)
    inside, gone = starts[-1] + rows + cols - 2, 0
    while cycle < inside or left:
        for r, c in places:
            now = cycle - r - c
            if now in starts[1:]:
                g = list(starts).index(now) - 1
                if (r, c) in shadow:
                    raise Clash(f"the sum in the shadow of {r, c} is overwritten in cycle {cycle}")
                if r < len(groups[g][0]) and c < groups[g][1].shape[1]:
                    shadow[r, c] = g, sums.pop((r, c), 0), now
            for g, (x, w) in enumerate(groups):
                step = now - starts[g]
                if 0 <= step < len(w) and r < len(x) and c < w.shape[1]:
                    sums[r, c] = sums.get((r, c), 0) + int(x[r, step]) * int(w[step, c])
        # Rows give in turn, as many at a time as there are lanes; each is at the bottom after its own rows.
        following: dict[Place, list[tuple[int, int, int]]] = {place: [] for place in places}
        for r, c in places:
            if (r, c) in shadow and cycle - r - c >= shadow[r, c][2] + r // lanes:
                g, value, _ = shadow.pop((r, c))
                following[r, c].append((g, r, value))
        for (r, c), items in moving.items():
            if r + 1 < rows:
                following[r + 1, c] += items
        for items in following.values():
            if len(items) > lanes:
                raise Clash(f"a lane carries {len(items)} sums in cycle {cycle}")
        moving = following
        for c in range(cols):
            for g, row, value in moving[rows - 1, c]:
                outs[g][row, c] = value
                left -= 1
                gone = max(gone, cycle - c + cols) if g == len(groups) - 1 else gone
        cycle += 1
    return outs, gone if full else inside

"""
The window of operand pairs from which the lanes of a TensorDash PE choose, simulated on masks.

Pairs of operands come in rows, one pair a lane. A lane multiplies its own pair of the oldest row, or, if one of its
operands is zero, the first effectual pair of up to seven other places of the window, in the order of its multiplexer.
All lanes advance together: after a cycle the oldest row is done, and with it the rows behind it that are empty by then,
at most as many as the window is deep. The lanes choose level by level, so that within a level no two can choose the
same pair.

Source: Mahmoud et al., "TensorDash: exploiting sparsity to accelerate deep neural network training and inference",
MICRO 2020, arXiv 2009.00748; places, their order and the levels are those of the authors' simulator, DNNsim
(`core/TensorDash.h`: search shape T, lookahead 2, lookaside 5). Ours: the end of a stream is that of its sum, so that
the window never holds pairs of two sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.errors import UsageError

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.uint64]
Place = tuple[int, int]

LOOKASIDE = 5
"""Places in other lanes that a multiplexer reaches."""
MOST_LANES = 64
"""The lanes of a row are the bits of one word."""


@lru_cache(maxsize=64)
def places(lanes: int, depth: int) -> tuple[Place, ...]:
    """The places (rows later, lanes further) that a lane reaches beside its own pair, in the order of preference."""
    ahead = depth - 1
    found = {(row, 0) for row in range(1, ahead + 1)}
    row, lane = 1, 1
    for index in range(LOOKASIDE if ahead else 0):
        found.add((row, lane if index % 2 == 0 else -lane))
        if index % 2 == 1:
            lane, row = lane + 1, row % ahead + 1
    # few lanes: a place reached around the edge may be one that is reached already
    unique = {(row, lane % lanes): (row, lane) for row, lane in sorted(found, reverse=True)}
    return tuple(sorted(unique.values()))


@lru_cache(maxsize=64)
def levels(lanes: int, depth: int) -> tuple[tuple[int, ...], ...]:
    """Lanes that choose at the same time, level by level: no two of a level reach the same place."""
    free, found = list(range(lanes)), list[tuple[int, ...]]()
    while free:
        taken: set[Place] = set()
        level: list[int] = []
        for lane in free:
            reached = {(row, (lane + step) % lanes) for row, step in places(lanes, depth)}
            if not reached & taken:
                level.append(lane)
                taken |= reached
        free = [lane for lane in free if lane not in level]
        found.append(tuple(level))
    return tuple(found)


def count_cycles(masks: Sequence[Mask] | Mask, depth: int = 3) -> npt.NDArray[np.int64]:
    """
    The cycles of each of some streams of pairs, of shape (streams, PEs, rows, lanes) or (streams, rows, lanes).

    True is a pair of which no operand is zero. The PEs of a stream share the operands of their other side and advance
    together, by the rows that are empty in all of them.
    """
    pairs = np.asarray(masks, np.bool_)
    if pairs.ndim == 3:
        pairs = pairs[:, np.newaxis]
    if pairs.ndim != 4 or not 1 <= pairs.shape[-1] <= MOST_LANES or depth < 1:
        text = f"found pairs of shape {pairs.shape} and a window of {depth} rows"
        raise UsageError(f"{text}, expected (streams, PEs, rows, lanes) of 1 to {MOST_LANES} lanes, and at least 1 row")
    lanes = pairs.shape[-1]
    weights = np.uint64(1) << np.arange(lanes, dtype=np.uint64)
    packed = (pairs * weights).sum(-1, dtype=np.uint64)
    return _simulated(np.ascontiguousarray(packed.transpose(2, 0, 1)), lanes, depth)


def _simulated(rows: Rows, lanes: int, depth: int) -> npt.NDArray[np.int64]:
    """Cycles of streams whose rows are words, of shape (rows, streams, PEs); all of them a cycle at a time."""
    length, streams, _ = rows.shape
    padded = np.concatenate([rows, np.zeros((2 * depth, *rows.shape[1:]), np.uint64)])
    cycles = np.zeros(streams, np.int64)
    at = np.zeros(streams, np.int64)
    running: npt.NDArray[np.int64] = np.arange(streams if length else 0)
    window = padded[:depth].copy()
    steps = np.arange(depth)[:, np.newaxis]
    while len(running):
        _choose(window, lanes, depth)
        empty = (window == 0).all(axis=-1)
        # the oldest row is done whatever it held
        empty[0] = True
        advance = np.where(empty.all(axis=0), depth, np.argmin(empty, axis=0))
        cycles[running] += 1
        at[running] += advance
        going = at[running] < length
        next_rows = padded[at[running] - advance + depth + steps, running]
        ahead = np.concatenate([window, next_rows])
        window = np.take_along_axis(ahead, (advance + steps)[..., np.newaxis], axis=0)[:, going]
        running = running[going]
    return cycles


def _choose(window: Rows, lanes: int, depth: int) -> None:
    """One cycle: each lane takes a pair out of the window, (depth, streams, PEs)."""
    full = np.uint64((1 << lanes) - 1)
    idle = ~window[0] & full
    window[0] = 0
    for level in levels(lanes, depth):
        need = idle & np.uint64(sum(1 << lane for lane in level))
        for row, step in places(lanes, depth):
            hits = need & _turned(window[row], step % lanes, lanes, full)
            need ^= hits
            window[row] ^= _turned(hits, -step % lanes, lanes, full)


def _turned(words: Rows, step: int, lanes: int, full: np.uint64) -> Rows:
    """Words whose bit i is bit i + step, around the edge."""
    if step == 0:
        return words
    return ((words >> np.uint64(step)) | (words << np.uint64(lanes - step))) & full

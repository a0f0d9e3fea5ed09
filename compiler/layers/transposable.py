"""
Masks that are N:M along two axes, so that a tensor and its transpose are read with the same mask.

Source: Hubara et al., "Accelerated sparse neural training: a provable and efficient method to find N:M transposable
masks", NeurIPS 2021 (arXiv 2102.08124). Each block of M x M elements is alone: in groups of at most `ENUMERATED` the
best of all masks, in longer ones their greedy one, whose sum of magnitudes is at least half of the best.
"""

from functools import lru_cache
from itertools import combinations, product

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.compiler.layers.pruning import Mask, structured_mask

ENUMERATED = 4
"""The longest group whose masks are all looked at: of 2:4 there are 90."""
_AT_ONCE = 1 << 14
"""How many blocks are looked at together."""


def structured(x: Array, kept: int, of: int, axis: int, across: int | None) -> Mask:
    """What N:M keeps along an axis, or along two with one mask."""
    return structured_mask(x, kept, of, axis) if across is None else transposable_mask(x, kept, of, (axis, across))


def transposable_mask(x: Array, kept: int, of: int, axes: tuple[int, int]) -> Mask:
    """
    True for at most `kept` of each `of` neighbours along either axis, those of large magnitudes.

    The last group of an axis may be short; what it lacks counts as zeros.
    """
    scores = np.moveaxis(np.abs(x), axes, (-2, -1)).astype(np.float64)
    scores = np.where(np.isnan(scores), np.inf, scores)
    *lead, height, width = scores.shape
    high, wide = -(-height // of), -(-width // of)
    padded = np.full((*lead, high * of, wide * of), -1.0)
    padded[..., :height, :width] = scores
    blocks = np.moveaxis(padded.reshape(-1, high, of, wide, of), 2, 3).reshape(-1, of, of)
    masks = np.empty(blocks.shape, np.bool_)
    for start in range(0, len(blocks), _AT_ONCE):
        some = blocks[start : start + _AT_ONCE]
        masks[start : start + _AT_ONCE] = (_best if of <= ENUMERATED else _greedy)(some, kept)
    whole = np.moveaxis(masks.reshape(-1, high, wide, of, of), 3, 2).reshape(padded.shape)
    return np.moveaxis(whole[..., :height, :width], (-2, -1), axes)


@lru_cache(maxsize=16)
def all_masks(kept: int, of: int) -> Mask:
    """All masks of a block with exactly `kept` in each row and column."""
    rows = [[number in chosen for number in range(of)] for chosen in combinations(range(of), kept)]
    found = np.array(
        [one for one in product(rows, repeat=of) if all(sum(col) == kept for col in zip(*one, strict=True))]
    )
    return found.astype(np.bool_)


def _best(blocks: Array, kept: int) -> Mask:
    """The masks of the largest sums of magnitudes, of equal ones the first."""
    size = blocks.shape[-1]
    masks = all_masks(kept, size)
    sums = np.maximum(_finite(blocks), 0.0).reshape(len(blocks), -1) @ masks.reshape(len(masks), -1).T
    return masks[np.argmax(sums, axis=1)] & (blocks >= 0)


def _greedy(blocks: Array, kept: int) -> Mask:
    """Element by element in the order of magnitudes, as long as its row and its column have room."""
    count, size, _ = blocks.shape
    order = np.argsort(-blocks.reshape(count, -1), axis=1, kind="stable")
    mask = np.zeros((count, size, size), np.bool_)
    in_row, in_col = (np.zeros((count, size), np.int64) for _ in range(2))
    which = np.arange(len(blocks))
    for place in order.T:
        row, col = np.divmod(place, size)
        takes = (in_row[which, row] < kept) & (in_col[which, col] < kept) & (blocks[which, row, col] >= 0)
        mask[which, row, col] = takes
        in_row[which, row] += takes
        in_col[which, col] += takes
    return mask


def _finite(blocks: Array) -> Array:
    """Magnitudes with infinite ones as large as no sum of others."""
    finite = np.where(np.isfinite(blocks), blocks, 0.0)
    return np.where(np.isfinite(blocks), blocks, 2.0 * finite.sum(axis=(1, 2), keepdims=True) + 1.0)

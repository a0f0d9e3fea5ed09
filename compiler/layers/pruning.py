"""
Masks: which elements of a tensor are kept.

All are exact in how many they keep, and functions of the values, the seed and the place alone. The random numbers of
`uniform_mask` are those of a counter (`draws`), so that masks of one seed are nested: with a higher density an element
that was kept is kept.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from npuc.compiler.layers.base import Array
from npuc.compiler.layers.draws import draws_at

Mask = npt.NDArray[np.bool_]
STREAM = int.from_bytes(b"pruning", "big")
"""The second word of the key: the numbers are of another stream than those of dropout and rounding."""


def largest_mask(scores: Array, count: int) -> Mask:
    """True for the `count` largest scores, of equal ones for the first; a NaN counts as the largest."""
    flat = np.asarray(scores).reshape(-1)
    flat = np.where(np.isnan(flat), np.inf, flat)
    if count >= flat.size:
        return np.ones(scores.shape, np.bool_)
    least = np.partition(flat, flat.size - count)[flat.size - count]
    mask = flat > least
    equal = np.flatnonzero(flat == least)
    mask[equal[: count - int(mask.sum())]] = True
    return mask.reshape(scores.shape)


def magnitude_mask(x: Array, density: Fraction) -> Mask:
    """True for the ceil(density * size) largest magnitudes."""
    return largest_mask(np.abs(x), ceil(density * x.size))


def uniform_mask(shape: Sequence[int], density: Fraction, seed: int, independent: bool = False) -> Mask:
    """True for exactly ceil(density * size) places by chance; with `independent` for each with that chance."""
    draws = draws_at((seed, STREAM), shape, tuple(np.arange(size) for size in shape))
    size = draws.size
    return draws < float(density) if independent else largest_mask(-draws, ceil(density * size))


def structured_mask(x: Array, kept: int, of: int, axis: int) -> Mask:
    """True for the `kept` largest magnitudes of each `of` neighbours along an axis; a last group may be short."""
    scores = np.moveaxis(np.abs(x), axis, -1)
    scores = np.where(np.isnan(scores), np.inf, scores)
    length = scores.shape[-1]
    groups = -(-length // of)
    padded = np.full((*scores.shape[:-1], groups * of), -1.0, scores.dtype)
    padded[..., :length] = scores
    # Stable: of equal ones the first are kept. Ranks of places, not places of ranks.
    order = np.argsort(-padded.reshape(*scores.shape[:-1], groups, of), axis=-1, kind="stable")
    mask = np.zeros(order.shape, np.bool_)
    np.put_along_axis(mask, order[..., :kept], True, axis=-1)
    return np.moveaxis(mask.reshape(padded.shape)[..., :length], -1, axis)


def block_mask(x: Array, block: Sequence[int], density: Fraction) -> Mask:
    """
    True for whole blocks of these sizes along the last axes: the ceil(density * blocks) of the largest norm.

    The last block of an axis may be short.
    """
    lead = x.ndim - len(block)
    sizes = (*(1,) * lead, *block)
    counts = [-(-length // size) for length, size in zip(x.shape, sizes, strict=True)]
    padded = np.zeros([count * size for count, size in zip(counts, sizes, strict=True)])
    padded[tuple(slice(0, length) for length in x.shape)] = x
    split = padded.reshape([one for pair in zip(counts, sizes, strict=True) for one in pair])
    norms = np.square(split).sum(axis=tuple(range(1, split.ndim, 2)))
    kept = largest_mask(norms, ceil(density * norms.size))
    for axis, size in enumerate(sizes):
        kept = np.repeat(kept, size, axis)
    return kept[tuple(slice(0, length) for length in x.shape)]

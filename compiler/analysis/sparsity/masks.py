"""Masks: the largest elements of an array, elements at random, and the pairs of operands of a product."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from npuc.compiler.layers.largest import kept_count, largest

MaskArray = npt.NDArray[np.bool_]


def top_k(values: npt.NDArray[np.generic], share: Fraction | float) -> MaskArray:
    """The ceil(share n) largest magnitudes of an array of n elements; of equal ones those that come first."""
    return largest(np.abs(values), kept_count(share, values.size))


def random_mask(shape: tuple[int, ...], density: float, seed: int) -> MaskArray:
    """Elements that are there independently of each other."""
    return np.random.default_rng(seed).random(shape, np.float32) < density


def exact_mask(shape: tuple[int, ...], share: Fraction | float, seed: int) -> MaskArray:
    """Exactly ceil(share n) of n elements, all such masks alike."""
    values = np.random.default_rng(seed).permutation(int(np.prod(shape)))
    return top_k(values + 1, share).reshape(shape)


def pair_rows(one: MaskArray, other: MaskArray, lanes: int) -> MaskArray:
    """
    The effectual pairs of the sums over the last axis of two masks (streams, length), as rows of lanes.

    Neighbours of a sum are neighbours of a row; a sum that is no multiple of the lanes ends in empty lanes.
    """
    pairs = one & other
    streams, length = pairs.shape
    padded = np.zeros((streams, -(-length // lanes) * lanes), np.bool_)
    padded[:, :length] = pairs
    return padded.reshape(streams, -1, lanes)

"""Masks: elements at random, and pairs of operands. Masks of programs, by magnitude, are in `layers/pruning.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MaskArray = npt.NDArray[np.bool_]


def random_mask(shape: tuple[int, ...], density: float, seed: int) -> MaskArray:
    """Elements that are there independently of each other."""
    return np.random.default_rng(seed).random(shape, np.float32) < density


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

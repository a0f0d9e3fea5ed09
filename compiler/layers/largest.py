"""The largest elements of an array, exactly as many as asked for, and how many a share of its elements is."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from npuc.compiler.layers.base import Array


def kept_count(share: Fraction | float, count: int) -> int:
    """ceil(share count) in exact arithmetic; a float is the shortest decimal that it is read back from."""
    exact = share if isinstance(share, Fraction) else Fraction(repr(float(share)))
    return min(count, max(0, ceil(exact * count)))


def largest(values: Array, count: int) -> npt.NDArray[np.bool_]:
    """
    Where the `count` largest elements are, in the shape of `values`; of equal ones those that come first, row by row.

    What is no number counts as the largest, so that a mask never hides it.
    """
    flat = values.reshape(-1)
    mask = np.zeros(flat.shape, np.bool_)
    if count >= flat.size:
        mask[:] = True
    elif count > 0:
        # numpy sorts what is no number to the end
        edge = np.partition(flat, flat.size - count)[flat.size - count]
        mask[:] = ~(flat <= edge) if not np.isnan(edge) else False
        ties = np.flatnonzero(np.isnan(flat) if np.isnan(edge) else flat == edge)
        mask[ties[: count - np.count_nonzero(mask)]] = True
    return mask.reshape(values.shape)

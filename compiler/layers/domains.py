"""
What is known of the values of operands: what they are meant to be like, for data that is made, and what a meaning asks.

The pass `decompose` runs `Layer.evaluate` on arrays whose elements nobody knows, which are not numpy's, to learn what
an operation consists of. A meaning asks for values by the functions below, so that it runs on these, too.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np


class Domain(StrEnum):
    """Values that an operand is meant to have."""

    INSIDE = "between 0 and 1"
    """Numbers between 0 and 1, both excluded: also what logarithms, roots and inverse functions take."""
    EITHER = "0 or 1"
    SHARES = "shares of 1"
    """Numbers of at least 0 that add up to 1 along the last axis."""
    LOG_SHARES = "logarithms of shares of 1"


def is_known(array: object) -> bool:
    """Whether the elements of an array are there."""
    return isinstance(array, np.ndarray | np.generic | int | float)


def known_any(condition: Any) -> bool:
    """Whether a condition is known to hold somewhere: what an error about data depends on."""
    return is_known(condition) and bool(np.any(condition))


def possible_any(condition: Any) -> bool:
    """Whether a condition may hold somewhere."""
    return not is_known(condition) or bool(np.any(condition))


def whole(scalar: Any) -> Any:
    """An integer tensor of rank 0 as a Python integer, if it is known."""
    return int(scalar) if is_known(scalar) else scalar


def number(scalar: Any) -> Any:
    """A tensor of rank 0 as a Python float, if it is known."""
    return float(scalar) if is_known(scalar) else scalar


def real_of(array: Any) -> Callable[[Any], Any]:
    """What makes a number one of the type of an array of floats."""
    return array.dtype.type if is_known(array) else array.as_element

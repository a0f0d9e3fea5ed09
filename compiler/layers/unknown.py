"""
What a meaning asks of the values of its operands, so that it also runs on arrays whose elements nobody knows.

The pass `decompose` runs `Layer.evaluate` on such arrays to learn what an operation consists of; they are not numpy's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from npuc.compiler.layers.base import Array


def is_known(array: object) -> bool:
    """Whether the elements of an array are there."""
    return isinstance(array, np.ndarray | np.generic | int | float)


def known_any(condition: Array) -> bool:
    """Whether a condition is known to hold somewhere: what an error about data depends on."""
    return is_known(condition) and bool(np.any(condition))


def possible_any(condition: Array) -> bool:
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

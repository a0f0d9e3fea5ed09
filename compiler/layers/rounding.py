"""Rounding to float types that numpy computes in a wider one: bf16 and f16 in float32."""

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Attribute

from npuc.compiler.layers.base import Array


def round_to_bfloat16(array: Array) -> Array:
    """float32 values rounded to the nearest bfloat16, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), np.float32(np.nan), rounded.view(np.float32)).reshape(array.shape)


def number_beside(x: Array, element: Attribute, number: float) -> Array:
    """
    A number of an operation as one of the element type of a tensor that is held as `x`, as in PyTorch's comparisons.

    A tensor that is held in float64, whatever its type, meets the number as it is.
    """
    with np.errstate(over="ignore"):  # beyond a float type it is infinite
        held = np.asarray(number, x.dtype)
        if x.dtype != np.float32:
            return held
        if isinstance(element, Float16Type):
            return held.astype(np.float16).astype(np.float32)
        return round_to_bfloat16(held) if isinstance(element, BFloat16Type) else held

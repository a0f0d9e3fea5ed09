"""
The border of a function: what its arguments and results are in numpy, and what the interpreter computes with.

A number is an array without axes outside. Inside an integer is Python's, as xDSL's arithmetic has them, and a float one
of numpy's, which rounds as its type does.
"""

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute

from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import Tensor, tensor_of

_WIDEST = 64


def array_type(type: Attribute) -> Tensor | None:
    """The type of the array that a value is outside, a number one without axes; None for a value that is no array."""
    if isinstance(type, TensorType):
        tensor = cast(Tensor, type)
        static = all(size >= 0 for size in tensor.get_shape())
        return tensor if static and _is_number(tensor.element_type) else None
    return tensor_of(type, ()) if _is_number(type) else None


def _is_number(type: Attribute) -> bool:
    """Whether numpy has the numbers of a type."""
    if isinstance(type, IntegerType):
        integer = cast(IntegerType, type)
        return integer.width.data <= _WIDEST and integer.signedness.data is Signedness.SIGNLESS
    return isinstance(type, IndexType | Float16Type | BFloat16Type | Float32Type | Float64Type)


def entering(value: Array, type: Attribute) -> Any:
    """What the interpreter has of an argument of a type."""
    if isinstance(type, TensorType):
        return value
    return int(value) if isinstance(type, IntegerType | IndexType) else value[()]


def leaving(value: Any, type: Attribute, numbers: Numbers) -> Array:
    """A result of a type as an array."""
    if isinstance(type, TensorType):
        return value
    if isinstance(type, IntegerType | IndexType):
        value = np.array(int(value) & (1 << _WIDEST) - 1, np.uint64).astype(np.int64)
    return numbers.hold(value, cast(Attribute, type))

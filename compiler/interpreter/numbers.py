"""
How element types are held in numpy, and the rounding each implies.

f16 is held as float16 and computed in float32; bf16 is held as float32 whose low 16 bits are zero. With `double`
every float is held and computed in float64, casts inside the program included. Block floating point and floats of 8
bits are held as float32: whoever makes such values rounds them, and holding them changes nothing. Integers, also those
of 8 bits, wrap around as numpy's and PyTorch's do. A sparse tensor is held as its values are, with its zeros.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float64Type, IntegerType, i16
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.rounding import round_to_bfloat16
from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu.sums import ACCUMULATOR_BITS, sum_type
from npuc.dialects.sparse import dense_element
from npuc.dialects.tensors import Tensor, tensor_type


@frozen
class Numbers:
    """
    The representation of element types; `double` computes every float in float64.

    `accumulator_bits` are those of the partial sums of matrix products (`npuc.dialects.npu.sums`).
    """

    double: bool = False
    accumulator_bits: int = ACCUMULATOR_BITS[0]

    def dtype(self, element: Attribute) -> np.dtype[Any]:
        """The numpy type that holds an element type."""
        element = dense_element(element)
        if isinstance(element, AnyFloat | BlockFloatType):
            if self.double or isinstance(element, Float64Type):
                return np.dtype(np.float64)
            return np.dtype(np.float16 if isinstance(element, Float16Type) else np.float32)
        width = bits_of(element)
        if width == 1:
            return np.dtype(np.bool_)
        return np.dtype(np.int8 if width == 8 else np.int64 if width > 32 else np.int32)

    def hold(self, value: npt.ArrayLike, element: Attribute) -> Array:
        """A value rounded to an element type, in numpy's type for it; a bool is true for all but 0."""
        dtype = self.dtype(element)
        array = np.asarray(value)
        if dtype.kind == "i" and array.dtype.kind == "f":
            array = np.trunc(array)
            if dtype.itemsize == 1:  # integers beyond i8 wrap in the same way
                array = np.where(np.isfinite(array), array, 0).astype(np.int64)
        with np.errstate(over="ignore", invalid="ignore"):  # a value beyond a float type becomes infinite
            array = np.asarray(array, dtype=dtype)
        if isinstance(dense_element(element), BFloat16Type) and not self.double:
            array = round_to_bfloat16(array)
        return array

    def operands(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """Operand values in the types in which they are computed."""
        if not all(hasattr(a, "dtype") for a in arrays):
            raise InterpretationError("a tensor was used before npu.finish, which ends its stores")
        return tuple(a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays)

    def sums(self, result: Attribute) -> "Sums":
        """The representation of the partial sums of a result of an element type."""
        return self.added(sum_type(result, self.accumulator_bits))

    def added(self, element: Attribute) -> "Sums":
        """The representation of sums of an element type."""
        dtype = self.computed(element)
        if self.double and dtype.kind == "f":
            return Sums(dtype)
        if isinstance(element, BFloat16Type):
            return Sums(dtype, round_to_bfloat16)
        if isinstance(element, Float16Type):
            return Sums(dtype, _round_to_float16)
        return Sums(dtype, _wrap_to_int16 if element == i16 else None)

    def computed(self, element: Attribute) -> np.dtype[Any]:
        """The numpy type that an element type is computed in."""
        dtype = self.dtype(element)
        return np.dtype(np.float32) if dtype == np.float16 else dtype

    def results(self, op: Operation, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """The results of an operation rounded to their types."""
        held: list[Array] = []
        for result, array in zip(op.results, arrays, strict=True):
            held.append(self.hold(array, tensor_type(result).element_type))
        return tuple(held)


@frozen
class Sums:
    """
    The numpy type that holds partial sums, and how the sum after each addition is rounded to their own type.

    None: no rounding, as the numpy type is their own. An integer that is too large wraps around, as in numpy.
    """

    dtype: np.dtype[Any]
    rounded: Callable[[Array], Array] | None = None


def _round_to_float16(array: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(np.float16).astype(array.dtype)


def _wrap_to_int16(array: Array) -> Array:
    return array.astype(np.int16).astype(array.dtype)


def bits_of(element: Attribute) -> int:
    """The width of an integer type; 64 for index and floats, which have none."""
    return cast(IntegerType, element).width.data if isinstance(element, IntegerType) else 64


def holds_integers(type: Tensor) -> bool:
    """Whether a tensor's elements are integers or booleans."""
    return isinstance(type.element_type, IntegerType)


def element_name(element: Attribute) -> str:
    """The name of an element type in the network language."""
    return "bool" if bits_of(element) == 1 else str(element)

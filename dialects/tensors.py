"""Tensor types, shared: building and verifying one costs more than most of what the compiler does with it."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, TensorType, f32, i1
from xdsl.ir import Attribute, SSAValue

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.sparse import dense_element

Tensor: TypeAlias = TensorType[Attribute]
SHORTEST = 16
"""The bits of the narrowest float that a network is written in or a precision sets."""
MAX_ELEMENTS = 1 << 44
"""The most elements a tensor may have: counts of work then fit 64 bits."""


@lru_cache(maxsize=1 << 16)
def _shared(element: Attribute, shape: tuple[int, ...]) -> Tensor:
    return TensorType(element, shape)


def tensor_of(element: Attribute, shape: Sequence[int]) -> Tensor:
    """The tensor type of an element type and a static shape."""
    return _shared(element, tuple(shape))


def tensor_type(value: SSAValue) -> Tensor:
    """The type of a value that is known to be a tensor."""
    return cast(Tensor, value.type)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value that is known to be a tensor."""
    return tensor_type(value).get_shape()


def is_float(value: SSAValue) -> bool:
    """Whether a value is a tensor of floats, those in blocks and those of sparse tensors included."""
    if not isinstance(value.type, TensorType):
        return False
    return isinstance(dense_element(tensor_type(value).element_type), AnyFloat | BlockFloatType)


def has_precision(value: SSAValue) -> bool:
    """Whether a value is a tensor of floats whose type a precision sets; those that quantisation makes keep theirs."""
    if not is_float(value):
        return False
    element = tensor_type(value).element_type
    return isinstance(element, AnyFloat) and element.bitwidth >= SHORTEST


def is_short(value: SSAValue) -> bool:
    """Whether the elements of a tensor value are floats of 16 bits or fewer."""
    element = tensor_type(value).element_type
    return isinstance(element, AnyFloat) and element.bitwidth < f32.bitwidth


@lru_cache(maxsize=256)
def element_text(element: Attribute) -> str:
    """An element type as the language and its messages write it."""
    return "bool" if element == i1 else str(element)


def shape_text(type: Tensor) -> str:
    """A shape as messages show it: `6x4`, or `scalar`."""
    return "x".join(map(str, type.get_shape())) or "scalar"


def fan_in(shape: Sequence[int]) -> int:
    """How many elements of a weight a result is a sum over: of an [in, out] matrix or an [out, in, …] kernel."""
    if len(shape) < 2:
        return max(1, prod(shape))
    return max(1, shape[0] if len(shape) == 2 else prod(shape[1:]))

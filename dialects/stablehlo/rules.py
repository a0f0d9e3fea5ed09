"""Shape rules of StableHLO (openxla.org/stablehlo/spec) that several operations share."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_type

Shape = tuple[int, ...]


def is_static(*types: Attribute) -> bool:
    """Whether all types are tensors of known sizes; rules of shapes are checked for these alone."""
    return all(isinstance(one, TensorType) and DYNAMIC_INDEX not in one.get_shape() for one in types)


def shape_text(shape: Sequence[int]) -> str:
    """A shape as messages have it."""
    return f"[{', '.join(map(str, shape))}]"


def check_shape(result: SSAValue, expected: Sequence[int], element: Attribute | None = None) -> None:
    """Raise `VerifyException` unless a result has a shape, and an element type where one is given."""
    found = tensor_type(result)
    if is_static(found) and found.get_shape() != tuple(expected):
        raise VerifyException(f"expected a result of shape {shape_text(expected)}, got {shape_text(found.get_shape())}")
    if element is not None and found.element_type != element:
        raise VerifyException(f"expected a result of {element}, got {found.element_type}")


def check_same_types(*values: SSAValue) -> None:
    """Raise `VerifyException` unless values have one type; of types with unknown sizes, one element type."""
    first = tensor_type(values[0])
    for value in values[1:]:
        other = tensor_type(value)
        same = first == other if is_static(first, other) else first.element_type == other.element_type
        if not same:
            raise VerifyException(f"expected equal types, got {first} and {other}")


def check_axes(axes: Sequence[int], rank: int, what: str = "dimension") -> None:
    """Raise `VerifyException` unless axes are different ones of a tensor of a rank."""
    for axis in axes:
        if not 0 <= axis < rank:
            raise VerifyException(f"{what} {axis} is none of a tensor of rank {rank}")
    if len(set(axes)) != len(axes):
        raise VerifyException(f"expected different {what}s, got {shape_text(axes)}")


def check_length(found: Sequence[object], expected: int, what: str) -> None:
    """Raise `VerifyException` unless as many numbers are given as a tensor has axes."""
    if len(found) != expected:
        raise VerifyException(f"expected {expected} numbers in {what}, got {len(found)}")


def windows_along(size: int, window: int, stride: int, dilation: int, low: int, high: int, base: int = 1) -> int:
    """
    How many windows fit along an axis.

    `dilation` is the distance of a window's elements, `base` that of the operand's, `low` and `high` the padding. None
    fits where the padded operand is smaller than a window.
    """
    padded = low + high + (0 if size == 0 else (size - 1) * base + 1)
    reach = 0 if window == 0 else (window - 1) * dilation + 1
    return 0 if padded < reach or padded <= 0 else (padded - reach) // stride + 1


def pooled(
    shape: Shape,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base: Sequence[int],
) -> Shape:
    """How many windows fit along each axis."""
    for what, found in (("window", window), ("strides", strides), ("dilations", dilations), ("padding", padding)):
        check_length(found, len(shape), what)
    check_length(base, len(shape), "base dilations")
    for name, numbers in (("window", window), ("stride", strides), ("dilation", dilations), ("base dilation", base)):
        if any(number < 1 for number in numbers):
            raise VerifyException(f"expected every {name} to be at least 1, got {shape_text(numbers)}")
    along = zip(shape, window, strides, dilations, padding, base, strict=True)
    return tuple(windows_along(n, w, s, d, low, high, b) for n, w, s, d, (low, high), b in along)


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    found: Tensor = tensor_type(value)
    return found.element_type

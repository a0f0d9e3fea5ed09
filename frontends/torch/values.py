"""The values of a graph that are no tensors of the language: complex numbers, stored ones; names of element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from npuc.frontends.script.weights import Refused, Tensor, Weight
from npuc.frontends.torch.program import GraphInput, TensorType

if TYPE_CHECKING:
    from npuc.compiler.layers.base import Array

    Read = Callable[[], Array]

PARTS: Mapping[str, str] = {"complex64": "float32", "complex128": "float64"}
"""The types of the parts of complex numbers, by PyTorch's names."""
ELEMENTS: Mapping[str, str] = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "int32": "i32",
    "int64": "i64",
    "bool": "bool",
}
"""The element types of the language by PyTorch's names."""


LARGEST = {"f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308, "f16": 65504.0, "bf16": 3.3895313892515355e38}
"""The largest finite number of each type: the language writes no infinity."""


def finite(value: float, element: str) -> float:
    """A number in an element type, the largest one instead of an infinity."""
    largest = LARGEST.get(element, inf)
    return max(min(value, largest), -largest) if value in (inf, -inf) else value


def element_of(dtype: str) -> str:
    """The element type of the language for one of PyTorch's. Raises `Refused`."""
    found = ELEMENTS.get(dtype)
    if found is None:
        raise Refused(f"found a tensor of {dtype}, expected one of {', '.join(ELEMENTS)}")
    return found


@dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers, as its real and its imaginary parts: the language has real numbers only."""

    real: Tensor
    imaginary: Tensor


def element_or_name(type: TensorType) -> str:
    """The element type of a weight; that of one that nothing uses may be any."""
    try:
        return element_of(type.dtype)
    except Refused:
        return type.dtype


def stored(
    one: GraphInput, type: TensorType, shape: tuple[int, ...], uses: int, read: Read | None
) -> tuple[Weight | Complex, list[Weight]]:
    """The value of an input that the file has values of, and the weights that it is made of."""
    trained = one.kind == "parameter" and type.requires_grad
    if type.dtype not in PARTS or trained:
        weight = Weight(one.target, shape, element_or_name(type), trained, uses, read)
        return weight, [weight]
    element = element_of(PARTS[type.dtype])
    real, imaginary = (
        Weight(f"{one.target}.{part}", shape, element, False, uses, _part(read, part)) for part in ("real", "imag")
    )
    return Complex(real, imaginary), [real, imaginary]


def _part(read: Read | None, part: str) -> Read | None:
    return None if read is None else lambda: getattr(read(), part)

"""The values of a graph while it is translated, where calls write in place, and the names of element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.frontends.dsl.syntax import Name
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


@dataclass(frozen=True)
class View:
    """A value that shares the memory of another: how it is made of that one, and that one of it."""

    base: str
    make: Callable[[object], Name]
    write: Callable[[object, Name], Name]


class Memory:
    """
    The values of a graph by name, where calls write in place.

    A write to a view changes the value that it is a view of, and all other views of that one.
    """

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._views: dict[str, View] = {}
        self._derived: dict[str, list[str]] = {}
        self._stale: set[str] = set()

    def __getitem__(self, name: str) -> object:
        if name in self._stale:
            view = self._views[name]
            self._values[name] = view.make(self[view.base])
            self._stale.discard(name)
        if name not in self._values:
            raise Refused(f"found the value '{name}', which no call makes")
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def define(self, name: str, value: object, view: View | None = None) -> None:
        """Give a new name its value."""
        self._values[name] = value
        if view is not None:
            self._views[name] = view
            self._derived.setdefault(view.base, []).append(name)

    def write(self, name: str, value: Name) -> None:
        """Change the value of a name in place, and with it all that share its memory."""
        self._values[name] = value
        self._stale.discard(name)
        self._invalidate(name, but=None)
        while name in self._views:
            view = self._views[name]
            value = view.write(self[view.base], value)
            self._values[view.base] = value
            self._invalidate(view.base, but=name)
            name = view.base

    def _invalidate(self, name: str, but: str | None) -> None:
        for other in self._derived.get(name, ()):
            if other != but:
                self._stale.add(other)
                self._invalidate(other, but=None)

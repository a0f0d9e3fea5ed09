"""The values of a graph under translation: variables of the script, and parameters of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.container.element_types import FLOAT, Array, ElementType
from npuc.frontends.onnx.names import plain
from npuc.frontends.onnx.values import Constant
from npuc.frontends.script.weights import Weight

Read = Callable[[], Array]


@dataclass(eq=False)
class OnnxWeight(Weight):
    """A parameter or constant of an ONNX model; `owned` is set once a layer makes it as its own."""

    type: ElementType = FLOAT
    owned: bool = False

    def as_constant(self) -> Constant:
        """See `Stored`."""
        assert self.read is not None
        return Constant(self.read(), self.type, self.name)


def weight_of(
    name: str, shape: tuple[int, ...], type: ElementType, read: Read, *, trained: bool, uses: int = 1
) -> OnnxWeight:
    """A parameter or constant by its name in the file."""
    return OnnxWeight(plain(name), shape, type.language or type.name, trained, uses, read, type=type)


@dataclass(frozen=True, eq=False)
class Variable:
    """A value of the program: a variable of the script."""

    name: Name
    shape: tuple[int, ...]
    type: ElementType

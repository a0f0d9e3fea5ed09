"""Parameters of an ONNX model: tensors of the file that layers of the program own, or that stand alone in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.container.element_types import Array, ElementType
from npuc.frontends.onnx.values import Constant

Read = Callable[[], Array]
FLOATS = ("f32", "f64", "f16", "bf16")


@dataclass(eq=False)
class Weight:
    """
    A parameter or constant of the model, by its name there.

    A layer that owns it makes it as its own; `variable` is set once it stands alone in the script. `uses` counts the
    nodes that take it.
    """

    name: str
    shape: tuple[int, ...]
    type: ElementType
    read: Read
    trained: bool
    uses: int = 1
    owned: bool = False
    variable: Name | None = None

    def as_constant(self) -> Constant:
        """See `Stored`."""
        return Constant(self.read(), self.type, self.name)


@dataclass(frozen=True, eq=False)
class Variable:
    """A value of the program: a variable of the script."""

    name: Name
    shape: tuple[int, ...]
    type: ElementType

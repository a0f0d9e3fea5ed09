"""The parameters of a graph that is read, before and after a layer of the script makes them its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from npuc.frontends.dsl.syntax import Name

if TYPE_CHECKING:
    from npuc.compiler.layers.base import Array

FLOATS = ("f32", "f64", "f16", "bf16")
"""The element types of real numbers, as the language writes them."""


@dataclass(eq=False)
class Weight:
    """
    A parameter, buffer or constant of a graph, by its name there.

    A layer that owns it makes it as its own; `variable` is set once it stands alone in the script. `uses` counts the
    calls that take it, `read` gives its values (None: the file has none).
    """

    name: str
    shape: tuple[int, ...]
    element: str
    trained: bool
    uses: int = 0
    read: Callable[[], Array] | None = None
    variable: Name | None = None

    @property
    def owner(self) -> str:
        """The path of the module whose parameter it is."""
        return self.name.rpartition(".")[0]

    @property
    def suffix(self) -> str:
        """Its name within the module."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Empty:
    """A tensor of no elements, which the language has not; concatenation drops it."""

    shape: tuple[int, ...]
    element: str


@dataclass(frozen=True)
class Uniform:
    """Random numbers from `low` to `low` + 1, which become random truth values where they are rounded."""

    shape: tuple[int, ...]
    element: str
    low: float = 0.0


Tensor: TypeAlias = Name | Weight | Empty | Uniform
"""A tensor of a graph: a variable of the script, a weight, or what the language has no value for."""


class Refused(Exception):
    """A call that has no counterpart in the language; the place is the node's."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint

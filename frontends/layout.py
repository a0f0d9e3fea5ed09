"""In which order an argument lies in a program, where it is another one than that of its source."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@frozen
class ArgumentLayout:
    """
    An argument of a shape in the source, whose axes lie in an order in the program: the first is axis `order[0]`.

    Where `split` has sizes, the axes are those of the argument taken apart into these sizes, and the program has them
    joined again as they were: a matrix whose rows are places and channels may have its rows in another order.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    split: tuple[int, ...] = ()

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape that the program has."""
        return self.shape if self.split else tuple(self.shape[axis] for axis in self.order)

    def stored(self, name: str, values: Array) -> Array:
        """Values of the source's shape as the program has them. Raises `UsageError` for another shape."""
        if values.shape != self.shape:
            found, wanted = (("x".join(map(str, one)) or "scalar") for one in (values.shape, self.shape))
            raise UsageError(f"input '{name}' has shape {found}, expected {wanted}")
        return values.reshape(self.split or self.shape).transpose(self.order).reshape(self.stored_shape)

    def given(self, values: Array) -> Array:
        """Values of the program as the source has them."""
        sizes = self.split or self.shape
        moved = values.reshape([sizes[axis] for axis in self.order])
        return moved.transpose(inverse(self.order)).reshape(self.shape)


def inverse(order: Sequence[int]) -> list[int]:
    """Where an order puts each axis."""
    return sorted(range(len(order)), key=order.__getitem__)


def is_moved(layout: ArgumentLayout) -> bool:
    """Whether a layout is another one than the source's."""
    return layout.order != tuple(range(len(layout.order))) and prod(layout.shape) > 0

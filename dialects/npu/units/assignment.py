"""The assignment of a contraction to units as plain frozen data."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest

UnitAxis = Literal["batch", "m", "n", "k"]
AXES: tuple[UnitAxis, ...] = get_args(UnitAxis)
UNITS = "npu.units"
"""The attribute of a module that says what units its machine has."""


@frozen
class UnitPart:
    """How much of an axis a unit has, by the unit's name."""

    unit: str
    size: int


@frozen
class Assignment:
    """
    The parts of units, one after the other along an axis; None where one unit has the whole product.

    Of a whole product the size is that of M. `stage` numbers the products that may run side by side; None where it
    runs alone.
    """

    axis: UnitAxis | None
    parts: tuple[UnitPart, ...]
    stage: int | None = None

    def problems(self, nest: Nest) -> Iterator[str]:
        """What is wrong with the assignment of a right nest, a sentence each; none for a right one."""
        if len(nest.statements) != 1:
            yield f"units share one product, the contraction has {len(nest.statements)} statements"
            return
        names = [part.unit for part in self.parts]
        for name in sorted({one for one in names if names.count(one) > 1}):
            yield f"unit '{name}' is named twice"
        for part in self.parts:
            if part.size < 1:
                yield f"the part of unit '{part.unit}' is {part.size}, expected at least 1"
        if self.axis is None and len(self.parts) != 1:
            yield f"{len(self.parts)} units share no axis, expected one unit, or one of {', '.join(AXES)}"
            return
        axis = self.axis or "m"
        size, covered = size_of(nest, axis), sum(part.size for part in self.parts)
        if covered != size:
            yield f"parts cover {covered} of {axis}, which is {size}"
        if self.stage is not None and self.stage < 0:
            yield f"stage is {self.stage}, expected at least 0"

    def unknown(self, known: Sequence[str]) -> str | None:
        """The first unit that is none of the known ones."""
        return next((part.unit for part in self.parts if part.unit not in known), None)

    def __str__(self) -> str:
        parts = ", ".join(f"{part.unit} : {part.size}" for part in self.parts)
        axis = "" if self.axis is None else f"{self.axis} "
        return f"{axis}[{parts}]" + ("" if self.stage is None else f" stage {self.stage}")


def dims_of_axis(nest: Nest, axis: UnitAxis) -> tuple[str, ...]:
    """The dimensions that are an axis of the first product of a nest, outermost first."""
    view = gemm_view(nest, nest.statements[0])
    return {"batch": view.batch, "m": view.m, "n": view.n, "k": view.k}[axis]


def size_of(nest: Nest, axis: UnitAxis) -> int:
    """The size of an axis of the first product of a nest."""
    size = 1
    for dim in dims_of_axis(nest, axis):
        size *= nest.sizes[dim]
    return size

"""
How the axes of a tensor lie in the dimensions of a nest, through reshapes and transpositions.

A layout has, for each axis of a tensor, parts of dimensions, outermost first. A reshape joins axes or cuts their parts,
a transposition permutes axes. Cuts of one dimension that several tensors ask for must nest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from xdsl.ir import SSAValue

from npuc.dialects.npu import MoveOp, ViewOp
from npuc.dialects.npu.nest import Tensor
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import decode


@dataclass(frozen=True)
class DimPart:
    """`size` positions of a dimension that are `stride` apart: `k // stride % size`."""

    dim: str
    stride: int
    size: int


Layout = tuple[tuple[DimPart, ...], ...]
"""The parts of each axis, outermost first."""


def own_layout(tensor: Tensor, sizes: Mapping[str, int]) -> Layout | None:
    """The layout of a tensor of a nest; None if an index is not one dimension as it stands, or 0 of an axis of 1."""
    if all(
        axis.is_plain or (not axis.terms and size == 1) for axis, size in zip(tensor.axes, tensor.shape, strict=True)
    ):
        return tuple(tuple(DimPart(dim, 1, sizes[dim]) for dim in axis.dims) for axis in tensor.axes)
    return None


def permutation_of(op: MoveOp) -> tuple[int, ...]:
    """The axes of a transposition: axis i of the result is axis axes[i] of the operand."""
    axes = decode(op.params_attr.data["axes"])
    assert isinstance(axes, tuple)
    return tuple(int(axis) for axis in axes)


def regrouped(layout: Layout, shape: Sequence[int]) -> Layout | None:
    """The layout of the same elements in row-major order under another shape; None if parts do not divide so."""
    rest = [part for group in reversed(layout) for part in reversed(group)]
    groups: list[tuple[DimPart, ...]] = []
    for size in shape:
        group: list[DimPart] = []
        need = size
        while need > 1:
            part = rest.pop()
            if need % part.size == 0:
                group.append(part)
                need //= part.size
            elif part.size % need == 0:
                low = part.size // need
                group.append(DimPart(part.dim, part.stride * low, need))
                rest.append(DimPart(part.dim, part.stride, low))
                need = 1
            else:
                return None
        groups.append(tuple(group))
    if rest and not groups:
        return None
    return (*groups[:-1], (*groups[-1], *reversed(rest))) if rest else tuple(groups)


def before_transpositions(value: SSAValue, layout: Layout) -> tuple[SSAValue, Layout] | None:
    """The value that transpositions, perhaps with reshapes between, make this one of; None without one."""
    return _followed(value, layout, lambda value: value.owner, lambda op: op.operands[0])


def after_transpositions(value: SSAValue, layout: Layout) -> tuple[SSAValue, Layout] | None:
    """What transpositions, perhaps with reshapes between, make of a value that nothing else reads; None without one."""
    return _followed(value, layout, SSAValue.get_user_of_unique_use, lambda op: op.results[0])


def _followed(
    value: SSAValue,
    layout: Layout,
    neighbour: Callable[[SSAValue], object],
    end: Callable[[MoveOp | ViewOp], SSAValue],
) -> tuple[SSAValue, Layout] | None:
    """The last value behind a transposition on the way from neighbour to neighbour, to the `end` of each."""
    found = None
    while isinstance(op := neighbour(value), MoveOp | ViewOp):
        value = end(op)
        moved = _moved(op, value, layout)
        if moved is None:
            break
        layout = moved
        if isinstance(op, MoveOp):
            found = value, layout
    return found


def _moved(op: MoveOp | ViewOp, end: SSAValue, layout: Layout) -> Layout | None:
    """The layout of one end of a transposition or reshape, from that of the other; None for another operation."""
    if isinstance(op, MoveOp) and op.kind == "transpose":
        axes = permutation_of(op)
        taken = axes if end is op.results[0] else [axes.index(axis) for axis in range(len(axes))]
        return tuple(layout[axis] for axis in taken)
    return regrouped(layout, shape_of(end)) if isinstance(op, ViewOp) and op.kind == "reshape" else None


@dataclass
class Cuts:
    """Where the dimensions of a nest are cut: for each the strides of its parts, each of which divides the next."""

    sizes: Mapping[str, int]
    strides: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])

    def admit(self, layout: Layout) -> bool:
        """Cut the dimensions where a layout does too, if all cuts nest; whether they do."""
        new = {dim: self._bounds(dim) for dim in self.sizes}
        for part in chain.from_iterable(layout):
            new[part.dim] |= {part.stride, part.stride * part.size}
        if any(outer % inner for bounds in new.values() for inner, outer in pairwise(sorted(bounds))):
            return False
        self.strides = new
        return True

    def _bounds(self, dim: str) -> frozenset[int]:
        return self.strides.get(dim, frozenset()) | {1, self.sizes[dim]}

    def parts(self, dim: str) -> list[DimPart]:
        """The parts of a dimension, outermost first."""
        bounds = sorted(self._bounds(dim))
        cut = [DimPart(dim, inner, outer // inner) for inner, outer in pairwise(bounds)]
        return cut[::-1] or [DimPart(dim, 1, 1)]

    def cut(self, layout: Layout) -> list[DimPart]:
        """The parts of a layout one after another, as small as those of all others."""
        return [
            one
            for part in chain.from_iterable(layout)
            for one in self.parts(part.dim)
            if one.stride >= part.stride and one.stride * one.size <= part.stride * part.size
        ]

    def names(self) -> dict[DimPart, str]:
        """A name for each part: that of its dimension, with a number where there are several, outermost 0."""
        found: dict[DimPart, str] = {}
        for dim in self.sizes:
            parts = self.parts(dim)
            taken = {*self.sizes, *found.values()}
            stem = dim
            while len(parts) > 1 and any(f"{stem}{number}" in taken for number in range(len(parts))):
                stem += "_"
            found |= {part: dim if len(parts) == 1 else f"{stem}{number}" for number, part in enumerate(parts)}
        return found

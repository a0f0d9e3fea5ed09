"""What `train.index_put` and `train.index_reduce` write where, as both forms of them read it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.indexing import INDEXED
from npuc.dialects.train.scatter import IndexPutOp, IndexReduceOp


@frozen
class Placing:
    """x, the elements of src, the indices, and how axes of x are walked (`axes`); `element` is the program's type."""

    x: SSAValue
    src: SSAValue
    index: Sequence[SSAValue]
    axes: tuple[int, ...]
    negative: bool
    element: Attribute

    @property
    def sizes(self) -> tuple[int, ...]:
        """The part of x that may be written: src may be smaller along axes that it goes along."""
        whole, part = shape_of(self.x), shape_of(self.src)
        return tuple(size if at == INDEXED else part[at] for at, size in zip(self.axes, whole, strict=True))

    @property
    def free(self) -> list[int]:
        """The axes of src that no axis of x goes along."""
        return [axis for axis in range(len(shape_of(self.src))) if axis not in self.axes]

    @property
    def positions(self) -> int:
        """The number of boxes that are written."""
        return prod(shape_of(self.src)[axis] for axis in self.free)


def placing_of(op: IndexPutOp | IndexReduceOp, operands: Sequence[SSAValue]) -> Placing:
    """What an operation writes, on values of its operands."""
    x, src, *index = operands
    return Placing(x, src, index, ints(op.axes), op.negative is not None, tensor_type(op.x).element_type)

"""
Values as parts of memory: what a view of a value is.

Reshaping, transposing and cutting move nothing: whoever reads a part of a value, or several values one behind the
other, reads these. A `Part` is a piece of memory that may have been cut into smaller ones; a value is a tuple of parts.

So is what devices exchange: what a device sends and receives has one place, and the network reads and writes it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from npuc.compiler.analysis.nest.elements import element_bits, whole_bytes
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Joined, Pieces
from npuc.dialects.distributed import DistOp
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp


@dataclass(eq=False)
class Part:
    """A piece of memory of so many elements of `width` bits, in rows of `row` elements; once cut, it is its pieces."""

    elements: int
    width: int
    row: int
    pieces: list[Part] = field(default_factory=list["Part"])

    @property
    def bytes(self) -> int:
        """The bytes that it takes."""
        return whole_bytes(self.elements * self.width)

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return whole_bytes(self.row * self.width)

    def cut(self, sizes: Sequence[int]) -> list[Part] | None:
        """The pieces of these sizes, in elements; None when it was cut in another way."""
        if not self.pieces:
            self.pieces = [Part(size, self.width, min(self.row, size)) for size in sizes]
        return self.pieces if [piece.elements for piece in self.pieces] == list(sizes) else None

    def leaves(self) -> list[Part]:
        """The pieces that were not cut."""
        return [leaf for piece in self.pieces for leaf in piece.leaves()] if self.pieces else [self]


Value = tuple[Part, ...]


def whole(value: SSAValue, float_bytes: int | None) -> Value:
    """A value of its own as one part; nothing for a scalar."""
    shape = shape_of(value)
    if not shape:
        return ()
    # a row of an image is one line of it through all channels
    row = shape[-1] * (shape[1] if len(shape) > 3 else 1)
    return (Part(prod(shape), element_bits(value.type, float_bytes), row),)


def leaves(value: Value) -> list[Part]:
    """The parts of a value that were not cut."""
    return [leaf for part in value for leaf in part.leaves()]


def view_of(op: TrainOp, operands: Sequence[Value]) -> list[Value] | None:
    """What the results of a view are made of, as its layer says; None for an operation that computes or copies."""
    match get_layer(op).shown(op):
        case Joined(numbers):
            return [tuple(part for number in numbers for part in operands[number])] * len(op.results)
        case Pieces(sizes, picked):
            pieces = _cut(operands[0], sizes)
            return None if pieces is None else [pieces[number] for number in picked]
        case None:
            return None


def moved_of(op: DistOp, operand: Value, *, cut: bool) -> tuple[Value, Value]:
    """
    What the result of a movement between devices is made of, and the parts that only one of operand and result has.

    A value that is gathered is the device's own part, where it was, and those of others. A value that is sliced is a
    part of the operand; without `cut`, or where it was cut in another way, it is taken for all of it.
    """
    before, after = _elements(op.x), _elements(op.out)
    if after > before and operand:
        others = Part(after - before, operand[0].width, operand[0].row)
        return (*operand, others), (others,)
    if after < before and cut and (pieces := _cut(operand, [after, before - after])) is not None:
        return pieces[0], pieces[1]
    return operand, ()


def _elements(value: SSAValue) -> int:
    return prod(shape_of(value))


def _cut(value: Value, sizes: Sequence[int]) -> list[Value] | None:
    """A value in pieces of these sizes."""
    if len(value) == 1 and value[0].elements == sum(sizes):
        pieces = value[0].cut(sizes)
        return None if pieces is None else [(piece,) for piece in pieces]
    if [part.elements for part in value] == list(sizes):
        return [(part,) for part in value]
    return None

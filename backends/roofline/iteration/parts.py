"""
Values as parts of memory, so that views cost nothing.

Reshaping, transposing and cutting move nothing: whoever reads a part of a value, or a concatenation of values, reads
these values. A `MemoryPart` is a piece of memory that may have been cut into smaller ones; a value is a tuple of parts.

Exchanged values are parts too: what a device sends or receives has one place, which the network reads or writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from npuc.compiler.analysis.nest.elements import Width, element_bits, whole_bytes
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Joined, Pieces
from npuc.dialects.distributed import DistOp
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.base import TrainOp


@dataclass(eq=False)
class MemoryPart:
    """A piece of memory: elements of `width` bits in rows of `row` elements; once cut, it stands for its pieces."""

    elements: int
    width: Width
    row: int
    pieces: list[MemoryPart] = field(default_factory=list["MemoryPart"])

    @property
    def bytes(self) -> int:
        """Its size in bytes."""
        return whole_bytes(self.elements * self.width)

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return whole_bytes(self.row * self.width)

    def cut(self, sizes: Sequence[int]) -> list[MemoryPart] | None:
        """The pieces of these sizes, in elements; None if it was cut differently before."""
        if not self.pieces:
            self.pieces = [MemoryPart(size, self.width, min(self.row, size)) for size in sizes]
        return self.pieces if [piece.elements for piece in self.pieces] == list(sizes) else None

    def leaves(self) -> list[MemoryPart]:
        """The pieces that are not cut further."""
        return [leaf for piece in self.pieces for leaf in piece.leaves()] if self.pieces else [self]


Value = tuple[MemoryPart, ...]


def whole(value: SSAValue, float_bytes: int | None) -> Value:
    """A new value as one part; a scalar has none, and what is no tensor."""
    shape = shape_of(value) if isinstance(value.type, TensorType) else ()
    if not shape:
        return ()
    # a row of an image is one line of it through all channels
    row = shape[-1] * (shape[1] if len(shape) > 3 else 1)
    return (MemoryPart(prod(shape), element_bits(tensor_type(value), float_bytes), row),)


def leaves(value: Value) -> list[MemoryPart]:
    """The parts of a value that are not cut further."""
    return [leaf for part in value for leaf in part.leaves()]


def view_of(op: TrainOp, operands: Sequence[Value]) -> list[Value] | None:
    """The parts of a view's results, as its layer defines them; None for an operation that computes or copies."""
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
    The parts of the result of a communication operation, and the parts that only one of operand and result has.

    A gathered value is the device's own part, in place, and the parts of other devices. A sliced value is a part of the
    operand; without `cut`, or where the operand was cut differently, it counts as the whole operand.
    """
    before, after = _elements(op.x), _elements(op.out)
    if after > before and operand:
        others = MemoryPart(after - before, operand[0].width, operand[0].row)
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

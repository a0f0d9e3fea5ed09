"""Samples in micro-batches, and the types of tensors of so many samples."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from npuc.compiler.core.frozen import frozen

WHOLE = -1
"""In place of an axis: an operand that every micro-batch reads whole, a result that is a sum over micro-batches."""


@frozen
class Batches:
    """How many `samples` there are, how many a micro-batch has, and so how often the body runs."""

    micro: int
    samples: int

    @property
    def full(self) -> int:
        """The micro-batches of full size."""
        return self.samples // self.micro

    @property
    def ragged(self) -> int:
        """The samples of the last micro-batch where it is smaller than the others, otherwise 0."""
        return self.samples % self.micro

    @property
    def count(self) -> int:
        """All micro-batches."""
        return self.full + (self.ragged > 0)

    def sized(self, shape: Sequence[int], axis: int, samples: int) -> tuple[int, ...]:
        """A shape of a whole tensor with so many samples along an axis; itself where it is read whole."""
        if axis == WHOLE:
            return tuple(shape)
        return (*shape[:axis], shape[axis] // self.samples * samples, *shape[axis + 1 :])


def resized(type_: Attribute, axis: int, now: int, then: int) -> Attribute:
    """The type of a tensor of `now` samples along an axis with `then` of them; itself for one that is read whole."""
    if axis == WHOLE:
        return type_
    tensor = cast("TensorType[Attribute]", type_)
    shape = Batches(now, now).sized(tensor.get_shape(), axis, then)
    return TensorType(tensor.element_type, shape)

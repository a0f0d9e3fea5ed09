"""An axis of an array as digits, one a level of the mesh: what cutting it at a level takes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.dialects.distributed import Mesh


@dataclass(frozen=True)
class Digit:
    """
    The digit of a level in an axis that is not sharded at it: it has `parts` values, the digits before it `outside`.

    Each of the `segments` of the axis has this digit.
    """

    axis: int
    outside: int
    parts: int
    segments: tuple[int, ...] = ()

    def split(self, array: Array) -> list[Array]:
        """The part of an array for each value of the digit."""
        pieces = [self._split(piece) for piece in self._pieces(array)]
        return [np.concatenate(same, self.axis) for same in zip(*pieces, strict=True)]

    def join(self, arrays: Sequence[Array]) -> Array:
        """The array with these parts: the inverse of `split`."""
        pieces = [self._pieces(array) for array in arrays]
        return np.concatenate([self._join(same) for same in zip(*pieces, strict=True)], self.axis)

    def _pieces(self, array: Array) -> list[Array]:
        """The part of an array in each segment."""
        if not self.segments:
            return [array]
        of = sum(self.segments) // array.shape[self.axis]
        return np.split(array, [end // of for end in accumulate(self.segments[:-1])], self.axis)

    def _split(self, array: Array) -> list[Array]:
        shape, axis = array.shape, self.axis
        digits = array.reshape(*shape[:axis], self.outside, self.parts, -1, *shape[axis + 1 :])
        local = (*shape[:axis], shape[axis] // self.parts, *shape[axis + 1 :])
        return [digits.take(part, axis + 1).reshape(local) for part in range(self.parts)]

    def _join(self, arrays: Sequence[Array]) -> Array:
        shape, axis = arrays[0].shape, self.axis
        digits = [array.reshape(*shape[:axis], self.outside, -1, *shape[axis + 1 :]) for array in arrays]
        return np.stack(digits, axis + 1).reshape(*shape[:axis], shape[axis] * self.parts, *shape[axis + 1 :])


def digit_of(mesh: Mesh, level: int, axis: int, within: Sequence[int], segments: tuple[int, ...]) -> Digit:
    """The digit of a level in an axis that the levels `within` cut, too."""
    return Digit(axis, mesh.outside(level, within), mesh.sizes[level], segments)

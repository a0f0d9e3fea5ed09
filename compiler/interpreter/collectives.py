"""
The dist dialect on numpy: an array a device in, an array a device out, and what devices read from each other.

Nothing is computed that a device could not know: what it needs of another goes through a `Wire`, which counts it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.dialects.distributed import (
    AddendOp,
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    CopyOp,
    DistOp,
    Mesh,
    OnceOp,
    PlaceOp,
    ReduceScatterOp,
    SendReceiveOp,
    SliceOp,
    levels_of,
)
from npuc.dialects.train.base import ints

OpT = TypeVar("OpT", bound=DistOp)
Arrays: TypeAlias = Sequence[Array]
"""A value: an array a device, by number."""


@dataclass
class Wire:
    """Carries arrays between devices, and counts for each level the elements that devices read from others."""

    read: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, level: int, reader: int, owner: int, array: Array) -> Array:
        """What a device has once it has read an array of a device of its group, which may be itself."""
        if reader == owner:
            return array
        self.read[level] = self.read.get(level, 0) + array.size
        return array.copy()


@dataclass(frozen=True)
class _Digit:
    """
    The digit of a level in an axis that is whole at it: so many values stand `outside` of it and `parts` in it.

    Each of the `segments` of the axis has the digit for itself.
    """

    axis: int
    outside: int
    parts: int
    segments: tuple[int, ...] = ()

    def split(self, array: Array) -> list[Array]:
        """The part of an array for each value of the digit."""
        pieces = [self._split(piece) for piece in self._pieces(array)]
        return [np.concatenate(same, self.axis) for same in zip(*pieces, strict=True)]

    def join(self, arrays: Arrays) -> Array:
        """The array of which these are the parts: the inverse of `split`."""
        pieces = [self._pieces(array) for array in arrays]
        return np.concatenate([self._join(same) for same in zip(*pieces, strict=True)], self.axis)

    def _pieces(self, array: Array) -> list[Array]:
        """What an array has of each segment."""
        if not self.segments:
            return [array]
        of = sum(self.segments) // array.shape[self.axis]
        return np.split(array, [end // of for end in accumulate(self.segments[:-1])], self.axis)

    def _split(self, array: Array) -> list[Array]:
        shape, axis = array.shape, self.axis
        digits = array.reshape(*shape[:axis], self.outside, self.parts, -1, *shape[axis + 1 :])
        local = (*shape[:axis], shape[axis] // self.parts, *shape[axis + 1 :])
        return [digits.take(part, axis + 1).reshape(local) for part in range(self.parts)]

    def _join(self, arrays: Arrays) -> Array:
        shape, axis = arrays[0].shape, self.axis
        digits = [array.reshape(*shape[:axis], self.outside, -1, *shape[axis + 1 :]) for array in arrays]
        return np.stack(digits, axis + 1).reshape(*shape[:axis], shape[axis] * self.parts, *shape[axis + 1 :])


def _digit(mesh: Mesh, level: int, axis: int, within: Sequence[int], segments: tuple[int, ...]) -> _Digit:
    return _Digit(axis, mesh.outside(level, within), mesh.sizes[level], segments)


def _total(arrays: Arrays) -> Array:
    """The sum of addends, in their order."""
    return reduce(np.add, arrays)


def exchange(op: DistOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    """The result of an operation on every device for the operand on every device."""
    return _MEANINGS[type(op)](op, mesh, arrays, wire)


def _slice(op: SliceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = _digit(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))
    return [digit.split(array)[mesh.coordinates(device)[level]] for device, array in enumerate(arrays)]


def _in_groups(mesh: Mesh, level: int, made: Callable[[int, int, tuple[int, ...]], Array]) -> list[Array]:
    """What `made` gives for each device, its part at the level, and the devices of its group."""
    found: dict[int, Array] = {}
    for group in mesh.groups(level):
        for part, device in enumerate(group):
            found[device] = made(device, part, group)
    return [found[device] for device in range(mesh.devices)]


def _all_gather(op: AllGatherOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = _digit(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        return digit.join([wire.take(level, device, owner, arrays[owner]) for owner in group])

    return _in_groups(mesh, level, made)


def _all_to_all(op: AllToAllOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    split = _digit(mesh, level, op.split.value.data, ints(op.split_within), ints(op.split_segments))
    concat = _digit(mesh, level, op.concat.value.data, ints(op.concat_within), ints(op.concat_segments))
    parts = [split.split(array) for array in arrays]

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        return concat.join([wire.take(level, device, owner, parts[owner][part]) for owner in group])

    return _in_groups(mesh, level, made)


def _reduce_scatter(op: ReduceScatterOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = _digit(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))
    return _scattered(mesh, level, [digit.split(array) for array in arrays], wire)


def _scattered(mesh: Mesh, level: int, parts: Sequence[Arrays], wire: Wire) -> list[Array]:
    """Each device sums its part of what the devices of its group have; `parts` are all parts of each device."""

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        return _total([wire.take(level, device, owner, parts[owner][part]) for owner in group])

    return _in_groups(mesh, level, made)


def _all_reduce(op: AllReduceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    """
    Sums part by part, from the innermost level out, and gathers the parts back.

    A device so reads each element once each way, whatever the number of levels. Parts need not be equal.
    """
    over = levels_of(op)
    flat = [array.reshape(-1) for array in arrays]
    for level in reversed(over):
        flat = _scattered(mesh, level, [np.array_split(array, mesh.sizes[level]) for array in flat], wire)
    if op.mean is not None:
        flat = [array / mesh.parts(over) for array in flat]
    for level in over:
        flat = _collected(mesh, level, flat, wire)
    return [array.reshape(arrays[0].shape) for array in flat]


def _collected(mesh: Mesh, level: int, arrays: Arrays, wire: Wire) -> list[Array]:
    """Each device gets the parts of its group, one behind the other."""

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        return np.concatenate([wire.take(level, device, owner, arrays[owner]) for owner in group])

    return _in_groups(mesh, level, made)


def _copy(op: CopyOp | OnceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    return list(arrays)


def _addend(op: AddendOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    over = levels_of(op)
    first = [not any(mesh.coordinates(device)[level] for level in over) for device in range(mesh.devices)]
    return [array if own else np.zeros_like(array) for own, array in zip(first, arrays, strict=True)]


def _place(op: PlaceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = _digit(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        own = arrays[device]
        return digit.join([own if n == part else np.zeros_like(own) for n in range(digit.parts)])

    return _in_groups(mesh, level, made)


def _send_receive(op: SendReceiveOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    sender = dict(zip(ints(op.target), ints(op.source), strict=True))

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        if part not in sender:
            return np.zeros_like(arrays[device])
        owner = group[sender[part]]
        return wire.take(level, device, owner, arrays[owner])

    return _in_groups(mesh, level, made)


_MEANINGS: dict[type[DistOp], Callable[[Any, Mesh, Arrays, Wire], list[Array]]] = {
    SliceOp: _slice,
    AllGatherOp: _all_gather,
    AllToAllOp: _all_to_all,
    AllReduceOp: _all_reduce,
    ReduceScatterOp: _reduce_scatter,
    CopyOp: _copy,
    OnceOp: _copy,
    AddendOp: _addend,
    PlaceOp: _place,
    SendReceiveOp: _send_receive,
}

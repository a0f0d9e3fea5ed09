"""
The operations of the dist dialect on numpy: each takes and returns one array per device.

A device reads the data of another only through a `Wire`, which counts the elements. Data move in the chunks that an
operation has, one after the other, each over the levels in its own order. A bucket is one sum of all its members.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np

from npuc.compiler.interpreter.digits import Digit, digit_of
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
    Route,
    SendReceiveOp,
    SliceOp,
    levels_of,
    routes_of,
)
from npuc.dialects.train.base import ints

OpT = TypeVar("OpT", bound=DistOp)
Arrays: TypeAlias = Sequence[Array]
"""A value: one array per device, by number."""


@dataclass
class Wire:
    """Carries arrays between devices, and counts for each level the elements that devices read from others."""

    read: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, level: int, reader: int, owner: int, array: Array) -> Array:
        """The array of device `owner` as read by a device of its group; reads of its own array do not count."""
        if reader == owner:
            return array
        self.read[level] = self.read.get(level, 0) + array.size
        return array.copy()

    def take_in(self, chunks: int, level: int, reader: int, owner: int, array: Array) -> Array:
        """The same, chunk by chunk."""
        if chunks == 1 or reader == owner:
            return self.take(level, reader, owner, array)
        parts = [self.take(level, reader, owner, part) for part in np.array_split(array.reshape(-1), chunks)]
        return np.concatenate(parts).reshape(array.shape)


def _total(arrays: Arrays) -> Array:
    """The sum of addends, in their order."""
    return reduce(np.add, arrays)


def exchange(op: DistOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    """The result of an operation on every device, from its operand on every device."""
    return _MEANINGS[type(op)](op, mesh, arrays, wire)


def exchange_bucket(members: Sequence[DistOp], mesh: Mesh, operands: Sequence[Arrays], wire: Wire) -> list[list[Array]]:
    """
    The results of the members of a bucket, each on every device, from their operands: of one sum of all of them.

    The last member says in which chunks. Parts of several axes are put side by side, so that a device gets those that
    are its own.
    """
    last = members[-1]
    if isinstance(last, AllReduceOp):
        flat = [np.concatenate([array.reshape(-1) for array in own]) for own in zip(*operands, strict=True)]
        whole = [[arrays[0].shape for arrays in operands]] * mesh.devices
        return _apart(_all_reduced(last, mesh, flat, wire), whole)
    (level,) = levels_of(last)
    digits: list[Digit] = []
    for op in members:
        assert isinstance(op, ReduceScatterOp), "a bucket has sums of one kind"
        digits.append(digit_of(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments)))
    parts: list[list[Array]] = []
    shapes: list[list[tuple[int, ...]]] = []
    for device, own in enumerate(zip(*operands, strict=True)):
        split = [digit.split(array) for digit, array in zip(digits, own, strict=True)]
        parts.append([np.concatenate([part.reshape(-1) for part in same]) for same in zip(*split, strict=True)])
        shapes.append([pieces[mesh.coordinates(device)[level]].shape for pieces in split])
    return _apart(_scattered(mesh, level, parts, wire, len(routes_of(last))), shapes)


def _apart(flat: Arrays, shapes: Sequence[Sequence[tuple[int, ...]]]) -> list[list[Array]]:
    """Flat arrays of each device, cut into arrays of its shapes: for each shape one on every device."""
    found: list[list[Array]] = []
    for array, own in zip(flat, shapes, strict=True):
        ends = list(accumulate(prod(shape) for shape in own))
        pieces = np.split(array, ends[:-1])
        found.append([piece.reshape(shape) for piece, shape in zip(pieces, own, strict=True)])
    return [list(same) for same in zip(*found, strict=True)]


def _slice(op: SliceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = digit_of(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))
    return [digit.split(array)[mesh.coordinates(device)[level]] for device, array in enumerate(arrays)]


def _in_groups(mesh: Mesh, level: int, made: Callable[[int, int, tuple[int, ...]], Array]) -> list[Array]:
    """The arrays that `made` returns for each device, its part at the level, and the devices of its group."""
    found: dict[int, Array] = {}
    for group in mesh.groups(level):
        for part, device in enumerate(group):
            found[device] = made(device, part, group)
    return [found[device] for device in range(mesh.devices)]


def _all_gather(op: AllGatherOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = digit_of(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))
    chunks = len(routes_of(op))

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        return digit.join([wire.take_in(chunks, level, device, owner, arrays[owner]) for owner in group])

    return _in_groups(mesh, level, made)


def _all_to_all(op: AllToAllOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    split = digit_of(mesh, level, op.split.value.data, ints(op.split_within), ints(op.split_segments))
    concat = digit_of(mesh, level, op.concat.value.data, ints(op.concat_within), ints(op.concat_segments))
    parts, chunks = [split.split(array) for array in arrays], len(routes_of(op))

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        taken = [wire.take_in(chunks, level, device, owner, parts[owner][part]) for owner in group]
        return concat.join(taken)

    return _in_groups(mesh, level, made)


def _reduce_scatter(op: ReduceScatterOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = digit_of(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))
    return _scattered(mesh, level, [digit.split(array) for array in arrays], wire, len(routes_of(op)))


def _scattered(mesh: Mesh, level: int, parts: Sequence[Arrays], wire: Wire, chunks: int = 1) -> list[Array]:
    """Reduce-scatter within each group of a level; `parts` are all parts of each device."""

    def made(device: int, part: int, group: tuple[int, ...]) -> Array:
        return _total([wire.take_in(chunks, level, device, owner, parts[owner][part]) for owner in group])

    return _in_groups(mesh, level, made)


Pieces: TypeAlias = dict[tuple[int, ...], Array]
"""Pieces of a flat array on a device, by the part that each is at each level over which the array was scattered."""


def _all_reduce(op: AllReduceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    return [own.reshape(arrays[0].shape) for own in _all_reduced(op, mesh, [a.reshape(-1) for a in arrays], wire)]


def _all_reduced(op: AllReduceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    """
    Of flat arrays a reduce-scatter from the innermost level out, then an all-gather back; in chunks, in the order of
    each.

    A device reads each element once in each phase, whatever the number of levels. Parts need not be equal.
    """
    routes = routes_of(op)
    split = [np.array_split(array, len(routes)) for array in arrays]
    addends = 1 if op.mean is None else mesh.parts(levels_of(op))
    moved = [
        _reduced(mesh, route, own, addends, wire) for route, own in zip(routes, zip(*split, strict=True), strict=True)
    ]
    return [np.concatenate(own) for own in zip(*moved, strict=True)]


def _reduced(mesh: Mesh, route: Route, arrays: Arrays, addends: int, wire: Wire) -> list[Array]:
    """The sums of flat arrays over the levels of a route, divided by `addends` (1: as they are), on every device."""
    flat = list(arrays)
    for level in route.there:
        flat = _scattered(mesh, level, [np.array_split(array, mesh.sizes[level]) for array in flat], wire)
    if addends > 1:
        flat = [array / addends for array in flat]
    pieces: list[Pieces] = []
    for device, array in enumerate(flat):
        coordinates = mesh.coordinates(device)
        pieces.append({tuple(coordinates[level] for level in route.there): array})
    for level in route.back:
        pieces = _collected(mesh, level, pieces, wire)
    # parts were cut from each other in the order of the route, so that those of the first level are the largest
    return [np.concatenate([own[place] for place in sorted(own)]) for own in pieces]


def _collected(mesh: Mesh, level: int, pieces: Sequence[Pieces], wire: Wire) -> list[Pieces]:
    """All-gather within each group of a level: each device then has the pieces of all of its group."""
    found: dict[int, Pieces] = {}
    for group in mesh.groups(level):
        for device in group:
            found[device] = {
                place: wire.take(level, device, owner, array)
                for owner in group
                for place, array in pieces[owner].items()
            }
    return [found[device] for device in range(mesh.devices)]


def _copy(op: CopyOp | OnceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    return list(arrays)


def _addend(op: AddendOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    over = levels_of(op)
    first = [not any(mesh.coordinates(device)[level] for level in over) for device in range(mesh.devices)]
    return [array if own else np.zeros_like(array) for own, array in zip(first, arrays, strict=True)]


def _place(op: PlaceOp, mesh: Mesh, arrays: Arrays, wire: Wire) -> list[Array]:
    (level,) = levels_of(op)
    digit = digit_of(mesh, level, op.axis.value.data, ints(op.within), ints(op.segments))

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

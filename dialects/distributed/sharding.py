"""
The sharding of a tensor over the devices of a mesh.

    #dist.sharding<[[0], [1, 2]]>            axis 0 is sharded at level 0, axis 1 at the levels 1 and 2
    #dist.sharding<[[0], []] partial [1]>    axis 0 is sharded at level 0; devices that differ at level 1 have addends

A level shards one axis at most. A position of an axis is a mixed-radix number: one digit per level of the mesh, with as
many values as the level has parts, then the rest, so that the size of the axis is a multiple of the number of devices.
Sharding at a level gives each device the positions whose digit of that level is its coordinate there. Shardings at
different levels therefore commute, whatever axes they are of, and undoing one leaves the others as they are. The
positions of a device are in ascending order.

    #dist.sharding<[[], [0]] segments [[], [8, 8, 8]]>      queries, keys and values side by side: each has its digits

An axis of several segments, which later operations take apart, is sharded in each of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from npuc.compiler.core.frozen import frozen
from npuc.dialects.distributed.mesh import Mesh, parse_integers

SHARDING = "dist.sharding"
"""The attribute of an argument or result that gives its sharding; without it the value is replicated."""
Positions: TypeAlias = npt.NDArray[np.int64]


@frozen
class Sharding:
    """
    For each axis the levels that shard it, ascending; `partial` are the levels whose devices hold addends.

    At all other levels the tensor is replicated. `segments` has the global sizes of the segments of each axis; it is
    empty for an axis without segments.
    """

    axes: tuple[tuple[int, ...], ...]
    partial: tuple[int, ...] = ()
    segments: tuple[tuple[int, ...], ...] = ()

    @staticmethod
    def whole(rank: int) -> "Sharding":
        """The tensor is replicated on all devices."""
        return Sharding(((),) * rank)

    @property
    def cuts(self) -> tuple[int, ...]:
        """The levels that shard an axis, ascending."""
        return tuple(sorted(level for levels in self.axes for level in levels))

    def with_cut(self, axis: int, level: int) -> "Sharding":
        """The same with one more cut."""
        axes = [tuple(sorted({*levels, level})) if axis == n else levels for n, levels in enumerate(self.axes)]
        return replace(self, axes=tuple(axes))

    def without(self, level: int) -> "Sharding":
        """The same with neither a cut nor addends at a level."""
        axes = tuple(tuple(one for one in levels if one != level) for levels in self.axes)
        return replace(self, axes=axes, partial=tuple(one for one in self.partial if one != level))

    def with_addends(self, level: int) -> "Sharding":
        """The same with addends at one more level."""
        return replace(self, partial=tuple(sorted({*self.partial, level})))

    def segments_of(self, axis: int) -> tuple[int, ...]:
        """The sizes of the segments of an axis; none where it is one."""
        return self.segments[axis] if self.segments else ()

    def local_shape(self, mesh: Mesh, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a device's part of a tensor of `shape`, whose cut axes divide."""
        return tuple(size // mesh.parts(levels) for size, levels in zip(shape, self.axes, strict=True))

    def global_shape(self, mesh: Mesh, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a tensor of which a device has `shape`."""
        return tuple(size * mesh.parts(levels) for size, levels in zip(shape, self.axes, strict=True))

    def positions(self, mesh: Mesh, shape: Sequence[int], device: int) -> tuple[Positions, ...]:
        """The positions of each axis that a device has of a tensor of `shape`, whose cut axes divide."""
        coordinates = mesh.coordinates(device)
        return tuple(
            positions_of(mesh, size, levels, coordinates, self.segments_of(axis))
            for axis, (size, levels) in enumerate(zip(shape, self.axes, strict=True))
        )

    def problems(self, mesh: Mesh, shape: Sequence[int]) -> Iterator[str]:
        """What does not fit a mesh and a device's part of `shape`, a sentence each."""
        if len(self.axes) != len(shape):
            yield f"its sharding has {len(self.axes)} axes, the tensor {len(shape)}"
            return
        seen: set[int] = set()
        for levels in (*self.axes, self.partial):
            if list(levels) != sorted(set(levels)):
                yield f"its sharding lists the levels {list(levels)}, expected ascending ones"
            for level in dict.fromkeys(levels):
                if level not in mesh.levels:
                    yield f"its sharding has level {level}, the mesh has levels 0 to {len(mesh.sizes) - 1}"
                elif level in seen:
                    yield f"its sharding has level {level} twice, expected each level in one place"
                seen.add(level)
        if not seen <= set(mesh.levels):
            return
        for axis, (size, levels) in enumerate(zip(shape, self.axes, strict=True)):
            rest = mesh.parts(level for level in mesh.levels if level not in levels)
            if levels and size % rest:
                whole = size * mesh.parts(levels)
                yield f"axis {axis}, which is cut, has size {whole}, expected a multiple of {mesh.devices}, the devices"
        yield from self._segment_problems(mesh, shape)

    def _segment_problems(self, mesh: Mesh, shape: Sequence[int]) -> Iterator[str]:
        if self.segments and len(self.segments) != len(shape):
            yield f"its sharding has segments of {len(self.segments)} axes, the tensor has {len(shape)}"
            return
        for axis, (size, levels) in enumerate(zip(shape, self.axes, strict=True)):
            segments, whole = self.segments_of(axis), size * mesh.parts(levels)
            if segments and sum(segments) != whole:
                yield f"the segments of axis {axis} have {sum(segments)} elements, the axis {whole}"
            elif levels and any(segment % mesh.devices for segment in segments):
                yield f"axis {axis}, which is cut, has segments {list(segments)}, expected multiples of {mesh.devices}"

    def __str__(self) -> str:
        axes = ", ".join(str(list(levels)) for levels in self.axes)
        segments = f" segments [{', '.join(str(list(own)) for own in self.segments)}]" if any(self.segments) else ""
        return f"[{axes}]" + (f" partial {list(self.partial)}" if self.partial else "") + segments


def sharding_entry(entries: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The sharding among the attributes of an argument or result, if it has one."""
    return {SHARDING: entries[SHARDING]} if SHARDING in entries else {}


def positions_of(
    mesh: Mesh, size: int, levels: Sequence[int], coordinates: Sequence[int], segments: Sequence[int] = ()
) -> Positions:
    """The positions, ascending, of an axis of `size` that a device has if some levels shard it; all if none does."""
    if segments:
        starts = accumulate(segments, initial=0)
        parts = [
            start + positions_of(mesh, own, levels, coordinates) for start, own in zip(starts, segments, strict=False)
        ]
        return np.concatenate(parts)
    every = np.arange(size, dtype=np.int64)
    if not levels:
        return every
    index: list[Any] = [coordinates[level] if level in levels else slice(None) for level in mesh.levels]
    return every.reshape(*mesh.sizes, -1)[tuple(index)].reshape(-1)


@irdl_attr_definition
class ShardingAttr(Data[Sharding]):
    """The sharding of an argument or result, written `#dist.sharding<[[0], [1, 2]] partial [3]>`."""

    name = "dist.sharding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Sharding:
        with parser.in_angle_brackets():
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_integers(parser))
            partial = parse_integers(parser) if parser.parse_optional_keyword("partial") else ()
            segments: Sequence[tuple[int, ...]] = ()
            if parser.parse_optional_keyword("segments"):
                segments = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_integers(parser))
        return Sharding(tuple(axes), partial, tuple(segments))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))

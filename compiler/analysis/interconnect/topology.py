"""
The network between devices, and the placement of a mesh on it.

A network is a list of levels, outermost first, each of a kind. Devices are numbered as in a mesh: the number of a
device has a digit per level, outermost first, and a level connects the devices that differ in its digit only.

    kind     how `size` devices are connected         what a device has
    pair     two devices, a link                      its share of that link, all of it where no other device uses it
    ring     each with its two neighbours             two links, half of the bandwidth each
    fc       each with each                           size - 1 links of equal parts of the bandwidth
    switch   each with a switch that never blocks     a port of that bandwidth
    torus    n dimensions, rings along each           two links a dimension, 1/(2 n) of the bandwidth each
    mesh     the same without the links that close    two links a dimension as in a torus, but for devices at an edge,
             the rings                                which have one

`bytes_per_s` is the rate at which a device sends along the level, over all its links there, while all devices send; it
receives at the same rate at the same time. A link that n devices share therefore counts 1/n for each. Of a mesh it is
the rate of a device inside, so that a torus and a mesh of the same rate have the same links but for those that close
rings. An H-tree is pairs.

The positions of a torus or mesh count its last dimension fastest. Collectives use all its dimensions at once, those of
levels of rings one after the other.

A level of a mesh may be a part of a level of the network: a ring of 8 is three levels of 2 devices. Sources: Rashidi et
al., "Themis", ISCA 2022, for kinds and levels; Won et al., "LIBRA", ISPASS 2024, for links of a kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt, prod
from typing import Literal, get_args

from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.frozen import frozen

Kind = Literal["pair", "ring", "fc", "switch", "torus", "mesh"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GRIDS: tuple[Kind, ...] = ("torus", "mesh")
"""Kinds of several dimensions."""
SWITCH_PRICE = "switch_usd_per_gb_per_s"
PRICES = ("link_usd_per_gb_per_s", SWITCH_PRICE, "nic_usd_per_gb_per_s")
"""Keys of a level: what links, a switch and NICs cost for each GB/s that a device sends along it."""


@frozen
class NetworkLevel:
    """
    A level of a network: its kind, and how many devices it connects; of a torus or mesh also `sizes`, the devices along
    each dimension, whose product is `size`.

    `latency_s` is the time of the shortest message over one link (through the switch), in seconds; `pj_per_byte` the
    energy of a byte over one link (through the switch), None if unknown; `algorithm` the name of the algorithm of its
    collectives, None for that of its kind; `usd_per_byte_per_s` the price of a device's bandwidth there, None if
    unknown.
    """

    kind: Kind
    size: int
    bytes_per_s: Fraction
    latency_s: Fraction = Fraction(0)
    pj_per_byte: Fraction | None = None
    algorithm: str | None = None
    usd_per_byte_per_s: Fraction | None = None
    sizes: tuple[int, ...] = ()

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The devices along each dimension; of most kinds there is one."""
        return self.sizes or (self.size,)

    @property
    def shape(self) -> str:
        """The devices in words: 64, or 4 x 4 x 4."""
        return " x ".join(f"{size:,}" for size in self.dimensions)

    def resized(self, size: int) -> NetworkLevel | None:
        """
        The same kind of level with so many devices, None where there is none.

        A torus or mesh has at most as many dimensions as before, as near to equal as can be.
        """
        if self.kind == "pair" and size != 2:
            return None
        if not self.sizes or size == self.size:
            return replace(self, size=size)
        return replace(self, size=size, sizes=near_equal(size, len(self.sizes)))


def near_equal(size: int, count: int) -> tuple[int, ...]:
    """At most `count` factors of 2 or more with this product, the largest as small as can be; the largest first."""
    found: list[tuple[int, ...]] = [(size,)]
    for first in range(2, isqrt(size) + 1 if count > 1 else 2):
        if size % first == 0:
            found.append(tuple(sorted((first, *near_equal(size // first, count - 1)), reverse=True)))
    return min(found)


@frozen
class DimensionPart:
    """
    Devices of a group along a dimension of a torus or mesh: `size` of them, `stride` positions apart, where `length`
    are in a line, which `wraps` around or does not. Dimension 0 is the first of the level's `sizes`.
    """

    dimension: int
    length: int
    size: int
    stride: int
    wraps: bool

    @property
    def closed(self) -> bool:
        """Whether the devices go all the way around a ring."""
        return self.wraps and self.size * self.stride == self.length


@frozen
class CommunicationGroup:
    """
    Devices that communicate along one level of the network: `size` of them, `stride` positions apart.

    `number` is that of the level, 0 the outermost. All groups of the level communicate at the same time, those in
    between on the same level and those elsewhere in the network. On a torus or mesh `parts` are the devices along each
    dimension, the innermost first, and `stride` is that of the first.
    """

    number: int
    level: NetworkLevel
    size: int
    stride: int
    parts: tuple[DimensionPart, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether the group goes all around its level, so that on a ring its last device is next to its first."""
        return self.size * self.stride == self.level.size

    @property
    def extents(self) -> dict[tuple[int, int], int]:
        """How many devices the group has along each dimension of the network: by level and dimension there."""
        return {(self.number, part.dimension): part.size for part in self.parts} or {(self.number, 0): self.size}


def group_on(number: int, level: NetworkLevel, size: int, stride: int) -> CommunicationGroup | None:
    """The group of so many devices, so far apart; None where they are no part of the dimensions of a torus or mesh."""
    if level.kind not in GRIDS:
        return CommunicationGroup(number, level, size, stride)
    parts: list[DimensionPart] = []
    inside, end = 1, stride * size
    for dimension, length in reversed(list(enumerate(level.dimensions))):
        first, last = max(inside, stride), min(inside * length, end)
        if first < last:
            if last % first or (inside * length) % last:
                return None
            parts.append(DimensionPart(dimension, length, last // first, first // inside, level.kind == "torus"))
        inside *= length
    return CommunicationGroup(number, level, size, stride, tuple(parts))


@frozen
class Interconnect:
    """The levels of a network, outermost first."""

    levels: tuple[NetworkLevel, ...]

    @property
    def devices(self) -> int:
        """The number of devices that it connects."""
        return prod(level.size for level in self.levels)

    def place(self, mesh: Sequence[int]) -> MeshPlacement:
        """
        The placement of a mesh with these sizes, each 2 or more, outermost first, on this network.

        The devices fill the innermost levels of the network, so that they are close to each other; the outermost level
        in use may be used in part. The levels of the mesh take those of the network in order, each a whole level or a
        factor of the remainder of one. Raises `CapacityError` if the sizes do not factor like this.
        """
        used = self._used(mesh)
        groups: list[CommunicationGroup] = []
        number, remaining = len(self.levels) - len(used) - 1, 1
        for size in mesh:
            if remaining == 1:
                number += 1
                remaining = used[number - len(self.levels)]
            if remaining % size:
                raise self._refusal(mesh, number, f"{remaining:,} devices to be divisible by the {size:,}")
            remaining //= size
            group = group_on(number, self.levels[number], size, remaining)
            if group is None:
                raise self._refusal(mesh, number, f"dimensions or factors of them for the {size:,}")
            groups.append(group)
        return MeshPlacement(self, tuple(groups))

    def _used(self, mesh: Sequence[int]) -> list[int]:
        """The number of devices of each level that a mesh uses, outermost first; unused levels are left out."""
        used: list[int] = []
        remaining = prod(mesh)
        for number in range(len(self.levels) - 1, -1, -1):
            if remaining == 1:
                break
            size = self.levels[number].size
            if remaining % size and size % remaining:
                raise self._refusal(mesh, number, f"a multiple or a divisor of the {remaining:,} devices")
            used.append(min(remaining, size))
            remaining //= used[-1]
        if remaining > 1:
            raise self._refusal(mesh, None, f"levels for the {prod(mesh):,} devices")
        return used[::-1]

    def _refusal(self, mesh: Sequence[int], number: int | None, expected: str) -> CapacityError:
        """The error for a mesh that does not fit a level of the network, or all of them."""
        levels = self.levels if number is None else self.levels[number : number + 1]
        found = ", ".join(f"{level.kind} {level.shape}" for level in levels) or "none"
        place = "" if number is None else f", level {number + 1} of {len(self.levels)}"
        return CapacityError(
            f"network.levels{place}: found {found}, expected {expected} of the mesh {' x '.join(map(str, mesh))}",
            hint="devices fill the innermost levels, of the last one a part that divides it; in order, each level of "
            "the mesh is a level of the network or a factor of one",
        )


@frozen
class MeshPlacement:
    """A mesh on a network: the group that communicates along each level of the mesh, outermost first."""

    network: Interconnect
    groups: tuple[CommunicationGroup, ...]

    @property
    def devices(self) -> int:
        """The number of devices of the mesh."""
        return prod(group.size for group in self.groups)

    def along(self, over: Iterable[int]) -> tuple[CommunicationGroup, ...]:
        """
        The groups of a collective over some levels of the mesh, innermost first.

        Adjacent levels that are parts of one level of the network form one group: over all three halvings of a ring of
        8 the whole ring communicates. So do any levels that are along different dimensions of a torus or mesh.
        """
        return tuple(map(self.group_of, self.runs(sorted(set(over), reverse=True))))

    def runs(self, order: Iterable[int]) -> tuple[tuple[int, ...], ...]:
        """Levels of the mesh in an order, those together that form one group: a level and the next one outwards."""
        found: list[tuple[int, ...]] = []
        for place in order:
            if found and self._together(found[-1], place):
                found[-1] = (*found[-1], place)
            else:
                found.append((place,))
        return tuple(found)

    def _together(self, run: Sequence[int], place: int) -> bool:
        """Whether a level of the mesh forms one group with a run of levels within it."""
        one, last = self.groups[place], self.groups[run[-1]]
        if one.number != last.number or place > run[-1]:
            return False
        return place == run[-1] - 1 or (bool(one.parts) and not one.extents.keys() & self.group_of(run).extents.keys())

    def group_of(self, run: Sequence[int]) -> CommunicationGroup:
        """The group of levels of the mesh on one level of the network, the innermost first."""
        first, *more = (self.groups[place] for place in run)
        parts = {part.dimension: part for part in first.parts}
        for part in (part for group in more for part in group.parts):
            inner = parts.get(part.dimension)
            parts[part.dimension] = part if inner is None else replace(inner, size=inner.size * part.size)
        size = prod(self.groups[place].size for place in run)
        return CommunicationGroup(first.number, first.level, size, first.stride, tuple(parts.values()))

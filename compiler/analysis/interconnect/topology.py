"""
The network between devices, and the placement of a mesh on it.

A network is a list of levels, outermost first, each of a kind. Devices are numbered as in a mesh: the number of a
device has a digit per level, outermost first, and a level connects the devices that differ in its digit only.

    kind     how `size` devices are connected         what a device has
    pair     two devices, a link                      its share of that link, all of it where no other device uses it
    ring     each with its two neighbours             two links, half of the bandwidth each
    fc       each with each                           size - 1 links of equal parts of the bandwidth
    switch   each with a switch that never blocks     a port of that bandwidth

`bytes_per_s` is the rate at which a device sends along the level, over all its links there, while all devices send; it
receives at the same rate at the same time. A link that n devices share therefore counts 1/n for each. A torus is two
rings; an H-tree is pairs.

A level of a mesh may be a part of a level of the network: a ring of 8 is three levels of 2 devices. Sources: Rashidi et
al., "Themis", ISCA 2022, for kinds and levels; Won et al., "LIBRA", ISPASS 2024, for links of a kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal, get_args

from npuc.compiler.core.errors import CapacityError

Kind = Literal["pair", "ring", "fc", "switch"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SWITCH_PRICE = "switch_usd_per_gb_per_s"
PRICES = ("link_usd_per_gb_per_s", SWITCH_PRICE, "nic_usd_per_gb_per_s")
"""Keys of a level: what links, a switch and NICs cost for each GB/s that a device sends along it."""


@dataclass(frozen=True)
class NetworkLevel:
    """
    A level of a network: its kind, and how many devices it connects.

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


@dataclass(frozen=True)
class CommunicationGroup:
    """
    Devices that communicate along one level of the network: `size` of them, `stride` positions apart.

    `number` is that of the level, 0 the outermost. All groups of the level communicate at the same time, those in
    between on the same level and those elsewhere in the network.
    """

    number: int
    level: NetworkLevel
    size: int
    stride: int

    @property
    def closed(self) -> bool:
        """Whether the group goes all around its level, so that on a ring its last device is next to its first."""
        return self.size * self.stride == self.level.size


@dataclass(frozen=True)
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
            groups.append(CommunicationGroup(number, self.levels[number], size, remaining))
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
        found = ", ".join(f"{level.kind} {level.size}" for level in levels) or "none"
        place = "" if number is None else f", level {number + 1} of {len(self.levels)}"
        return CapacityError(
            f"network.levels{place}: found {found}, expected {expected} of the mesh {' x '.join(map(str, mesh))}",
            hint="devices fill the innermost levels, of the last one a part that divides it; in order, each level of "
            "the mesh is a level of the network or a factor of one",
        )


@dataclass(frozen=True)
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
        8 the whole ring communicates.
        """
        return tuple(map(self.group_of, self.runs(sorted(set(over), reverse=True))))

    def runs(self, order: Iterable[int]) -> tuple[tuple[int, ...], ...]:
        """Levels of the mesh in an order, those together that form one group: a level and the next one outwards."""
        found: list[tuple[int, ...]] = []
        for place in order:
            last = found[-1][-1] if found else -1
            if last == place + 1 and self.groups[last].number == self.groups[place].number:
                found[-1] = (*found[-1], place)
            else:
                found.append((place,))
        return tuple(found)

    def group_of(self, run: Sequence[int]) -> CommunicationGroup:
        """The group of adjacent levels of the mesh, the innermost first."""
        own = [self.groups[place] for place in run]
        return CommunicationGroup(own[-1].number, own[-1].level, prod(group.size for group in own), own[0].stride)

"""
Who takes part in a collective, in two forms.

    involved dimensions   those of the network, innermost first: what ASTRA-sim reads for collectives over whole levels
    communicator groups   the devices of each group, by a number from 1: for collectives over parts of a level

A collective over all devices needs no group. Groups are numbered in the order in which collectives need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.dialects.distributed.mesh import Mesh


@dataclass(frozen=True)
class Participants:
    """
    The participants of a collective: the dimensions, or for each device the number of its group; all devices where both
    are None.
    """

    dimensions: tuple[bool, ...] | None = None
    group_of: tuple[int, ...] | None = None


@dataclass
class Communicators:
    """The participants of the collectives of a program on a mesh, which is placed on a network, if there is one."""

    mesh: Mesh
    placement: MeshPlacement | None
    groups: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """The devices of each group, ascending."""
    _known: dict[tuple[int, ...], Participants] = field(default_factory=dict[tuple[int, ...], Participants])

    def over(self, levels: Sequence[int]) -> Participants:
        """The participants of a collective over levels of the mesh."""
        key = tuple(sorted(set(levels)))
        if key not in self._known:
            self._known[key] = self._participants(key)
        return self._known[key]

    def _participants(self, levels: tuple[int, ...]) -> Participants:
        if self.placement is not None:
            dimensions = involved_dimensions(self.placement, levels)
            if dimensions is not None:
                return Participants(dimensions)
        if len(levels) == len(self.mesh.sizes):
            return Participants()
        return Participants(group_of=self._grouped(levels))

    def _grouped(self, levels: tuple[int, ...]) -> tuple[int, ...]:
        """The group of each device among those that differ at some levels only, numbered behind the known ones."""
        numbers: dict[tuple[int, ...], int] = {}
        found: list[int] = []
        for device in range(self.mesh.devices):
            digits = self.mesh.coordinates(device)
            rest = tuple(digit for level, digit in enumerate(digits) if level not in levels)
            number = numbers.setdefault(rest, len(self.groups) + 1)
            self.groups.setdefault(number, []).append(device)
            found.append(number)
        return tuple(found)


def dimensions_of(placement: MeshPlacement) -> dict[tuple[int, int], int]:
    """
    The dimensions of the network that a mesh uses, innermost first, and how many devices it uses of each.

    A dimension is the number of a level, and of a dimension of a torus or mesh there.
    """
    extents = [group.extents for group in placement.groups]
    used = sorted({dimension for own in extents for dimension in own}, reverse=True)
    return {one: prod(own.get(one, 1) for own in extents) for one in used}


def involved_dimensions(placement: MeshPlacement, levels: Sequence[int]) -> tuple[bool, ...] | None:
    """
    Whether each dimension in use takes part in a collective over levels of the mesh, innermost first.

    None where it is over a part of a dimension: over one of three halvings of a ring of 8.
    """
    found: list[bool] = []
    for one, size in dimensions_of(placement).items():
        taking_part = prod(placement.groups[level].extents.get(one, 1) for level in levels)
        if taking_part not in (1, size):
            return None
        found.append(taking_part == size)
    return tuple(found)

"""Nested tilings of three groups of dimensions, as the search for the least traffic finds them, and their schedules."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.analysis.schedule.grid.space import DimGroup
from npuc.dialects.npu.nest import Loop, Nest, Schedule


@dataclass(frozen=True)
class MovedTensor:
    """
    A tensor: the group it does not use (`missing`), the two it has, and the bits of moving it (`weight`) and of an
    element in SPM (`width`), both in parts of a bit. An output moves twice, less `once` for its first read and narrower
    last write.
    """

    name: str
    missing: int
    has: tuple[int, int]
    weight: int
    width: int
    once: int


@dataclass(frozen=True)
class NestedTilings:
    """
    Groups, tensors in the order of their refetch levels, and for each the tiling of the group that it misses; `finest`
    are the finest tilings, and `byte` is a byte in the parts of a bit in which tensors are counted.

    All schedules of these move `weight` bits, less some savings at ragged edges, and those that fit in `needs` bytes of
    SPM are the ones of the least traffic from there up to the SPM that they were found for.
    """

    groups: tuple[DimGroup, ...]
    order: tuple[MovedTensor, ...]
    cuts: tuple[int, ...]
    finest: tuple[int, ...]
    weight: float
    needs: int
    byte: int

    @property
    def coarsest(self) -> tuple[int, ...]:
        """The coarsest tiling of each group at this traffic."""
        pairs = list(zip(self.order, self.cuts, strict=True))
        return tuple(max((cut for t, cut in pairs if t.missing == g), default=0) for g in range(len(self.groups)))

    def coarsened(self, nest: Nest, spm_bytes: int) -> tuple[Schedule, int]:
        """
        The schedule with the innermost tiles as large as fit at equal traffic, one group after another; and the least
        SPM with which it is the same.
        """
        places, needs = list(self.finest), self.needs
        for g, lowest in enumerate(self.coarsest):
            sizes, (fixed, scaled) = self.groups[g].tile_sizes, self._room_by(g, places)
            low, high = lowest, places[g]
            while low < high:
                middle = (low + high) // 2
                room = fixed + sum(-(-parts * sizes[middle] // self.byte) for parts in scaled)
                if room <= spm_bytes:
                    high, needs = middle, max(needs, room)
                else:
                    low = middle + 1
            places[g] = high
        return self.schedule(nest, places, spm_bytes), needs

    def _room_by(self, group: int, finest: Sequence[int]) -> tuple[int, list[int]]:
        """
        The terms of `room` by the innermost tile of one group: the bytes of blocks that do not depend on it, and the
        parts of others that are multiplied by its size.
        """
        fixed, scaled = 0, list[int]()
        for tensor, targets in zip(self.order, self._targets, strict=True):
            parts, depends = tensor.width, False
            for g, cut in zip(tensor.has, targets, strict=True):
                if cut is None and g == group:
                    depends = True
                else:
                    parts *= self.groups[g].tile_sizes[finest[g] if cut is None else cut]
            if depends:
                scaled.append(parts)
            else:
                fixed += -(-parts // self.byte)
        return fixed, scaled

    def room(self, finest: Sequence[int]) -> int:
        """The bytes of SPM that the blocks of `schedule` occupy, each in whole bytes."""
        total = 0
        for tensor, targets in zip(self.order, self._targets, strict=True):
            parts = tensor.width
            for g, cut in zip(tensor.has, targets, strict=True):
                parts *= self.groups[g].tile_sizes[finest[g] if cut is None else cut]
            total += -(-parts // self.byte)
        return total

    @cached_property
    def _targets(self) -> tuple[tuple[int | None, ...], ...]:
        """For each tensor the tilings of its groups in its block: that which the next tensor needs, None the finest."""
        return tuple(
            tuple(next((cut for t, cut in self._after(level) if t.missing == g), None) for g in tensor.has)
            for level, tensor in enumerate(self.order)
        )

    def _after(self, level: int) -> list[tuple[MovedTensor, int]]:
        """The tensors after one, and the tiling of the group that each misses."""
        return list(zip(self.order, self.cuts, strict=True))[level + 1 :]

    def schedule(self, nest: Nest, finest: Sequence[int], spm_bytes: int) -> Schedule:
        """The schedule; a group that no later tensor misses is tiled as in `finest`."""
        inner = {dim for group in self.groups for dim in group.dims}
        loops = [Loop(dim, 1) for dim, size in nest.dims if dim not in inner and size > 1]
        place = [group.full for group in self.groups]
        depths: list[int] = []
        for tensor, targets in zip(self.order, self._targets, strict=True):
            for g, cut in zip(tensor.has, targets, strict=True):
                target = finest[g] if cut is None else cut
                loops += self._between(g, place[g], target)
                place[g] = target
            depths.append(len(loops))
        keep = tuple((t.name, len(loops) - d) for t, d in zip(self.order, depths, strict=True) if len(loops) > d)
        return Schedule(tuple(loops), keep, spm_bytes)

    def _between(self, group: int, outer: int, inner: int) -> list[Loop]:
        """The loops that refine a tile of one tiling into tiles of another."""
        here = self.groups[group].steps(outer)
        return [loop for loop in self.groups[group].tilings[inner] if here.get(loop.dim) != loop.step]

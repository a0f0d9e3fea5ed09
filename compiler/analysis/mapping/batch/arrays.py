"""
Many mappings of one layer as arrays, and their levels with every size in numbers.

An array of a level is [slot, mapping]: slot 0 is the outermost directive. Which dimension a slot has differs from
mapping to mapping. Sizes are float64, exact up to 2^53, for which numpy is faster than for integers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from npuc.dialects.mapping import Problem, Role
from npuc.dialects.mapping.problem import SLIDES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
ROLES: tuple[Role, ...] = ("I", "W", "O")


@dataclass(frozen=True)
class Mappings:
    """
    Mappings as written, input-centric: [mapping, level, directive], levels from the top, outermost directive first.

    `dim` is a position in `Problem.named`, -1 where a level has fewer directives; `cluster` is [mapping, level - 1].
    """

    dim: Ints
    size: Ints
    offset: Ints
    spatial: Bools
    cluster: Ints

    def __len__(self) -> int:
        return len(self.dim)

    def part(self, rows: slice | Ints) -> Mappings:
        """Some of the mappings."""
        return Mappings(self.dim[rows], self.size[rows], self.offset[rows], self.spatial[rows], self.cluster[rows])


@dataclass(frozen=True)
class LevelArrays:
    """
    A level of many mappings; names as in `DirectiveLevel` and `TileSizes`, `out_*` those of the output's dimensions.

    `slots` are the slots of the spatial maps, [2, mapping], equal where there is one; `last` says for each tensor which
    of the two comes last among the tensor's dimensions.
    """

    dims: Ints
    width: Floats
    edges: Floats
    size: Floats
    offset: Floats
    spatial: Bools
    mapped: Floats
    mapped_edge: Floats
    unique: Floats
    unique_edge: Floats
    out_mapped: Floats
    out_mapped_edge: Floats
    out_unique: Floats
    out_unique_edge: Floats
    in_input: Bools
    in_weight: Bools
    in_output: Bools
    slots: Ints
    last: Ints

    def at(self, rows: Ints) -> Self:
        """The level of these mappings, which may come several times."""
        return type(self)(*(getattr(self, field.name).take(rows, axis=-1) for field in fields(self)))


def read_levels(problem: Problem, mappings: Mappings, num_pes: int) -> tuple[list[LevelArrays], Bools]:
    """The levels from the top, and which mappings they are true of: those that are well-formed and fit."""
    names, count = problem.named, len(mappings)
    inner = np.prod(np.maximum(mappings.cluster, 1), axis=1, dtype=np.float64)
    good = (mappings.cluster > 0).all(axis=1) & (inner <= num_pes)
    shape = (len(names), count)
    whole = np.repeat(np.array([[problem.sizes[d]] for d in names], np.float64), count, axis=1)
    size, offset, place = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    levels: list[LevelArrays] = []
    for number in range(mappings.dim.shape[1]):
        width = np.maximum(num_pes // inner, 1.0) if number == 0 else mappings.cluster[:, number - 1].astype(float)
        key, spatial = (-1 - place, np.zeros(shape, bool)) if number else _whole(size, offset, whole)
        good &= _write(mappings, number, (size, offset, spatial, key))
        _stride(problem, names, number, size, offset)
        order = np.argsort(key, axis=0)
        place = np.empty(shape)
        np.put_along_axis(place, order, np.arange(len(names), dtype=float)[:, None], axis=0)
        total = spatial.sum(axis=0)
        good &= (total >= 1) & (total <= 2)
        levels.append(_level(problem, order, np.maximum(width, 1.0), (size, offset, spatial, whole)))
        whole = np.minimum(size, whole)
    return levels, good


def _whole(size: Floats, offset: Floats, whole: Floats) -> tuple[Floats, Bools]:
    """At the top a dimension that is not written is whole, inside all others, in the order of names."""
    size[:], offset[:] = whole, whole
    key = np.repeat(np.arange(1e3, 1e3 + len(whole))[:, None], whole.shape[1], axis=1)
    return key, np.zeros(whole.shape, bool)


def _write(mappings: Mappings, number: int, into: tuple[Floats, Floats, Bools, Floats]) -> Bools:
    """Write the directives of a level over what it inherits, by dimension; which mappings are well-formed."""
    size, offset, spatial, key = into
    good = np.ones(len(mappings), bool)
    seen = np.zeros(size.shape, bool)
    for slot in range(mappings.dim.shape[2]):
        dim = mappings.dim[:, number, slot]
        good &= dim < len(size)
        rows = np.flatnonzero((dim >= 0) & (dim < len(size)))
        at = (dim[rows], rows)
        good[rows] &= ~seen[at] & (mappings.size[rows, number, slot] > 0) & (mappings.offset[rows, number, slot] > 0)
        seen[at] = True
        size[at] = np.maximum(mappings.size[rows, number, slot], 1)
        offset[at] = np.maximum(mappings.offset[rows, number, slot], 1)
        spatial[at] = mappings.spatial[rows, number, slot]
        key[at] = slot
    return good


def _stride(problem: Problem, names: tuple[str, ...], number: int, size: Floats, offset: Floats) -> None:
    """Sizes and offsets along Y and X where windows are a stride apart; see `levels`."""
    for dim, window_dim in SLIDES.items():
        stride = problem.stride.get(dim, 1)
        if stride == 1 or not problem.slides:
            continue
        window, at = problem.sizes[window_dim], names.index(dim)
        rows = size[at] >= window
        outputs = np.floor((size[at] + stride - window) / stride)
        step = window if number > 0 and window < stride else stride
        offset[at] = np.where(rows, outputs * step, offset[at])
        size[at] = np.where(rows, outputs * min(stride, window) + max(window - stride, 0), size[at])


def _level(problem: Problem, order: Ints, width: Floats, by_dim: tuple[Floats, Floats, Bools, Floats]) -> LevelArrays:
    size, offset, spatial, whole = by_dim
    steps = np.maximum(np.trunc((whole - size) / offset), 0.0)
    rest = whole - (steps + 1) * offset
    rest = np.where(rest < 0, whole, rest)
    partial = (steps * offset + size < whole) | (size > whole)
    mapped_edge = np.where(partial, rest, size)
    unique = np.where(~spatial & (whole <= size), 0.0, np.minimum(size, offset))
    unique_edge = np.maximum(offset - (size - rest), 0.0)
    inputs = [size, mapped_edge, unique, unique_edge]
    outputs = [array.copy() for array in inputs]
    names = problem.named
    if problem.slides:
        for dim, window in ((names.index(d), names.index(w)) for d, w in SLIDES.items()):
            outputs[0][dim] = size[dim] - size[window] + 1
            outputs[1][dim] = mapped_edge[dim] - mapped_edge[window] + 1
            outputs[2][dim] = np.minimum(offset[dim], size[dim])
            outputs[3][dim] = np.minimum(offset[dim], outputs[1][dim])
    coupled = [np.array([d in problem.coupled(role) for d in names])[order] for role in ROLES]
    in_slots = np.take_along_axis(spatial, order, axis=0)
    slotted = [np.take_along_axis(array, order, axis=0) for array in (size, offset, *inputs, *outputs)]
    slots = np.stack([np.argmax(in_slots, axis=0), len(order) - 1 - np.argmax(in_slots[::-1], axis=0)])
    width_size, width_offset, width_whole = (
        np.take_along_axis(array, slots[:1], axis=0)[0]
        for array in (slotted[0], slotted[1], np.take_along_axis(whole, order, axis=0))
    )
    edges = _edges(width_size, width_offset, width_whole, width)
    spread = np.take_along_axis(order, slots, axis=0)
    ranks = np.array([[_rank(problem.coupled(role), d) for d in names] for role in ROLES])
    last = (ranks[:, spread[1]] > ranks[:, spread[0]]).astype(np.int64)
    mapped, mapped_edge, unique, unique_edge = slotted[2:6]
    out_mapped, out_mapped_edge, out_unique, out_unique_edge = slotted[6:]
    return LevelArrays(
        *(order, width, edges, slotted[0], slotted[1], in_slots),
        *(mapped, mapped_edge, unique, unique_edge),
        *(out_mapped, out_mapped_edge, out_unique, out_unique_edge),
        *(coupled[0], coupled[1], coupled[2], slots, last),
    )


def _rank(dims: tuple[str, ...], dim: str) -> int:
    return dims.index(dim) if dim in dims else -1


def _edges(size: Floats, offset: Floats, whole: Floats, width: Floats) -> Floats:
    """The number of sub-clusters at work in the last fold of a spatial map; see `levels`."""
    covered = offset * (width - 1) + size
    steady = np.trunc((np.trunc((whole - size) / offset) + 1) / width) - 1
    rest = whole - (steady + 1) * offset * width
    folded = np.where(rest < size, 1.0, np.floor((rest - size) / offset) + 1)
    active = np.floor((whole - size) / offset) + 1
    once = active + (offset * (active - 1) + size < whole)
    return np.where(whole > covered, folded, np.where(whole > size, once, 1.0))

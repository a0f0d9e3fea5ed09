"""
What a level's steps do that does not depend on their order: outputs, work, and the tile that is handed inside.

An *entry* is a mapping whose level is entered with a tile; a *node* is an entry with the set of directives that are
at a partial last tile. Steps of one node differ in what they load, and in nothing else. Rules as in `volumes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.batch.arrays import Bools, Floats, Ints, LevelArrays

Kind = TypeVar("Kind", np.float64, np.bool_)


@dataclass(frozen=True)
class BatchEntries:
    """
    Entries of a level, each with the row of its mapping and what steps there are along each slot.

    `steady` is the number of steps in the middle, `edge` whether there is a partial last one, `whole` that nothing
    moves, `short` that the only tile is partial, `ragged` that the last sub-cluster has less in the partial one.
    """

    level: LevelArrays
    rows: Ints
    entered: Floats
    steady: Floats
    edge: Bools
    whole: Bools
    short: Bools
    ragged: Bools

    def __len__(self) -> int:
        return len(self.rows)


def enter(level: LevelArrays, rows: Ints, entered: Floats) -> BatchEntries:
    """The entries of a level: `entered` is [dimension, entry]."""
    given = np.take_along_axis(entered, level.dims, axis=0)
    size, offset, width = level.size, level.offset, level.width
    reach = np.where(level.spatial, size + offset * (width - 1), size)
    short, more = given < reach, given > reach
    single = np.trunc((given - size) / offset)
    folds = np.where(level.spatial, np.trunc((single + 1) / width) - 1, single)
    steady = np.where(more & (folds > 0), folds, 0.0)
    jump = np.where(level.spatial, offset * width, offset)
    edge = more & (given < (folds + 1) * jump + reach) & (folds * jump + reach != given)
    rest = given - (folds + 1) * jump
    active = np.where(rest < size, 1.0, np.trunc((rest - size) / offset) + 1)
    ragged = level.spatial & ((active - 1) * offset + size < rest)
    return BatchEntries(level, rows, entered, steady, edge, ~more, short, ragged)


@dataclass(frozen=True)
class EntryNodes:
    """
    The nodes of entries: `entry` says of which, `edges` is a bit a slot.

    `child[i][n]` is the node that node n becomes where slot i is at its edge; the first nodes are those of the entries,
    with nothing at an edge.
    """

    entry: Ints
    edges: Ints
    outputs: Floats
    taps: Floats
    child: list[Ints]

    def __len__(self) -> int:
        return len(self.entry)


def make_nodes(e: BatchEntries) -> EntryNodes:
    """All nodes, with the temporal factors of outputs and of taps (what is summed over) of one sub-cluster."""
    level = e.level
    one = np.float64(1)
    in_output: Bools = level.in_output
    temporal: Bools = ~level.spatial
    out: Floats = np.where(temporal & in_output, np.where(e.short, level.out_mapped_edge, level.out_mapped), one)
    tap: Floats = np.where(temporal & ~in_output, np.where(e.short, level.mapped_edge, level.mapped), one)
    last_out: Floats = np.where(temporal & in_output, level.out_mapped_edge, out)
    last_tap: Floats = np.where(temporal & ~in_output, level.mapped_edge, tap)
    entry: Ints = np.arange(len(e))
    bits: Ints = np.zeros(len(e), np.int64)
    outputs: Floats = out.prod(axis=0)
    taps: Floats = tap.prod(axis=0)
    child: list[Ints] = []
    for i in range(len(out)):
        at = np.flatnonzero(e.edge[i, entry])
        below = np.full(len(entry), -1)
        below[at] = len(entry) + np.arange(len(at))
        child.append(below)
        if not len(at):
            continue
        of = entry[at]
        entry, bits = np.concatenate([entry, of]), np.concatenate([bits, bits[at] | (1 << i)])
        outputs = np.concatenate([outputs, outputs[at] / out[i, of] * last_out[i, of]])
        taps = np.concatenate([taps, taps[at] / tap[i, of] * last_tap[i, of]])
    return EntryNodes(entry, bits, outputs, taps, child)


@dataclass(frozen=True)
class Faces:
    """
    The faces of entries: an entry with some of its spatial maps at the edge, on which all that is spatial depends.

    Arrays are [1 or 2 maps, face]: whether a map is there, at its edge, with a last part there, whether it moved to the
    edge or is short from the start. Face n of entry i is number n len(e) + i; n has a bit for each map.
    """

    slot: Ints
    entry: Ints
    there: Bools
    edge: Bools
    ragged: Bools
    moved: Bools
    short: Bools

    @staticmethod
    def of(e: BatchEntries) -> Faces:
        """All faces."""
        level = e.level
        maps = 1 + bool((level.slots[0] != level.slots[1]).any())
        own = level.slots[:maps]
        faces = 1 << maps
        number, entry = np.repeat(np.arange(faces), len(e)), np.tile(np.arange(len(e)), faces)
        slot = np.tile(own, faces)
        short, ragged = (np.tile(np.take_along_axis(array, own, axis=0), faces) for array in (e.short, e.ragged))
        there = np.ones(slot.shape, bool)
        there[1:] = slot[1:] != slot[:1]
        moved = ((number >> np.arange(maps)[:, None]) & 1).astype(bool)
        return Faces(slot, entry, there, moved | short, short | (moved & ragged), moved, short)

    def of_nodes(self, e: BatchEntries, nodes: EntryNodes) -> Ints:
        """The number of the face of each node."""
        found = nodes.entry
        for number, slot in enumerate(self.slot[:, : len(e)]):
            found = found + (((nodes.edges >> slot.take(nodes.entry)) & 1) << number) * len(e)
        return found

    def at(self, array: NDArray[Kind]) -> NDArray[Kind]:
        """The values of a level's array in the slots of the maps."""
        maps, entries = len(self.slot), len(self.entry) >> len(self.slot)
        return np.tile(np.take_along_axis(array, self.slot[:, :entries], axis=0), 1 << maps)


@dataclass(frozen=True)
class NodeWork:
    """Of each node, in elements: outputs of the level, MACs of all sub-clusters and of the busiest, who is at work."""

    egress: Floats
    work: Floats
    critical: Floats
    active: Floats


def work_of(e: BatchEntries, nodes: EntryNodes, faces: Faces, face: Ints) -> NodeWork:
    """What the nodes compute and give; `face` is the face of each."""
    level, maps = e.level, faces
    width, edges = level.width.take(faces.entry), level.edges.take(faces.entry)
    alone = edges == 1
    output = faces.at(level.in_output)
    input_edge = faces.at(level.mapped_edge)
    mapped = np.where(output, faces.at(level.out_mapped), faces.at(level.mapped))
    mapped_edge = np.where(output, faces.at(level.out_mapped_edge), input_edge)
    unique = np.where(output, faces.at(level.out_unique), faces.at(level.unique))
    unique_edge = np.where(output, faces.at(level.out_unique_edge), faces.at(level.unique_edge))
    # Where one sub-cluster is at work at the edge, its size is the *input's*, also along Y and X: a quirk.
    first = np.where(maps.moved & alone, input_edge, mapped)
    first_last = np.where(maps.moved & alone, input_edge, np.where(maps.short, mapped_edge, mapped))
    last = np.where(maps.moved, unique_edge, np.where(maps.short, np.where(output, unique_edge, mapped_edge), unique))
    again = np.where(maps.moved, unique_edge, np.where(maps.short, mapped_edge, unique))
    spread = output & maps.there

    edge, ragged = joint(maps.edge, maps.ragged, spread, level.last[2].take(faces.entry))
    given = Parts(first, first_last, unique, last).joined(spread)
    egress = np.where(spread.any(axis=0), total(given, edge, ragged, width, edges), 1.0)
    one, one_last = product(first, maps.there), product(first_last, maps.there)
    critical = np.where(edge & alone & ragged, one_last, one)

    partial = np.logical_or.reduce(maps.edge & maps.there, axis=0)
    last_ragged: Bools = np.where(maps.there[-1, :], maps.ragged[-1, :], maps.ragged[0, :])
    each = Parts(one, one_last, one, product(again, maps.there))
    work = np.where(partial, total(each, partial, last_ragged, width, edges), width * one)
    active = np.where(maps.edge[0], edges, width)
    taps = nodes.outputs * nodes.taps
    return NodeWork(
        nodes.outputs * egress.take(face), taps * work.take(face), taps * critical.take(face), active.take(face)
    )


def product(array: Floats, use: Bools) -> Floats:
    """The product over spatial maps that count."""
    return np.where(use, array, 1.0).prod(axis=0)


def joint(edge: Bools, ragged: Bools, use: Bools, last: Ints) -> tuple[Bools, Bools]:
    """Whether any of the maps that count is at its edge, and whether the last of them has a last part."""
    if len(edge) == 1:
        return edge[0] & use[0], ragged[0]
    chosen = np.where(use.all(axis=0), last, use[1].astype(np.int64))
    found: Bools = np.take_along_axis(ragged, chosen[None], axis=0)[0]
    return np.logical_or.reduce(edge & use, axis=0), found


@dataclass(frozen=True)
class Parts:
    """Volumes of one sub-cluster: the first, the first where it is the last too, one in the middle, the last."""

    first: Floats
    first_last: Floats
    middle: Floats
    last: Floats

    def joined(self, use: Bools) -> Parts:
        """The products over the spatial maps that count, which are the first axis."""
        return Parts(
            product(self.first, use), product(self.first_last, use), product(self.middle, use), product(self.last, use)
        )


def total(parts: Parts, edge: Bools, ragged: Bools, width: Floats, edges: Floats) -> Floats:
    """The volume of a level from those of its sub-clusters; at the edge `edges` of the `width` are at work."""
    alone = edges == 1
    partial = np.where(alone & ragged, parts.first_last, parts.first)
    more = np.maximum(edges - ragged - 1, 0) * parts.middle + ragged * parts.last
    return np.where(edge, partial + np.where(alone, 0.0, more), parts.first + (width - 1) * parts.middle)

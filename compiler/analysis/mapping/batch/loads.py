"""What steps load: one of a level's directives moves on, those inside it begin anew. Rules as in `volumes`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.batch.arrays import Bools, Floats, Ints
from npuc.compiler.analysis.mapping.batch.nodes import BatchEntries, Faces, Parts, joint, total


@dataclass(frozen=True)
class Loads:
    """
    What steps load of one input tensor: what its temporal maps give times what its spatial maps do.

    `first` is by entry, of the first step. `temporal` and `kind` are [slot, entry], of the steps in which the directive
    of a slot moves on; `spatial` is [kind of step, face]. The kind of a step has a bit for each spatial map: all
    but the first sub-cluster then get only what the one before them has not. `stuck`: MAESTRO gives up.
    """

    first: Floats
    temporal: Floats
    kind: Ints
    spatial: Floats
    stuck: Bools

    def of(self, slot: int, entry: Ints, face: Ints) -> Floats:
        """The loads of steps that lead to a face of an entry by moving on in a slot."""
        entries, faces = int(self.temporal.shape[1]), int(self.spatial.shape[1])
        at = slot * entries + entry
        return self.temporal.take(at) * self.spatial.take(self.kind.take(at) * faces + face)


@dataclass(frozen=True)
class _Sizes:
    """Sizes of the spatial maps, [map, face]."""

    mapped: Floats
    mapped_edge: Floats
    unique: Floats
    unique_edge: Floats


def loads(e: BatchEntries, faces: Faces) -> tuple[Loads, Loads]:
    """Those of input and weights."""
    level = e.level
    sizes = _Sizes(*(faces.at(a) for a in (level.mapped, level.mapped_edge, level.unique, level.unique_edge)))
    return _loads(e, faces, 0, level.in_input, sizes), _loads(e, faces, 1, level.in_weight, sizes)


def _loads(e: BatchEntries, faces: Faces, tensor: int, coupled: Bools, sizes: _Sizes) -> Loads:
    level, count = e.level, len(e)
    still = coupled & ~level.spatial
    base = np.where(still, np.where(e.short, level.mapped_edge, level.mapped), 1.0).prod(axis=0)
    again = _again(coupled & ~e.whole)
    new: Floats = base / level.mapped * np.maximum(level.unique, 1.0)
    temporal: Floats = np.where(coupled, np.where(still & ~again, new, base), 0.0)
    moves = (e.steady > 0) | e.edge
    stuck: Bools = (still & moves & (level.unique == 0)).any(axis=0)
    slot, number = faces.slot[:, :count], np.arange(len(coupled))[:, None]
    kind = np.zeros(coupled.shape, np.int64)
    for n, own in enumerate(slot):
        kind |= ((own > number) | ((own == number) & ~again)).astype(np.int64) << n
    use = faces.at(coupled) & faces.there
    last = level.last[tensor].take(faces.entry)
    spatial = [_spatial(e, faces, sizes, use, last, kind=n) for n in range(1 << len(slot))]
    first = base * _first(e, faces, sizes, use[:, :count], level.last[tensor])
    return Loads(first, temporal, kind, np.stack(spatial), stuck)


def _again(moves: Bools) -> Bools:
    """From which slot on there are some inside that begin anew."""
    found = np.zeros_like(moves)
    for i in range(len(moves) - 2, -1, -1):
        found[i] = found[i + 1] | moves[i + 1]
    return found


def _spatial(e: BatchEntries, faces: Faces, sizes: _Sizes, use: Bools, last: Ints, *, kind: int) -> Floats:
    """What the spatial maps make of a step of a kind, by face."""
    shared = (kind >> np.arange(len(use))[:, None] & 1).astype(bool)
    middle = np.where(shared, sizes.unique, sizes.mapped)
    rest = np.where(shared, sizes.unique_edge, sizes.mapped_edge)
    edge, ragged = joint(faces.edge, faces.ragged, use, last)
    factors = Parts(sizes.mapped, sizes.mapped_edge, middle, rest).joined(use)
    width, edges = e.level.width.take(faces.entry), e.level.edges.take(faces.entry)
    return np.where(use.any(axis=0), total(factors, edge, ragged, width, edges), 1.0)


def _first(e: BatchEntries, faces: Faces, sizes: _Sizes, use: Bools, last: Ints) -> Floats:
    """What the spatial maps make of the first step of each entry."""
    level, count = e.level, len(e)
    short, alone = faces.short[:, :count], level.edges == 1
    mapped, mapped_edge = sizes.mapped[:, :count], sizes.mapped_edge[:, :count]
    parts = Parts(
        first=np.where(short & alone, mapped_edge, mapped),
        first_last=np.where(short, mapped_edge, mapped),
        middle=np.where(short & alone, 1.0, mapped),
        last=np.where(short, mapped_edge, mapped),
    )
    edge, ragged = joint(faces.edge[:, :count], faces.ragged[:, :count], use, last)
    spread = total(parts.joined(use), edge, ragged, level.width, level.edges)
    return np.where(use.any(axis=0), spread, 1.0)

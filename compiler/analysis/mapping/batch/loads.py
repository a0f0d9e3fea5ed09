"""What steps load: one of a level's directives moves on, those inside it begin anew. Rules as in `volumes`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.batch.arrays import Bools, Floats, Ints, LevelArrays
from npuc.compiler.analysis.mapping.batch.nodes import Entries, Maps, Parts, joint, spatial_maps, total


@dataclass(frozen=True)
class Fixed:
    """Of each entry, for one input tensor: what the temporal maps give, and from which slot on it is loaded anew."""

    index: int
    coupled: Bools
    base: Floats
    again: Bools


def fixed_parts(e: Entries) -> tuple[Fixed, Fixed]:
    """Those of input and weights."""
    return _fixed(e, 0, e.level.in_input), _fixed(e, 1, e.level.in_weight)


def _fixed(e: Entries, index: int, coupled: Bools) -> Fixed:
    level = e.level
    use = coupled & ~level.spatial
    base = np.where(use, np.where(e.short, level.mapped_edge, level.mapped), 1.0).prod(axis=0)
    inside = coupled & ~e.whole
    after = np.zeros_like(inside)
    for i in range(len(inside) - 2, -1, -1):
        after[i] = after[i + 1] | inside[i + 1]
    return Fixed(index, coupled, base, after)


def first_load(e: Entries, fixed: Fixed, maps: Maps) -> Floats:
    """What the first step of each entry loads; `maps` are those of the entries with nothing at an edge."""
    level = e.level
    entry = np.arange(len(e))
    slot, alone = maps.slot, level.edges == 1
    use = fixed.coupled[slot, entry] & maps.there
    mapped, mapped_edge = level.mapped[slot, entry], level.mapped_edge[slot, entry]
    first = np.where(maps.short & alone, mapped_edge, mapped)
    middle = np.where(maps.short & alone, 1.0, mapped)
    last = np.where(maps.short, mapped_edge, mapped)
    edge, ragged = joint(maps.edge, maps.ragged, use, level.last[fixed.index])
    parts = Parts(first, last, middle, last).joined(use)
    return fixed.base * np.where(use.any(axis=0), total(parts, edge, ragged, level.width, level.edges), 1.0)


@dataclass(frozen=True)
class Moves:
    """Steps in which the directive of slot `slot` moves on: their entries, and whether to its partial last tile."""

    slot: int
    entry: Ints
    edges: Ints
    to_edge: Bools


def loads(e: Entries, moves: Moves, parts: tuple[Fixed, Fixed]) -> tuple[list[Floats], Bools]:
    """What each of the steps loads of input and weights, and where MAESTRO gives up."""
    level, entry, i = e.level, moves.entry, moves.slot
    maps = spatial_maps(e, entry, moves.edges)
    here = maps.slot == i
    edge = np.where(here, moves.to_edge, maps.edge)
    ragged = np.where(here, moves.to_edge & e.ragged[i, entry], maps.ragged)
    values = _Values.of(level, maps.slot, entry)
    temporal, unique, mapped = ~level.spatial[i, entry], level.unique[i, entry], level.mapped[i, entry]
    found: list[Floats] = []
    stuck = np.zeros(len(entry), bool)
    for fixed in parts:
        moved, again = fixed.coupled[i, entry], fixed.again[i, entry]
        stuck |= moved & temporal & (unique == 0)
        base = fixed.base[entry]
        base = np.where(temporal & ~again & moved, base / mapped * np.maximum(unique, 1.0), base)
        use = fixed.coupled[maps.slot, entry] & maps.there
        shared = (maps.slot > i) | (here & ~again)
        middle = np.where(shared, values.unique, values.mapped)
        last = np.where(shared, values.unique_edge, values.mapped_edge)
        any_edge, any_ragged = joint(edge, ragged, use, level.last[fixed.index][entry])
        factors = Parts(values.mapped, values.mapped_edge, middle, last).joined(use)
        spread = total(factors, any_edge, any_ragged, level.width[entry], level.edges[entry])
        found.append(np.where(moved, base * np.where(use.any(axis=0), spread, 1.0), 0.0))
    return found, stuck


@dataclass(frozen=True)
class _Values:
    """Sizes of the spatial maps."""

    mapped: Floats
    mapped_edge: Floats
    unique: Floats
    unique_edge: Floats

    @staticmethod
    def of(level: LevelArrays, slot: Ints, entry: Ints) -> _Values:
        return _Values(
            level.mapped[slot, entry],
            level.mapped_edge[slot, entry],
            level.unique[slot, entry],
            level.unique_edge[slot, entry],
        )

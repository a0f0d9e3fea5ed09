"""What constraints of mappings leave on each of the four axes for a contraction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import is_working
from npuc.compiler.analysis.mapping.constraints.limits import MapConstraints
from npuc.compiler.analysis.mapping.flexibility.choices import Pair, Shape, size_of
from npuc.compiler.analysis.mapping.flexibility.flexion import Allowed, AxisChoices
from npuc.compiler.analysis.mapping.flexibility.tiles import Among
from npuc.compiler.explore.mapping.constrained.possible import witnesses
from npuc.compiler.explore.mapping.space import MapSpace


def allowed_choices(choices: AxisChoices, space: MapSpace) -> Allowed | None:
    """
    What the constraints of a space of two levels leave of all choices of a contraction; None where it has none.

    Of an axis those choices count that some mapping has which meets the constraints: tiles of a step of the rows, where
    the rows share one dimension or none; orders of the loops outside; pairs that may be spread, with shapes that have
    the sub-clusters and give enough elements work.
    """
    constraints = space.constraints
    if constraints is None:
        return None
    names = space.names
    before = tuple((names[a], names[b]) for a, b in constraints.levels[0].before)
    pairs = [pair for pair in choices.all_pairs if _may_spread(pair, space, constraints)]
    both = frozenset(
        (pair, shape) for pair, shape in product(pairs, choices.all_shapes) if _is_wide(pair, shape, space, constraints)
    )
    rows = {shape[0] for shape in choices.all_shapes if _has_clusters(shape, constraints)}
    return Allowed(_step_tiles(space, sorted(rows)), before, both)


def _may_spread(pair: Pair, space: MapSpace, constraints: MapConstraints) -> bool:
    """Whether the dimensions of a pair with several values are those that each level may and must spread."""
    for dims, level in zip(pair, constraints.levels, strict=True):
        own = {at for at, (name, size) in enumerate(space.dims) if name in dims and size > 1}
        if not own >= set(level.must) or (level.may is not None and not own <= set(level.may)):
            return False
    return True


def _is_wide(pair: Pair, shape: Shape, space: MapSpace, constraints: MapConstraints) -> bool:
    """Whether a shape has the demanded sub-clusters, of which the dimensions of a pair can give enough work."""
    if not _has_clusters(shape, constraints):
        return False
    if not constraints.needs_work:
        return True
    sizes = dict(space.dims)
    most = [min(count, size_of(dims, sizes)) for dims, count in zip(pair, shape, strict=True)]
    if not is_working(constraints, shape, most):
        return False
    levels = tuple(
        replace(level, may=tuple(sorted(map(space.names.index, dims))))
        for dims, level in zip(pair, constraints.levels, strict=True)
    )
    own = replace(constraints, levels=levels)
    narrow = replace(space, fanouts=(shape,), constraints=own, parallel=max(1, *map(len, pair)))
    return bool(witnesses(narrow, 1))


def _has_clusters(shape: Shape, constraints: MapConstraints) -> bool:
    """Whether a shape has the demanded sub-clusters."""
    return all(count == one for count, level in zip(shape, constraints.levels, strict=True) for one in level.fanout)


def _step_tiles(space: MapSpace, rows: Sequence[int]) -> tuple[Among, ...] | None:
    """
    The tiles of a step on some numbers of rows, as products of sizes that have no tile in common; None for all tiles.

    Each is of one dimension that the rows share, or of none; several of them have a part of that dimension.
    """
    every = tuple(range(1, size + 1) for _, size in space.dims)
    own, level = [_compact(space.tiles(0, at, size)) for at, (_, size) in enumerate(space.dims)], space.level(0)
    if own == list(every):
        return None
    shared: dict[int, Sequence[int]] = {}
    for at in space.cut:
        if (level.may is None or at in level.may) and (not level.must or level.must == (at,)):
            known = set(own[at]) if not level.must else set[int]()
            wide = _shared(own[at], space.dims[at][1], rows)
            shared[at] = _compact(tuple(tile for tile in wide if tile not in known))
    found = [] if level.must else [tuple(own)]
    found += [tuple(shared[at] if n == at else one for n, one in enumerate(own)) for at in shared]
    return tuple(part for part in found if all(part))


def _shared(tiles: Sequence[int], size: int, rows: Sequence[int]) -> Iterator[int]:
    """The tiles of a step that some number of rows share, ascending, each with one of these tiles or what is left."""
    fine, own = np.zeros(size + 1, bool), np.array([tile for tile in tiles if tile < size], np.int64)
    for count in rows:
        if count > 1:
            fine[np.minimum(own * count, size)] = True
    yield from map(int, np.flatnonzero(fine))


def _compact(tiles: Sequence[int]) -> Sequence[int]:
    """The same numbers, as a range where they are one."""
    if tiles and not isinstance(tiles, range) and tiles[-1] - tiles[0] == len(tiles) - 1:
        return range(tiles[0], tiles[-1] + 1)
    return tiles

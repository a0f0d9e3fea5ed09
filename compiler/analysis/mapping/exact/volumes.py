"""
What steps bring in and out, in elements.

What a sub-cluster keeps between two steps: a tensor none of whose dimensions moved; and of windows that slide on (an
index s y + d r of which only y went a step further, neither y nor r spread over sub-clusters) what the next one shares
with the one before.
All else leaves and is brought anew, sent once for all sub-clusters that need it. Sums leave as they are and are brought
back where a loop that adds to them is not at its first step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, TensorAxis
from npuc.compiler.analysis.mapping.exact.steps import Bools, Entries, Moves, Nodes
from npuc.dialects.mapping import Role


def tile(work: Contraction, role: Role, sizes: Floats) -> Floats:
    """The elements of a tensor that tiles of these sizes, [dimension, …], touch."""
    product = np.ones(sizes.shape[1:])
    for axis in work.axes(role):
        product = product * axis.extent(_of(work, axis, sizes))
    return product


def spread_tiles(work: Contraction, role: Role, sizes: Floats, spatial: Floats) -> Floats:
    """The sum over sub-clusters of the elements that their parts of the tiles touch."""
    coupled = work.coupled(role)
    product = np.ones(sizes.shape[1:])
    for number, name in enumerate(work.names):
        if name not in coupled:
            product = product * np.ceil(sizes[number] / spatial[number])
    for axis in work.axes(role):
        product = product * _spread(axis, _of(work, axis, sizes), _of(work, axis, spatial))
    return product


def _of(work: Contraction, axis: TensorAxis, sizes: Floats) -> list[Floats]:
    return [sizes[work.names.index(dim)] for dim, _ in axis.terms]


def _spread(axis: TensorAxis, sizes: list[Floats], spatial: list[Floats]) -> Floats:
    """The sum over the parts of an axis' dimensions of what each touches."""
    if len(sizes) < 2:
        return sizes[0] if sizes else np.ones(())
    parts: list[list[tuple[Floats, Floats]]] = []
    for size, part in zip(sizes, spatial, strict=True):
        count = np.ceil(size / part)
        parts.append([(count - 1, np.minimum(part, size)), (np.ones_like(count), size - (count - 1) * part)])
    return sum(
        (a * b * axis.extent([y, r]) for a, y in parts[0] for b, r in parts[1]),
        start=np.zeros_like(sizes[0]),
    )


@dataclass(frozen=True)
class Change:
    """Of a group of steps and a tensor: what is brought, what leaves, and what all sub-clusters get together."""

    brought: Floats
    left: Floats
    received: Floats


def change(work: Contraction, role: Role, e: Entries, nodes: Nodes, moves: Moves) -> Change:
    """What a group of steps changes of a tensor."""
    entry = moves.entry
    after, place = nodes.sizes[:, moves.after], e.tiles.place[:, entry]
    inside, here = place > moves.place, place == moves.place
    restarts = inside & (e.full[:, entry] + e.smaller[:, entry] > 1)
    whole = e.temporal[:, entry]
    before = np.where(inside, e.last[:, entry], np.where(here, whole, nodes.sizes[:, moves.before]))
    spatial = e.spatial[:, entry]
    rows = [work.names.index(d) for d in work.coupled(role)]
    again = restarts[rows].any(axis=0)
    moved = again | here[rows].any(axis=0)
    brought, left = tile(work, role, after), tile(work, role, before)
    received = spread_tiles(work, role, after, spatial)
    for axis in work.axes(role):
        if len(axis.terms) < 2:
            continue
        y, r = (work.names.index(d) for d, _ in axis.terms)
        slides = here[y] & ~again & (spatial[y] >= whole[y]) & (spatial[r] >= after[r])
        new, old, both = after[y], whole[y], after[y] + whole[y]
        joint, first, second = (axis.extent([size, after[r]]) for size in (both, old, new))
        brought = np.where(slides, brought / second * (joint - first), brought)
        received = np.where(slides, received / second * (joint - first), received)
        left = np.where(slides, left / first * (joint - second), left)
    return Change(*(np.where(moved, volume, 0.0) for volume in (brought, left, received)))


def any_parts(e: Entries) -> Bools:
    """Which dimensions are spread over sub-clusters, [dimension, entry]."""
    return e.spatial < e.temporal

"""
The elements that steps load and store.

Between two steps a sub-cluster reuses a tensor none of whose dimensions moved, and of sliding windows (an index
s y + d r of which only y went a step further, neither y nor r spread over sub-clusters) the overlap of successive ones.
Everything else leaves and is loaded anew, sent once to all sub-clusters that need it. Sums leave as they are and are
read back where a loop that adds to them is not at its first step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, TensorAxis
from npuc.compiler.analysis.mapping.exact.steps import Bools, LevelEntries, Moves, StepNodes
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
class Turn:
    """
    A group of steps by dimension, [dimension, group]: the tiles after the move, which loop moves on, which begin anew.

    `first` is the first tile of an entry, `spatial` what a sub-cluster gets of it.
    """

    after: Floats
    first: Floats
    spatial: Floats
    here: Bools
    restarts: Bools

    @staticmethod
    def of(e: LevelEntries, nodes: StepNodes, moves: Moves) -> Turn:
        """What the changes of all tensors are found from."""
        place = e.tiles.place.take(moves.entry, axis=1)
        restarts = (place > moves.place) & e.several.take(moves.entry, axis=1)
        first, spatial = e.temporal.take(moves.entry, axis=1), e.spatial.take(moves.entry, axis=1)
        return Turn(nodes.sizes.take(moves.after, axis=1), first, spatial, place == moves.place, restarts)

    def before(self, e: LevelEntries, nodes: StepNodes, moves: Moves) -> Floats:
        """The tiles before the move."""
        inside = e.tiles.place.take(moves.entry, axis=1) > moves.place
        known = np.where(self.here, self.first, nodes.sizes.take(moves.before, axis=1))
        return np.where(inside, e.last.take(moves.entry, axis=1), known)


@dataclass(frozen=True)
class Slide:
    """Windows that slide on in some steps: the extent of an axis before the move, after it, and of both together."""

    where: Bools
    old: Floats
    new: Floats
    both: Floats


@dataclass(frozen=True)
class Change:
    """What a group of steps changes of a tensor: all of it where it moved, less where its windows slide on."""

    moved: Bools
    slides: tuple[Slide, ...]

    def brought(self, after: Floats) -> Floats:
        """What is new of so many elements."""
        for one in self.slides:
            after = np.where(one.where, after / one.new * (one.both - one.old), after)
        return np.where(self.moved, after, 0.0)

    def left(self, before: Floats) -> Floats:
        """What is gone of so many elements."""
        for one in self.slides:
            before = np.where(one.where, before / one.old * (one.both - one.new), before)
        return np.where(self.moved, before, 0.0)


def change(work: Contraction, role: Role, turn: Turn) -> Change:
    """What a group of steps changes of a tensor."""
    rows = [work.names.index(d) for d in work.coupled(role)]
    again: Bools = np.logical_or.reduce(turn.restarts[rows], axis=0)
    here: Bools = np.logical_or.reduce(turn.here[rows], axis=0)
    slides: list[Slide] = []
    for axis in work.axes(role):
        if len(axis.terms) < 2:
            continue
        y, r = (work.names.index(d) for d, _ in axis.terms)
        old, new, taps = turn.first[y], turn.after[y], turn.after[r]
        where = turn.here[y] & ~again & (turn.spatial[y] >= old) & (turn.spatial[r] >= taps)
        if where.any():
            slides.append(Slide(where, *(axis.extent([size, taps]) for size in (old, new, old + new))))
    return Change(again | here, tuple(slides))


def any_parts(e: LevelEntries) -> Bools:
    """Which dimensions are spread over sub-clusters, [dimension, entry]."""
    return e.spatial < e.temporal

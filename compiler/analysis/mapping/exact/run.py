"""
Levels of many mappings, run: a step takes as long as its largest tile inside or as its transfers, whichever is longer.

Before the first step of a level nothing overlaps: its transfer comes on top, as MAESTRO has it. Nothing grows with the
number of steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as combinations

import numpy as np

from npuc.compiler.analysis.mapping.batch.groups import sum_by
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, LevelTiles
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.exact.rates import Rates
from npuc.compiler.analysis.mapping.exact.steps import LevelEntries, StepNodes, enter, make_nodes
from npuc.compiler.analysis.mapping.exact.volumes import Turn, any_parts, change, spread_tiles, tile
from npuc.dialects.mapping import Role

INPUTS: tuple[Role, ...] = ("I", "W")


@dataclass(frozen=True)
class ExactSteps:
    """Groups of steps: node, number, elements brought of each tensor and taken away, and what elements receive."""

    node: Ints
    count: Floats
    brought: dict[Role, Floats]
    left: Floats
    received: dict[Role, Floats]


@dataclass(frozen=True)
class ExactRun:
    """
    A level that was run; the first steps of the entries are the first groups.

    `final` is what leaves after the last step; `received` what the buffers of the processing elements receive of each
    tensor, by entry. `streams` are what the innermost levels bring of each tensor, sent once to all that need it, and
    `streams_out` what they take away.
    """

    entries: LevelEntries
    nodes: StepNodes
    steps: ExactSteps
    entry: Ints
    compute: Floats
    into: Floats
    out: Floats
    delay: Floats
    taking_part: Floats
    final: Floats
    received: dict[Role, Floats]
    streams: dict[Role, Floats]
    streams_out: Floats

    def by_entry(self, values: Floats) -> Floats:
        """The sum over the steps of each entry."""
        return sum_by(self.entry, values * self.steps.count, len(self.entries))


def run_level(
    work: Contraction, levels: list[LevelTiles], number: int, rows: Ints, given: Floats, rates: Rates
) -> ExactRun:
    """Run a level that is given tiles, [dimension, entry], one for each of `rows`, which are those of mappings."""
    e = enter(levels[number].at(rows), rows, given)
    nodes = make_nodes(work, e)
    steps = _steps(work, e, nodes, innermost=number + 1 == len(levels))
    inside = _inside(work, levels, number, e, nodes, rates)
    node = steps.node
    own = rates.at(rows[nodes.entry[node]])
    into = _transfer(own, sum(steps.brought.values(), start=np.zeros(len(node))))
    out = _transfer(own, steps.left)
    compute = inside.compute[node]
    delay = np.maximum(np.maximum(compute, into), out)
    delay[: len(e)] = compute[: len(e)] + into[: len(e)]
    entry = nodes.entry[node]
    final = tile(work, "O", e.last)

    def total(values: Floats) -> Floats:
        return sum_by(entry, values * steps.count, len(e))

    received: dict[Role, Floats]
    streams: dict[Role, Floats]
    if inside.below is None:
        received = {role: total(steps.received[role]) for role in INPUTS}
        streams = {role: total(steps.brought[role]) for role in ROLES}
        streams_out = total(steps.left) + final
    else:
        below = inside.below
        received = {role: total(below.received[role][node]) for role in INPUTS}
        streams = {role: total(below.streams[role][node]) for role in ROLES}
        streams_out = total(below.out[node])
    part = inside.taking_part[node]
    return ExactRun(e, nodes, steps, entry, compute, into, out, delay, part, final, received, streams, streams_out)


def _transfer(rates: Rates, volume: Floats) -> Floats:
    """Cycles of a transfer; none for nothing."""
    return np.where(volume > 0, np.maximum(rates.noc_latency + np.ceil(volume / rates.noc_bw) - 1, 0), 0.0)


def _steps(work: Contraction, e: LevelEntries, nodes: StepNodes, *, innermost: bool) -> ExactSteps:
    """The groups of steps; what elements receive is found at the innermost level alone, whose buffers are theirs."""
    none = np.zeros(len(e))
    rows: list[tuple[Ints | Floats, ...]] = [
        (
            *(np.arange(len(e)), np.ones(len(e))),
            *(*(tile(work, role, e.temporal) for role in INPUTS), none, none),
            *(spread_tiles(work, role, e.temporal, e.spatial) if innermost else none for role in INPUTS),
        )
    ]
    for moves in nodes.moves:
        turn = Turn.of(e, nodes, moves)
        changes, outputs = [change(work, role, turn) for role in INPUTS], change(work, "O", turn)
        brought = [one.brought(tile(work, role, turn.after)) for role, one in zip(INPUTS, changes, strict=True)]
        back = outputs.brought(tile(work, "O", turn.after))
        left = outputs.left(tile(work, "O", turn.before(e, nodes, moves)))
        received = [
            one.brought(spread_tiles(work, role, turn.after, turn.spatial)) if innermost else np.zeros(len(back))
            for role, one in zip(INPUTS, changes, strict=True)
        ]
        for count, sums in ((moves.fresh, np.zeros(len(back))), (moves.count - moves.fresh, back)):
            some = np.flatnonzero(count > 0)
            rows.append(tuple(array[some] for array in (moves.after, count, *brought, sums, left, *received)))
    node, count, i, w, back, left, got_i, got_w = (np.concatenate(arrays) for arrays in zip(*rows, strict=True))
    return ExactSteps(node.astype(np.int64), count, {"I": i, "W": w, "O": back}, left, {"I": got_i, "W": got_w})


@dataclass(frozen=True)
class _Below:
    """Of each node what the levels inside move: into the elements' buffers, and to and from their networks."""

    received: dict[Role, Floats]
    streams: dict[Role, Floats]
    out: Floats


@dataclass(frozen=True)
class _Inside:
    """Of each node the time of its work, how many elements take part, and what is moved below, if there is a level."""

    compute: Floats
    taking_part: Floats
    below: _Below | None


def _inside(
    work: Contraction, levels: list[LevelTiles], number: int, e: LevelEntries, nodes: StepNodes, rates: Rates
) -> _Inside:
    spatial = e.spatial.take(nodes.entry, axis=1)
    largest = np.minimum(spatial, nodes.sizes)
    parts = np.ceil(nodes.sizes / spatial)
    if number + 1 == len(levels):
        return _Inside(work.cycles(largest.prod(axis=0), rates.at(e.rows[nodes.entry]).lanes), parts.prod(axis=0), None)
    spread = any_parts(e).take(nodes.entry, axis=1)
    rank = np.cumsum(spread, axis=0) * spread
    last = nodes.sizes - (parts - 1) * spatial
    compute, taking_part, out = (np.zeros(len(nodes.entry)) for _ in range(3))
    received: dict[Role, Floats] = {role: np.zeros(len(nodes.entry)) for role in INPUTS}
    streams: dict[Role, Floats] = {role: np.zeros(len(nodes.entry)) for role in ROLES}
    # Sub-clusters with equal parts of a step are alike: along each spread dimension all but the last have a whole one.
    for choice in combinations((False, True), repeat=int(rank.max(initial=0))):
        is_last = np.zeros(rank.shape, bool)
        for place, taken in enumerate(choice, 1):
            if taken:
                is_last |= rank == place
        uneven = spread & (last < spatial)
        by_dim = np.where(is_last, uneven, np.where(spread, parts - uneven, 1.0))
        copies = by_dim.prod(axis=0)
        highest = max((place for place, taken in enumerate(choice, 1) if taken), default=0)
        copies = np.where(rank.max(axis=0) < highest, 0.0, copies)
        some = np.flatnonzero(copies > 0)
        if not len(some):
            continue
        given = np.where(is_last, last, largest).take(some, axis=1)
        run = run_level(work, levels, number + 1, e.rows[nodes.entry[some]], given, rates)
        steps = run.by_entry(np.ones(len(run.entry)))
        compute[some] = np.maximum(compute[some], run.by_entry(run.delay))
        taking_part[some] += copies[some] * run.by_entry(run.taking_part) / steps
        for role in INPUTS:
            received[role][some] += copies[some] * run.received[role]
        for role in ROLES:
            # Sub-clusters that differ in what does not index a tensor take the same of it: the first of them counts.
            index = np.array([name in work.coupled(role) for name in work.names])[:, None]
            distinct = np.where(index, by_dim, ~is_last).prod(axis=0)[some]
            streams[role][some] += distinct * run.streams[role]
            if role == "O":
                out[some] += distinct * run.streams_out
    return _Inside(compute, taking_part, _Below(received, streams, out))

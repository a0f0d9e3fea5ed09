"""
Levels of many mappings, run: the recursion of `parity` for arrays.

A step is told by its node and by the directive that moves. Inside the top level only sums count, so steps that differ
in nothing but how often they occur are one; at the top MAESTRO rounds each case by itself, in its order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.batch.arrays import Bools, Floats, Ints, LevelArrays
from npuc.compiler.analysis.mapping.batch.groups import sum_by
from npuc.compiler.analysis.mapping.batch.loads import loads
from npuc.compiler.analysis.mapping.batch.nodes import (
    BatchEntries,
    EntryNodes,
    Faces,
    NodeWork,
    enter,
    make_nodes,
    work_of,
)
from npuc.compiler.analysis.mapping.parity import PeArray

MOST_STEPS = 1 << 31
"""Steps of a level from which on MAESTRO's numbers of them may wrap around."""


@dataclass(frozen=True)
class BatchSteps:
    """
    Steps, grouped: the node, how many there are, what they load, and (at the top) their place in MAESTRO's order.

    The first `len(entries)` are the first steps of the entries.
    """

    node: Ints
    count: Floats
    input: Floats
    weight: Floats
    place: Floats


@dataclass(frozen=True)
class BatchRun:
    """
    A level that was run: its nodes, steps and times; `good` says for which entries the results are right.

    `timed` are the steps that take time: MAESTRO skips those without work, which a stride may leave at an edge.
    """

    entries: BatchEntries
    nodes: EntryNodes
    work: NodeWork
    steps: BatchSteps
    timed: Floats
    entry: Ints
    compute: Floats
    into: Floats
    out: Floats
    delay: Floats
    taking_part: Floats
    good: Bools

    def by_entry(self, values: Floats) -> Floats:
        """The sum over the steps of each entry that take time, times how often they occur."""
        return sum_by(self.entry, values * self.timed, len(self.entries))


def run_level(levels: list[LevelArrays], number: int, rows: Ints, entered: Floats, array: PeArray) -> BatchRun:
    """Run a level that is entered with tiles, one for each of `rows`, which are those of mappings."""
    level = levels[number] if number == 0 else levels[number].at(rows)
    e = enter(level, rows, entered)
    nodes = make_nodes(e)
    faces = Faces.of(e)
    face = faces.of_nodes(e, nodes)
    work = work_of(e, nodes, faces, face)
    steps, stuck = _steps(e, nodes, faces, face, split=number == 0)
    ragged = (faces.edge[0] & faces.ragged[0]).take(face)
    compute, taking_part, inner = _inside(levels, number, e, nodes, ragged, work, array)
    entry, node = nodes.entry[steps.node], steps.node
    into = array.noc_latency + np.ceil((steps.input + steps.weight) / array.noc_bw) - 1
    out = array.noc_latency + np.ceil(work.egress / array.noc_bw) - 1
    busy, out = compute[node], out[node]
    delay = np.maximum(np.maximum(busy, into), out)
    delay[: len(e)] = busy[: len(e)] + into[: len(e)]
    wrong = ~np.isfinite(work.critical) | ~inner
    wrong[: len(e)] |= work.critical[: len(e)] <= 0
    good = (np.bincount(nodes.entry, wrong, len(e)) == 0) & ~stuck
    good &= sum_by(entry, steps.count, len(e)) < MOST_STEPS
    timed = np.where(work.critical[node] > 0, steps.count, 0.0)
    return BatchRun(e, nodes, work, steps, timed, entry, busy, into, out, delay, taking_part[node], good)


def _inside(
    levels: list[LevelArrays],
    number: int,
    e: BatchEntries,
    nodes: EntryNodes,
    ragged: Bools,
    work: NodeWork,
    array: PeArray,
) -> tuple[Floats, Floats, Bools]:
    """
    Of each node the time of its work, how many processing elements take part, and whether both are right.

    `ragged`: its last sub-cluster has less than the others.
    """
    good = np.ones(len(nodes), bool)
    if number + 1 == len(levels):
        return np.ceil(work.critical / array.lanes), work.active, good
    level, edges = e.level, e.level.edges.take(nodes.entry)
    plain, last = np.flatnonzero(~ragged | (edges > 1)), np.flatnonzero(ragged)
    which = np.concatenate([plain, last])
    is_last = np.arange(len(which)) >= len(plain)
    entry, edges = nodes.entry.take(which), edges.take(which)
    moved = ((nodes.edges.take(which) >> np.arange(len(level.dims))[:, None]) & 1).astype(bool)
    at_edge = moved | e.short.take(entry, axis=1)
    small = at_edge & (~level.spatial.take(entry, axis=1) | (edges == 1) | is_last)
    given = np.where(small, level.mapped_edge.take(entry, axis=1), level.mapped.take(entry, axis=1))
    by_dim = np.empty_like(given)
    np.put_along_axis(by_dim, level.dims.take(entry, axis=1), given, axis=0)
    run = run_level(levels, number + 1, e.rows.take(entry), by_dim, array)
    runtime, steps = run.by_entry(run.delay), run.by_entry(np.ones(len(run.entry)))
    active = run.by_entry(run.taking_part) / np.maximum(steps, 1.0)
    copies = np.where(is_last, 1.0, np.where(ragged.take(which), edges - 1, work.active.take(which)))
    compute, taking_part = np.zeros(len(nodes)), np.zeros(len(nodes))
    for part in (slice(0, len(plain)), slice(len(plain), None)):
        at = which[part]
        compute[at] = np.maximum(compute[at], runtime[part])
        taking_part[at] += active[part] * copies[part]
        good[at] &= run.good[part]
    return compute, taking_part, good


def _steps(e: BatchEntries, nodes: EntryNodes, faces: Faces, face: Ints, *, split: bool) -> tuple[BatchSteps, Bools]:
    """
    The steps of all entries, and the entries that MAESTRO gives up on.

    With `split` a directive's first tile and those in its middle are told apart wherever they are.
    """
    inputs, weights = loads(e, faces)
    node, count, place = np.arange(len(e)), np.ones(len(e)), np.zeros(len(e))
    found = [(node, count, inputs.first, weights.first, place)]
    inside = _inside_states(e) if split else None
    for i in range(len(e.steady)):
        entry = nodes.entry.take(node)
        steady = e.steady[i].take(entry)
        middle, edge = np.flatnonzero(steady > 0), np.flatnonzero(e.edge[i].take(entry))
        if not len(middle) and not len(edge):
            continue
        both = np.concatenate([middle, edge])
        at = entry.take(both)
        to = np.concatenate([node.take(middle), nodes.child[i].take(node.take(edge))])
        often = np.concatenate([count.take(middle) * steady.take(middle), count.take(edge)])
        new_place = place.take(both)
        if inside is not None:
            to_edge = np.arange(len(both)) >= len(middle)
            new_place = new_place + np.where(to_edge, 1.0, 1.0 + e.edge[i].take(at)) * inside[i].take(at)
        to_face = face.take(to)
        found.append((to, often, inputs.of(i, at, to_face), weights.of(i, at, to_face), new_place))
        if split:
            node, count = np.concatenate([node, to]), np.concatenate([count, often])
            place = np.concatenate([place, new_place])
        else:
            node = np.concatenate([node, to[len(middle) :]])
            count = np.concatenate([count * (1 + steady), count.take(edge)])
            place = np.zeros(len(node))
    steps = BatchSteps(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
    return steps, inputs.stuck | weights.stuck


def _inside_states(e: BatchEntries) -> Floats:
    """For each slot the number of cases of the slots inside it."""
    states = np.add(1.0 + (e.steady > 0), e.edge, dtype=np.float64)
    inside = np.ones_like(states)
    for i in range(len(states) - 2, -1, -1):
        inside[i] = inside[i + 1] * states[i + 1]
    return inside

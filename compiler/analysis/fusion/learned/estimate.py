"""
A first estimate of what groups cost, for all ranges of a length at once: a roofline by steps [our choice].

A step is as long as its work in the array or its transfers, whichever is more, as often as there are micro-batches.
What passes in SPM is not transferred as far as it fits beside all that is alive; weights are read once as far as they
fit into the room that is left. The network learns by how much this is wrong.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.fusion.learned.ranges import StepTables, Table
from npuc.compiler.analysis.fusion.problem import FusionProblem
from npuc.compiler.analysis.nest.elements import BYTE

ELEMENT = 4
"""The bytes of an element of weights that rows of a product are guessed by."""
HELD = 7 / 8
"""The share of the room that is left which weights take at most."""


TILES = 8.0
"""Bytes per processing element that a contraction needs beside what passes, at most an eighth of the room."""


@dataclass(frozen=True)
class StepWork:
    """What steps cost apart, taken to pieces."""

    busy: Table
    """Cycles that the array or the vector unit needs for all samples, without what `rows` costs."""
    waits: Table
    """Cycles that each micro-batch waits besides: the array fills and drains."""
    swell: Table
    """Traffic apart over the bytes of all that the step accesses, at least 1."""
    rows: Table
    """How many rows of all samples each tile of weights meets; infinite where there are no weights."""


@dataclass(frozen=True)
class RangeEstimate:
    """Per range and micro-batch; `busy` and `saved` per range, for all samples."""

    cycles: Table
    least_cycles: Table
    """As if all that passes and all weights fitted."""
    bits: Table
    least_bits: Table
    peak: Table
    """The most bytes that pass in SPM at once."""
    fit: Table
    """The mean share of what is alive that fits, over the steps."""
    worst: Table
    held: Table
    """The share of the weights that fits beside that."""
    busy: Table
    saved: Table

    def or_less(self, rows: NDArray[np.int64], other: "RangeEstimate") -> "RangeEstimate":
        """This estimate, or in some rows another one of these where that has fewer cycles; traffic by itself."""
        found = {one.name: getattr(self, one.name).copy() for one in fields(self)}
        fewer = other.cycles < self.cycles[rows]
        for name, values in found.items():
            new = getattr(other, name)
            values[rows] = np.where(fewer if new.ndim == 2 else fewer.any(axis=1), new, values[rows])
        for name in ("bits", "least_bits"):
            found[name][rows] = np.minimum(getattr(self, name)[rows], getattr(other, name))
        return RangeEstimate(**found)


def step_work(problem: FusionProblem, tables: StepTables, costs: Table) -> StepWork:
    """The work of all steps, by their costs apart: cycles, bits, joules."""
    side = np.sqrt(problem.macs)
    contracts = tables.macs > 0
    transfers = costs[:, 1] / BYTE / float(problem.channel)
    fill = np.where(contracts, 2 * side, 0)
    matrix = np.maximum(tables.whole, tables.sums) / ELEMENT
    rows = np.where((matrix > 0) & contracts, np.maximum(tables.macs / np.maximum(matrix, 1), 1), np.inf)
    busy = np.maximum(tables.busy - fill, 0)
    waits = np.clip(costs[:, 0] - np.maximum(transfers, busy), 0, fill)
    return StepWork(
        busy / (1 + side / rows), waits, np.maximum(costs[:, 1] / BYTE / np.maximum(tables.own, 1), 1), rows
    )


def estimate(
    problem: FusionProblem,
    tables: StepTables,
    work: StepWork,
    costs: Table,
    steps: NDArray[np.int64],
    micros: NDArray[np.int64],
) -> RangeEstimate:
    """The estimates of ranges, one a row of `steps`, by micro-batches."""
    before: NDArray[np.int64] = np.arange(len(steps[0]))
    after = len(before) - 1 - before
    member = tables.member[steps]
    runs = problem.samples / micros
    sums, whole = tables.sums[steps].sum(axis=1)[:, None], tables.whole[steps]
    alive = tables.alive[steps, before, after][:, :, None] / runs
    peak = alive.max(axis=1)
    room = np.maximum(problem.room - sums, 1)
    fit = np.minimum(room[:, None, :] / np.maximum(alive, 1), 1)
    blocks = min(TILES * problem.macs, problem.room / 8)
    margin = np.where(tables.macs[steps] > 0, blocks, 0.0)[:, :, None]
    fits = (alive + margin <= room[:, None, :]).astype(float)
    held = np.clip((room - peak) * HELD / np.maximum(whole.sum(axis=1), 1)[:, None], 0, 1)
    saved = (tables.again[steps, before] + tables.unstored[steps, after])[:, :, None]
    side = np.sqrt(problem.macs)
    rows = work.rows[steps][:, :, None]
    busy = work.busy[steps][:, :, None] * (1 + side * runs / rows)
    waits = work.waits[steps][:, :, None] * runs
    own, swell = tables.own[steps][:, :, None], work.swell[steps][:, :, None]
    reread = whole[:, :, None] * (runs - 1) * (1 - held)[:, None, :]
    moved = np.maximum(own - saved * fits, 0) * swell + reread
    least = np.broadcast_to(np.maximum(own - saved, 0), moved.shape)
    channel = float(problem.channel)
    others = np.where(member, 0, costs[steps, 0]).sum(axis=1)[:, None]
    others_moved = np.where(member, 0, costs[steps, 1]).sum(axis=1)[:, None]

    def over(values: Table) -> Table:
        return np.where(member[:, :, None], values, 0).sum(axis=1)

    count = np.maximum(member.sum(axis=1), 1)[:, None]
    return RangeEstimate(
        over(np.maximum(busy, moved / channel) + waits) + others,
        over(np.maximum(busy, least / channel) + waits) + others,
        over(moved) * BYTE + others_moved,
        over(least) * BYTE + others_moved,
        peak,
        over(fit) / count,
        fit.min(axis=1),
        held,
        np.where(member, work.busy[steps], 0).sum(axis=1),
        saved[:, :, 0].sum(axis=1),
    )

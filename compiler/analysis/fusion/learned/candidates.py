"""What the learned mapper sees of a group that may be proposed: logarithms and shares, one row of numbers each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.fusion.learned.estimate import RangeEstimate, estimate, step_work
from npuc.compiler.analysis.fusion.learned.ranges import (
    REACH,
    StepTables,
    Table,
    covered,
    possible_ranges,
    step_tables,
)
from npuc.compiler.analysis.fusion.problem import FusionProblem
from npuc.compiler.analysis.nest.elements import BYTE
from npuc.compiler.analysis.programs.reported_costs import ReportedCost

FEATURES = 24
"""The numbers that describe a candidate."""
LEAST, BAD = -2.5, 0.5
"""Logarithms of costs over costs apart beyond which nothing is told apart."""
BASE = (0, 2, 2)
"""The columns that are a first guess of each output: cycles, bits, joules."""

Integers = NDArray[np.int64]
Rows = NDArray[np.float32]


@dataclass(frozen=True)
class GroupCandidates:
    """Groups that may be proposed, one a row: their steps, micro-batch and description; costs of their steps apart."""

    first: Integers
    last: Integers
    micro: Integers
    features: Rows
    apart: Table
    """The cycles, bits and joules of the steps of each one, by themselves; joules 0 where they are unknown."""
    choices: int
    """How many rows each range has, one for each micro-batch."""


def candidates_of(problem: FusionProblem, alone: Callable[[int], ReportedCost]) -> GroupCandidates:
    """
    All candidates of a problem, by their lengths, then in the order of their first steps and micro-batches.

    What a step costs by itself is asked of `alone` only for the steps of ranges that may be a group.
    """
    tables, late = step_tables(problem), step_tables(problem, with_sums=False)
    possible = possible_ranges(problem, tables)
    costs = np.zeros((len(problem.steps), 3))
    for step in np.nonzero(covered(possible))[0].tolist():
        one = alone(step)
        costs[step] = one.cycles, float(one.moved), one.joules or 0.0
    work, late_work = step_work(problem, tables, costs), step_work(problem, late, costs)
    micros = np.array(problem.micro_batches, dtype=np.int64)
    found: list[GroupCandidates] = []
    for length in range(1, REACH):
        first = np.nonzero(possible[:, length])[0]
        if len(first):
            steps = first[:, None] + np.arange(length + 1)
            guess = estimate(problem, tables, work, costs, steps, micros)
            sums = np.nonzero(tables.sums[steps].any(axis=1))[0]
            if len(sums):  # what computes sums may run after the group, too
                guess = guess.or_less(sums, estimate(problem, late, late_work, costs, steps[sums], micros))
            found.append(_described(problem, tables, guess, costs, steps, micros))
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return GroupCandidates(none, none, none, np.zeros((0, FEATURES), np.float32), np.zeros((0, 3)), len(micros))
    return GroupCandidates(
        np.concatenate([one.first for one in found]),
        np.concatenate([one.last for one in found]),
        np.concatenate([one.micro for one in found]),
        np.concatenate([one.features for one in found]),
        np.concatenate([one.apart for one in found]),
        len(micros),
    )


def _described(
    problem: FusionProblem, tables: StepTables, found: RangeEstimate, costs: Table, steps: Integers, micros: Integers
) -> GroupCandidates:
    """The candidates of ranges of one length, one a row of `steps`."""
    first, many = steps[:, 0], len(micros)
    apart = costs[steps].sum(axis=1)
    columns = [*_guessed(found, apart), *_by_micro(problem, tables, found, steps, micros, apart)]
    columns += [np.broadcast_to(one[:, None], (len(first), many)) for one in _by_range(tables, found, steps, apart)]
    features = np.stack(columns, axis=2).reshape(len(first) * many, FEATURES)
    return GroupCandidates(
        np.repeat(first, many),
        np.repeat(steps[:, -1], many),
        np.tile(micros, len(first)),
        features.astype(np.float32),
        np.repeat(apart, many, axis=0),
        many,
    )


def _guessed(found: RangeEstimate, apart: Table) -> list[Table]:
    """The logarithms of the estimates over the costs apart."""
    cycles, bits = np.maximum(apart[:, :1], 1), np.maximum(apart[:, 1:2], 1)
    pairs = (found.cycles, cycles), (found.least_cycles, cycles), (found.bits, bits), (found.least_bits, bits)
    return [np.clip(_ratio(over, under), LEAST, BAD) for over, under in pairs]


def _ratio(over: Table, under: Table | float) -> Table:
    return np.clip(np.log(np.maximum(over, 1e-9) / under), -8, 8)


def _by_micro(
    problem: FusionProblem, tables: StepTables, found: RangeEstimate, steps: Integers, micros: Integers, apart: Table
) -> list[Table]:
    """What depends on the micro-batch: what fills the room, what is read again and how small the work becomes."""
    rows = (len(steps), len(micros))
    runs = problem.samples / micros
    cycles = np.maximum(apart[:, :1], 1)
    whole, sums = tables.whole[steps].sum(axis=1)[:, None], tables.sums[steps].sum(axis=1)[:, None]
    members = tables.member[steps].sum(axis=1)[:, None]
    largest = tables.macs[steps].max(axis=1)[:, None]
    room, tile = float(problem.room), 8.0 * problem.macs
    left = room - found.peak - sums
    return [
        np.broadcast_to(np.log2(runs), rows),
        np.broadcast_to(np.log2(micros), rows),
        _ratio(found.peak, room),
        _ratio(found.peak + sums, room),
        _ratio(found.peak + sums + whole, room),
        np.sign(left) * np.log1p(np.abs(left) / tile),
        found.fit,
        found.worst,
        found.held,
        np.minimum((runs - 1) * whole / float(problem.channel) / cycles, 4),
        _ratio(64.0 * runs * members / cycles, 1.0),
        _ratio(np.maximum(largest / runs, 1) / problem.macs / 64, 1.0),
        _ratio(cycles / runs / 1024, 1.0),
    ]


def _by_range(tables: StepTables, found: RangeEstimate, steps: Integers, apart: Table) -> list[Table]:
    """What does not depend on the micro-batch."""
    cycles = np.maximum(apart[:, 0], 1)
    bytes_moved = np.maximum(apart[:, 1] / BYTE, 1)
    member = tables.member[steps]
    others = ~member & ~tables.view[steps]
    return [
        np.log2(member.sum(axis=1)),
        np.log1p(others.sum(axis=1)),
        (tables.macs[steps] > 0).sum(axis=1).astype(float),
        found.busy / cycles,
        found.saved / bytes_moved,
        tables.whole[steps].sum(axis=1) / bytes_moved,
        tables.sums[steps].sum(axis=1) / bytes_moved,
    ]

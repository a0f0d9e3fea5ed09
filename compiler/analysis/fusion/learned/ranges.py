"""
What steps do in the ranges around them, for all steps at once: tables without prices.

What a step has in SPM, finds there or need not store depends on how many steps before it and after it are in the same
range, as far as a value is accessed by one step and the next. So each is a table by the step, the steps before and the
steps after, and a range is a walk over its steps in these tables.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.fusion.problem import FusionProblem, FusionStep

REACH = 16
"""The most steps of a range that is proposed [our choice]: the best groups of the samples have fewer than ten."""

Table = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class StepTables:
    """
    Per step, in bytes for all samples where nothing else is said.

    `alive`, by the steps before it and after it in the range: what passes in SPM while it runs. `again`, by the steps
    before: what it reads of that. `unstored`, by the steps after: what it computes that nothing needs outside.
    """

    member: Flags
    """Whether it may run by micro-batches."""
    view: Flags
    """Whether it only names again what it reads."""
    macs: Table
    busy: Table
    """The cycles that the array or the vector unit works."""
    whole: Table
    """What each micro-batch reads whole."""
    sums: Table
    """Its sums over samples."""
    own: Table
    """All that it reads and writes, once each."""
    alive: Table
    again: Table
    unstored: Table


@dataclass(frozen=True)
class ValueMoves:
    """
    How far values travel: bytes by the step and the distance.

    `pairs`: from an access to the next one. `read`: from an access to the one that reads it, which is the step.
    `made`: from what computes a value to the last that uses it. `apart`, by the step and two distances: what it
    accesses, by the distances of the access before and the one after; `REACH` where there is none so near.
    """

    pairs: Table
    read: Table
    made: Table
    apart: Table


def is_view(step: FusionStep) -> bool:
    """Whether a step only names again what it reads."""
    return bool(step.writes) and set(step.writes) <= set(step.reads)


def is_move(step: FusionStep) -> bool:
    """Whether a step only moves values: it finds nothing in SPM and leaves nothing there."""
    return not (step.macs or step.vector_ops or is_view(step))


def step_tables(problem: FusionProblem, *, with_sums: bool = True) -> StepTables:
    """What all steps do; without sums, those that compute sums over samples run after a group."""
    steps, values = problem.steps, problem.values
    member = np.array([_is_member(step, with_sums=with_sums) for step in steps], dtype=bool)

    def counted(numbers: list[int]) -> Table:
        return np.array(numbers, dtype=float) * member

    moves = _moves(problem, member.tolist())
    return StepTables(
        member,
        np.array([is_view(step) for step in steps], dtype=bool),
        counted([step.macs for step in steps]),
        counted([step.busy for step in steps]),
        counted([sum(values[v].bytes for v in step.reads if not values[v].sampled) for step in steps]),
        counted([sum(values[v].bytes for v in step.sums) for step in steps]),
        counted([sum(values[v].bytes for v in (*step.reads, *step.writes)) for step in steps]),
        _alive(moves),
        np.cumsum(moves.read, axis=1),
        np.cumsum(moves.made, axis=1),
    )


def _alive(moves: ValueMoves) -> Table:
    """What passes through SPM while a step runs: what it shares with others of its range, and what crosses it."""
    count = len(moves.pairs)
    near = np.cumsum(np.cumsum(moves.apart, axis=1), axis=2)  # an access before and one after, both in the range
    before = np.cumsum(moves.apart.sum(axis=2), axis=1)
    after = np.cumsum(moves.apart.sum(axis=1), axis=1)
    own = before[:, :REACH, None] + after[:, None, :REACH] - near[:, :REACH, :REACH]
    padded = np.concatenate([np.zeros((REACH, REACH)), moves.pairs])
    across = np.zeros((count, REACH, REACH))
    for left in range(1, REACH):
        for right in range(1, REACH - left):
            across[:, left, right] = padded[REACH - left : REACH - left + count, left + right]
    return own + np.cumsum(np.cumsum(across, axis=1), axis=2)


def _is_member(step: FusionStep, *, with_sums: bool) -> bool:
    return step.fusible and (with_sums or not step.sums)


def _moves(problem: FusionProblem, member: list[bool]) -> ValueMoves:
    """How far values travel between steps that may run by micro-batches."""
    count = len(problem.steps)
    shape = (count, REACH)
    moves = ValueMoves(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((count, REACH + 1, REACH + 1)))
    accesses: dict[int, list[int]] = {}
    for number, step in enumerate(problem.steps):
        if member[number] and not is_move(step):
            for value in dict.fromkeys((*step.reads, *step.writes)):
                accesses.setdefault(value, []).append(number)
    last, outside = _uses(problem, member)
    for value, places in accesses.items():
        size = problem.values[value].bytes
        if not problem.values[value].sampled:
            continue
        gaps = [REACH, *(min(b - a, REACH) for a, b in pairwise(places)), REACH]
        for place, before, after in zip(places, gaps, gaps[1:], strict=False):
            moves.apart[place, before, after] += size
            if after < REACH:
                moves.pairs[place, after] += size
            if before < REACH and value in problem.steps[place].reads:
                moves.read[place, before] += size
        made = next((place for place in places if value in problem.steps[place].writes), None)
        if made is not None and value not in problem.steps[made].reads and value not in outside:
            distance = last[value] - made
            if 0 < distance < REACH:
                moves.made[made, distance] += size
    return moves


def _uses(problem: FusionProblem, member: list[bool]) -> tuple[dict[int, int], set[int]]:
    """The last step that accesses each value, and those that must be in DRAM: results, and what other steps access."""
    last: dict[int, int] = {}
    outside = {number for number, value in enumerate(problem.values) if value.leaves}
    for number, step in enumerate(problem.steps):
        if is_view(step):
            continue
        for value in (*step.reads, *step.writes):
            last[value] = number
            if not member[number] or is_move(step):
                outside.add(value)
    return last, outside


def possible_ranges(problem: FusionProblem, tables: StepTables) -> Flags:
    """Which ranges may be a group, as far as the steps say: by the first step and how many come after it."""
    found = np.zeros((len(problem.steps), REACH), dtype=bool)
    reads = [frozenset(step.reads) for step in problem.steps]
    inside = tables.member.tolist()
    views = [is_view(step) and problem.values[step.writes[0]].sampled for step in problem.steps]
    for first in range(len(problem.steps)):
        if inside[first]:
            for with_sums in (True, False):
                found[first, _lengths(problem.steps, reads, inside, views, first, with_sums=with_sums)] = True
    return found


def covered(possible: Flags) -> Flags:
    """The steps of all ranges that may be a group."""
    found = np.zeros(len(possible) + REACH, dtype=bool)
    for first, lengths in enumerate(possible):
        if lengths.any():
            found[first : first + int(np.nonzero(lengths)[0][-1]) + 1] = True
    return found[: len(possible)]


def _lengths(
    steps: tuple[FusionStep, ...],
    reads: list[frozenset[int]],
    inside: list[bool],
    views: list[bool],
    first: int,
    *,
    with_sums: bool,
) -> list[int]:
    """The lengths of ranges from a first step, with its sums in the group or after it."""
    ours: set[int] = set()
    later: set[int] = set()
    members = 0
    found: list[int] = []
    for number in range(first, min(first + REACH, len(steps))):
        step = steps[number]
        if not (inside[number] or views[number]) or (step.sums and not with_sums):
            if number == first:
                return found
            if not (reads[number].isdisjoint(ours) and reads[number].isdisjoint(later)):
                later.update(step.writes)
            continue
        if not reads[number].isdisjoint(later):
            return found
        later.update(step.sums)
        ours.update(value for value in step.writes if value not in step.sums)
        members += inside[number]
        if members > 1 and inside[number]:
            found.append(number - first)
    return found

"""What candidates of a schedule search cost, as arrays over the steps of all groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from npuc.compiler.analysis.gemm import gemm_view
from npuc.compiler.analysis.holding import Holder, Option
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.space import Grid, Group, Reals, along, groups_of
from npuc.dialects.npu.nest import Loop, Nest, Schedule

Objective = Literal["time", "traffic", "energy", "edp"]
SLACK = 1.05
"""Candidates whose bound is above the best score by more than this factor are not looked at."""


@dataclass(frozen=True)
class Choice:
    """
    One order and one way to hold each tensor, with the prices of steps that are worth it.

    `at` are the steps (positions in the flat grid); `score` what is minimised, `time` the estimate in cycles,
    `bound` no more than the exact score, `moved` bytes, `room` elements of SPM.
    """

    order: tuple[int, ...]
    held: tuple[Option, ...]
    at: Grid
    score: Reals
    time: Reals
    bound: Reals
    moved: Reals
    room: Reals


class Prices:
    """The candidates of one nest on one machine; `widths` are bytes an element in the order of `nest.tensors`."""

    def __init__(self, nest: Nest, machine: Machine, objective: Objective, widths: tuple[int, ...], *, fine: bool):
        self.nest, self.machine, self.objective = nest, machine, objective
        self.groups = groups_of(nest, (machine.array.rows, machine.array.cols), fine=fine)
        self.shape = tuple(len(g.chain) for g in self.groups)
        self.widths = widths
        every = frozenset(nest.sizes)
        moved_by = [(t, every) for t in (*nest.ins, *nest.outs)]
        moved_by += [(s, o.dims) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None]
        self.names = [t.name for t, _ in moved_by]
        self.holders = [Holder(nest, t, self.groups, among, w) for (t, among), w in zip(moved_by, widths, strict=True)]
        self.trips = [along(g.trips, n, len(self.groups)).astype(np.float64) for n, g in enumerate(self.groups)]
        self.cycles, self.accesses = self._array_work()
        self.limit = inf

    def schedule(self, choice: Choice, at: int, spm: int) -> Schedule:
        """The schedule of a choice with the steps `at`."""
        position = np.unravel_index(at, self.shape)
        loops: list[Loop] = []
        counts: list[int] = []
        for g in choice.order:
            chosen = self.groups[g].chain[int(position[g])]
            loops += chosen
            counts.append(len(chosen))
        keep: list[tuple[str, int]] = []
        for name, way in zip(self.names, choice.held, strict=True):
            end, inner = way.kept
            depth = sum(counts[end + 1 :]) + (min(inner, counts[end]) if end < len(counts) else 0)
            if depth:
                keep.append((name, depth))
        return Schedule(tuple(loops), tuple(keep), spm)

    def of(self, order: tuple[int, ...], held: tuple[Option, ...], budget: int) -> Choice | None:
        """
        The prices of the steps that fit in `budget` elements; None if there are none.

        Steps whose bound is well above the best score so far are left out.
        """
        room = _sum([way.room for way in held])
        if int(room.min()) > budget:
            return None
        rate, scale = float(self.machine.bytes_per_cycle), self._scale
        moved = _sum([way.moved for way in held])
        if self.machine.double_buffer:
            bound = np.maximum(self.cycles + _sum([way.ends for way in held]) / rate, moved / rate)
        else:
            bound = self.cycles + moved / rate
        bound = scale(bound, moved)
        room = np.broadcast_to(room, self.shape).ravel()
        flat = np.broadcast_to(bound, self.shape).ravel()
        at = np.flatnonzero((room <= budget) & (flat <= self.limit))
        if not len(at):
            return None
        bytes_ = self._here(moved, at)
        time = self._here(self.cycles, at)
        if self.machine.double_buffer:
            ends = self._here(_sum([way.ends for way in held]), at)
            waited = self._exposed(order, held, time, at)
            time = np.maximum(time + np.maximum(waited, ends / rate), bytes_ / rate)
        else:
            time = time + bytes_ / rate
        score = self._scale(time, bytes_, at)
        self.limit = min(self.limit, float(score.min()) * SLACK)
        return Choice(order, held, at, score, time, flat[at], bytes_, room[at])

    def _scale(self, time: Reals, moved: Reals, at: Grid | None = None) -> Reals:
        """What is minimised, from times and bytes."""
        if self.objective == "time":
            return time
        if self.objective == "traffic":
            return moved
        energy = self.machine.energy
        assert energy is not None, "the search refuses a machine without energies"
        accesses = self.accesses if at is None else self._here(self.accesses, at)
        spm = accesses + moved
        joules = 1e-12 * (
            self.nest.macs * energy.mac_pj + spm * energy.spm_pj_per_byte + moved * energy.dram_pj_per_byte
        )
        return joules if self.objective == "energy" else time * joules

    def _here(self, values: Grid | Reals, at: Grid) -> Reals:
        return np.broadcast_to(values, self.shape).ravel()[at].astype(np.float64)

    def _exposed(self, order: tuple[int, ...], held: tuple[Option, ...], work: Reals, at: Grid) -> Reals:
        """
        An estimate of the cycles in which computation waits for loads that could not start early enough.

        Each place of the order has its loads, those of the blocks that a step there changes. A load may run while the
        operations before it compute whose own loads leave it room; what is longer than that is waited for.
        """
        room, rate = self.machine.spm_bytes, float(self.machine.bytes_per_cycle)
        blocks = [(self._here(way.block, at), self._here(way.level, at)) for way in held]
        finest = np.max([level for _, level in blocks], axis=0)
        steps: list[Reals] = [np.ones(len(at))]
        for g in order:
            steps.append(steps[-1] * self._here(self.trips[g], at))
        stream = np.ones(len(at))
        for block, level in blocks:
            stream += np.where(level == finest, block, 0.0)
        loads = np.take_along_axis(np.stack(steps), finest.astype(np.int64)[None, :], axis=0)[0]
        between = work / loads
        waited = np.zeros(len(at))
        for place in range(1, len(order) + 1):
            size = _sum([np.where(level >= place, block, 0.0) for block, level in blocks])
            hidden = np.maximum(np.floor((room - size) / stream), 0.0) * between
            waited += (steps[place] - steps[place - 1]) * np.maximum(size / rate - hidden, 0.0)
        return waited

    def _array_work(self) -> tuple[Reals, Reals]:
        """Cycles, and bytes that the array reads and writes, at every combination of steps."""
        array, count = self.machine.array, len(self.groups)
        factors: dict[str, Callable[[int], int]] = {
            "rows": lambda size: -(-size // array.rows),
            "cols": lambda size: -(-size // array.cols),
            "size": lambda size: size,
            "tiles": lambda _: 1,
            "streamed": lambda size: size + array.fold_overhead,
        }

        def total(dims: tuple[str, ...], kind: str) -> Reals:
            """The sum of a factor over the tiles of one role of a product."""
            members = [n for n, g in enumerate(self.groups) if set(g.dims) <= set(dims)]
            if not members:
                return np.full((1,) * count, float(factors[kind](1)))
            (n,) = members
            return along(_sums(self.groups[n], factors[kind]), n, count).astype(np.float64)

        cycles: Reals = np.full((1,) * count, float(array.op_overhead))
        accesses: Reals = np.zeros((1,) * count)
        rows, cols, streamed = array.places
        width = dict(zip(self.nest.tensors, self.widths, strict=True))
        for statement in self.nest.statements:
            view = gemm_view(self.nest, statement)
            dims = {"m": view.m, "n": view.n, "k": view.k}
            again = {rows: total(dims[rows], "rows"), cols: total(dims[cols], "cols")}
            batch = total(view.batch, "size")
            cycles = cycles + batch * again[rows] * again[cols] * total(dims[streamed], "streamed")
            again[streamed] = total(dims[streamed], "tiles")
            m, n, k = (total(dims[role], "size") for role in "mnk")
            lhs, rhs, out = (width[name] for name in (statement.lhs, statement.rhs, statement.out))
            reads = lhs * m * k * again["n"] + rhs * k * n * again["m"]
            accesses = accesses + batch * (reads + out * m * n * again["k"])
        return cycles, accesses


def _sum(values: Sequence[Reals]) -> Reals:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _sums(group: Group, factor: Callable[[int], int]) -> Grid:
    return np.array([group.total(position, factor) for position in range(len(group.chain))], dtype=np.int64)

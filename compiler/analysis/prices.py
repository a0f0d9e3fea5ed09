"""What candidates of a schedule search cost, as arrays over the steps of all groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from npuc.compiler.analysis.gemm import gemm_view
from npuc.compiler.analysis.holding import Holder, Option
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.residency import members, placement
from npuc.compiler.analysis.space import Grid, Reals, along, groups_of, total
from npuc.dialects.npu.nest import Loop, Nest, Schedule

Objective = Literal["time", "traffic", "energy", "edp"]


@dataclass(frozen=True)
class Plan:
    """
    One order and one way to hold each tensor: `room` elements, `moved` bytes, `ends` bytes that nothing hides.

    `bound` is no more than the exact score of each of the steps (flat), infinite where they do not fit; `least` the
    smallest of them.
    """

    order: tuple[int, ...]
    held: tuple[Option, ...]
    room: Reals
    moved: Reals
    ends: Reals
    bound: Reals
    least: float


@dataclass(frozen=True)
class Choice:
    """
    The steps of a plan that are worth a look (`at`, positions in the flat grid) with their prices.

    `score` is the estimate of what is minimised, `time` that in cycles, `moved` bytes, `room` elements of SPM.
    """

    plan: Plan
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
        self.works: dict[tuple[int, ...], tuple[Reals, Reals]] = {}
        self.cycles, self.accesses = self._array_work()
        self.zero: Reals = np.zeros(self.shape)

    def schedule(self, plan: Plan, at: int, spm: int) -> Schedule:
        """The schedule of a plan with the steps `at`."""
        position = np.unravel_index(at, self.shape)
        loops: list[Loop] = []
        counts: list[int] = []
        for g in plan.order:
            chosen = self.groups[g].chain[int(position[g])]
            loops += chosen
            counts.append(len(chosen))
        keep: list[tuple[str, int]] = []
        for name, way in zip(self.names, plan.held, strict=True):
            end, inner = way.kept
            depth = sum(counts[end + 1 :]) + (min(inner, counts[end]) if end < len(counts) else 0)
            if depth:
                keep.append((name, depth))
        return Schedule(tuple(loops), tuple(keep), spm)

    def plan(self, order: tuple[int, ...], held: tuple[Option, ...], budget: int) -> Plan | None:
        """An order, a way to hold each tensor, and the bounds of all steps; None if none fits in `budget` elements."""
        room = _sum([way.room for way in held])
        if room.min() > budget:
            return None
        rate = float(self.machine.bytes_per_cycle)
        moved = _sum([way.moved for way in held])
        ends = _sum([way.ends for way in held])
        cycles, accesses = self._work(order)
        if self.machine.double_buffer:
            time = np.maximum(cycles + ends / rate, moved / rate)
        else:
            time = cycles + moved / rate
        bound = self._scale(time, moved, accesses) + self.zero
        bound[np.broadcast_to(room > budget, self.shape)] = inf
        return Plan(order, held, room, moved, ends, bound.ravel(), float(bound.min()))

    def of(self, plan: Plan, limit: float) -> Choice:
        """The prices of the steps whose bound is at most `limit`."""
        at = np.flatnonzero(plan.bound <= limit)
        cycles, accesses = self._work(plan.order)
        moved, time = self._here(plan.moved, at), self._here(cycles, at)
        rate = float(self.machine.bytes_per_cycle)
        if self.machine.double_buffer:
            waited = self._exposed(plan.order, plan.held, time, at)
            time = np.maximum(time + np.maximum(waited, self._here(plan.ends, at) / rate), moved / rate)
        else:
            time = time + moved / rate
        score = self._scale(time, moved, self._here(accesses, at))
        return Choice(plan, at, score, time, plan.bound[at], moved, self._here(plan.room, at))

    def _scale(self, time: Reals, moved: Reals, accesses: Reals) -> Reals:
        """What is minimised, from times and bytes."""
        if self.objective == "time":
            return time
        if self.objective == "traffic":
            return moved
        energy = self.machine.energy
        assert energy is not None, "the search refuses a machine without energies"
        spm = accesses + moved
        joules = 1e-12 * (
            self.nest.macs * energy.mac_pj + spm * energy.spm_pj_per_byte + moved * energy.dram_pj_per_byte
        )
        return joules if self.objective == "energy" else time * joules

    def _here(self, values: Grid | Reals, at: Grid) -> Reals:
        return (values + self.zero).ravel()[at]

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

    def _work(self, order: tuple[int, ...]) -> tuple[Reals, Reals]:
        """Cycles and bytes of the array in an order: less what finds its stationary tile in the elements."""
        if not self.machine.array.keeps:
            return self.cycles, self.accesses
        if order not in self.works:
            array = self.machine.array
            cycles, accesses = self.cycles, self.accesses
            for (tiles, size), (folds, streamed) in zip(self._kept(order), self.folds, strict=True):
                cycles, accesses = cycles - tiles * array.reload, accesses - size
                if array.stages is not None:
                    # No less than the loads one after another; none follows the last group.
                    loads = np.maximum((folds - tiles) * array.stages.hidden - streamed, 0.0)
                    cycles = cycles + np.maximum(loads - array.stages.hidden, 0.0)
            self.works[order] = cycles, accesses
        return self.works[order]

    def _kept(self, order: tuple[int, ...]) -> Iterator[tuple[Reals, Reals]]:
        """Of each statement, the tile operations that find their stationary tile, and the bytes of those tiles."""
        array = self.machine.array
        width = dict(zip(self.nest.tensors, self.widths, strict=True))
        for statement in self.nest.statements:
            view, place = gemm_view(self.nest, statement), placement(statement, array)
            streamed = members(view, place.streamed)
            rows, cols = members(view, place.rows), members(view, place.cols)
            inner, alone = np.ones((1,) * len(self.groups)), np.ones((1,) * len(self.groups), dtype=np.bool_)
            for g in reversed(order):
                if set(self.groups[g].dims) <= set(streamed):
                    inner = np.where(alone, inner * self.trips[g], inner)
                else:
                    alone = alone & (self.trips[g] == 1)
            again = self._role(streamed, lambda _: 1)
            again = again - again / inner
            one = self._role(view.batch, lambda size: size == 1)
            tiles = self._role(rows, lambda s: s <= array.rows) * self._role(cols, lambda s: s <= array.cols)
            sizes = self._role(rows, lambda s: s * (s <= array.rows)) * self._role(
                cols, lambda s: s * (s <= array.cols)
            )
            yield one * tiles * again, width[place.stationary(statement)] * one * sizes * again

    def _role(self, dims: tuple[str, ...], factor: Callable[[int], int]) -> Reals:
        """The sum of a factor over the tiles of one role of a product."""
        found = [n for n, g in enumerate(self.groups) if set(g.dims) <= set(dims)]
        sums = total([self.groups[n] for n in found], factor)
        shape = [len(g.chain) if n in found else 1 for n, g in enumerate(self.groups)]
        return sums.reshape(shape).astype(np.float64)

    def _array_work(self) -> tuple[Reals, Reals]:
        """Cycles, and bytes that the array reads and writes, at every combination of steps."""
        array, count = self.machine.array, len(self.groups)
        factors: dict[str, Callable[[int], int]] = {
            "rows": lambda size: -(-size // array.rows),
            "cols": lambda size: -(-size // array.cols),
            "size": lambda size: size,
            "tiles": lambda _: 1,
            "streamed": lambda size: array.stream(size) + array.reload,
        }

        def role(dims: tuple[str, ...], kind: str) -> Reals:
            return self._role(dims, factors[kind])

        cycles: Reals = np.full((1,) * count, float(array.op_overhead))
        self.folds: list[tuple[Reals, Reals]] = []
        accesses: Reals = np.zeros((1,) * count)
        width = dict(zip(self.nest.tensors, self.widths, strict=True))
        for statement in self.nest.statements:
            view, place = gemm_view(self.nest, statement), placement(statement, array)
            rows, cols, streamed = place.rows, place.cols, place.streamed
            dims = {"m": view.m, "n": view.n, "k": view.k}
            again = {rows: role(dims[rows], "rows"), cols: role(dims[cols], "cols")}
            batch = role(view.batch, "size")
            step = batch * again[rows] * again[cols] * role(dims[streamed], "streamed")
            cycles = cycles + step
            again[streamed] = role(dims[streamed], "tiles")
            self.folds.append((batch * again[rows] * again[cols] * again[streamed], step))
            m, n, k = (role(dims[letter], "size") for letter in "mnk")
            lhs, rhs, out = (width[name] for name in (statement.lhs, statement.rhs, statement.out))
            reads = lhs * m * k * again["n"] + rhs * k * n * again["m"]
            accesses = accesses + batch * (reads + out * m * n * again["k"])
        return cycles, accesses


def _sum(values: Sequence[Reals]) -> Reals:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total

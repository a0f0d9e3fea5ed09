"""
The buckets of gradients with which a step is shortest, by the network of the machine and the work of a backend.

A backend costs the program without buckets once; then each choice of buckets is put into a copy of that program, and is
timed by the events of work and movement. The choices are none, those of some sizes, one of all gradients, what
`shortest_buckets` finds, and of up to `FEW` gradients all contiguous ones. No size among `SIZES` is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import inf
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.interconnect.overlap.buckets import SumTimes, shortest_buckets
from npuc.compiler.analysis.interconnect.overlap.step import OverlappedStep, overlapped_step
from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.stages import tell
from npuc.compiler.core.units import MIB
from npuc.compiler.driver.costing.whole import whole_step_for
from npuc.compiler.driver.passes import write_pipeline
from npuc.compiler.driver.session import Session
from npuc.compiler.transforms.bucket_gradients import CHOSEN, gather
from npuc.compiler.transforms.bucket_gradients.sums import GradientSum, by_ends, by_size, gradient_sums, numbers_of
from npuc.compiler.transforms.schedule_collectives import ScheduleCollectivesPass
from npuc.dialects.copies import copied
from npuc.dialects.distributed.mesh import mesh_of
from npuc.frontends.mlir import make_context
from npuc.hardware.network import latency_of, network_of

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from npuc.backends.exchanges import Exchange
    from npuc.compiler.report import OpRow, Report

Scorer = Callable[[ModuleOp, Session], "Report"]
Numbers = tuple[int, ...]
SIZES = (0, 1, 5, 25, 100, inf)
"""Sizes of buckets, in MiB, than which none of the chosen is slower."""
FEW = 5
"""Of up to so many gradients all contiguous buckets are timed."""


def choose_buckets(module: ModuleOp, session: Session, after: Sequence[ModulePass], scorer: Scorer) -> None:
    """
    Write the buckets of the shortest step into the functions of a program, which the passes `after` lower further.

    Raises `UsageError` where the backend has no times.
    """
    funcs = _shared(module)
    if not funcs:
        return
    tell(f"choosing buckets: {session.model.name} scores the work of a step")
    base = copied(module)
    later = [step for step in after if not isinstance(step, ScheduleCollectivesPass)]
    rows = scorer(base, session.costing(write_pipeline(later))).ops
    if all(row.seconds is None for row in rows):
        raise UsageError(
            f"--bucket-mib best: the backend '{session.model.name}' models no time for this program",
            hint="give a number of MiB",
        )
    step = whole_step_for(base, session.model, session.machine)
    orders = [step for step in after if isinstance(step, ScheduleCollectivesPass)]
    for number, func in enumerate(funcs):
        chosen = _Choice(session, step, number, rows, orders).best()
        func.attributes[CHOSEN] = DenseArrayBase.from_list(i64, list(chosen))


def _shared(module: ModuleOp) -> list[FuncOp]:
    return [func for func in module.ops if isinstance(func, FuncOp) and mesh_of(func) is not None]


@dataclass(frozen=True)
class _Timed:
    """A step in buckets: its sums, and its works and movements in their order; None: none is in a bucket."""

    seconds: float
    sums: Sequence[GradientSum]
    order: Sequence[Exchange | OpRow] = ()
    waits: Sequence[tuple[int, ...]] = ()
    step: OverlappedStep | None = None


class _Choice:
    """Times buckets of one of a module's functions, which is lowered and whole."""

    def __init__(
        self,
        session: Session,
        module: ModuleOp,
        number: int,
        rows: Sequence[OpRow],
        orders: Sequence[ScheduleCollectivesPass],
    ):
        self.machine, self.module, self.number, self.rows, self.orders = session.machine, module, number, rows, orders
        mesh = mesh_of(_shared(module)[number])
        assert mesh is not None, "only functions of several devices are looked at"
        self.placement: MeshPlacement = network_of(session.machine, backend=session.model.name).place(mesh.sizes)
        self.float_bytes = session.machine.get("memory.element_bytes", int)
        self.sums = gradient_sums(_shared(module)[number], self.float_bytes)

    def best(self) -> Numbers:
        """The buckets of the shortest step; of several, those that are tried first."""
        if not self.sums:
            return ()
        sized = [numbers_of(self.sums, by_size(self.sums, mib * MIB)) for mib in SIZES]
        timed = {numbers: self.timed(numbers) for numbers in sized}
        ends = [shortest_buckets(*_times(timed[sized[0]], timed[sized[-1]]))]
        if len(self.sums) <= FEW:
            inner = range(1, len(self.sums))
            ends += chain.from_iterable(combinations(inner, count) for count in range(len(self.sums)))
        for own in ends:
            numbers = numbers_of(self.sums, by_ends(self.sums, own))
            if numbers not in timed:
                timed[numbers] = self.timed(numbers)
        none = (0,) * len(self.sums)
        timed[none] = self.timed(none)
        return min(timed, key=lambda numbers: timed[numbers].seconds)

    def timed(self, numbers: Numbers) -> _Timed:
        """A step in these buckets."""
        from npuc.backends.exchanges import exchanges
        from npuc.backends.overlap import seconds_without_buckets, step_items

        module = copied(self.module)
        func = _shared(module)[self.number]
        gather(func, numbers, self.float_bytes)
        for step in self.orders if any(numbers) else ():
            step.apply(make_context(), module)
        moved = list(exchanges(func, self.placement, self.machine))
        sums = gradient_sums(func, self.float_bytes)
        if not any(numbers):
            return _Timed(seconds_without_buckets(self.rows, moved, self.placement, self.float_bytes), sums)
        items, order = step_items(func, self.rows, moved, self.placement)
        step = overlapped_step(items, len(self.placement.network.levels), latency_of(self.machine))
        return _Timed(float(step.seconds), sums, order, [one.waits for one in items], step)


def _times(alone: _Timed, together: _Timed) -> tuple[list[SumTimes], float]:
    """
    When gradients are there, what their sums take, and when other work has run, in a step with a bucket for each.

    What a sum saves beside others is known from the same step with all in one bucket; it is the same for each of a way.
    """
    from npuc.backends.exchanges import Exchange

    assert alone.step is not None
    ways = list(dict.fromkeys(one.way for one in alone.sums))
    of_op = {op: number for number, one in enumerate(alone.sums) for op in one.ops}
    seconds, reading, ready = ([0.0] * len(alone.sums) for _ in range(3))
    of_movement: list[int | None] = []
    begins = iter(alone.step.begins)
    free = 0.0
    for one, waits in zip(alone.order, alone.waits, strict=True):
        if isinstance(one, Exchange):
            number = of_op.get(one.op)
            if number is not None and one.cost is not None:
                seconds[number] += float(one.cost.seconds)
                if one.op is alone.sums[number].ops[0]:
                    ready[number] = float(alone.step.moved[len(of_movement)].ready)
            of_movement.append(number)
            continue
        begin, taken = float(next(begins)), one.repeat * (one.seconds or 0.0)
        read = [number for wait in waits if (number := of_movement[wait]) is not None]
        if read:
            reading[max(read)] += taken
        else:
            free = max(free, begin + taken)
    saved = [_saved(way, alone.sums, seconds, together) for way in ways]
    numbers = [ways.index(one.way) for one in alone.sums]
    times = [SumTimes(ready[n], seconds[n], saved[way], way, reading[n]) for n, way in enumerate(numbers)]
    return times, free


def _saved(way: object, sums: Sequence[GradientSum], seconds: Sequence[float], together: _Timed) -> float:
    """What each sum of a way saves by not being alone, on average."""
    from npuc.backends.exchanges import Exchange

    own = [n for n, one in enumerate(sums) if one.way == way]
    first = {op for one in together.sums if one.way == way for op in one.ops}
    moved = [one for one in together.order if isinstance(one, Exchange) and one.op in first]
    stages = len(sums[own[0]].ops)
    buckets = len(moved) // stages
    taken = sum(float(one.cost.seconds) for one in moved if one.cost is not None)
    return max(0.0, sum(seconds[n] for n in own) - taken) / max(1, len(own) - buckets)

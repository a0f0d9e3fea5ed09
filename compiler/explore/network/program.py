"""A source as a step on many devices: its work, and what it sends along the levels of any network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.backends.exchanges import Exchange, exchange_cost, exchanges, in_order
from npuc.compiler.analysis.bandwidth.traffic import LevelBytes, Moment, StepTraffic, step_traffic
from npuc.compiler.analysis.interconnect.collectives import Cost
from npuc.compiler.analysis.interconnect.topology import Interconnect, NetworkLevel
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.costing.whole import whole_step_for
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.score import network_name
from npuc.compiler.driver.unread import unread_warnings
from npuc.dialects.distributed import DistOp, Mesh, chunks_of, mesh_of
from npuc.dialects.provenance import Role, role_of
from npuc.frontends.source import open_source
from npuc.hardware.network import network_of

if TYPE_CHECKING:
    from npuc.backends.base import Backend
    from npuc.compiler.core.options import CompileKeywords, Say
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.report import OpRow
    from npuc.hardware import Hardware


@dataclass(frozen=True)
class SharedStep:
    """
    A step that devices of a mesh share: its program, and the rows of a device's own work.

    `levels` are those of the machine's network, outermost first.
    """

    title: str
    shown: str
    func: FuncOp
    mesh: Mesh
    rows: Sequence[OpRow]
    machine: Hardware
    levels: tuple[NetworkLevel, ...]

    @property
    def work(self) -> float:
        """The seconds of a device's own work."""
        return sum(row.repeat * (row.seconds or 0.0) for row in self.rows)

    def traffic(self, levels: Sequence[NetworkLevel], *, pipelined: bool = False, beside: bool = False) -> StepTraffic:
        """
        What the step sends along these levels, whatever their bandwidths, as bytes at the busiest of a device's links.

        `beside`: sums of weights' gradients run beside other work. Raises `CapacityError` where the mesh does not fit.
        """
        moved = self._moved(levels, with_latency=True)
        unit = [exchange.cost or Cost() for exchange in self._moved(levels, with_latency=False)]
        numbers = {id(exchange): number for number, exchange in enumerate(moved)}
        transfers = [_transfer(one, exchange, len(levels)) for one, exchange in zip(unit, moved, strict=True)]
        moments = [_moment(event, numbers) for event in in_order(self.func, self.rows, moved)] if beside else None
        return step_traffic(len(levels), self.work, transfers, pipelined=pipelined, moments=moments)

    def _moved(self, levels: Sequence[NetworkLevel], *, with_latency: bool) -> list[Exchange]:
        """The exchanges where a device sends a byte a second."""
        own = [
            replace(one, bytes_per_s=Fraction(1), latency_s=one.latency_s if with_latency else Fraction(0))
            for one in levels
        ]
        placement = Interconnect(tuple(own)).place(self.mesh.sizes)
        moved = exchanges(self.func, None, self.machine)
        return [replace(one, cost=exchange_cost(one.op, one.size, placement)) for one in moved]


def _transfer(unit: Cost, exchange: Exchange, levels: int) -> LevelBytes:
    """An exchange whose stages take as many seconds as they send bytes, and the same with latencies."""
    sent = [Fraction(0)] * levels
    for stage in unit.stages:
        sent[stage.level] += stage.seconds
    assert exchange.cost is not None, "it is placed"
    return LevelBytes(tuple(map(float, sent)), float(exchange.cost.seconds - unit.seconds))


def _moment(event: Exchange | OpRow, numbers: dict[int, int]) -> Moment:
    if isinstance(event, Exchange):
        return Moment(transfer=numbers[id(event)], waits=role_of(event.op) is not Role.DW)
    return Moment(work=event.repeat * (event.seconds or 0.0), waits=event.phase == "update")


def shared_step(
    source: str, model: Backend, options: CompileKeywords, say: Say, watchers: tuple[Watcher, ...] = ()
) -> SharedStep:
    """
    A source, lowered and costed on one device. `say` gets warnings.

    Raises `UsageError` for one device, for a machine without a network, and for one on which work takes no seconds.
    """
    opened, warnings = open_source(source), list[str]()
    with without_cycle_collection():
        module, machine = lowered_module(opened, model, options, say, warnings, watchers=watchers)
        levels = network_of(machine, backend=model.name).levels
        report = model.costs(module, machine)
        func, mesh = _shared(whole_step_for(module, model, machine))
        if report.totals.seconds is None:
            raise UsageError(f"{machine.name} has no clock: work takes no seconds", hint="--set clock_mhz=1000")
        warnings += [*report.warnings, *unread_warnings(options_of(options).overrides, [(model, machine)])]
        if any(isinstance(op, DistOp) and chunks_of(op) is not None for op in func.walk()):
            warnings.append("collectives count as wholes here, without their chunks (dist.chunks)")
    for warning in dict.fromkeys(warnings):
        say(f"warning: {warning}")
    return SharedStep(report.network or network_name(module), opened.shown, func, mesh, report.ops, machine, levels)


def _shared(module: ModuleOp) -> tuple[FuncOp, Mesh]:
    """The function that devices share. Raises `UsageError` where there is none."""
    for func in module.ops:
        if isinstance(func, FuncOp) and (mesh := mesh_of(func)) is not None:
            return func, mesh
    raise UsageError("one device sends nothing: there is no bandwidth to split", hint="--devices 16, or --mesh 4x4")


def mesh_fits(step: SharedStep, levels: Sequence[NetworkLevel]) -> bool:
    """Whether the mesh of a step fits on levels."""
    try:
        Interconnect(tuple(levels)).place(step.mesh.sizes)
    except CapacityError:
        return False
    return True

"""
What points with one program have to do, on whatever machine: the work from which bounds of their costs follow.

Points whose values differ in keys of `MACHINE` alone have one program before schedules are chosen: one *class*. Nothing
is said of a class where passes may change the work, or where zeros of operands may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.cycle.backend import cycle_machine
from npuc.backends.roofline.backend import LOWERED
from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import DEFAULT_LEVEL, Options
from npuc.compiler.driver.compile import lowering_options, read_for
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.session import Session
from npuc.compiler.explore.optimize.machine_facts import codes_of
from npuc.compiler.explore.optimize.step_rows import StepRows, step_rows
from npuc.compiler.explore.pareto.front import Ints
from npuc.compiler.explore.pareto.space import GridSpace
from npuc.compiler.explore.sweep.points import Points
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.provenance import repeat_of
from npuc.hardware import Hardware

MACHINE = frozenset(
    (
        *("array.rows", "array.cols", "array.cores", "array.edge_elements", "clock_mhz", "vector.lanes"),
        *("memory.spm_kib", "memory.cache_mib", "dram.gb_per_s", "dram.kind", "dram.channels", "compute.tflops"),
        *("energy.mac_pj", "energy.spm_pj_per_byte", "energy.dram_pj_per_byte", "energy.edge_pj_per_byte"),
        *("energy.vector_pj", "technology.node_nm", "technology.model", "maestro.num_pes", "maestro.num_simd_lanes"),
        *("maestro.noc_bw", "maestro.noc_hop_latency", "maestro.offchip_bw", "maestro.l1_size", "maestro.l2_size"),
        *("area.chip_mm2", "area.array_mm2", "area.vector_mm2", "area.spm_mm2", "area.dram_mm2"),
        *("energy.array_idle_w", "energy.vector_idle_w", "energy.spm_idle_w", "energy.dram_idle_w"),
    )
)
"""Keys of which the work of a program does not depend."""
CYCLE = "cycle"
FOLDED = ("os", "ws", "is")
"""The dataflows whose folds are known."""
UNSAID = ("array.skips", "array.mantissa_bits")
"""Keys with which nothing is said where a machine writes them: what they do to work is not bounded here."""


@dataclass(frozen=True)
class StepWork:
    """
    What a step has to do: `macs` counts every multiply-accumulate of the program before schedules, once for each
    repetition, and `rows` are its operations where they have bounds of their own.
    """

    macs: int
    rows: StepRows | None = None


class Works:
    """The work of each class of a sweep's points, found when it is asked for; None where nothing is said."""

    def __init__(self, points: Points, space: GridSpace):
        self._points, self._space = points, space
        self.axes = tuple(
            number
            for number, axis in enumerate(points.grid.axes)
            if not (axis.place == "hardware" and axis.target in MACHINE)
        )
        self.count = int(np.prod([space.sizes[axis] for axis in self.axes], dtype=object)) if self.axes else 1
        self.known: dict[int, StepWork | None] = {}

    def classes(self, numbers: Ints) -> Ints:
        """The classes of points."""
        return codes_of(self._space, self.axes, numbers)

    def first(self, number: int) -> int:
        """A point of a class: its first."""
        places = np.zeros((len(self._space.sizes), 1), np.int64)
        for axis in reversed(self.axes):
            number, places[axis] = divmod(number, self._space.sizes[axis])
        return int(self._space.numbers(places)[0])

    def learn(self, classes: Sequence[int]) -> bool:
        """Find the work of classes; whether any was not known before."""
        new = [one for one in dict.fromkeys(classes) if one not in self.known]
        for one in new:
            self.known[one] = work_of(self._points, self.first(one))
        return any(self.known[one] is not None for one in new)


def work_of(points: Points, number: int) -> StepWork | None:
    """The work of a point's program; None where nothing is said of it, or where it is none."""
    options = points.choices.options_of(number)
    if not _is_plain(options) or points.source.frontend.is_ir or points.grid.devices_of(number) > 1:
        return None
    try:
        with without_cycle_collection():
            model = points.choices.backend_of(number)
            machine = machine_for(model, options, points.source.format)
            if any(machine.written(key) for key in UNSAID) or machine.get("cycle.compat") == "scalesim3":
                return None
            return _work(points, options, machine, model.name)
    except NpucError:  # what is wrong with the point is told when it is priced
        return None


def _is_plain(options: Options) -> bool:
    """Whether passes and options leave the work of a program as it is."""
    own = (options.pipeline, options.only, options.mapping, options.density, options.method)
    changed = (options.recompute, options.quantize, options.fuse_layers)
    return (
        all(one is None for one in own)
        and all(one in (None, "none", "off") for one in changed)
        and not (options.before or options.after or options.load)
        and options.devices == 1
    )


def _work(points: Points, options: Options, machine: Hardware, backend: str) -> StepWork | None:
    source = points.source
    texts, warnings = texts_of(source), list[str]()
    module = read_for([machine], source, options, texts, warnings)
    session = Session(source, lowering_options(source, options), LOWERED, machine, texts, None, warnings)
    lower_program(module, session)
    macs = sum(
        repeat_of(op) * prod(gemm_view(op.nest, statement).sizes(op.nest.sizes))
        for op in module.walk()
        if isinstance(op, ContractOp)
        for statement in op.nest.statements
    )
    if not macs:
        return None
    return StepWork(macs, _rows(module, machine, options) if backend == CYCLE else None)


def _rows(module: ModuleOp, machine: Hardware, options: Options) -> StepRows | None:
    """The rows of a step for the backend `cycle`, on an array whose folds are known."""
    found = cycle_machine(machine)
    if found.array.dataflow not in FOLDED:
        return None
    return step_rows(module, found, DEFAULT_LEVEL if options.opt_level is None else options.opt_level)

"""
The cost of one statement of a contraction under its mapping, in MAESTRO's columns.

    parity   MAESTRO's analysis of directives, with all its approximations
    exact    the nest itself in cluster form, with tiles of their real size
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from npuc.backends.maestro.machine import UNLIMITED, MappedMachine
from npuc.compiler.analysis.mapping.columns import columns
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.exact.arrays import cluster_arrays
from npuc.compiler.analysis.mapping.exact.columns import columns_of, evaluate_exact, run_exact
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of_statement
from npuc.compiler.analysis.mapping.exact.refetch import refetched
from npuc.compiler.analysis.mapping.levels import Unmappable
from npuc.compiler.analysis.mapping.parity import PeArray, analyse
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu.nest import Nest, Statement

Columns = dict[str, int | float | None]
TOO_FAST = "its clusters bring and send more than they keep and the network carries in its time"
_RATIOS = (
    "throughput_macs_per_cycle",
    "noc_bw_req_avg",
    "avg_utilized_pes",
    "arithmetic_intensity",
    "energy_total_mac_units",
    "energy_nj_csv",
    "area_csv",
    "power_csv",
)
"""Columns that need not be whole; in exact mode bandwidths and mean delays need not be either."""


@dataclass(frozen=True)
class CycleBreakdown:
    """
    The cycles of a statement by cause; `free` is its time on a network of unlimited bandwidth and no latency.

    The others are the cycles that the network's latency, its bandwidth and the bandwidth off chip add, in this order.
    """

    free: int
    latency: int
    noc: int
    offchip: int

    @property
    def limit(self) -> str:
        """What most cycles are for, of equal parts the first."""
        parts = {"compute": self.free, "noc": self.noc, "latency": self.latency, "offchip": self.offchip}
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True)
class StatementCost:
    """
    The columns of a statement, its cycles by cause, and remarks on its mapping, as sentences.

    `incomplete` are the elements of sums that are read back, which MAESTRO does not count.
    """

    columns: Columns
    times: CycleBreakdown
    remarks: tuple[str, ...] = ()
    incomplete: float = 0.0

    @property
    def read(self) -> float | None:
        """Elements that come from DRAM: what steps bring to the shared buffer's network, as their time off chip."""
        inputs, weights = self.columns["input_l2_read"], self.columns["filter_l2_read"]
        return None if inputs is None or weights is None else inputs + weights + self.incomplete

    @property
    def written(self) -> float | None:
        """Elements that leave for DRAM."""
        return self.columns["output_l2_write"]


def _times(array: PeArray, runtime: Callable[[PeArray], int]) -> CycleBreakdown:
    """The parts of a runtime, found by taking away one bound of the machine after another."""
    near = replace(array, offchip_bw=UNLIMITED, offchip_cycles=1)
    late = replace(near, noc_bw=UNLIMITED)
    free = replace(late, noc_latency=min(1, array.noc_latency))
    all_of_it, on_chip, without_width, least = (runtime(machine) for machine in (array, near, late, free))
    return CycleBreakdown(
        least, max(0, without_width - least), max(0, on_chip - without_width), max(0, all_of_it - on_chip)
    )


def cost_of_directives(mapping: Mapping, machine: MappedMachine) -> StatementCost:
    """MAESTRO's columns of a mapping by directives. Raises `Unmappable` as MAESTRO fails."""
    array = machine.array
    found = columns(analyse(mapping, array), array, len(mapping.levels)) | {"num_levels": len(mapping.levels)}
    times = _times(array, lambda machine: analyse(mapping, machine).runtime)
    runtime, macs = found["runtime_cycles"], found["num_macs"]
    if not runtime or runtime < 0 or not macs or macs < 0 or None in found.values():
        return StatementCost(found, times, ("MAESTRO's analysis breaks down on its mapping: its numbers mean nothing",))
    wrong = coverage(mapping, array.num_pes)
    return StatementCost(
        found, times, tuple(f"its mapping does not compute each point once: {one}" for one in wrong[:1])
    )


def cost_of_clusters(nest: Nest, statement: Statement, mapping: Clusters, machine: MappedMachine) -> StatementCost:
    """The exact columns of a mapping in cluster form. Raises `Unmappable` where it needs more processing elements."""
    array = machine.array
    if mapping.processing_elements > array.num_pes:
        needed = mapping.processing_elements
        message = f"its clusters hold {needed:,} processing elements, the machine has {array.num_pes:,}"
        raise Unmappable(message, fits=False)
    work = contraction_of_statement(nest, statement)
    levels = cluster_arrays(work, [mapping])
    run = run_exact(work, levels, array)
    table = columns_of(work, levels, run, array)
    inside = np.array([mapping.processing_elements // mapping.levels[0].fanout])
    held = refetched(work, levels, run, array, inside, machine.l1_size, float(machine.l1_sum_size))
    network = int(held.network[0])
    times = _times(array, lambda machine: int(evaluate_exact(work, levels, machine)["runtime_cycles"][0]))
    found: Columns = {name: _number(name, float(values[0])) for name, values in table.items()}
    remarks = (f"{TOO_FAST}: {network:,} cycles of transfers",) if network > table["runtime_cycles"][0] else ()
    incomplete = float(run.by_entry(run.steps.brought["O"])[0])
    return StatementCost(found | {"num_levels": len(mapping.levels)}, times, remarks, incomplete)


def _number(name: str, value: float) -> int | float | None:
    if not isfinite(value):
        return None
    return int(value) if name not in _RATIOS and value.is_integer() else value

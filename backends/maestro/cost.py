"""
The cost of one statement of a contraction under its mapping, in MAESTRO's columns.

    parity   MAESTRO's analysis of directives, with all its approximations
    exact    the nest itself in cluster form, with tiles of their real size
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from npuc.backends.maestro.machine import UNLIMITED, MappedMachine
from npuc.compiler.analysis.mapping.columns import columns
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.exact.arrays import cluster_arrays
from npuc.compiler.analysis.mapping.exact.columns import counts_of, priced, run_at, runtime_of
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of_statement
from npuc.compiler.analysis.mapping.exact.rates import Rates
from npuc.compiler.analysis.mapping.exact.refetch import refetches_of
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


def _freed(array: PeArray) -> tuple[PeArray, PeArray, PeArray]:
    """The array without one bound of the machine after another: off chip, the network's bandwidth, its latency."""
    near = replace(array, offchip_bw=UNLIMITED, offchip_cycles=1)
    late = replace(near, noc_bw=UNLIMITED)
    return near, late, replace(late, noc_latency=min(1, array.noc_latency))


def _breakdown(all_of_it: int, on_chip: int, without_width: int, least: int) -> CycleBreakdown:
    """The parts of a runtime: what taking away one bound after another leaves."""
    return CycleBreakdown(
        least, max(0, without_width - least), max(0, on_chip - without_width), max(0, all_of_it - on_chip)
    )


def cost_of_directives(mapping: Mapping, machine: MappedMachine) -> StatementCost:
    """MAESTRO's columns of a mapping by directives. Raises `Unmappable` as MAESTRO fails."""
    array = machine.array
    found = columns(analyse(mapping, array), array, len(mapping.levels)) | {"num_levels": len(mapping.levels)}
    times = _breakdown(*(analyse(mapping, one).runtime for one in (array, *_freed(array))))
    runtime, macs = found["runtime_cycles"], found["num_macs"]
    if not runtime or runtime < 0 or not macs or macs < 0 or None in found.values():
        return StatementCost(found, times, ("MAESTRO's analysis breaks down on its mapping: its numbers mean nothing",))
    wrong = coverage(mapping, array.num_pes)
    return StatementCost(
        found, times, tuple(f"its mapping does not compute each point once: {one}" for one in wrong[:1])
    )


def cost_of_clusters(nest: Nest, statement: Statement, mapping: Clusters, machine: MappedMachine) -> StatementCost:
    """The exact columns of a mapping in cluster form. Raises `Unmappable` where it needs more processing elements."""
    return costs_of_clusters(nest, statement, [mapping], [machine])[0]


def costs_of_clusters(
    nest: Nest, statement: Statement, mappings: Sequence[Clusters], machines: Sequence[MappedMachine]
) -> list[StatementCost]:
    """
    The same for mappings of as many levels, each on its machine. Raises `Unmappable`.
    """
    for mapping, machine in zip(mappings, machines, strict=True):
        needed, has = mapping.processing_elements, machine.array.num_pes
        if needed > has:
            message = f"its clusters hold {needed:,} processing elements, the machine has {has:,}"
            raise Unmappable(message, fits=False)
    work = contraction_of_statement(nest, statement)
    levels = cluster_arrays(work, mappings)
    arrays = [one.array for one in machines]
    rates, near, *others = (Rates.of(some) for some in (arrays, *zip(*map(_freed, arrays), strict=True)))
    run = run_at(work, levels, rates)
    counts = counts_of(work, levels, run, rates)
    inside = np.array([one.processing_elements // one.levels[0].fanout for one in mappings])
    sizes = np.array([np.inf if one.l1_size is None else float(one.l1_size) for one in machines])
    sums = np.array([float(one.l1_sum_size) for one in machines])
    held = refetches_of(work, levels, run, rates, inside, sums).with_capacities(sizes)
    times = [counts["runtime_cycles"], runtime_of(run, near)]
    times += [runtime_of(run_at(work, levels, one), one) for one in others]
    incomplete, costs = run.by_entry(run.steps.brought["O"]), list[StatementCost]()
    table = {name: values.tolist() for name, values in priced(counts, arrays).items()}
    for at, mapping in enumerate(mappings):
        found: Columns = {name: _number(name, values[at]) for name, values in table.items()}
        network, runtime = int(held.network[at]), counts["runtime_cycles"][at]
        remarks = (f"{TOO_FAST}: {network:,} cycles of transfers",) if network > runtime else ()
        breakdown = _breakdown(*(int(one[at]) for one in times))
        own = found | {"num_levels": len(mapping.levels)}
        costs.append(StatementCost(own, breakdown, remarks, float(incomplete[at])))
    return costs


def _number(name: str, value: float) -> int | float | None:
    if not isfinite(value):
        return None
    return int(value) if name not in _RATIOS and value.is_integer() else value

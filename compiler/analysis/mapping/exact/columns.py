"""
The columns of many mappings in exact mode: the same names as MAESTRO's.

Inputs and weights enter L2 once and outputs leave it once, as in MAESTRO. The two modes differ in:

    runtime         steps with their real tiles; what a step brings from L2 it also brings from off chip
    output_l2_*     incomplete sums that leave are read back
    *_l1_write      what each processing element receives
    l1_size_req     the output's own tile
    noc_bw_*        quotients as they are, not rounded down at each case
    offchip_bw_req  the largest transfer of a step over the time of its work
    *_delay_avg     means as they are
    energy          with everything that is counted, in both columns
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from npuc.compiler.analysis.mapping.batch.groups import EntryReductions
from npuc.compiler.analysis.mapping.columns import (
    COLUMNS,
    NAMES,
    NANOJOULES,
    accesses,
    area,
    energy,
    offchip_accesses,
    power,
)
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, LevelTiles
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.exact.rates import Rates
from npuc.compiler.analysis.mapping.exact.run import ExactRun, run_level
from npuc.compiler.analysis.mapping.exact.volumes import tile
from npuc.compiler.analysis.mapping.parity import PeArray


def evaluate_exact(work: Contraction, levels: list[LevelTiles], array: PeArray) -> dict[str, Floats]:
    """The columns of legal mappings, given by their levels."""
    return columns_of(work, levels, run_exact(work, levels, array), array)


def run_exact(work: Contraction, levels: list[LevelTiles], array: PeArray) -> ExactRun:
    """Run legal mappings, given by their levels, on a whole contraction."""
    return run_at(work, levels, Rates.of([array]))


def run_at(work: Contraction, levels: list[LevelTiles], rates: Rates) -> ExactRun:
    """The same where the mappings have machines of their own."""
    count = len(levels[0])
    return run_level(work, levels, 0, np.arange(count), _whole(work, count), rates)


def _whole(work: Contraction, count: int) -> Floats:
    return np.repeat(np.array([[float(size)] for _, size in work.dims]), count, axis=1)


def columns_of(work: Contraction, levels: list[LevelTiles], run: ExactRun, array: PeArray) -> dict[str, Floats]:
    """The columns of mappings that were run."""
    return priced(counts_of(work, levels, run, Rates.of([array])), [array] * len(levels[0]))


def counts_of(work: Contraction, levels: list[LevelTiles], run: ExactRun, rates: Rates) -> dict[str, Floats]:
    """What of mappings that were run depends on bandwidths alone, not on the machine's size or the cost of accesses."""
    return _traffic(work, levels, run, _whole(work, len(levels[0]))) | _times(run, rates)


def priced(counts: dict[str, Floats], arrays: Sequence[PeArray]) -> dict[str, Floats]:
    """The columns of mappings by their counts, each on a machine of its own."""
    table = dict(counts)
    l2, l1 = accesses(table, "l2"), accesses(table, "l1")
    table["arithmetic_intensity"] = table["num_macs"] / table["loaded"]
    table["throughput_macs_per_cycle"] = table["num_macs"] / table["runtime_cycles"]
    offchip = offchip_accesses(table, table["incomplete"])
    units, areas, powers = (np.zeros(len(l2)) for _ in range(3))
    for array, rows in _alike(arrays):
        units[rows] = energy(l2[rows], l1[rows], table["mac_passes"][rows], offchip[rows], array.costs)
        sizes = table["l2_size_req"][rows], table["l1_size_req"][rows]
        areas[rows], powers[rows] = area(*sizes, array), power(*sizes, array)
    table["energy_total_mac_units"], table["energy_nj_csv"] = units, NANOJOULES * units
    table["area_csv"], table["power_csv"] = areas, powers
    return {name: table[name] for name in COLUMNS}


def _alike(arrays: Sequence[PeArray]) -> Iterator[tuple[PeArray, Ints]]:
    """The machines, each with the numbers of its mappings."""
    found: dict[int, list[int]] = {}
    for number, array in enumerate(arrays):
        found.setdefault(id(array), []).append(number)
    return ((arrays[rows[0]], np.array(rows)) for rows in found.values())


def _traffic(work: Contraction, levels: list[LevelTiles], run: ExactRun, given: Floats) -> dict[str, Floats]:
    """Room, accesses and MACs, in elements."""
    steps = run.steps
    macs = run.by_entry(run.nodes.sizes.take(steps.node, axis=1).prod(axis=0))
    table: dict[str, Floats] = {"num_macs": macs, "mac_passes": float(work.passes) * macs}
    for role in ROLES:
        name = NAMES[role]
        table[f"{name}_l2_size_req"] = 2 * tile(work, role, run.entries.temporal)
        table[f"{name}_l1_size_req"] = 2 * tile(work, role, levels[-1].spatial)
        whole = tile(work, role, given)
        if role == "O":
            table[f"{name}_l2_write"] = run.by_entry(steps.left) + run.final
            table["incomplete"] = run.by_entry(steps.brought["O"])
            table[f"{name}_l2_read"] = table["incomplete"] + whole
            table[f"{name}_l1_write"] = macs
        else:
            table[f"{name}_l2_write"], table[f"{name}_l2_read"] = whole, run.by_entry(steps.brought[role])
            table[f"{name}_l1_write"] = run.received[role]
        table[f"{name}_l1_read"] = macs
    for level in ("l2", "l1"):
        table[f"{level}_size_req"] = np.sum([table[f"{name}_{level}_size_req"] for name in NAMES.values()], axis=0)
    return table


def runtime_of(run: ExactRun, rates: Rates) -> Floats:
    """The cycles of mappings that were run on an array with the same network, whatever its bandwidth off chip."""
    own = rates.at(run.entry)
    offchip = np.ceil(_moved(run) * own.offchip_cycles / own.offchip_bw)
    return run.by_entry(np.maximum(run.delay, offchip))


def _moved(run: ExactRun) -> Floats:
    """The elements that each step brings, or those that it takes away, whichever are more."""
    brought = run.steps.brought
    return np.maximum(brought["I"] + brought["W"] + brought["O"], run.steps.left)


def _times(run: ExactRun, rates: Rates) -> dict[str, Floats]:
    """Cycles, bandwidths and who takes part."""
    steps, count = run.steps, len(run.entries)
    groups, total = EntryReductions.of(run.entry, count), run.by_entry(np.ones(len(run.entry)))
    table = {"runtime_cycles": runtime_of(run, rates)}
    need = _moved(run) / run.compute
    table["noc_bw_req_peak"] = table["offchip_bw_req"] = groups.most(need)
    table["noc_bw_req_avg"] = run.by_entry(need) / total
    for name, delay in (("ingress", run.into), ("egress", run.out), ("compute", run.compute)):
        table[f"{name}_delay_min"], table[f"{name}_delay_max"] = groups.least(delay), groups.most(delay)
        table[f"{name}_delay_avg"] = run.by_entry(delay) / total
    table["avg_utilized_pes"] = run.by_entry(run.taking_part) / total
    table["loaded"] = run.by_entry(steps.brought["I"] + steps.brought["W"])
    return table

"""
All columns of many mappings: MAESTRO's, in numpy where its analysis is regular.

Irregular are mappings that name a dimension twice at a level, those with tiles larger than what they are cut from, so
that steps without work or with a negative one come up, and those with more steps than a 32-bit integer counts.
"""

from __future__ import annotations

import numpy as np

from npuc.compiler.analysis.mapping.batch.arrays import Bools, Floats, LevelArrays, Mappings, read_levels
from npuc.compiler.analysis.mapping.batch.groups import EntryReductions, sum_by
from npuc.compiler.analysis.mapping.batch.run import BatchRun, run_level
from npuc.compiler.analysis.mapping.columns import (
    COLUMNS,
    NAMES,
    accesses,
    area,
    energy,
    energy_column,
    offchip_accesses,
    power,
)
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.dialects.mapping import Problem, Role


def evaluate_part(problem: Problem, mappings: Mappings, array: PeArray) -> tuple[dict[str, Floats], Bools]:
    """The columns of some mappings, and of which of them they are right."""
    count = len(mappings)
    levels, good = read_levels(problem, mappings, array.num_pes)
    entered = np.repeat(np.array([[problem.sizes[d]] for d in problem.named], np.float64), count, axis=1)
    run = run_level(levels, 0, np.arange(count), entered, array)
    good &= run.good & (np.bincount(run.entry, (run.compute <= 0) & (run.timed > 0), count) == 0)
    table = _traffic(problem, levels, run) | _times(problem, run, array)
    l2, l1 = accesses(table, "l2"), accesses(table, "l1")
    table["throughput_macs_per_cycle"] = table["num_macs"] / table["runtime_cycles"]
    offchip = offchip_accesses(table, 0.0 * l2)
    table["energy_total_mac_units"] = energy(l2, l1, table["num_macs"], offchip, array.costs)
    table["energy_nj_csv"] = energy_column(l2, l1, table["output_l2_read"], len(levels))
    sizes = np.maximum(table["l2_size_req"], 1), np.maximum(table["l1_size_req"], 1)
    table["area_csv"], table["power_csv"] = area(*sizes, array), power(*sizes, array)
    good &= np.isfinite(table["arithmetic_intensity"])
    return {name: table[name] for name in COLUMNS}, good


def _traffic(problem: Problem, levels: list[LevelArrays], run: BatchRun) -> dict[str, Floats]:
    """Room, accesses and MACs, in elements."""
    steps, work = run.steps, run.work
    first = slice(0, len(run.entries))
    every = sum_by(run.entry, steps.count * work.work[steps.node], len(run.entries))
    macs = run.by_entry(work.work[steps.node])
    sizes: dict[Role, Floats] = {"I": steps.input[first], "W": steps.weight[first], "O": work.egress[first]}
    moved: dict[Role, Floats] = {
        "I": run.by_entry(steps.input),
        "W": run.by_entry(steps.weight),
        "O": sum_by(run.entry, steps.count * work.egress[steps.node], len(run.entries)),
    }
    last = levels[-1]
    coupled: dict[Role, Bools] = {"I": last.in_input, "W": last.in_weight, "O": last.in_output}
    table: dict[str, Floats] = {"num_macs": macs}
    for role, name in NAMES.items():
        whole = np.full(len(macs), float(problem.elements(role)))
        table[f"{name}_l2_size_req"] = 2 * sizes[role]
        table[f"{name}_l1_size_req"] = 2 * np.where(coupled[role], last.mapped, 1.0).prod(axis=0)
        table[f"{name}_l2_write"], table[f"{name}_l2_read"] = whole, moved[role]
        table[f"{name}_l1_write"], table[f"{name}_l1_read"] = moved[role], macs
        if role == "O":
            table[f"{name}_l2_write"], table[f"{name}_l2_read"] = moved[role], whole
            table[f"{name}_l1_write"] = table[f"{name}_l1_read"] = every
    for level in ("l2", "l1"):
        table[f"{level}_size_req"] = np.sum([table[f"{name}_{level}_size_req"] for name in NAMES.values()], axis=0)
    return table


def _times(problem: Problem, run: BatchRun, array: PeArray) -> dict[str, Floats]:
    """Cycles, bandwidths and who takes part."""
    steps, work, entry = run.steps, run.work, run.entry
    count = len(run.entries)
    total = run.by_entry(np.ones(len(entry)))
    egress, moved = work.egress[steps.node], steps.input + steps.weight
    inputs, outputs = 2 * moved[:count], 2 * egress[:count]
    bandwidth = array.whole_offchip_bw
    offchip = np.maximum(outputs // bandwidth // 2, inputs // bandwidth // 2)
    table = {"runtime_cycles": run.by_entry(np.maximum(run.delay, offchip[entry]))}
    # The first step is there in any case: where it takes no time, all of the mapping is irregular.
    at = np.flatnonzero((run.timed > 0) | (np.arange(len(entry)) < count))
    groups, entry, moved = EntryReductions.of(entry[at], count), entry[at], moved[at]
    busy, most = np.maximum(run.compute[at], 1.0), np.maximum(moved, egress[at])
    table["noc_bw_req_peak"] = groups.most(np.floor(most / busy))
    table["noc_bw_req_avg"] = np.bincount(entry, np.floor(run.timed[at] * most / busy), count) / total
    # MAESTRO halves the requirement after each case, so that a case counts by its distance from the last.
    distance = groups.distance(steps.place[at])
    need = np.maximum(np.floor(outputs[entry] / busy), np.floor(inputs[entry] / busy))
    table["offchip_bw_req"] = groups.most(np.floor(np.ldexp(need, -np.minimum(distance, 1023))))
    for name, delay in (("ingress", run.into), ("egress", run.out), ("compute", run.compute)):
        table[f"{name}_delay_min"] = groups.least(delay[at])
        table[f"{name}_delay_max"] = np.maximum(groups.most(delay[at]), 0.0)
        table[f"{name}_delay_avg"] = np.trunc(run.by_entry(delay) / total)
    table["avg_utilized_pes"] = run.by_entry(run.taking_part) / total
    last = np.flatnonzero(distance == 1)
    intensity = np.full(count, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        intensity[entry[last]] = work.work[steps.node[at[last]]] / moved[last]
    table["arithmetic_intensity"] = intensity
    return table

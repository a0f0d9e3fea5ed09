"""
MAESTRO's result columns, from the counts of its analysis; for one mapping or arrays of them.

Areas and powers are MAESTRO's formulas. So are energies, where the machine does not say what its accesses cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.machine.published_area import Sizes, maestro_area
from npuc.compiler.analysis.mapping.parity import MAESTRO_COSTS, AccessCosts, Counters, Extremes, PeArray
from npuc.dialects.mapping import Role

NANOJOULES = 0.00023
"""Energy of a MAC, nJ."""
NAMES: dict[Role, str] = {"I": "input", "W": "filter", "O": "output"}
Numbers = TypeVar("Numbers", float, NDArray[np.float64])


COLUMNS = (
    *("runtime_cycles", "num_macs", "throughput_macs_per_cycle", "l2_size_req", "l1_size_req"),
    *(
        f"{name}_{column}"
        for name in NAMES.values()
        for column in ("l2_size_req", "l1_size_req", "l2_write", "l2_read", "l1_write", "l1_read")
    ),
    *("noc_bw_req_peak", "noc_bw_req_avg", "offchip_bw_req"),
    *(f"{step}_delay_{what}" for step in ("ingress", "egress", "compute") for what in ("min", "max", "avg")),
    *("avg_utilized_pes", "arithmetic_intensity", "energy_total_mac_units", "energy_nj_csv", "area_csv", "power_csv"),
)
"""The columns, in the order of the reference data."""


def accesses(table: Mapping[str, NDArray[np.float64]], level: str) -> NDArray[np.float64]:
    """All reads and writes of the buffers of a level (`l1`, `l2`)."""
    total: NDArray[np.float64] = np.sum(
        [table[f"{name}_{level}_{way}"] for name in NAMES.values() for way in ("read", "write")], axis=0
    )
    return total


def energy(l2: Numbers, l1: Numbers, macs: Numbers, offchip: Numbers, costs: AccessCosts) -> Numbers:
    """The energy of accesses (reads and writes of all tensors) and MACs, in units of a MAC."""
    found = costs.l2 * l2 + costs.l1 * l1 + macs
    return found + costs.offchip * offchip if costs.offchip else found


def offchip_accesses(table: Mapping[str, Numbers], incomplete: Numbers) -> Numbers:
    """
    The elements that pass between DRAM and L2: what steps bring, `incomplete` sums that are read back among it, and
    what leaves. L2 keeps nothing between steps but what stays in its tiles, as the time off chip has it.
    """
    return table["input_l2_read"] + table["filter_l2_read"] + table["output_l2_write"] + incomplete


def energy_column(l2: Numbers, l1: Numbers, output_reads: Numbers, levels: int) -> Numbers:
    """
    The column of energy of MAESTRO's table, nJ.

    It has neither MACs nor reads of outputs; of a mapping with several levels it takes the L1 accesses of the layer
    before it in the file, which is none here.
    """
    own = MAESTRO_COSTS
    return NANOJOULES * (own.l2 * (l2 - output_reads) + (own.l1 * l1 if levels == 1 else 0 * l1))


def area(l2_size: Numbers, l1_size: Numbers, array: PeArray) -> Numbers:
    """The area of the machine with buffers of these sizes (elements), um^2."""
    found = maestro_area(Sizes(array.num_pes, l1_size, l2_size, array.noc_bw, array.lanes))
    return cast("Numbers", found.total)


def power(l2_size: Numbers, l1_size: Numbers, array: PeArray) -> Numbers:
    """The power of the machine with buffers of these sizes (elements), mW."""
    pes = array.num_pes
    network = 0.8 * (14.662 * pes + 28.895) / 1000 * array.noc_bw
    arbiter = 1.2886 * pes**2 + 5.5814 * pes - 23.711
    return (
        1.2223 * array.lanes * pes
        + 0.00345 * l1_size * pes
        + 0.00345 * l2_size
        + network
        + max(0.34 * arbiter / 1000, 0.34)
    )


def columns(found: Counters, array: PeArray, levels: int) -> dict[str, int | float | None]:
    """The columns of one mapping of `levels` levels; None where MAESTRO has a quotient of zeros."""
    l2 = sum(found.l2_read.values()) + sum(found.l2_write.values())
    l1 = sum(found.l1_read.values()) + sum(found.l1_write.values())
    l2_size, l1_size = sum(found.l2_size.values()), sum(found.l1_size.values())
    row: dict[str, int | float | None] = {
        "runtime_cycles": found.runtime,
        "num_macs": found.macs,
        "throughput_macs_per_cycle": found.macs / found.runtime if found.runtime else None,
        "l2_size_req": l2_size,
        "l1_size_req": l1_size,
    }
    for role, name in NAMES.items():
        row[f"{name}_l2_size_req"], row[f"{name}_l1_size_req"] = found.l2_size[role], found.l1_size[role]
        row[f"{name}_l2_write"], row[f"{name}_l2_read"] = found.l2_write[role], found.l2_read[role]
        row[f"{name}_l1_write"], row[f"{name}_l1_read"] = found.l1_write[role], found.l1_read[role]
    row["noc_bw_req_peak"], row["offchip_bw_req"] = found.peak, found.offchip
    row["noc_bw_req_avg"] = found.bandwidth if found.steps else None
    for name, delay in (("ingress", found.ingress), ("egress", found.egress), ("compute", found.compute)):
        row |= {f"{name}_delay_{what}": value for what, value in _extremes(delay, found.steps).items()}
    row["avg_utilized_pes"], row["arithmetic_intensity"] = found.active, found.intensity
    offchip = float(found.l2_read["I"] + found.l2_read["W"] + found.l2_write["O"])
    row["energy_total_mac_units"] = energy(float(l2), float(l1), float(found.macs), offchip, array.costs)
    row["energy_nj_csv"] = energy_column(float(l2), float(l1), float(found.l2_read["O"]), levels)
    # Buffers of nothing, which degenerate mappings ask for, count as one element.
    sizes = float(l2_size or 1), float(l1_size or 1)
    row["area_csv"], row["power_csv"] = area(*sizes, array), power(*sizes, array)
    return {name: row[name] for name in COLUMNS}


def _extremes(delay: Extremes, steps: int) -> dict[str, int | None]:
    if not steps:
        return {"min": None, "max": delay.most, "avg": None}
    return {"min": delay.least, "max": delay.most, "avg": int(delay.total / steps)}

"""Found designs scored by the backend: what `npuc compile` says of the machine and its mappings is the result."""

from __future__ import annotations

from functools import partial
from math import fsum

from npuc.backends.base import Backend
from npuc.backends.maestro.machine import UNLIMITED, array_of, mapped_machine
from npuc.backends.maestro.scorer import Variant, score_variants
from npuc.compiler.analysis.mapping.flexibility.axes import class_of
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Searched
from npuc.compiler.explore.design.machine_file import designed
from npuc.compiler.explore.design.result import DesignedMachine, DesignedMapping, GivenMachine
from npuc.compiler.explore.design.search import FoundDesign
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.mapping.record import damaged
from npuc.compiler.explore.mapping.result import mapping_text
from npuc.compiler.report import Report
from npuc.compiler.report.text.quantities import energy_text, time_text
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.hardware import Hardware
from npuc.hardware.area import MODEL, chip_area
from npuc.hardware.technology import LEAKAGE_W_PER_MM2, LEAST_SRAM

PART_WORDS = {
    "array": "elements",
    "levels": "elements' buffers",
    "spm": "shared buffer",
    "vector": "vector unit",
    "dram": "DRAM interface",
}
"""What parts of the area are called."""
WIDE = 256
"""Sub-clusters of a level that published arrays have at most (TPU v1: 256 rows and columns, systolic)."""
COOLED = 1.0
"""W/mm2 at which large chips are cooled at most, about: 700 W of 814 mm2 (NVIDIA H100 SXM, data sheet)."""
FEW = 64
"""Bytes of a buffer below which it is registers."""
IDLE = 0.1
"""The part of a step's energy from which on what would leak is said."""


def given_machine(task: DesignTask, machine: Hardware, model: Backend) -> GivenMachine:
    """The machine that the search begins with, under the mappings that the module has."""
    report = model.score(task.module, machine)
    count = machine.require("maestro.num_pes", int, backend=model.name)
    return GivenMachine(machine.name, count, chip_area(machine).chip, int(report.totals.cycles or 0), _energy(report))


def designed_machines(task: DesignTask, machine: Hardware, searched: Searched) -> list[DesignedMachine]:
    """
    The designs of a search with the cost of a step as the backend reports it; the mappings of the first one are
    written into the module.

    The backend's cycles are those of the search, exactly; else a record that the search continued was damaged
    (`UsageError`).
    """
    # the best one last, whose mappings stay in the module
    found = searched.designs[::-1]
    variants = [Variant(designed(machine, one.design.size, one.supports), partial(task.write, one)) for one in found]
    reports = score_variants(task.module, variants)
    scored = [
        _designed_machine(task, one, variant.hardware, report, searched.bound, resumed=searched.before > 0)
        for one, variant, report in zip(found, variants, reports, strict=True)
    ]
    return scored[::-1]


def _designed_machine(
    task: DesignTask, found: FoundDesign, hardware: Hardware, report: Report, bound: float, *, resumed: bool
) -> DesignedMachine:
    cycles = int(report.totals.cycles or 0)
    if cycles != found.design.cycles and resumed:
        raise damaged("the cost of a mapping is another")
    assert cycles == found.design.cycles, f"the search has {found.design.cycles:,.0f} cycles, the backend {cycles:,}"
    size, macs = found.design.size, sum(work.repeat * work.macs for work in task.works)
    lanes = hardware.get("maestro.num_simd_lanes", int) or 1
    return DesignedMachine(
        size.fanouts,
        size.l1,
        size.l2,
        found.design.area_mm2,
        cycles,
        _energy(report),
        report.totals.seconds,
        report.totals.energy_j,
        float(macs) / (cycles * size.elements * lanes),
        cycles / bound - 1 if bound else None,
        _mappings(task, found),
        class_of(found.supports),
        tuple((PART_WORDS.get(part, part), size) for part, size in chip_area(hardware).parts.items() if size),
        limits_of(task, found, hardware, report.totals.energy_j),
    )


def limits_of(task: DesignTask, found: FoundDesign, hardware: Hardware, joules: float | None) -> tuple[str, ...]:
    """What of a real machine's limits the model leaves out where a design, of so much energy a step, is near them."""
    size, array, texts = found.design.size, array_of(hardware), list[str]()
    if size.l1 < 1024 * LEAST_SRAM:
        texts.append(_of_registers(task, size.l1, hardware.get(MODEL, str) or "npuc"))
    widest = max(size.fanouts)
    if widest > WIDE and found.supports[-1] != "any":
        texts.append(
            f"a level of {widest:,} sub-clusters gets its data and adds its sums up in one hop "
            f"(maestro.noc_hop_latency = {array.noc_latency}), by wires and adders without delay or area"
        )
    if array.noc_bw >= UNLIMITED:
        texts.append("the given machine says no bandwidth of its network (maestro.noc_bw): it carries anything at once")
    seconds, area = mapped_machine(hardware).seconds(found.design.cycles), found.design.area_mm2
    if joules is None or not seconds:
        return tuple(texts)
    dense, leaked = _on_chip(task, found, hardware) * joules / seconds / area, LEAKAGE_W_PER_MM2 * area * seconds
    if dense > COOLED:
        texts.append(
            f"{dense:.2g} W/mm2, without DRAM, are more than chips are cooled at, about {COOLED:g}: areas are of "
            "arithmetic and memory cells alone, so that a real chip is larger; else --power-w limits it"
        )
    if leaked > IDLE * joules:
        texts.append(
            f"what idles costs nothing here: at {LEAKAGE_W_PER_MM2:g} W/mm2 another {energy_text(leaked)} would leak "
            f"in a step of {time_text(seconds)}"
        )
    return tuple(texts)


def _of_registers(task: DesignTask, l1: int, model: str) -> str:
    """What is said of a processing element's buffer that is smaller than the memories of which costs are known."""
    least = max(work.least_l1 for work in task.works)
    few = ", the least that any mapping has (two of each operand, two sums)," if l1 == least else ""
    priced = (
        "their area is that of SRAM cells, too little, and their energy that of 1 KiB of SRAM, too much"
        if model == "npuc"
        else f"the area model {model} has no least memory, and MAESTRO's energies are of any size"
    )
    small = "are registers" if l1 < FEW else "are less than the smallest memory of known costs, 1 KiB"
    return f"{l1:,} B in each element{few} {small}: {priced}"


def _on_chip(task: DesignTask, found: FoundDesign, hardware: Hardware) -> float:
    """The part of a step's energy that is not that of DRAM."""
    off, energy = 0.0, access_energy(hardware)
    for work, own in zip(task.works, found.mappings, strict=True):
        *_, each = energy.costs(work.width, own.needs.l1, own.needs.l2)
        off += work.repeat * float(own.needs.offchip[0]) * each
    return 1 - off / found.design.energy


def _mappings(task: DesignTask, found: FoundDesign) -> tuple[DesignedMapping, ...]:
    texts, rows = [mapping_text(one) for one in task.attributes(found)], list[DesignedMapping]()
    for op, number in zip(task.contracts, task.numbers, strict=True):
        cycles = int(found.mappings[number].needs.cycles[0])
        rows.append(DesignedMapping(layer_of(op) or "", role_of(op).value, repeat_of(op), cycles, texts[number]))
    return tuple(rows)


def _energy(report: Report) -> float:
    """MACs' worth."""
    return fsum(
        row.repeat * float(str(row.native["energy_total_mac_units"] or 0)) for row in report.ops if row.kind == "matrix"
    )

"""Found designs scored by the backend: what `npuc compile` says of the machine and its mappings is the result."""

from __future__ import annotations

from functools import partial
from math import fsum

from npuc.backends.base import Backend
from npuc.backends.maestro.scorer import Variant, score_variants
from npuc.compiler.analysis.mapping.flexibility.axes import class_of
from npuc.compiler.explore.design.explore import Searched
from npuc.compiler.explore.design.machine_file import designed
from npuc.compiler.explore.design.result import DesignedMachine, DesignedMapping, GivenMachine
from npuc.compiler.explore.design.search import FoundDesign
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.mapping.record import damaged
from npuc.compiler.explore.mapping.result import mapping_text
from npuc.compiler.report import Report
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.hardware import Hardware
from npuc.hardware.area import chip_area

PART_WORDS = {
    "array": "elements",
    "levels": "elements' buffers",
    "spm": "shared buffer",
    "vector": "vector unit",
    "dram": "DRAM interface",
}
"""What parts of the area are called."""


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
        macs / (cycles * size.elements * lanes),
        cycles / bound - 1 if bound else None,
        _mappings(task, found),
        class_of(found.supports),
        tuple((PART_WORDS.get(part, part), size) for part, size in chip_area(hardware).parts.items() if size),
    )


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

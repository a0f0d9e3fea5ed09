"""The backend `maestro`: one row for each statement of a contraction, in program order, and for other work."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from types import MappingProxyType
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.base import Answer, Backend, MachineView, Question, Variant
from npuc.backends.maestro.keys import KEYS
from npuc.backends.maestro.knobs import KNOBS, time_parts
from npuc.backends.maestro.machine import NAME, array_of, mapped_machine, mode_of
from npuc.backends.maestro.scorer import OTHERS, score_module, score_variants
from npuc.backends.maestro.words import WORDS
from npuc.backends.operations import shared_over_units
from npuc.compiler.analysis.mapping.named.templates import DEFAULT, template_named
from npuc.compiler.analysis.mapping.parity import MAESTRO_COSTS
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.causes import Parts
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu import (
    ConstantOp,
    ContractOp,
    InterleaveOp,
    ViewOp,
    YieldOp,
)
from npuc.hardware import Hardware

FormT = TypeVar("FormT", Mapping, Clusters)
FREE = (ViewOp, ConstantOp, YieldOp, InterleaveOp, FuncOp, ReturnOp, ModuleOp)
"""Operations without a row of their own."""
FLOAT_BYTES = {"bf16": 2, "f16": 2, "mixed": 2}
"""Bytes of an element by the machine's precision, where they are not four."""


class MaestroBackend(Backend):
    """Processing elements in clusters under data-centric mappings: reuse, buffers, network, energy; after MAESTRO."""

    name = NAME
    level = "npu"
    keys = KEYS
    knobs = KNOBS
    words = WORDS
    default_hardware = "nvdla"
    energy_parts = ("array", "spm", "dram", "network")
    settings = MappingProxyType(
        {
            "m": {"maestro.mode": "parity"},
            "": {"maestro.mode": "exact"},
        }
    )

    def time_parts(self, row: OpRow) -> Parts:
        """The seconds of a row by cause."""
        return time_parts(row)

    def supports(self, op: Operation) -> str | None:
        """None for operations of the npu level."""
        if (shared := shared_over_units(op)) is not None:
            return shared
        if isinstance(op, (ContractOp, *OTHERS, *FREE)):
            return None
        return "it is not an operation of the npu level (contractions, vector work, moves, views, constants)"

    def needs_schedules(self, hardware: Hardware) -> bool:
        """A mapping says it all."""
        return False

    def without_effect(self, hardware: Hardware) -> Table[str, str]:
        """Energies of levels where MAESTRO's constants hold."""
        if array_of(hardware, 1).costs != MAESTRO_COSTS:
            return {}
        reason = "accesses cost MAESTRO's constants unless MACs, L1 and L2 have energies (npuc machine shows them)"
        return dict.fromkeys(("energy.spm_pj_per_byte", "energy.dram_pj_per_byte"), reason)

    def costs_alone(self, hardware: Hardware) -> bool:
        """Each operation by itself, on every machine."""
        return True

    def check(self, hardware: Hardware) -> None:
        """Raise `UsageError` for a machine without processing elements."""
        mapped_machine(hardware)

    def machine_view(self, hardware: Hardware) -> MachineView:
        """The elements, their buffer and the bandwidth off chip, for elements of the machine's types."""
        size = hardware.get("memory.element_bytes", int) or FLOAT_BYTES.get(hardware.get("precision", str) or "", 4)
        machine = mapped_machine(hardware)
        array = array_of(hardware, size)
        moved = size * array.offchip_bw / array.offchip_cycles
        hertz = None if machine.clock_mhz is None else machine.clock_mhz * 1e6
        per_mac = hardware.require("compute.ops_per_mac", int, backend=NAME)
        held = machine.spm_bytes if machine.spm_bytes is not None else machine.l2_size and machine.l2_size * size
        return MachineView(
            operations=None if hertz is None else per_mac * machine.peak * hertz,
            ops_per_mac=per_mac,
            bytes_per_second=None if hertz is None else moved * hertz,
            memory_bytes=None if held is None else int(held),
            memory=f"L2, elements of {8 * size} bits",
            macs_per_cycle=machine.peak,
            bytes_per_cycle=moved,
        )

    def mapping_pass(self, hardware: Hardware, name: str | None) -> str:
        """The dataflow of a name, else the machine's, in the form of the mode."""
        array_of(hardware)  # a machine without processing elements is told of first
        template = template_named(name or hardware.get("maestro.mapping", str) or DEFAULT)
        form = "directives" if mode_of(hardware, "exact") == "parity" else "clusters"
        return f"map{{mapping={template.name} form={form}}}"

    def explained_rows(self, report: Report) -> list[OpRow]:
        """Those of contractions."""
        return [row for row in report.ops if row.kind == "matrix"]

    def explain(self, question: Question) -> Answer:
        """The contractions of a layer under their mappings."""
        from npuc.backends.maestro.explain import answer

        return answer(question)

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        The report of a module whose contractions have mappings.

        Raises `UsageError` for a machine without processing elements, `SourceError` for a contraction without a
        mapping and one that cannot be analysed, `CapacityError` for clusters larger than the machine.
        """
        return score_module(module, hardware)

    def costs_of_variants(self, module: ModuleOp, variants: Sequence[Variant]) -> list[Report]:
        """The mappings of a statement are costed together, and equal rows are one object."""
        return score_variants(module, variants, named=False)


BACKEND = MaestroBackend()

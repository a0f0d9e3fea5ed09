"""The backend `maestro`: one row for each statement of a contraction, in program order, and for other work."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.base import Answer, Backend, MachineView, Question
from npuc.backends.maestro.cost import StatementCost
from npuc.backends.maestro.keys import KEYS
from npuc.backends.maestro.knobs import KNOBS, time_parts
from npuc.backends.maestro.machine import NAME, MappedMachine, array_of, mapped_machine, mode_of
from npuc.backends.maestro.rows import buffer_need, contract_row
from npuc.backends.maestro.statements import statement_cost
from npuc.backends.maestro.words import WORDS
from npuc.backends.operations import sparsity_warnings, uncosted_row
from npuc.compiler.analysis.mapping.named.templates import DEFAULT, template_named
from npuc.compiler.analysis.mapping.parity import MAESTRO_COSTS
from npuc.compiler.report import OpRow, Report, make_report
from npuc.compiler.report.causes import Parts
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu import (
    Col2ImOp,
    ConstantOp,
    ContractOp,
    Im2ColOp,
    InterleaveOp,
    MoveOp,
    VectorOp,
    ViewOp,
    YieldOp,
)
from npuc.dialects.provenance import layer_of
from npuc.hardware import Hardware

FormT = TypeVar("FormT", Mapping, Clusters)
FREE = (ViewOp, ConstantOp, YieldOp, InterleaveOp, FuncOp, ReturnOp, ModuleOp)
"""Operations without a row of their own."""
FLOAT_BYTES = {"bf16": 2, "f16": 2, "mixed": 2}
"""Bytes of an element by the machine's precision, where they are not four."""
OTHERS = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


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
        scorer = _Scorer(mapped_machine(hardware))
        for op in module.walk():
            if isinstance(op, ContractOp):
                scorer.add(op)
            elif isinstance(op, OTHERS):
                scorer.rows.append(uncosted_row(op, len(scorer.rows)))
        sparse = sparsity_warnings(module.walk(), "MAESTRO's mappings are of dense products")
        return make_report(self.name, hardware.as_dict(), scorer.rows, warnings=[*scorer.warnings(), *sparse])


@dataclass
class _Scorer:
    """Rows under construction; equal statements under equal mappings are costed once."""

    machine: MappedMachine
    rows: list[OpRow] = field(default_factory=list[OpRow])
    known: dict[Hashable, StatementCost] = field(default_factory=dict[Hashable, StatementCost])
    remarks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    together: int = 0

    def add(self, op: ContractOp) -> None:
        """Append the rows of a contraction."""
        statements = op.nest.statements
        self.together += len(statements) > 1 or isinstance(op.parent_op(), InterleaveOp)
        machine = self.machine.for_contraction(op)
        for number in range(len(statements)):
            key = (op.nest, op.mapping_attr, number, machine.array, machine.buffers)
            if key not in self.known:
                self.known[key] = statement_cost(op, number, machine)
            cost = self.known[key]
            for remark in cost.remarks:
                self.remarks.setdefault(remark.partition(":")[0], []).append(f"{layer_of(op)}{_rest(remark)}")
            for key_of_size, (need, size) in buffer_need(cost.columns, machine).items():
                what = f"its mapping needs more than {key_of_size}, which a search (npuc map) never takes"
                text = f"{layer_of(op)} needs {need:,} elements of {size:,}"
                self.remarks.setdefault(what, []).append(text)
            self.rows.append(contract_row(op, len(self.rows), number, cost, machine))

    def warnings(self) -> list[str]:
        """What is to be told, mistakes of one kind as one sentence with the first layer."""
        found = [_told(kind, layers) for kind, layers in self.remarks.items()]
        if self.together:
            found.append(f"products that run together ({self.together:,} times) are priced one statement after another")
        others = sum(row.kind != "matrix" for row in self.rows)
        if others:
            rows = f"{others:,} rows of other work have" if others != 1 else "a row of other work has"
            found.append(f"MAESTRO models contractions alone: {rows} no cost in the totals")
        return found


def _rest(remark: str) -> str:
    """What a remark says behind its colon, in brackets."""
    rest = remark.partition(": ")[2]
    return f" ({rest})" if rest else ""


def _told(kind: str, layers: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(layers))
    more = f" and {len(distinct) - 1:,} more" if len(distinct) > 1 else ""
    return f"{distinct[0]}{more}: {kind}"


BACKEND = MaestroBackend()

"""The backend `maestro`: one row for each statement of a contraction, in program order, and for other work."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.maestro.machine import NAME, MappedMachine, array_of, mapped_machine, mode_of
from npuc.backends.maestro.price import Price, price_clusters, price_directives
from npuc.backends.maestro.rows import buffer_need, contract_row
from npuc.backends.operations import uncosted_row
from npuc.compiler.analysis.mapping.convert import to_clusters, to_maestro
from npuc.compiler.analysis.mapping.levels import Unmappable, resolve
from npuc.compiler.analysis.mapping.named.templates import DEFAULT, template_named
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, Report, make_report
from npuc.dialects.mapping import Clusters, Mapping, MappingAttr
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
OTHERS = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


class MaestroBackend:
    """Processing elements in clusters under data-centric mappings: reuse, buffers, network, energy; after MAESTRO."""

    name = NAME
    level = "npu"
    default_hardware = "nvdla"
    settings: ClassVar[Table[str, Table[str, str]]] = {
        "m": {"maestro.mode": "parity"},
        "": {"maestro.mode": "exact"},
    }

    def supports(self, op: Operation) -> str | None:
        """None for operations of the npu level."""
        if isinstance(op, (ContractOp, *OTHERS, *FREE)):
            return None
        return "it is not an operation of the npu level (contractions, vector work, moves, views, constants)"

    def needs_schedules(self, hardware: Hardware) -> bool:
        """A mapping says it all."""
        return False

    def mapping_pass(self, hardware: Hardware, name: str | None) -> str:
        """The dataflow of a name, else the machine's, in the form of the mode."""
        array_of(hardware)  # a machine without processing elements is told of first
        template = template_named(name or hardware.get("maestro.mapping", str) or DEFAULT)
        form = "directives" if mode_of(hardware, "exact") == "parity" else "clusters"
        return f"map{{mapping={template.name} form={form}}}"

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
        return make_report(self.name, hardware.as_dict(), scorer.rows, warnings=scorer.warnings())


@dataclass
class _Scorer:
    """Rows under construction; equal statements under equal mappings are priced once."""

    machine: MappedMachine
    rows: list[OpRow] = field(default_factory=list[OpRow])
    known: dict[Hashable, Price] = field(default_factory=dict[Hashable, Price])
    remarks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    together: int = 0

    def add(self, op: ContractOp) -> None:
        """Append the rows of a contraction."""
        statements = op.nest.statements
        self.together += len(statements) > 1 or isinstance(op.parent_op(), InterleaveOp)
        machine = self.machine.for_contraction(op)
        for number in range(len(statements)):
            key = (op.nest, op.mapping_attr, number, machine.array)
            if key not in self.known:
                self.known[key] = price_statement(op, number, machine)
            price = self.known[key]
            for remark in price.remarks:
                self.remarks.setdefault(remark.partition(":")[0], []).append(f"{layer_of(op)}{_rest(remark)}")
            for key_of_size, (need, size) in buffer_need(price.columns, machine).items():
                what = f"its mapping needs more than {key_of_size}, which a search (npuc map) never takes"
                text = f"{layer_of(op)} needs {need:,} elements of {size:,}"
                self.remarks.setdefault(what, []).append(text)
            self.rows.append(contract_row(op, len(self.rows), number, price, machine))

    def warnings(self) -> list[str]:
        """What is to be told, mistakes of one kind as one sentence with the first layer."""
        found = [_told(kind, layers) for kind, layers in self.remarks.items()]
        if self.together:
            found.append(f"{self.together:,} sets of products that run together are priced one statement after another")
        others = sum(row.kind != "matrix" for row in self.rows)
        if others:
            found.append(f"MAESTRO models contractions alone: {others:,} rows of other work have no cost in the totals")
        return found


def price_statement(op: ContractOp, number: int, machine: MappedMachine) -> Price:
    """
    The price of a statement of a contraction, by its number, on a machine that is told in its elements.

    Raises `SourceError` without a mapping and for one that cannot be analysed, `CapacityError` for a machine that is
    too small.
    """
    attr = op.mapping_attr
    location, layer = location_of(op), layer_of(op) or "a contraction"
    if attr is None:
        hint = "the pass map writes one: map{mapping=kcp_ws}"
        raise SourceError(f"{layer} has no mapping, which the backend '{NAME}' needs", location=location, hint=hint)
    try:
        return _priced(op, number, attr, machine)
    except Unmappable as e:
        if e.fits:
            hint = None
            if machine.mode == "exact" and isinstance(attr.data, Mapping):
                hint = "maestro.mode=parity scores directives as MAESTRO takes them"
            raise SourceError(f"{layer} cannot be mapped: {e}", location=location, hint=hint) from None
        hint = "smaller clusters, or a larger maestro.num_pes"
        raise CapacityError(f"{layer} does not fit: {e}", location=location, hint=hint) from None


def _priced(op: ContractOp, number: int, attr: MappingAttr, machine: MappedMachine) -> Price:
    """The price in the mode of the machine, of the mapping in the form of that mode."""
    nest, mapping = op.nest, attr.data
    if machine.mode == "parity":
        if isinstance(mapping, Clusters):
            mapping = _said(to_maestro(mapping, nest), "directives")
        return price_directives(mapping, machine)
    if isinstance(mapping, Mapping):
        resolve(mapping, machine.array.num_pes)  # whether the machine is large enough, first of all
        mapping = _said(to_clusters(mapping, nest, machine.array.num_pes), "cluster form")
    return price_clusters(nest, nest.statements[number], mapping, machine)


def _said(mapping: FormT | str, form: str) -> FormT:
    """A mapping that was brought in another form. Raises `Unmappable` for the sentence why it has none."""
    if isinstance(mapping, str):
        raise Unmappable(f"its mapping has no {form}: {mapping}")
    return mapping


def _rest(remark: str) -> str:
    """What a remark says behind its colon, in brackets."""
    rest = remark.partition(": ")[2]
    return f" ({rest})" if rest else ""


def _told(kind: str, layers: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(layers))
    more = f" and {len(distinct) - 1:,} more" if len(distinct) > 1 else ""
    return f"{distinct[0]}{more}: {kind}"


BACKEND = MaestroBackend

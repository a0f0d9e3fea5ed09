"""The scores of modules whose contractions have mappings, one machine after another, or several together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.maestro.cost import StatementCost, costs_of_clusters
from npuc.backends.maestro.machine import NAME, MappedMachine, mapped_machine
from npuc.backends.maestro.rows import buffer_need, contract_row
from npuc.backends.maestro.statements import statement_cost
from npuc.backends.mapping_rules import Compared, on_nest, one_of, rule_warnings
from npuc.backends.operations import sparsity_warnings, uncosted_row
from npuc.compiler.analysis.mapping.constraints.broken import Constrained
from npuc.compiler.analysis.mapping.convert import layer_clusters, to_maestro
from npuc.compiler.report import OpRow, Report, make_report
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp
from npuc.dialects.npu.nest import Nest, Statement
from npuc.dialects.provenance import layer_of
from npuc.hardware import Hardware

OTHERS = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)
Known = dict[Hashable, StatementCost]
"""The costs of statements, by `_key`."""


@dataclass(frozen=True)
class Variant:
    """A machine, and what writes the mappings for it into a module."""

    hardware: Hardware
    write: Callable[[], None]


def score_module(module: ModuleOp, hardware: Hardware) -> Report:
    """The report of a module. Raises `UsageError`, `SourceError`, `CapacityError` (`MaestroBackend.score`)."""
    return _report(module, hardware, {})


def score_variants(module: ModuleOp, variants: Sequence[Variant]) -> list[Report]:
    """
    The reports of a module under several machines, each with mappings of its own; the last ones stay in the module.

    Equal to `score_module` of each, in less time: the mappings of a statement are costed together.
    """
    asked: dict[Hashable, list[_Asked]] = {}
    for one in variants:
        one.write()
        machine = mapped_machine(one.hardware)
        for op in module.walk():
            if isinstance(op, ContractOp):
                _ask(op, machine.for_contraction(op), asked)
    known: Known = {}
    for group in asked.values():
        own = list({one.key: one for one in group}.values())
        costs = costs_of_clusters(
            own[0].nest, own[0].statement, [one.mapping for one in own], [one.machine for one in own]
        )
        known |= {one.key: cost for one, cost in zip(own, costs, strict=True)}
    reports: list[Report] = []
    for one in variants:
        one.write()
        reports.append(_report(module, one.hardware, known))
    return reports


@dataclass(frozen=True)
class _Asked:
    """A statement whose mapping in cluster form is costed."""

    key: Hashable
    nest: Nest
    statement: Statement
    mapping: Clusters
    machine: MappedMachine


def _ask(op: ContractOp, machine: MappedMachine, asked: dict[Hashable, list[_Asked]]) -> None:
    """Ask for the statements of a contraction beside those that are costed together with them."""
    mapping = None if op.mapping_attr is None else op.mapping_attr.data
    if machine.mode != "exact" or not isinstance(mapping, Clusters):
        return
    if mapping.processing_elements > machine.array.num_pes:
        return  # an error that the statement's own cost has
    array = machine.array
    rates = array.noc_bw, array.noc_latency, array.offchip_bw, array.offchip_cycles, array.lanes
    for number, statement in enumerate(op.nest.statements):
        one = _Asked(_key(op, number, machine), op.nest, statement, mapping, machine)
        asked.setdefault((op.nest, number, len(mapping.levels), rates, machine.l1_sum_size), []).append(one)


def _key(op: ContractOp, number: int, machine: MappedMachine) -> Hashable:
    """What the cost of a statement depends on."""
    return op.nest, op.mapping_attr, number, machine.array, machine.buffers


def _report(module: ModuleOp, hardware: Hardware, known: Known) -> Report:
    machine = mapped_machine(hardware)
    scorer = _Scorer(machine, known=known)
    for op in module.walk():
        if isinstance(op, ContractOp):
            scorer.add(op)
        elif isinstance(op, OTHERS):
            scorer.rows.append(uncosted_row(op, len(scorer.rows)))
    compared = _compared_layer if machine.mode == "parity" else on_nest
    warnings = rule_warnings(module.walk(), hardware, machine.array.num_pes, compared)
    warnings += scorer.warnings()
    warnings += sparsity_warnings(module.walk(), "MAESTRO's mappings are of dense products")
    return make_report(NAME, hardware.as_dict(), scorer.rows, warnings=warnings)


@dataclass
class _Scorer:
    """Rows under construction; equal statements under equal mappings are costed once."""

    machine: MappedMachine
    rows: list[OpRow] = field(default_factory=list[OpRow])
    known: Known = field(default_factory=dict[Hashable, StatementCost])
    remarks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    together: int = 0

    def add(self, op: ContractOp) -> None:
        """Append the rows of a contraction."""
        statements = op.nest.statements
        self.together += len(statements) > 1 or isinstance(op.parent_op(), InterleaveOp)
        machine = self.machine.for_contraction(op)
        for number in range(len(statements)):
            key = _key(op, number, machine)
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
        found = [one_of(kind, layers) for kind, layers in self.remarks.items()]
        if self.together:
            found.append(f"products that run together ({self.together:,} times) are priced one statement after another")
        others = sum(row.kind != "matrix" for row in self.rows)
        if others:
            rows = f"{others:,} rows of other work have" if others != 1 else "a row of other work has"
            found.append(f"MAESTRO models contractions alone: {rows} no cost in the totals")
        return found


def _compared_layer(mapping: Mapping | Clusters, nest: Nest, elements: int) -> Compared:
    """A mapping in MAESTRO's terms, for constraints of the dimensions of the layer there."""
    said = to_maestro(mapping, nest) if isinstance(mapping, Clusters) else mapping
    if isinstance(said, Mapping):
        return Constrained.of_layer(said.problem), layer_clusters(said, elements)
    return Constrained.of_nest(nest), said


def _rest(remark: str) -> str:
    """What a remark says behind its colon, in brackets."""
    rest = remark.partition(": ")[2]
    return f" ({rest})" if rest else ""

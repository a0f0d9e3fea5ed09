"""The scores of modules whose contractions have mappings, one machine after another, or several together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.backends.base import Variant
from npuc.backends.maestro.cost import StatementCost, costs_of_clusters
from npuc.backends.maestro.machine import NAME, MappedMachine, mapped_machine
from npuc.backends.maestro.rows import buffer_need, contract_row, opaque_row
from npuc.backends.maestro.statements import statement_cost
from npuc.backends.mapping_rules import Compared, on_nest, one_of, rule_warnings
from npuc.backends.operations import identity_of, sparsity_warnings, uncosted_row
from npuc.compiler.analysis.mapping.constraints.broken import Constrained
from npuc.compiler.analysis.mapping.convert import layer_clusters, to_maestro
from npuc.compiler.report import OpRow, Report, make_report
from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp
from npuc.dialects.npu.nest import Nest, Statement
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.hardware import Hardware

OTHERS = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)
Known = dict[Hashable, StatementCost]
"""The costs of statements, by `_key`."""
COSTED = 512
"""The most mappings of a statement that are costed at once, which bounds memory."""


def score_module(module: ModuleOp, hardware: Hardware) -> Report:
    """The report of a module. Raises `UsageError`, `SourceError`, `CapacityError` (`MaestroBackend.score`)."""
    return _report(_Contractions(module), mapped_machine(hardware), {}, named=True)


def score_variants(module: ModuleOp, variants: Sequence[Variant], *, named: bool = True) -> list[Report]:
    """
    The reports of a module under several machines, each with mappings of its own; the last ones stay in the module.

    Equal to `score_module` of each, in less time: the mappings of a statement are costed together. Unless `named`,
    equal rows are one object, with the name and the place of the first.
    """
    asked: dict[Hashable, list[_Asked]] = {}
    program = _Contractions(module)
    machines = [mapped_machine(one.hardware) for one in variants]
    for one, machine in zip(variants, machines, strict=True):
        one.write()
        for op in program.distinct():
            _ask(op, machine.for_contraction(op), asked)
    known: Known = {}
    for group in asked.values():
        own = list({one.key: one for one in group}.values())
        for first in range(0, len(own), COSTED):
            some = own[first : first + COSTED]
            costs = costs_of_clusters(
                some[0].nest, some[0].statement, [one.mapping for one in some], [one.machine for one in some]
            )
            known |= {one.key: cost for one, cost in zip(some, costs, strict=True)}
    reports: list[Report] = []
    for one, machine in zip(variants, machines, strict=True):
        one.write()
        reports.append(_report(program, machine, known, named=named))
    return reports


class _Contractions:
    """A module's operations that have rows, with the contractions among them that may cost alike."""

    def __init__(self, module: ModuleOp):
        self.ops = [op for op in module.walk() if isinstance(op, (ContractOp, *OTHERS))]
        self.contracts = [op for op in self.ops if isinstance(op, ContractOp)]
        rows: dict[Hashable, OpRow] = {}
        self.uncosted: dict[Operation, OpRow] = {}
        for op in self.ops:
            if not isinstance(op, ContractOp):
                row = uncosted_row(op, 0)
                key = row.op, row.kind, row.vector_ops, row.phase, row.repeat, row.assumed
                self.uncosted[op] = rows.setdefault(key, row)
        self.together = sum(
            len(op.nest.statements) > 1 or isinstance(op.parent_op(), InterleaveOp) for op in self.contracts
        )
        self.sparse = sparsity_warnings(module.walk(), "MAESTRO's mappings are of dense products")
        number: dict[Hashable, int] = {}
        self._kinds = {op: number.setdefault(self._kind(op), len(number)) for op in self.contracts}

    @staticmethod
    def _kind(op: ContractOp) -> Hashable:
        """A key that is equal for contractions whose rows are equal but for name and place, under equal mappings."""
        types = tuple(value.type for value in (*op.operands, *op.results))
        return op.nest, types, role_of(op), repeat_of(op)

    def kinds(self) -> dict[ContractOp, Hashable]:
        """Such a key of each contraction with the mapping that it has now, while it has it: mappings are shared."""
        return {op: (kind, id(op.mapping_attr)) for op, kind in self._kinds.items()}

    def distinct(self) -> list[ContractOp]:
        """The first contraction of each kind, with the mappings that they have now."""
        found: dict[Hashable, ContractOp] = {}
        for op, kind in self.kinds().items():
            found.setdefault(kind, op)
        return list(found.values())


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
    for number, statement in enumerate(op.nest.statements):
        one = _Asked(_key(op, number, machine), op.nest, statement, mapping, machine)
        asked.setdefault((op.nest, number, len(mapping.levels)), []).append(one)


def _key(op: ContractOp, number: int, machine: MappedMachine) -> Hashable:
    """What the cost of a statement depends on."""
    return op.nest, op.mapping_attr, number, machine.array, machine.buffers


def _report(program: _Contractions, machine: MappedMachine, known: Known, *, named: bool) -> Report:
    hardware = machine.hardware
    scorer = _Scorer(machine, program.together, known=known)
    kinds = program.kinds()
    for op in program.ops:
        if isinstance(op, ContractOp):
            scorer.add(op, kinds[op], named=named)
        else:
            row = program.uncosted[op]
            if isinstance(op, VectorOp) and op.operator is not None:
                row = opaque_row(op, machine, row)
            scorer.rows.append(replace(row, index=len(scorer.rows), **identity_of(op)) if named else row)
    compared = _compared_layer if machine.mode == "parity" else on_nest
    warnings = rule_warnings(program.contracts, hardware, machine.array.num_pes, compared)
    return make_report(NAME, hardware.as_dict(), scorer.rows, warnings=[*warnings, *scorer.warnings(), *program.sparse])


@dataclass(frozen=True)
class _Kind:
    """The rows of a contraction, one for each statement, and what is to be told of each that is like it."""

    rows: list[OpRow]
    remarks: list[tuple[str, str]]


@dataclass
class _Scorer:
    """Rows under construction; equal statements under equal mappings are costed once."""

    machine: MappedMachine
    together: int
    rows: list[OpRow] = field(default_factory=list[OpRow])
    known: Known = field(default_factory=dict[Hashable, StatementCost])
    remarks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    _kinds: dict[Hashable, _Kind] = field(default_factory=dict[Hashable, "_Kind"])

    def add(self, op: ContractOp, kind: Hashable, *, named: bool) -> None:
        """Append the rows of a contraction; those of one `kind` are alike but for names and places."""
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self._costed(op)
        for what, rest in found.remarks:
            self.remarks.setdefault(what, []).append(f"{layer_of(op)}{rest}")
        if not named:
            self.rows += found.rows
            return
        identity = identity_of(op)
        self.rows += [replace(row, index=len(self.rows) + number, **identity) for number, row in enumerate(found.rows)]

    def _costed(self, op: ContractOp) -> _Kind:
        machine, rows, remarks = self.machine.for_contraction(op), list[OpRow](), list[tuple[str, str]]()
        for number in range(len(op.nest.statements)):
            key = _key(op, number, machine)
            if key not in self.known:
                self.known[key] = statement_cost(op, number, machine)
            cost = self.known[key]
            remarks += [(remark.partition(":")[0], _rest(remark)) for remark in cost.remarks]
            for key_of_size, (need, size) in buffer_need(cost.columns, machine).items():
                what = f"its mapping needs more than {key_of_size}, which a search (npuc map) never takes"
                remarks.append((what, f" needs {need:,} elements of {size:,}"))
            rows.append(contract_row(op, number, number, cost, machine))
        return _Kind(rows, remarks)

    def warnings(self) -> list[str]:
        """What is to be told, mistakes of one kind as one sentence with the first layer."""
        found = [one_of(kind, layers) for kind, layers in self.remarks.items()]
        if self.together:
            found.append(f"products that run together ({self.together:,} times) are priced one statement after another")
        others = sum(row.kind != "matrix" and row.assumed is not True for row in self.rows)
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

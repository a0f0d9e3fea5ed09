"""The contractions of a program as works of a design search, and the mappings that a design writes into it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.maestro.machine import MappedMachine, mapped_machine
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES
from npuc.compiler.analysis.mapping.exact.contraction import contraction_of_statement
from npuc.compiler.analysis.nest.elements import BYTE, element_bits, widths_on
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.explore.design.costs import Work
from npuc.compiler.explore.design.search import FoundDesign
from npuc.compiler.explore.flexibility.own import LEVELS, OwnMapping, dataflow_mapping
from npuc.compiler.explore.mapping.constrained.demands import Demands
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.task import exact_task
from npuc.dialects.mapping import MappingAttr, shared_mapping
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import repeat_of
from npuc.hardware import Hardware


@dataclass(frozen=True)
class DesignTask:
    """
    The distinct contractions of a module, how often each runs, and their spaces of mappings.

    `numbers` are the work of each contraction in program order. `width` is that of the widest element, in bytes.
    `owns` are the dataflow's mappings of the works, where a class of the search is fixed on some axis.
    """

    module: ModuleOp
    works: tuple[Work, ...]
    spaces: tuple[MapSpace, ...]
    contracts: tuple[ContractOp, ...]
    numbers: tuple[int, ...]
    owns: tuple[OwnMapping, ...] = ()

    @property
    def width(self) -> Fraction:
        """Bytes of the widest element."""
        return max(work.width for work in self.works)

    def attributes(self, found: FoundDesign) -> list[MappingAttr]:
        """The mapping of each work in a design."""
        return [
            shared_mapping(mapping.candidates.mapping(0, space.dims))
            for mapping, space in zip(found.mappings, self.spaces, strict=True)
        ]

    def write(self, found: FoundDesign) -> None:
        """Write the mappings of a design into the module."""
        attributes = self.attributes(found)
        for op, number in zip(self.contracts, self.numbers, strict=True):
            op.mapping_attr = attributes[number]


NO_DEMANDS = Demands(NO_RULES)


@dataclass
class _Found:
    """A work under construction."""

    op: ContractOp
    machine: MappedMachine
    repeat: int = field(default=0)


def task_of(
    module: ModuleOp,
    hardware: Hardware,
    levels: int,
    *,
    divisors: bool,
    dataflow: str | None = None,
    demands: Demands = NO_DEMANDS,
) -> DesignTask:
    """
    The task of a lowered module on a machine whose size is open; with the mappings of a dataflow where one is named.

    Contractions for which different rules of `demands` hold are different works, and with a dataflow those that have
    different mappings, as a file of mappings gives them.

    Raises `UsageError`, `SourceError`.
    """
    machine = mapped_machine(hardware)
    if machine.mode != "exact":
        raise UsageError(
            "a design is searched with exact costs", hint="leave out maestro.mode: MAESTRO's counts are approximations"
        )
    found: dict[Hashable, _Found] = {}
    numbers: list[int] = []
    contracts = tuple(op for op in module.walk() if isinstance(op, ContractOp))
    if not contracts:
        raise SourceError("the program has no contraction: there is nothing to design a machine for")
    for op in contracts:
        own = machine.for_contraction(op)
        works = tuple(contraction_of_statement(op.nest, one) for one in op.nest.statements)
        mapping = None if dataflow is None else op.mapping_attr
        key = works, own.array, _width(op, own), _sums(op, own), demands.rows(op), mapping
        entry = found.setdefault(key, _Found(op, own))
        entry.repeat += repeat_of(op)
        numbers.append(list(found).index(key))
    works = tuple(_work(one) for one in found.values())
    empty = (1,) * levels
    spaces = tuple(MapSpace(one.op.nest.dims, (empty,), 1, divisors) for one in found.values())
    owns = () if dataflow is None else tuple(_own(one, dataflow) for one in found.values())
    return DesignTask(module, works, spaces, contracts, tuple(numbers), owns)


def _own(found: _Found, dataflow: str) -> OwnMapping:
    op = found.op
    return dataflow_mapping(exact_task(op.nest, op.mapping_attr, found.machine, LEVELS, 1, divisors=False), dataflow)


def _work(found: _Found) -> Work:
    op, machine = found.op, found.machine
    works = tuple(contraction_of_statement(op.nest, one) for one in op.nest.statements)
    width = _width(op, machine)
    return Work(works, found.repeat, machine.array, width, _sums(op, machine) / width)


def _sums(op: ContractOp, machine: MappedMachine) -> Fraction:
    """The bytes of a partial sum of a contraction."""
    return Fraction(max(widths_on(machine).sum_bits(result.type) for result in op.results), BYTE)


def _width(op: ContractOp, machine: MappedMachine) -> Fraction:
    """The bytes of the widest element of a contraction."""
    values = (*op.operands[: len(op.nest.ins)], *op.results)
    return Fraction(max(element_bits(value.type, machine.element_bytes) for value in values), BYTE)

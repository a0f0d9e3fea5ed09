"""
The classes of equal operations of a lowered program, and of products that share an operand.

What operations cost, and how such products run, is the same for all of a class (`dialects/structural.py`), so that one
of them is scheduled and costed. It stands in a copy of the program, where its machine is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.transforms.interleave.fuse import joined_nest
from npuc.compiler.transforms.interleave.patterns import FuseContractions, RoundRobin
from npuc.compiler.transforms.interleave.sharing import KINDS, Sharing, contracts_by_block, sharing
from npuc.compiler.transforms.interleave.together import Verdict
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.dialects.copies import copied
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.shared import number_values
from npuc.dialects.npu.tensor_work import same_value
from npuc.dialects.provenance import repeat_of
from npuc.dialects.structural import equality_key
from npuc.dialects.train.signature import writes_of


@dataclass(frozen=True)
class EqualOperations:
    """Operations of equal cost: one of them, and how many there are."""

    op: Operation
    count: int


@dataclass(frozen=True)
class EqualProducts:
    """
    Sets of products that share an operand and run in the same way: one of them, and how many there are.

    `found` has no schedules, as where a pass chooses how they run. Copies of it get them: `alone` one after another,
    `fused` as one nest, if there is one, and `in_turn`.
    """

    found: Sharing
    count: int
    alone: tuple[ContractOp, ...]
    fused: ContractOp | None
    in_turn: InterleaveOp


@dataclass(frozen=True)
class Classes:
    """A program by classes: products that share an operand, all other operations, and the modules that these are in."""

    products: tuple[EqualProducts, ...]
    others: tuple[EqualOperations, ...]
    modules: tuple[ModuleOp, ...]


def equal_operations(ops: Iterable[Operation]) -> tuple[EqualOperations, ...]:
    """The classes of operations, in the order of their first ones."""
    alike: dict[Hashable, list[Operation]] = {}
    for op in ops:
        alike.setdefault(_key(op), []).append(op)
    return tuple(EqualOperations(same[0], len(same)) for same in alike.values())


def classes_of_products(module: ModuleOp, ops: Sequence[Operation]) -> Classes | None:
    """
    A program by classes, `ops` those of its operations that cost something: the gradients that may run together, and
    the rest.

    None where it depends on how some run which others may run together.
    """
    verdicts = list[Verdict]()
    found: dict[Hashable, list[Sharing]] = {}
    for contracts in contracts_by_block(module):
        block = contracts[0].parent
        assert block is not None
        for wanted in KINDS["gradients"]:
            for one in sharing(contracts, writes_of(block), wanted, apart=verdicts.append):
                found.setdefault(_key_of_products(one), []).append(one)
    if any(verdict.depends for verdict in verdicts):
        return None
    inside = {op for same in found.values() for one in same for op in one.ops}
    alone, fused, in_turn = _Copy(module), _Copy(module), _Copy(module)
    products = tuple(
        EqualProducts(
            same[0],
            len(same),
            alone.of(same[0]).ops,
            fused.as_one_nest(same[0]),
            in_turn.in_turn(same[0]),
        )
        for same in found.values()
    )
    others = equal_operations(op for op in ops if op not in inside)
    # Those that get schedules are in a copy, too: in the program none has one.
    others = tuple(EqualOperations(alone.ops[one.op], one.count) for one in others)
    return Classes(products, others, (module, alone.module, fused.module, in_turn.module))


class _Copy:
    """A copy of a program, in which products run in some way; `ops` are its operations by those of the program."""

    def __init__(self, module: ModuleOp):
        self.module = copied(module)
        self.ops: Mapping[Operation, Operation] = dict(zip(module.walk(), self.module.walk(), strict=True))

    def of(self, found: Sharing) -> Sharing:
        """A set of the program in the copy."""
        verdicts = (Verdict(None, tuple(self.ops[op] for op in one.moved)) for one in found.verdicts)
        return Sharing(tuple(self._contract(op) for op in found.ops), found.names, tuple(verdicts))

    def as_one_nest(self, found: Sharing) -> ContractOp | None:
        """A set as one nest, without a schedule; None where it is none."""
        own, made = self.of(found), list[ContractOp]()
        if joined_nest(own) is None:
            return None
        apply_pattern(FuseContractions(own.at_first, made.append), own.ops[0])
        return made[0]

    def in_turn(self, found: Sharing) -> InterleaveOp:
        """A set that runs round-robin, without schedules."""
        own = self.of(found)
        block = own.ops[0].parent
        assert block is not None
        before = {op for op in block.ops if isinstance(op, InterleaveOp)}
        apply_pattern(RoundRobin(own.at_first), own.ops[0])
        return next(op for op in block.ops if isinstance(op, InterleaveOp) and op not in before)

    def _contract(self, op: ContractOp) -> ContractOp:
        own = self.ops[op]
        assert isinstance(own, ContractOp)
        return own


def _key(op: Operation) -> Hashable:
    """A key that is equal for operations of equal cost that run equally often."""
    kind = equality_key(op)
    return id(op) if kind is None else (kind, repeat_of(op))


def _key_of_products(found: Sharing) -> Hashable:
    """A key that is equal for sets that run in the same way at the same cost."""
    values = number_values([[same_value(value) for value in op.operands] for op in found.ops])
    return tuple(_key(op) for op in found.ops), found.names, values

"""
Which operations of a lowered program run as one step: contractions that run together, and what is fused with them.

An `npu.contract` is one step whatever its loops, several statements included; so are the contractions of an
`npu.interleave`, which share what they read. Vector work that is marked `fused` belongs to its contraction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.resident import HasResidency
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.npu.widths import in_passes_of, passes_of_factors

WORK = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


@dataclass(frozen=True)
class Unit:
    """Operations that run as one step: `main` with the work that is fused with it."""

    main: Operation
    fused: tuple[VectorOp, ...] = ()

    @property
    def contracts(self) -> tuple[ContractOp, ...]:
        """Its contractions, in their order."""
        if isinstance(self.main, InterleaveOp):
            return self.main.contracts
        return (self.main,) if isinstance(self.main, ContractOp) else ()

    @property
    def ops(self) -> tuple[Operation, ...]:
        """Those of its operations that read operands; the results of an `npu.interleave` are its own."""
        return (*(self.contracts or (self.main,)), *self.fused)

    @property
    def makers(self) -> tuple[Operation, ...]:
        """Those of its operations that have the results."""
        return (self.main, *self.fused)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all statements, and of work that is known by its cost alone."""
        return sum(op.nest.macs for op in self.contracts) + self.stated_passes(None)

    @property
    def operator(self) -> str | None:
        """The operator that it stands for, where that is known by its cost alone."""
        return self.main.operator if isinstance(self.main, VectorOp) else None

    def stated_passes(self, bits: int | None) -> int:
        """The passes of MACs that work says, of multipliers that take `bits` of a mantissa; None: one of each."""
        op = self.main
        return op.macs * passes_of_factors(op.operands[:2], bits) if isinstance(op, VectorOp) and op.macs else 0

    def in_passes(self, bits: int | None) -> tuple[Nest, ...]:
        """The nests of its contractions, whose multipliers take `bits` of a mantissa at a time; None: a whole one."""
        return tuple(in_passes_of(op.nest, op, bits) for op in self.contracts)

    @property
    def vector_ops(self) -> int:
        """Operations of the vector unit."""
        return sum(op.ops for op in self.ops if isinstance(op, VectorOp))

    @property
    def reads(self) -> tuple[SSAValue, ...]:
        """What it reads from outside, each value once."""
        made = {value for op in self.makers for value in op.results}
        return tuple(dict.fromkeys(value for op in self.ops for value in op.operands if value not in made))

    @property
    def writes(self) -> tuple[SSAValue, ...]:
        """What it leaves for others; a block on which only fused work runs is no value in memory."""
        inside = {*self.fused}
        results = [value for op in self.makers for value in op.results]
        if not self.fused:
            return tuple(results)
        return tuple(v for v in results if is_unused(v) or any(use.operation not in inside for use in v.uses))

    @property
    def resident(self) -> tuple[SSAValue, ...]:
        """The values that are in scratchpad as a whole before or after it."""
        found: dict[SSAValue, None] = {}
        for op in self.makers:
            if isinstance(op, HasResidency):
                values = {**op.named_operands(), **op.named_results()}
                found.update((values[name], None) for name in op.resident.names)
        return tuple(found)


def is_unused(value: SSAValue) -> bool:
    """Whether no operation uses a value."""
    return next(iter(value.uses), None) is None


def unit_of(op: Operation) -> Unit | None:
    """The step of which an operation of a function's body is the first; None for one without work of its own."""
    if isinstance(op, ContractOp):
        return Unit(op, tuple(one.op for one in fused_with(op)))
    if isinstance(op, InterleaveOp):
        return Unit(op)
    if isinstance(op, WORK) and not (isinstance(op, VectorOp) and op.fused):
        return Unit(op)
    return None


def units_of(ops: Iterable[Operation]) -> list[Unit]:
    """The steps of a function's body, in program order."""
    return [unit for op in ops if (unit := unit_of(op)) is not None]

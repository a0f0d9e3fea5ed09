"""The operations to which the backend assigns a cost, in the order of its rows, and those of equal cost."""

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp
from npuc.dialects.structural import structural_key

STREAMED = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


def costed_operations(module: ModuleOp) -> list[Operation]:
    """The operations that have a row, in the order of the rows."""
    costed = (ContractOp, InterleaveOp, *STREAMED)
    return [op for op in module.walk() if isinstance(op, costed) and not isinstance(op.parent_op(), InterleaveOp)]


def kind_of_cost(op: Operation) -> Hashable:
    """A key that is equal for operations of equal cost and phase: equivalent ones, whose repeated operands agree."""
    kind = structural_key(op)
    if kind is None or len(op.operands) == len(set(op.operands)):
        return kind
    first = {value: -number for number, value in reversed(list(enumerate(op.operands)))}
    return kind, *(first[value] for value in op.operands)

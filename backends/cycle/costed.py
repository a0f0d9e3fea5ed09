"""The operations to which the backend assigns a cost, in the order of its rows."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp

STREAMED = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


def costed_operations(module: ModuleOp) -> list[Operation]:
    """The operations that have a row, in the order of the rows."""
    costed = (ContractOp, InterleaveOp, *STREAMED)
    return [op for op in module.walk() if isinstance(op, costed) and not isinstance(op.parent_op(), InterleaveOp)]

"""Which operations the backend prices, in the order of its rows."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp

STREAMED = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


def priced_operations(module: ModuleOp) -> list[Operation]:
    """The operations that have a row, in the order of the rows."""
    priced = (ContractOp, InterleaveOp, *STREAMED)
    return [op for op in module.walk() if isinstance(op, priced) and not isinstance(op.parent_op(), InterleaveOp)]

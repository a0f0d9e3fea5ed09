"""The operations to which the backend assigns a cost, in the order of its rows, and which of them depend on others."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.dialects.npu import Col2ImOp, ContractOp, GroupOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp
from npuc.dialects.npu.resident import NO_RESIDENTS, HasResidency
from npuc.dialects.products import DENSE
from npuc.dialects.provenance import SPARSITY

STREAMED = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)


def costed_operations(module: ModuleOp) -> list[Operation]:
    """The operations that have a row, in the order of the rows."""
    costed = (ContractOp, InterleaveOp, *STREAMED)
    return [op for op in module.walk() if isinstance(op, costed) and not isinstance(op.parent_op(), InterleaveOp)]


def depends_on_others(op: Operation) -> bool:
    """Whether the cost of an operation may depend on others, or something is said of it by its layer."""
    if op.attributes.get(SPARSITY) is not None or isinstance(op.parent_op(), GroupOp):
        return True
    if isinstance(op, HasResidency) and op.resident != NO_RESIDENTS:
        return True
    if isinstance(op, VectorOp):
        return bool(op.fused)
    products = op.contracts if isinstance(op, InterleaveOp) else (op,) if isinstance(op, ContractOp) else ()
    mapped = any(one.mapping_attr is not None or one.units_attr is not None for one in products)
    return mapped or any(s.factors != DENSE for one in products for s in one.nest.statements)

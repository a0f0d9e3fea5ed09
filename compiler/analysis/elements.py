"""
Bytes of an element.

A machine's `element_bytes` counts for every float whatever its type; without it, and for integers, the size of the type
counts (at least a byte). A schedule's `spm` counts elements of the nest's widest type.
"""

from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType
from xdsl.ir import Attribute

from npuc.dialects.npu import ContractOp


def element_bytes(type_: Attribute, float_bytes: int | None) -> int:
    """Bytes of an element of a tensor type; `float_bytes` are those of every float, where the machine says."""
    element = cast("TensorType[Attribute]", type_).element_type if isinstance(type_, TensorType) else type_
    if isinstance(element, AnyFloat) and float_bytes is not None:
        return float_bytes
    if isinstance(element, AnyFloat | IntegerType):
        return max(1, element.bitwidth // 8)
    return 1


def contract_widths(op: ContractOp, float_bytes: int | None) -> tuple[int, ...]:
    """Bytes of an element of each tensor of a contraction, in the order of `nest.tensors`: inputs, outputs, starts."""
    operands = [element_bytes(value.type, float_bytes) for value in op.operands]
    inputs = len(op.nest.ins)
    outputs = [element_bytes(value.type, float_bytes) for value in op.results]
    return (*operands[:inputs], *outputs, *operands[inputs:])

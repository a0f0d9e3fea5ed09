"""
Forward values that are computed again for the backward pass, rather than stored and loaded.

    %a = npu.vector gelu(%0) …                                %a = npu.vector gelu(%0) …
    …                                                         …
    %dw = npu.contract … ins(X = %a[…], dY = %d[…]) …   ->    %a_1 = npu.vector gelu(%0) … {recompute}
                                                              %dw = npu.contract … ins(X = %a_1[…], dY = %d[…]) …

Elementwise work may run again where the backward pass needs its operands anyway, so that nothing else must be stored
for it. Whether that pays off prices tell: a copy beside its readers in a group moves nothing but these operands.
"""

from collections.abc import Collection

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from npuc.compiler.transforms.fuse_layers.sized import is_elementwise
from npuc.dialects.npu import GroupOp, VectorOp
from npuc.dialects.provenance import Role, is_recomputed, mark_recomputed, role_of
from npuc.dialects.tensors import shape_of


def repeatable(module: ModuleOp) -> list[VectorOp]:
    """The forward work that may run again, in its order."""
    return [op for op in module.walk() if isinstance(op, VectorOp) and _may_run_again(op)]


def _may_run_again(op: VectorOp) -> bool:
    if role_of(op) is not Role.FORWARD or not is_elementwise(op) or op.fused or op.resident.names or is_recomputed(op):
        return False
    if len(op.results) != 1 or not _backward(op.results[0]):
        return False
    large = (value for value in op.operands if shape_of(value) == shape_of(op.results[0]))
    return all(not isinstance(value.owner, Operation) or _backward(value) for value in large)


def _backward(value: SSAValue) -> list[Operation]:
    """The operations of the backward pass that use a value, once each."""
    users = dict.fromkeys(use.operation for use in value.uses)
    return [user for user in users if role_of(user) is not Role.FORWARD]


def run_again(module: ModuleOp, chosen: Collection[int]) -> None:
    """Let the repeatable work with these numbers run again in front of the first operation that needs it backward."""
    for number, op in enumerate(repeatable(module)):
        users = _backward(op.results[0])
        block = op.parent
        if number not in chosen or block is None or any(user.parent is not block for user in users):
            continue
        first = min(users, key=list(block.ops).index)
        copy = mark_recomputed(op.clone())
        copy.attributes[NUMBER] = IntegerAttr(number, i64)
        copy.location = op.location
        block.insert_op_before(copy, first)
        for user in users:
            user.operands = [copy.results[0] if value is op.results[0] else value for value in user.operands]


NUMBER = "copy_number"
"""The attribute of a copy that says which repeatable operation it is of, until groups are chosen."""


def in_groups(module: ModuleOp) -> frozenset[int]:
    """The numbers of the copies that are members of groups; the attributes that say them are removed."""
    found: set[int] = set()
    for op in module.walk():
        number = op.attributes.pop(NUMBER, None)
        if isinstance(number, IntegerAttr) and isinstance(op.parent_op(), GroupOp):
            found.add(number.value.data)
    return frozenset(found)

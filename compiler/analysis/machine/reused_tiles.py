"""
Contractions that reuse the stationary tile which the contraction before left in an in-place array.

There are two cases, in both of which one tile of W serves both operations entirely (W fits the array):

    forward, then dX of the same W      dX needs no preload
    dX, then dW of the same W           the sums of dW accumulate where W is and update it there, without a drain; so
                                        the only use of the gradient must be a plain `sgd` of that W

Vector work between the two does not touch the array; another contraction does.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import Product, has_one_stationary_tile, members, placement, product_of
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest
from npuc.dialects.provenance import repeat_of


def contractions_reusing_tiles(ops: Sequence[Operation], machine: Machine) -> frozenset[Operation]:
    """The contractions of a program (`ops` in program order) that find their stationary tile in the array."""
    found: set[Operation] = set()
    if not _leaves_tiles(machine):
        return frozenset()
    before: ContractOp | None = None
    for op in ops:
        if not isinstance(op, ContractOp):
            before = None if isinstance(op, InterleaveOp) else before
            continue
        if before is not None and _follows(before, op, machine):
            found.add(op)
        before = op
    return frozenset(found)


def may_find_tile(op: ContractOp, machine: Machine) -> bool:
    """Whether a contraction finds its stationary tile in the array with some schedules of it and of the one before."""
    before = op.prev_op
    while before is not None and not isinstance(before, ContractOp | InterleaveOp):
        before = before.prev_op
    return isinstance(before, ContractOp) and _leaves_tiles(machine) and _may_follow(before, op, machine)


def _leaves_tiles(machine: Machine) -> bool:
    return machine.array.dataflow == "in-place" and machine.transpose != "explicit"


def _follows(before: ContractOp, op: ContractOp, machine: Machine) -> bool:
    """Whether a contraction reuses the stationary tile of the one before."""
    one_tile = (has_one_stationary_tile(one.nest, one.schedule, machine.array) for one in (before, op))
    return _may_follow(before, op, machine) and all(one_tile)


def _may_follow(before: ContractOp, op: ContractOp, machine: Machine) -> bool:
    """As `_follows`, whatever their schedules."""
    if repeat_of(before) > 1 or repeat_of(op) > 1:
        return False
    first, second = _product(before.nest), _product(op.nest)
    weights = _value(before, "W")
    if (first, second) == ("forward", "dx"):
        same = weights is not None and weights is _value(op, "W")
    elif (first, second) == ("dx", "dw"):
        same = weights is not None and _updates(op, weights)
    else:
        return False
    return same and _cells(before.nest, machine) == _cells(op.nest, machine)


def _product(nest: Nest) -> Product | None:
    """Which product of a layer a nest is; None if its tensors have other names."""
    names = {name.removeprefix("d") for s in nest.statements for name in (s.out, s.lhs, s.rhs)}
    return product_of(nest.statements[0])[0] if names == {"X", "W", "Y"} else None


def _value(op: ContractOp, name: str) -> SSAValue | None:
    """The operand of this name in the nest."""
    return next((v for t, v in zip(op.nest.ins, op.operands, strict=False) if t.name == name), None)


def _updates(op: ContractOp, weights: SSAValue) -> bool:
    """Whether the only use of dW is a plain gradient descent update of `weights`."""
    uses = list(op.results[0].uses)
    user = uses[0].operation if len(uses) == 1 else None
    return (
        isinstance(user, VectorOp)
        and user.kind == "sgd"
        and len(user.operands) == 2
        and user.operands[0] is weights
        and user.operands[1] is op.results[0]
    )


def _cells(nest: Nest, machine: Machine) -> tuple[bool, ...]:
    """For each axis of W, or dW, whether it is mapped to the rows of the array."""
    statement = nest.statements[0]
    place = placement(statement, machine.array)
    rows = set(members(gemm_view(nest, statement), place.rows))
    return tuple(set(axis.dims) <= rows for axis in nest.tensors[place.stationary(statement)].axes)

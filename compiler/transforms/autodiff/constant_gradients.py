"""Gradients that are known before the step: of the loss, and of scalars that are only added up to it."""

from collections.abc import Sequence
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, NotDifferentiable
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import TrainOp

OpT = TypeVar("OpT", bound=Operation)


def constant_gradients(ops: Sequence[Operation], loss: SSAValue) -> set[SSAValue]:
    """The scalars whose gradients depend on no value of the function; `ops` are its operations in order."""
    found = {loss}
    others = set[SSAValue]()
    for op in reversed(ops):
        if not isinstance(op, TrainOp):
            continue
        gradients = [value in found for value in op.results]
        if any(gradients) or any(value in others for value in op.results):
            known = _contributions(op) if all(gradients) else frozenset[int]()
            for place, operand in enumerate(op.operands):
                if place in known and not shape_of(operand):
                    found.add(operand)
                else:
                    others.add(operand)
    return found - others


def _contributions(op: TrainOp) -> frozenset[int]:
    """The operands whose gradient is constant where those of all results are."""
    made: list[Operation] = []

    def emit(new: OpT) -> OpT:
        made.append(new)
        return new

    grads = [emit(constant(tensor_type(value), 1.0)).out for value in op.results]
    try:
        found = list(get_layer(op).vjp(op, grads, [True] * len(op.operands), emit))
    except NotDifferentiable:
        found = []
    known = set[SSAValue]()
    for new in made:
        if isinstance(new, TrainOp) and (get_layer(new).kind is Kind.CONSTANT or all(v in known for v in new.operands)):
            known.update(new.results)
    constants = frozenset(place for place, value in enumerate(found) if value is not None and value in known)
    for new in reversed(made):
        new.erase(safe_erase=False)
    return constants

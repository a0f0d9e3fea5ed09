"""
The reads and the work of the forward and the backward of an operation.

The published table covers the layers that it names. For every other layer of the language both are read off its
derivative: the operations that autodiff would emit for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, NotDifferentiable, elements
from npuc.dialects.structural import structural_key
from npuc.dialects.train.activation import ClipOp, ReluOp
from npuc.dialects.train.arithmetic import AddOp, AffineOp, MulOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.compare import WhereOp
from npuc.dialects.train.conv import Conv1dOp, Conv2dOp, Conv3dOp
from npuc.dialects.train.dropout import DropoutOp
from npuc.dialects.train.layer_norm import LayerNormOp
from npuc.dialects.train.loss import CrossEntropyOp
from npuc.dialects.train.matmul import MatmulOp
from npuc.dialects.train.norm import BatchNormOp
from npuc.dialects.train.pool import AvgPoolOp, MaxPoolOp
from npuc.dialects.train.smooth import SigmoidOp, TanhOp
from npuc.dialects.train.softmax import SoftmaxOp


@dataclass(frozen=True)
class StepWork:
    """MACs and vector operations."""

    macs: int = 0
    vector_ops: int = 0

    def __add__(self, other: StepWork) -> StepWork:
        return StepWork(self.macs + other.macs, self.vector_ops + other.vector_ops)


@dataclass(frozen=True)
class Backward:
    """
    The backward of an operation: the forward operands and results that it reads, and its work.

    `reads_gradient` is false where it does not need the gradient of the result.
    """

    operands: tuple[int, ...]
    results: tuple[int, ...]
    work: StepWork
    reads_gradient: bool = True


@dataclass(frozen=True)
class _Row:
    """A row of the published table: whether backward reads the operands or the result, and operations per element."""

    operands: bool
    result: bool
    steps: int | None = None  # vector operations an element of the result; None: twice those of the forward
    same: bool = False  # as many operations as the forward


_PRODUCT = _Row(operands=True, result=False)
_FROM_RESULT = _Row(operands=False, result=True, steps=1)
TABLE: dict[type[TrainOp], _Row] = {
    **dict.fromkeys((Conv1dOp, Conv2dOp, Conv3dOp, MatmulOp), _PRODUCT),
    **dict.fromkeys((BatchNormOp, LayerNormOp), _Row(operands=True, result=False)),
    **dict.fromkeys((ReluOp, ClipOp, SigmoidOp, TanhOp, DropoutOp), _FROM_RESULT),
    SoftmaxOp: _Row(operands=False, result=True, same=True),
    MulOp: _Row(operands=True, result=False),
    AddOp: _Row(operands=False, result=False, steps=1),
    MaxPoolOp: _Row(operands=True, result=True, same=True),
    AvgPoolOp: _Row(operands=False, result=False, same=True),
}
"""
Section 2 of the model: the layers whose backward the study states, or that were chosen to fit it.

A softmax in front of the loss is one layer with it, see `LOSS_STEPS`.
"""
LIKE_THE_TABLE: dict[type[TrainOp], _Row] = dict.fromkeys((AffineOp, WhereOp), _FROM_RESULT)
"""Elementwise layers that the reference data treat like those of the table, though their derivative reads less: scales
and masks. This holds only where the table is followed throughout (`backward = "table"`)."""
STATISTICS = (BatchNormOp, LayerNormOp)
"""Layers whose further results are statistics as small as their weights, which are no tensors of their own."""
LOSS_STEPS = (5, 2)
"""Operations per element of a cross entropy with its softmax: forward and backward."""


def is_product(op: TrainOp) -> bool:
    """Whether the table treats an operation as a product: type I."""
    return TABLE.get(type(op)) is _PRODUCT


def forward_work(op: TrainOp) -> StepWork:
    """The work of the forward of an operation."""
    if isinstance(op, CrossEntropyOp):
        return StepWork(0, LOSS_STEPS[0] * elements(op.operands[0]))
    work = get_layer(op).work(op)
    return StepWork(work.macs, work.vector_ops)


def table_backward(op: TrainOp, *, throughout: bool) -> Backward | None:
    """
    The backward of an operation by the published table; None for a layer that it does not name.

    `throughout`: layers that resemble those of the table follow it too, as in the reference data.
    """
    if isinstance(op, CrossEntropyOp):
        work = StepWork(0, LOSS_STEPS[1] * elements(op.operands[0]))
        return Backward((), (), work, reads_gradient=False)
    row = TABLE.get(type(op)) or (LIKE_THE_TABLE.get(type(op)) if throughout else None)
    if row is None:
        return None
    forward = forward_work(op)
    if row.steps is not None:
        work = StepWork(0, row.steps * elements(op.results[0]))
    elif row.same:
        work = forward
    else:
        work = forward + forward
    operands = tuple(range(len(op.operands))) if row.operands else ()
    return Backward(operands, (0,) if row.result else (), work)


def derived_backward(op: TrainOp, needs: Sequence[bool]) -> Backward | None:
    """
    The backward of an operation by its derivative, for the operands that need a gradient.

    None where no gradient results.
    """
    block = Block(arg_types=[value.type for value in (*op.operands, *op.results)])
    operands, grads = block.args[: len(op.operands)], block.args[len(op.operands) :]
    again = op.clone(dict(zip(op.operands, operands, strict=True)))
    emitted: list[Operation] = []

    def emit(new: Operation) -> Any:
        emitted.append(new)
        return new

    try:
        given = get_layer(op).vjp(again, list(grads), list(needs), emit)
    except NotDifferentiable:
        return None
    wanted = [value for value, need in zip(given, needs, strict=True) if need and value is not None]
    if not wanted:
        return None
    read = {*wanted, *(value for new in emitted for value in new.operands)}
    work = sum((_work(new) for new in emitted if isinstance(new, TrainOp)), StepWork())
    return Backward(
        tuple(i for i, value in enumerate(operands) if value in read),
        tuple(i for i, value in enumerate(again.results) if value in read),
        work,
        reads_gradient=any(value in read for value in grads),
    )


def _work(op: TrainOp) -> StepWork:
    if get_layer(op).kind in (Kind.VIEW, Kind.CONSTANT):
        return StepWork()
    work = get_layer(op).work(op)
    return StepWork(work.macs, work.vector_ops)


def kind_key(op: Operation, needs: Sequence[bool]) -> Hashable:
    """A key that is equal for operations with the same backward."""
    same = structural_key(op)
    return None if same is None else (same, tuple(needs))

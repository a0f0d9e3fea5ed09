"""The weights of a network whose gradients a predictor predicts: those of its matrix work, with the output of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.transforms.autodiff.updates import Trained
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.arithmetic import AddOp, CastOp
from npuc.dialects.train.conv import ForwardOp
from npuc.dialects.train.conv_transpose import TransposedForwardOp
from npuc.dialects.train.matmul import MatmulOp

Form = Literal["rows", "columns", "kernels", "transposed kernels"]
"""
How the rows of a prediction, one for each output channel, are laid out in a weight: as its rows or its columns, as
kernels [out, in, …] or as kernels of a transposed convolution [in, out, …].
"""


@dataclass(frozen=True)
class PredictedWeight:
    """
    A weight whose gradient is predicted from `output`, the value of its layer whose axis `axis` are its channels.

    A channel has `row` elements of the weight, in the form `form`; `op` is the matrix work.
    """

    name: str
    param: BlockArgument
    op: Operation
    output: SSAValue
    axis: int
    row: int
    form: Form

    @property
    def layer(self) -> str:
        """What its predictor's operations are called in reports."""
        return f"predictor.{self.name.removesuffix('.weight')}"

    @property
    def channels(self) -> int:
        """The output channels of its layer."""
        return shape_of(self.output)[self.axis]

    @property
    def averages(self) -> bool:
        """Whether the channels are of images or sequences, whose samples are averaged."""
        return len(shape_of(self.output)) > 2


def predicted_weights(
    forward: Sequence[Operation], trained: Sequence[Trained], wanted: Callable[[str], bool]
) -> list[PredictedWeight]:
    """
    The weights of matrix products and convolutions among trained parameters, in the order of their last use.

    A weight that several operations read, such as a table of words that also gives the logits, is predicted from the
    output of the last matrix product with it. Batched weights and transposed convolutions in groups are not predicted.
    """
    names: dict[SSAValue, str] = {value: argument.name for argument, value in trained if wanted(argument.name)}
    found: dict[SSAValue, PredictedWeight] = {}
    for op in forward:
        if role_of(op) is Role.FORWARD and isinstance(op, MatmulOp | ForwardOp | TransposedForwardOp):
            for number, operand in enumerate(op.operands[:2]):
                param = _uncast(operand)
                weight = _weight_of(op, number, param, names) if isinstance(param, BlockArgument) else None
                if weight is not None:
                    found.pop(weight.param, None)
                    found[weight.param] = weight
    return list(found.values())


def _uncast(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, CastOp):
        value = value.owner.x
    return value


def _weight_of(
    op: Operation, number: int, param: BlockArgument, names: Mapping[SSAValue, str]
) -> PredictedWeight | None:
    """The weight that is an operand of an operation, by its number; None for one that is not predicted."""
    if param not in names:
        return None
    shape, output = shape_of(param), _with_bias(op.results[0])
    form: Form
    if isinstance(op, MatmulOp):
        if len(shape) != 2 or len(shape_of(op.out)) < 2 or _uncast(op.operands[1 - number]) is param:
            return None
        mark = op.transpose_lhs if number == 0 else op.transpose_rhs
        form = "rows" if (number == 0) is (mark is None) else "columns"
        axis = len(shape_of(op.out)) - (2 if number == 0 else 1)
        row = shape[1] if form == "rows" else shape[0]
        return PredictedWeight(names[param], param, op, output, axis, row, form)
    if number != 1:
        return None
    if isinstance(op, TransposedForwardOp):
        if op.groups.value.data != 1:
            return None
        return PredictedWeight(names[param], param, op, output, 1, prod(shape) // shape[1], "transposed kernels")
    return PredictedWeight(names[param], param, op, output, 1, prod(shape[1:]), "kernels")


def _with_bias(value: SSAValue) -> SSAValue:
    """The sum of a value and a parameter, such as a bias, if nothing else reads the value; else the value."""
    use = value.get_user_of_unique_use()
    if not isinstance(use, AddOp) or shape_of(use.out) != shape_of(value):
        return value
    other = use.operands[1] if use.operands[0] is value else use.operands[0]
    while isinstance(other.owner, Operation) and len(other.owner.operands) == 1:
        other = other.owner.operands[0]
    return use.out if isinstance(other, BlockArgument) and role_of(use) is Role.FORWARD else value

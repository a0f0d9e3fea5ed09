"""Losses and their derivatives. A loss is a scalar."""

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, shape_text


def _scalar(x: Tensor) -> Tensor:
    return tensor_of(x.element_type, [])


def _check_classes(logits: Tensor, labels: Tensor) -> None:
    if not isinstance(labels.element_type, IntegerType):
        raise VerifyException(f"the labels have element type {labels.element_type}, expected i32 or i64")
    if not logits.get_shape() or logits.get_shape()[:-1] != labels.get_shape():
        raise VerifyException(
            f"logits are {shape_text(logits)}, labels {shape_text(labels)}:"
            " expected labels of the logits' shape without the last axis, the classes"
        )


def _check_pair(y: Tensor, target: Tensor) -> None:
    if y != target:
        raise VerifyException(f"prediction is {y}, target is {target}: expected equal types")


class ClassesBase(TrainOp):
    """The operands of cross entropy and its derivative."""

    logits = operand_def(TensorType)
    labels = operand_def(TensorType)
    traits = traits_def(Pure())


class PairBase(TrainOp):
    """The operands of losses between a prediction and a target, and of their derivatives."""

    y = operand_def(TensorType)
    target = operand_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class CrossEntropyOp(ClassesBase):
    """
    `train.cross_entropy %logits, %labels`: mean over rows of -log softmax(logits)[label]; classes on the last axis.
    """

    name = "train.cross_entropy"

    loss = result_def(TensorType)

    @staticmethod
    def infer(logits: Tensor, labels: Tensor) -> Types:
        """One label for each row of logits."""
        _check_classes(logits, labels)
        return (_scalar(logits),)


@irdl_op_definition
class CrossEntropyGradOp(ClassesBase):
    """`train.cross_entropy_grad %logits, %labels`: (softmax(logits) - one hot labels) / rows."""

    name = "train.cross_entropy_grad"

    dlogits = result_def(TensorType)

    @staticmethod
    def infer(logits: Tensor, labels: Tensor) -> Types:
        """One label for each row of logits."""
        _check_classes(logits, labels)
        return (logits,)


@irdl_op_definition
class MseOp(PairBase):
    """`train.mse %y, %target`: the mean of (y - target)^2 over all elements."""

    name = "train.mse"

    loss = result_def(TensorType)

    @staticmethod
    def infer(y: Tensor, target: Tensor) -> Types:
        """Equal types."""
        _check_pair(y, target)
        return (_scalar(y),)


@irdl_op_definition
class MseGradOp(PairBase):
    """`train.mse_grad %y, %target`: 2 (y - target) / elements, the derivative with respect to y."""

    name = "train.mse_grad"

    dy = result_def(TensorType)

    @staticmethod
    def infer(y: Tensor, target: Tensor) -> Types:
        """Equal types."""
        _check_pair(y, target)
        return (y,)


@irdl_op_definition
class DotLossOp(PairBase):
    """`train.dot_loss %y, %target`: the sum of y * target. Linear, so that gradients stay integers in tests."""

    name = "train.dot_loss"

    loss = result_def(TensorType)

    @staticmethod
    def infer(y: Tensor, target: Tensor) -> Types:
        """Equal types."""
        _check_pair(y, target)
        return (_scalar(y),)

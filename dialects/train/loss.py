"""Losses between scores of classes and integer labels, and their derivatives. A loss is a scalar."""

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, StringAttr, TensorType, i1, i8
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, element_text, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_float

REDUCTIONS = ("mean", "sum")
MEAN = encode("mean")


def scalar(x: Tensor) -> Tensor:
    """The type of a loss of x."""
    return tensor_of(x.element_type, [])


def check_reduction(reduction: str, known: tuple[str, ...] = REDUCTIONS) -> None:
    """The rule for how a loss reduces the terms of all elements to one value."""
    if reduction not in known:
        raise VerifyException(f"reduction is '{reduction}', expected one of {', '.join(known)}")


def _check_classes(logits: Tensor, labels: Tensor, reduction: str, label_smoothing: float = 0.0) -> None:
    check_float(logits)
    if labels.element_type in (i1, i8) or not isinstance(labels.element_type, IntegerType):
        raise VerifyException(f"the labels have element type {element_text(labels.element_type)}, expected i32 or i64")
    if not logits.get_shape() or logits.get_shape()[:-1] != labels.get_shape():
        raise VerifyException(
            f"logits are {shape_text(logits)}, labels {shape_text(labels)}:"
            " expected labels of the logits' shape without the last axis, the classes"
        )
    check_reduction(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise VerifyException(f"label_smoothing is {label_smoothing}, expected 0 to 1")


class ClassesBase(TrainOp):
    """
    The operands of losses of classes.

    Rows whose label is `ignore_index` do not count. `reduction` is the mean over the other rows or their sum.
    """

    logits = operand_def(TensorType)
    labels = operand_def(TensorType)
    ignore_index = opt_prop_def(IntegerAttr)
    reduction = prop_def(StringAttr, default_value=MEAN)
    traits = traits_def(Pure())


class CrossEntropyBase(ClassesBase):
    """What cross entropy and its derivative share: `label_smoothing` is the share spread evenly over all classes."""

    label_smoothing = prop_def(FloatAttr, default_value=encode(0.0))


@irdl_op_definition
class CrossEntropyOp(CrossEntropyBase):
    """
    Mean over rows of -log softmax(logits)[label]; classes on the last axis.

    With `label_smoothing 0.1` the target of a row is 0.9 at its label plus 0.1 / classes everywhere; rows whose label
    is `ignore_index 0` do not count; `reduction "sum"` adds the rows. Source: PyTorch's cross_entropy.

        %loss = train.cross_entropy %logits, %labels : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
    """

    name = "train.cross_entropy"

    loss = result_def(TensorType)

    @staticmethod
    def infer(
        logits: Tensor,
        labels: Tensor,
        ignore_index: int | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> Types:
        """One label for each row of logits."""
        _check_classes(logits, labels, reduction, label_smoothing)
        return (scalar(logits),)


@irdl_op_definition
class CrossEntropyGradOp(CrossEntropyBase):
    """
    (softmax(logits) - one hot labels) / rows, zero in ignored rows.

    `rows` are those that count, 1 for the sum; with label smoothing the one hot labels are smoothed.

        %dlogits = train.cross_entropy_grad %logits, %labels : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    """

    name = "train.cross_entropy_grad"

    dlogits = result_def(TensorType)

    @staticmethod
    def infer(
        logits: Tensor,
        labels: Tensor,
        ignore_index: int | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> Types:
        """One label for each row of logits."""
        _check_classes(logits, labels, reduction, label_smoothing)
        return (logits,)


@irdl_op_definition
class NllLossOp(ClassesBase):
    """
    Mean over rows of -log_probs[label]; classes on the last axis.

        %loss = train.nll_loss %log_probs, %labels : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
    """

    name = "train.nll_loss"

    loss = result_def(TensorType)

    @staticmethod
    def infer(logits: Tensor, labels: Tensor, ignore_index: int | None = None, reduction: str = "mean") -> Types:
        """One label for each row."""
        _check_classes(logits, labels, reduction)
        return (scalar(logits),)


@irdl_op_definition
class NllLossGradOp(TrainOp):
    """
    -1 / rows at each label, else 0.

        %dlogits = train.nll_loss_grad %labels : (tensor<2xi32>) -> tensor<2x3xf32>
    """

    name = "train.nll_loss_grad"
    TAKES_RESULT: ClassVar[bool] = True

    labels = operand_def(TensorType)
    ignore_index = opt_prop_def(IntegerAttr)
    reduction = prop_def(StringAttr, default_value=MEAN)
    dlogits = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(labels: Tensor, results: Types, ignore_index: int | None = None, reduction: str = "mean") -> Types:
        """One label for each row of the result."""
        (out,) = results
        _check_classes(out, labels, reduction)
        return (out,)

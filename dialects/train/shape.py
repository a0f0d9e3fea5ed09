"""Reshapes, transpositions and copies along axes."""

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import broadcast


@irdl_op_definition
class ReshapeOp(TrainOp):
    """
    The same elements in row-major order under another shape.

        %y = train.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    """

    name = "train.reshape"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types) -> Types:
        """Equal numbers of elements."""
        (out,) = results
        before, after = prod(x.get_shape()), prod(out.get_shape())
        if before != after:
            raise VerifyException(f"{shape_text(x)} has {before} elements, {shape_text(out)} has {after}")
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class DetachOp(TrainOp):
    """
    x, as a value that no gradient passes.

        %y = train.detach %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.detach"

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand."""
        return (x,)


@irdl_op_definition
class TransposeOp(TrainOp):
    """
    Axis i of the result is axis axes[i] of x.

        %y = train.transpose %x axes [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    """

    name = "train.transpose"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...]) -> Types:
        """`axes` is a permutation of x's axes."""
        shape = x.get_shape()
        if sorted(axes) != list(range(len(shape))):
            raise VerifyException(f"axes is {list(axes)}, expected a permutation of 0 to {len(shape) - 1}")
        return (tensor_of(x.element_type, [shape[a] for a in axes]),)


@irdl_op_definition
class ExpandOp(TrainOp):
    """
    x broadcast to the result's shape by numpy's rule.

        %y = train.expand %x : (tensor<f32>) -> tensor<2xf32>
    """

    name = "train.expand"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types) -> Types:
        """x's shape broadcasts to the result's."""
        (out,) = results
        if broadcast(x.get_shape(), out.get_shape()) != out.get_shape():
            raise VerifyException(f"{shape_text(x)} does not broadcast to {shape_text(out)}")
        return (tensor_of(x.element_type, out.get_shape()),)

"""Permutations of elements along axes, and triangles of matrices."""

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.base import TrainOp, Types, encode


@irdl_op_definition
class FlipOp(TrainOp):
    """
    The elements in reverse order along each of the axes.

        %y = train.flip %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.flip"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...]) -> Types:
        """The type of the operand; different axes of it."""
        _check_axes(x, axes)
        return (x,)


@irdl_op_definition
class RollOp(TrainOp):
    """
    Elements shifted along each axis, from its end back to its start.

        %y = train.roll %x axes [1, 0] shifts [2, -1] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.roll"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    shifts = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...], shifts: tuple[int, ...]) -> Types:
        """The type of the operand; a shift for each axis."""
        _check_axes(x, axes)
        if len(shifts) != len(axes):
            raise VerifyException(f"{len(shifts)} shifts for {len(axes)} axes")
        return (x,)


@irdl_op_definition
class TriangleOp(TrainOp):
    """
    Each matrix of the last two axes with zeros where column > row + diagonal; with `upper` zeros where column < row +
    diagonal.

        %y = train.triangle %x diagonal -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.triangle"

    x = operand_def(TensorType)
    diagonal = prop_def(IntegerAttr, default_value=encode(0))
    upper = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, diagonal: int = 0, upper: bool = False) -> Types:
        """The type of the operand, of rank 2 at least."""
        if len(x.get_shape()) < 2:
            raise VerifyException(f"x is {shape_text(x)}, expected rank 2 or more")
        return (x,)


def _check_axes(x: Tensor, axes: tuple[int, ...]) -> None:
    rank = len(x.get_shape())
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise VerifyException(f"axes is {list(axes)}, expected different axes of {shape_text(x)}")

"""Samples of images at given places, with derivatives."""

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_float, check_output, same_element

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


class GridBase(TrainOp):
    """
    How samples are taken: the elements they weigh, what lies beyond the border, and where -1 and 1 lie.

    With `corners` they are the middles of the first and the last element, else the outer borders of these.
    """

    mode = prop_def(StringAttr, default_value=encode("bilinear"))
    padding = prop_def(StringAttr, default_value=encode("zeros"))
    corners = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())


def _sampled(x: Tensor, grid: Tensor, mode: str, padding: str) -> Types:
    check_float(x)
    axes = len(x.get_shape()) - 2
    if axes not in (2, 3):
        raise VerifyException(f"x is {shape_text(x)}, expected two or three axes behind batch and channels")
    shape = grid.get_shape()
    if len(shape) != axes + 2 or shape[0] != x.get_shape()[0] or shape[-1] != axes:
        expected = f"[{x.get_shape()[0]}, {'…, ' * axes}{axes}]"
        raise VerifyException(f"the grid is {shape_text(grid)}, expected {expected}: a place for each sample")
    if mode not in MODES or padding not in PADDINGS:
        known = f"a mode of {', '.join(MODES)} and a padding of {', '.join(PADDINGS)}"
        raise VerifyException(f"mode is {mode}, padding {padding}, expected {known}")
    if mode == "bicubic" and axes == 3:
        raise VerifyException("mode is bicubic, expected bilinear or nearest for three axes")
    return (tensor_of(same_element(x, grid), (*x.get_shape()[:2], *shape[1:-1])),)


@irdl_op_definition
class GridSampleOp(GridBase):
    """
    The elements of x at places from -1 to 1 along each axis, the last axis of x first (Jaderberg et al. 2015).

        %y = train.grid_sample %x, %grid padding "border" : (tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>)
            -> tensor<2x3x4x5xf32>
    """

    name = "train.grid_sample"

    x = operand_def(TensorType)
    grid = operand_def(TensorType)
    out = result_def(TensorType)

    @staticmethod
    def infer(x: Tensor, grid: Tensor, mode: str = "bilinear", padding: str = "zeros", corners: bool = False) -> Types:
        """[batch, channels] of x, then the axes of the grid but for its last."""
        return _sampled(x, grid, mode, padding)


@irdl_op_definition
class GridSampleDxOp(GridBase):
    """
    The gradient of x: that of each sample, by the weights of the elements it reads.

        %dx = train.grid_sample_dx %dy, %grid corners : (tensor<2x3x4x5xf32>, tensor<2x4x5x2xf32>)
            -> tensor<2x3x8x8xf32>
    """

    name = "train.grid_sample_dx"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    grid = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        grid: Tensor,
        results: Types,
        mode: str = "bilinear",
        padding: str = "zeros",
        corners: bool = False,
    ) -> Types:
        """Sampling the result gives dy's type."""
        check_output(dy, _sampled(results[0], grid, mode, padding), "the samples are")
        return results


@irdl_op_definition
class GridSampleDgridOp(GridBase):
    """
    The gradient of the grid: dy times the slope of x at each place.

        %dgrid = train.grid_sample_dgrid %dy, %x, %grid : (tensor<2x3x4x5xf32>, tensor<2x3x8x8xf32>,
            tensor<2x4x5x2xf32>) -> tensor<2x4x5x2xf32>
    """

    name = "train.grid_sample_dgrid"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    grid = operand_def(TensorType)
    dgrid = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor, x: Tensor, grid: Tensor, mode: str = "bilinear", padding: str = "zeros", corners: bool = False
    ) -> Types:
        """The grid's type."""
        check_output(dy, _sampled(x, grid, mode, padding), "the samples are")
        return (grid,)

"""Pooling of regions of an image to a fixed size, with its derivative."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_float, check_image, check_output, check_positive


class RoiAlignBase(TrainOp):
    """
    The size [height, width] of the result, and how a region is sampled.

    `scale` takes the coordinates of regions to those of the image; each part of a region is the mean of `ratio` x
    `ratio` samples; `aligned` shifts by half a pixel, so that coordinate 0 is the border of pixel 0.
    """

    size = prop_def(DenseArrayBase)
    scale = prop_def(FloatAttr, default_value=encode(1.0))
    ratio = prop_def(IntegerAttr, default_value=encode(2))
    aligned = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())


def _pooled(x: Tensor, rois: Tensor, size: tuple[int, ...], ratio: int) -> Types:
    check_float(x)
    check_image(x)
    if len(rois.get_shape()) != 2 or rois.get_shape()[1] != 5:
        raise VerifyException(f"the regions must be [regions, 5], got {shape_text(rois)}")
    check_positive("size", size, 2)
    if ratio < 1:
        raise VerifyException(f"ratio is {ratio}, expected at least 1")
    return (tensor_of(x.element_type, (rois.get_shape()[0], x.get_shape()[1], *size)),)


@irdl_op_definition
class RoiAlignOp(RoiAlignBase):
    """
    Means of samples of each region, [regions, channels, height, width].

    A region is [image, x1, y1, x2, y2]. Samples are bilinear; one more than a pixel outside the image is 0. Source:
    He, Gkioxari, Dollár, Girshick (2017), as torchvision computes it.

        %y = train.roi_align %x, %rois size [2, 4] scale 0.25 ratio 3 aligned : (tensor<2x3x8x8xf32>, tensor<5x5xf32>)
            -> tensor<5x3x2x4xf32>
    """

    name = "train.roi_align"

    x = operand_def(TensorType)
    rois = operand_def(TensorType)
    out = result_def(TensorType)

    @staticmethod
    def infer(
        x: Tensor, rois: Tensor, size: tuple[int, ...], scale: float = 1.0, ratio: int = 2, aligned: bool = False
    ) -> Types:
        """One result a region."""
        return _pooled(x, rois, size, ratio)


@irdl_op_definition
class RoiAlignGradOp(RoiAlignBase):
    """
    The gradient of the image; the regions have none.

        %dx = train.roi_align_grad %dy, %rois size [2, 4] scale 0.25 aligned : (tensor<5x3x2x4xf32>, tensor<5x5xf32>)
            -> tensor<2x3x8x8xf32>
    """

    name = "train.roi_align_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    rois = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        rois: Tensor,
        results: Types,
        size: tuple[int, ...],
        scale: float = 1.0,
        ratio: int = 2,
        aligned: bool = False,
    ) -> Types:
        """Pooling the result gives dy's type."""
        check_output(dy, _pooled(results[0], rois, size, ratio), "the pooled regions are")
        return results

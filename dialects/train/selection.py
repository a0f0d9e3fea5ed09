"""Places that depend on values, of a number that is known: elements that are not 0, boxes that overlap none before."""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, UnitAttr, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types


@irdl_op_definition
class NonzeroOp(TrainOp):
    """
    The places [size, rank] of the elements that are not 0, in the order of rows; there must be `size` of them.

        %places = train.nonzero %x size 4 : (tensor<2x3xf32>) -> tensor<4x2xi32>
    """

    name = "train.nonzero"

    x = operand_def(TensorType)
    size = prop_def(IntegerAttr)
    places = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, size: int) -> Types:
        """i32 of [size, rank of x]."""
        shape = x.get_shape()
        if not shape:
            raise VerifyException("x is a scalar, expected a tensor")
        count = 1
        for one in shape:
            count *= one
        if not 1 <= size <= count:
            raise VerifyException(f"size is {size}, expected 1 to {count}, the elements of x")
        return (tensor_of(i32, (size, len(shape))),)


@irdl_op_definition
class NmsOp(TrainOp):
    """
    The places [size, 3] of boxes by batch, class and box that overlap no box of a higher score in their class by more
    than `iou`; there must be `size` of them. They stand by batch, class and falling score.

        %places = train.nms %boxes, %scores size 4 iou 0.5 : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<4x3xi32>
    """

    name = "train.nms"

    boxes = operand_def(TensorType)
    scores = operand_def(TensorType)
    size = prop_def(IntegerAttr)
    iou = prop_def(FloatAttr)
    most = opt_prop_def(IntegerAttr)
    least = opt_prop_def(FloatAttr)
    centered = opt_prop_def(UnitAttr)
    places = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        boxes: Tensor,
        scores: Tensor,
        size: int,
        iou: float,
        most: int | None = None,
        least: float | None = None,
        centered: bool = False,
    ) -> Types:
        """i32 of [size, 3]."""
        form, classes = boxes.get_shape(), scores.get_shape()
        if len(form) != 3 or form[2] != 4:
            raise VerifyException("boxes are no tensor of [batch, n, 4]")
        if len(classes) != 3 or (classes[0], classes[2]) != form[:2]:
            raise VerifyException(f"scores are no tensor of [{form[0]}, classes, {form[1]}]")
        kept = form[1] if most is None else min(most, form[1])
        count = classes[0] * classes[1] * kept
        if kept < 1 or not 1 <= size <= count:
            raise VerifyException(f"size is {size}, expected 1 to {count}, the boxes that may stay")
        return (tensor_of(i32, (size, 3)),)

"""Sorted elements along an axis and their places."""

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_axis


@irdl_op_definition
class SortOp(TrainOp):
    """
    The elements in ascending order along an axis, and their places in x; equal ones keep their order.

        %y, %places = train.sort %x axis 1 descending : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    """

    name = "train.sort"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    descending = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    places = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int, descending: bool = False) -> Types:
        """x's type, and i32 of its shape."""
        check_axis(x, axis)
        return x, tensor_of(i32, x.get_shape())


@irdl_op_definition
class ArgsortOp(TrainOp):
    """
    The places of the elements in ascending order along an axis; those of equal ones keep their order.

        %places = train.argsort %x axis 1 descending : (tensor<2x3xf32>) -> tensor<2x3xi32>
    """

    name = "train.argsort"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    descending = opt_prop_def(UnitAttr)
    places = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int, descending: bool = False) -> Types:
        """i32 of x's shape."""
        check_axis(x, axis)
        return (tensor_of(i32, x.get_shape()),)


@irdl_op_definition
class TopkOp(TrainOp):
    """
    The k largest elements along an axis in descending order, and their places in x; with `smallest` the k smallest
    ones in ascending order. The first ones of equal elements are taken first.

        %y, %places = train.topk %x axis 1 k 2 : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    """

    name = "train.topk"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    k = prop_def(IntegerAttr)
    smallest = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    places = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int, k: int, smallest: bool = False) -> Types:
        """x's type with size k along the axis, and i32 of that shape."""
        check_axis(x, axis)
        shape = list(x.get_shape())
        if not 1 <= k <= shape[axis]:
            raise VerifyException(f"k is {k}, expected 1 to {shape[axis]}, the size of axis {axis}")
        shape[axis] = k
        return tensor_of(x.element_type, shape), tensor_of(i32, shape)

"""Gather along an axis by a tensor of indices, and one-hot encoding."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType, UnitAttr, i1, i8
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_axis


@irdl_op_definition
class IndexSelectOp(TrainOp):
    """
    The parts of x at a vector of indices along an axis, in its order; with `negative` one below 0 counts from the end.

        %y = train.index_select %x, %index axis 1 : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<4x3xf32>
    """

    name = "train.index_select"

    x = operand_def(TensorType)
    index = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    negative = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, index: Tensor, axis: int, negative: bool = False) -> Types:
        """x's shape with the number of indices along the axis."""
        return (tensor_of(x.element_type, _selected(x, index, axis)),)


@irdl_op_definition
class IndexSelectDxOp(TrainOp):
    """
    The gradient of x: each part of dy added at its index.

        %dx = train.index_select_dx %dy, %index axis 1 : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<4x6xf32>
    """

    name = "train.index_select_dx"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    index = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    negative = opt_prop_def(UnitAttr)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, index: Tensor, results: Types, axis: int, negative: bool = False) -> Types:
        """Selecting from the result gives dy's shape."""
        (dx,) = results
        check_lookup(dy, _selected(dx, index, axis))
        return (tensor_of(dy.element_type, dx.get_shape()),)


@irdl_op_definition
class GatherOp(TrainOp):
    """
    y[i, j] = x[i, index[i, j]], and so for every rank and axis; with `negative` one below 0 counts from the end.

        %y = train.gather %x, %index axis 1 : (tensor<4x6xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    """

    name = "train.gather"

    x = operand_def(TensorType)
    index = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    negative = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, index: Tensor, axis: int, negative: bool = False) -> Types:
        """The shape of the index, which is as large as x at most on the other axes."""
        check_gather(x, index, axis)
        return (tensor_of(x.element_type, index.get_shape()),)


@irdl_op_definition
class GatherDxOp(TrainOp):
    """
    The gradient of x: each element of dy added at its index.

        %dx = train.gather_dx %dy, %index axis 1 : (tensor<4x2xf32>, tensor<4x2xi64>) -> tensor<4x6xf32>
    """

    name = "train.gather_dx"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    index = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    negative = opt_prop_def(UnitAttr)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, index: Tensor, results: Types, axis: int, negative: bool = False) -> Types:
        """Gathering from the result gives dy's shape."""
        (dx,) = results
        check_gather(dx, index, axis)
        check_lookup(dy, index.get_shape())
        return (tensor_of(dy.element_type, dx.get_shape()),)


@irdl_op_definition
class OneHotOp(TrainOp):
    """
    1 at each index along a new last axis, else 0.

        %y = train.one_hot %ids : (tensor<3xi32>) -> tensor<3x10xf32>
    """

    name = "train.one_hot"
    TAKES_RESULT: ClassVar[bool] = True

    ids = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(ids: Tensor, results: Types) -> Types:
        """The shape of the indices with the number of classes appended."""
        (out,) = results
        check_indices(ids)
        shape = out.get_shape()
        if shape[:-1] != ids.get_shape() or not shape:
            raise VerifyException(f"indices {shape_text(ids)} and result {shape_text(out)} differ before the last axis")
        return (tensor_of(out.element_type, shape),)


def check_indices(index: Tensor) -> None:
    """The rule for indices: integers."""
    if index.element_type == i1:
        raise VerifyException("the indices have element type bool, expected i32 or i64")
    if index.element_type == i8 or not isinstance(index.element_type, IntegerType):
        raise VerifyException(f"the indices have element type {index.element_type}, expected i32 or i64")


def check_gather(x: Tensor, index: Tensor, axis: int) -> None:
    """The rule of gather."""
    check_indices(index)
    check_axis(x, axis)
    shape, picked = x.get_shape(), index.get_shape()
    if len(shape) != len(picked):
        raise VerifyException(f"x is {shape_text(x)}, the index is {shape_text(index)}: expected equal ranks")
    for i, (size, count) in enumerate(zip(shape, picked, strict=True)):
        if i != axis % len(shape) and count > size:
            raise VerifyException(f"axis {i}: the index has size {count}, x only {size}")


def _selected(x: Tensor, index: Tensor, axis: int) -> tuple[int, ...]:
    check_indices(index)
    check_axis(x, axis)
    if len(index.get_shape()) != 1:
        raise VerifyException(f"the index is {shape_text(index)}, expected a vector")
    shape = list(x.get_shape())
    shape[axis] = index.get_shape()[0]
    return tuple(shape)


def check_lookup(dy: Tensor, expected: tuple[int, ...]) -> None:
    """The rule of a lookup's derivative: dy has the shape of the lookup's output, whatever its elements are."""
    if dy.get_shape() != expected:
        raise VerifyException(f"dy is {shape_text(dy)}, the lookup's output is {'x'.join(map(str, expected))}")

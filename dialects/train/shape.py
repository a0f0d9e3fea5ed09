"""Operations that rearrange elements and compute nothing."""

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, same_element, shape_text
from npuc.dialects.train.softmax import check_axis


@irdl_op_definition
class ReshapeOp(TrainOp):
    """
    `train.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>`: the same elements in row-major order under another shape.
    """

    name = "train.reshape"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: tuple[Tensor, ...]) -> Types:
        """Equal numbers of elements."""
        (out,) = results
        before, after = prod(x.get_shape()), prod(out.get_shape())
        if before != after:
            raise VerifyException(f"{shape_text(x)} has {before} elements, {shape_text(out)} has {after}")
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class TransposeOp(TrainOp):
    """`train.transpose %x axes [0, 2, 1]`: axis i of the result is axis axes[i] of x."""

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
class ConcatOp(TrainOp):
    """`train.concat %a, %b axis 1`: the operands one behind the other along an axis."""

    name = "train.concat"

    parts = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(*parts: Tensor, axis: int) -> Types:
        """Equal sizes on all other axes."""
        if not parts:
            raise VerifyException("expected at least one tensor")
        check_axis(parts[0], axis)
        first = list(parts[0].get_shape())
        axis %= len(first)
        total = 0
        for part in parts:
            shape = list(part.get_shape())
            if len(shape) != len(first) or any(
                a != b for i, (a, b) in enumerate(zip(shape, first, strict=True)) if i != axis
            ):
                raise VerifyException(
                    f"{shape_text(part)} and {shape_text(parts[0])} differ outside axis {axis}, along which they join"
                )
            total += shape[axis]
        first[axis] = total
        return (tensor_of(same_element(*parts), first),)


@irdl_op_definition
class SliceOp(TrainOp):
    """
    `train.slice %x starts [0, 2] : (tensor<4x6xf32>) -> tensor<4x3xf32>`: the box of the result's shape at `starts`.
    """

    name = "train.slice"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: tuple[Tensor, ...], starts: tuple[int, ...]) -> Types:
        """The box lies inside x."""
        (out,) = results
        check_box(x, out, starts)
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class PadOp(TrainOp):
    """`train.pad %x starts [0, 2] : (tensor<4x3xf32>) -> tensor<4x6xf32>`: x placed at `starts` in zeros."""

    name = "train.pad"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    starts = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: tuple[Tensor, ...], starts: tuple[int, ...]) -> Types:
        """x fits into the result at `starts`."""
        (out,) = results
        check_box(out, x, starts)
        return (tensor_of(x.element_type, out.get_shape()),)


def check_box(whole: Tensor, part: Tensor, starts: tuple[int, ...]) -> None:
    """The rule of slice and pad: `part` placed at `starts` lies inside `whole`."""
    rank = len(whole.get_shape())
    if len(part.get_shape()) != rank or len(starts) != rank:
        raise VerifyException(f"{shape_text(part)} at {list(starts)} and {shape_text(whole)} differ in rank")
    for axis, (size, inner, start) in enumerate(zip(whole.get_shape(), part.get_shape(), starts, strict=True)):
        if start < 0 or start + inner > size:
            raise VerifyException(f"axis {axis}: {start} to {start + inner} lies outside 0 to {size}")

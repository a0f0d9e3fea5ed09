"""
Concatenation and splitting along an axis: concat and split, stack and unbind.

Each is one operation whatever the number of tensors, and the derivative of its counterpart.
"""

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_axis, same_element


@irdl_op_definition
class ConcatOp(TrainOp):
    """
    The operands one behind the other along an axis.

        %y = train.concat %a, %b axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    """

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
class SplitOp(TrainOp):
    """
    parts of x.

        %parts = train.split %x sizes [4] axis -1 : (tensor<5x4xi32>) -> tensor<5x4xi32>
    """

    name = "train.split"

    x = operand_def(TensorType)
    sizes = prop_def(DenseArrayBase)
    axis = prop_def(IntegerAttr)
    parts = var_result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, sizes: tuple[int, ...], axis: int) -> Types:
        """One result a size; the sizes are positive and add up to x's along the axis."""
        check_axis(x, axis)
        shape = list(x.get_shape())
        if min(sizes, default=0) < 1:
            raise VerifyException(f"sizes is {list(sizes)}, expected positive sizes")
        if sum(sizes) != shape[axis]:
            raise VerifyException(f"sizes is {list(sizes)}, {sum(sizes)} in all; axis {axis} of x has {shape[axis]}")
        axis %= len(shape)
        before, after, element = shape[:axis], shape[axis + 1 :], x.element_type
        return tuple(tensor_of(element, [*before, size, *after]) for size in sizes)


@irdl_op_definition
class StackOp(TrainOp):
    """
    Operands along a new axis.

        %y = train.stack %a, %b axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x2x6xf32>
    """

    name = "train.stack"

    parts = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(*parts: Tensor, axis: int) -> Types:
        """Operands of one type; `axis` is the place of the new axis in the result."""
        if not parts:
            raise VerifyException("expected at least one tensor")
        for part in parts:
            if part != parts[0]:
                raise VerifyException(f"tensors differ: {_text(parts[0])} and {_text(part)}")
        shape = list(parts[0].get_shape())
        rank = len(shape) + 1
        if not -rank <= axis < rank:
            raise VerifyException(f"axis is {axis}, expected {-rank} to {rank - 1} for a stack of {_text(parts[0])}")
        shape.insert(axis % rank, len(parts))
        return (tensor_of(parts[0].element_type, shape),)


@irdl_op_definition
class UnbindOp(TrainOp):
    """
    x at each index of an axis.

        %parts, %parts1, %parts2, %parts3 = train.unbind %x axis 1 : (tensor<5x4xi32>)
            -> (tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>)
    """

    name = "train.unbind"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    parts = var_result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int) -> Types:
        """As many results as x's axis is long, without that axis."""
        check_axis(x, axis)
        shape = list(x.get_shape())
        count = shape.pop(axis)
        return (tensor_of(x.element_type, shape),) * count


def _text(type: Tensor) -> str:
    return f"{shape_text(type)} {type.element_type}"

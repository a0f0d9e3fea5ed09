"""Constants, and tensors in other shapes and orders."""

from math import prod

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr as Dense
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.stablehlo.rules import check_axes, check_length, check_shape, element_of, is_static, shape_text
from npuc.dialects.tensors import shape_of

AXES = DenseArrayBase.constr(i64)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    Numbers that the program holds.

        %y = "stablehlo.constant"() <{value = dense<0.5> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    """

    name = "stablehlo.constant"

    value = prop_def(Dense)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the type of the value."""
        if self.value.type != self.output.type:
            raise VerifyException(f"expected a result {self.value.type}, got {self.output.type}")


@irdl_op_definition
class IotaOp(IRDLOperation):
    """
    The numbers from 0 along an axis.

        %y = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xi32>
    """

    name = "stablehlo.iota"

    iota_dimension = prop_def(IntegerAttr[I64])
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the axis."""
        check_axes((self.iota_dimension.value.data,), len(shape_of(self.output)))


@irdl_op_definition
class BroadcastInDimOp(IRDLOperation):
    """
    A tensor along more axes: of each of its own the one that it becomes; axes of size 1 and others are repeated.

        %y = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1>}>
            : (tensor<3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.broadcast_in_dim"

    operand = operand_def(TensorType)
    broadcast_dimensions = prop_def(AXES)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Each axis of the operand becomes another one of the result, of its size unless it is 1."""
        given, found = shape_of(self.operand), shape_of(self.result)
        axes = self.broadcast_dimensions.get_values()
        check_length(axes, len(given), "broadcast_dimensions")
        check_axes(axes, len(found))
        if is_static(self.operand.type, self.result.type):
            for size, axis in zip(given, axes, strict=True):
                if size not in (1, found[axis]):
                    raise VerifyException(f"an axis of {size} cannot become axis {axis} of {shape_text(found)}")
        check_shape(self.result, found, element_of(self.operand))


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """
    The elements in the same order, in another shape.

        %y = "stablehlo.reshape"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
    """

    name = "stablehlo.reshape"

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Operand and result have as many elements, of one type."""
        given, found = shape_of(self.operand), shape_of(self.result)
        if is_static(self.operand.type, self.result.type) and prod(given) != prod(found):
            raise VerifyException(f"expected {prod(given)} elements, got {prod(found)}")
        check_shape(self.result, found, element_of(self.operand))


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """
    The axes in another order: of each of the result the one that it was.

        %y = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    """

    name = "stablehlo.transpose"

    operand = operand_def(TensorType)
    permutation = prop_def(AXES)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The permutation names each axis once; the result has the sizes in its order."""
        given, axes = shape_of(self.operand), self.permutation.get_values()
        check_length(axes, len(given), "permutation")
        check_axes(axes, len(given))
        check_shape(self.result, [given[axis] for axis in axes], element_of(self.operand))


@irdl_op_definition
class ReverseOp(IRDLOperation):
    """
    The elements along some axes from the last to the first.

        %y = "stablehlo.reverse"(%x) <{dimensions = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.reverse"

    operand = operand_def(TensorType)
    dimensions = prop_def(AXES)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The axes are the operand's; the result has its type."""
        check_axes(self.dimensions.get_values(), len(shape_of(self.operand)))
        check_shape(self.result, shape_of(self.operand), element_of(self.operand))


@irdl_op_definition
class ConcatenateOp(IRDLOperation):
    """
    Tensors one after the other along an axis.

        %y = "stablehlo.concatenate"(%a, %b) <{dimension = 1 : i64}>
            : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    """

    name = "stablehlo.concatenate"

    inputs = var_operand_def(TensorType)
    dimension = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The operands differ in the size along the axis alone; the result has the sum of theirs."""
        if not self.inputs:
            raise VerifyException("expected at least one operand")
        first, axis = shape_of(self.inputs[0]), self.dimension.value.data
        check_axes((axis,), len(first))
        if not is_static(*(one.type for one in self.inputs)):
            return
        for one in self.inputs[1:]:
            shape = shape_of(one)
            if shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :] or len(shape) != len(first):
                raise VerifyException(f"{shape_text(shape)} does not go beside {shape_text(first)} along axis {axis}")
        joined = sum(shape_of(one)[axis] for one in self.inputs)
        check_shape(self.result, (*first[:axis], joined, *first[axis + 1 :]), element_of(self.inputs[0]))


SHAPE = (
    ConstantOp,
    IotaOp,
    BroadcastInDimOp,
    ReshapeOp,
    TransposeOp,
    ReverseOp,
    ConcatenateOp,
)

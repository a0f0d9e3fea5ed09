"""Comparison, choice, and other types of elements."""

from xdsl.dialects.builtin import I32, IntegerAttr, TensorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.stablehlo.base import TestOp, UnaryOp
from npuc.dialects.stablehlo.enums import ComparisonDirectionAttr, ComparisonTypeAttr
from npuc.dialects.stablehlo.rules import check_same_types, check_shape, element_of, is_static, shape_text
from npuc.dialects.tensors import shape_of


@irdl_op_definition
class CompareOp(IRDLOperation):
    """
    Whether two elements are as the direction says.

        %y = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>,
            compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "stablehlo.compare"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Both operands have one type; the result has their shape, in booleans."""
        check_same_types(self.lhs, self.rhs)
        check_shape(self.result, shape_of(self.lhs), i1)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    The element of the first tensor where the predicate is true, else that of the second.

        %y = "stablehlo.select"(%p, %a, %b) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.select"

    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Both tensors and the result have one type; the predicate, booleans, their shape or none."""
        check_same_types(self.on_true, self.on_false, self.result)
        if element_of(self.pred) != i1:
            raise VerifyException(f"expected a predicate of i1, got {element_of(self.pred)}")
        _check_scalar_or_same(self.pred, "predicate", self.result)


def _check_scalar_or_same(found: SSAValue, what: str, whole: SSAValue) -> None:
    """Raise `VerifyException` unless a tensor is a scalar or has the shape of the whole."""
    if is_static(found.type, whole.type):
        shape, expected = shape_of(found), shape_of(whole)
        if shape not in ((), expected):
            raise VerifyException(f"expected a {what} of shape {shape_text(expected)} or [], got {shape_text(shape)}")


@irdl_op_definition
class ClampOp(IRDLOperation):
    """
    The operand, but no less than one tensor and no more than another.

        %y = "stablehlo.clamp"(%low, %x, %high) : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.clamp"

    min = operand_def(TensorType)
    operand = operand_def(TensorType)
    max = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the type of the operand; the bounds its shape or none."""
        check_same_types(self.operand, self.result)
        for bound in (self.min, self.max):
            _check_scalar_or_same(bound, "bound", self.result)


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """
    The elements in another type.

        %y = "stablehlo.convert"(%x) : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    """

    name = "stablehlo.convert"

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the shape of the operand."""
        check_shape(self.result, shape_of(self.operand))


@irdl_op_definition
class BitcastConvertOp(IRDLOperation):
    """
    The bits of the elements, read as another type; a narrower type adds a last axis, a wider one takes it.

        %y = "stablehlo.bitcast_convert"(%x) : (tensor<2x3xf32>) -> tensor<2x3xui32>
    """

    name = "stablehlo.bitcast_convert"

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Operand and result have equal shapes, but for a last axis where the widths of their elements differ."""
        given, found = shape_of(self.operand), shape_of(self.result)
        if not is_static(self.operand.type, self.result.type):
            return
        if given != found and given != found[:-1] and given[:-1] != found:
            raise VerifyException(f"expected shapes with or without a last axis, got {given} and {found}")


@irdl_op_definition
class IsFiniteOp(TestOp):
    """
    Whether each element is neither infinite nor NaN.

        %y = "stablehlo.is_finite"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "stablehlo.is_finite"


@irdl_op_definition
class ReducePrecisionOp(UnaryOp):
    """
    The elements rounded to floats with fewer bits, in the type that they had.

        %y = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}>
            : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.reduce_precision"

    exponent_bits = prop_def(IntegerAttr[I32])
    mantissa_bits = prop_def(IntegerAttr[I32])


CHOICE = (CompareOp, SelectOp, ClampOp, ConvertOp, BitcastConvertOp, IsFiniteOp, ReducePrecisionOp)

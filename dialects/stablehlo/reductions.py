"""Operations that combine elements by a region: reductions, windows, sorting."""

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, BoolAttr, IntegerAttr, TensorType
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr as Dense
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.stablehlo.products import pairs_of
from npuc.dialects.stablehlo.rules import (
    Shape,
    check_axes,
    check_same_types,
    check_shape,
    element_of,
    is_static,
    pooled,
)
from npuc.dialects.stablehlo.shape import AXES
from npuc.dialects.tensors import shape_of


def _check_reduced(inputs: Sequence[SSAValue], inits: Sequence[SSAValue], results: Sequence[SSAValue]) -> Shape:
    """The one shape of the tensors. Raises `VerifyException` unless each has a scalar to start from and a result."""
    if not inputs or len(inputs) != len(results):
        raise VerifyException(f"expected a result for each tensor, got {len(inputs)} and {len(results)}")
    for one, init in zip(inputs, inits, strict=True):
        check_shape(init, ())
        if shape_of(one) != shape_of(inputs[0]) and is_static(one.type, inputs[0].type):
            raise VerifyException(f"expected tensors of one shape, got {shape_of(inputs[0])} and {shape_of(one)}")
    return shape_of(inputs[0])


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """
    The elements along some axes combined to one, in any order, from a start.

        %y = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%s) : (tensor<f32>) -> ()
        }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    """

    name = "stablehlo.reduce"

    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    dimensions = prop_def(AXES)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The tensors have one shape, each with a scalar; the results have it without the axes."""
        shape, axes = _check_reduced(self.inputs, self.init_values, self.results_), self.dimensions.get_values()
        check_axes(axes, len(shape))
        if is_static(*(one.type for one in self.inputs)):
            for result in self.results_:
                check_shape(result, [size for axis, size in enumerate(shape) if axis not in axes])


@irdl_op_definition
class ReduceWindowOp(IRDLOperation):
    """
    The elements of each window combined to one, from a start.

        %y = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2>,
            window_strides = array<i64: 1, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%m) : (tensor<f32>) -> ()
        }) : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.reduce_window"

    inputs = var_operand_def(TensorType)
    init_values = var_operand_def(TensorType)
    window_dimensions = prop_def(AXES)
    window_strides = opt_prop_def(AXES)
    base_dilations = opt_prop_def(AXES)
    window_dilations = opt_prop_def(AXES)
    padding = opt_prop_def(Dense)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The tensors have one shape, each with a scalar; the results have an element for each window."""
        shape = _check_reduced(self.inputs, self.init_values, self.results_)
        if not is_static(*(one.type for one in self.inputs)):
            return
        window = tuple(self.window_dimensions.get_values())
        given = (self.window_strides, self.window_dilations, self.base_dilations)
        ones = (1,) * len(shape)
        strides, dilations, base = (ones if one is None else tuple(one.get_values()) for one in given)
        sizes = pooled(shape, window, strides, dilations, pairs_of(self.padding, len(shape)), base)
        for result in self.results_:
            check_shape(result, sizes)


@irdl_op_definition
class SelectAndScatterOp(IRDLOperation):
    """
    Each element of the source is combined with what is where the element of its window lies that is selected.

    This is the gradient of a largest or least element of windows.

        %y = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 2>,
            window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %p = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}>
            : (tensor<f32>, tensor<f32>) -> tensor<i1>
          "stablehlo.return"(%p) : (tensor<i1>) -> ()
        }, {
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%s) : (tensor<f32>) -> ()
        }) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
    """

    name = "stablehlo.select_and_scatter"

    operand = operand_def(TensorType)
    source = operand_def(TensorType)
    init_value = operand_def(TensorType)
    window_dimensions = opt_prop_def(AXES)
    window_strides = opt_prop_def(AXES)
    padding = opt_prop_def(Dense)
    select = region_def("single_block")
    scatter = region_def("single_block")
    result = result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The source has an element for each window of the operand, whose type the result has."""
        shape = shape_of(self.operand)
        check_shape(self.init_value, (), element_of(self.operand))
        check_same_types(self.operand, self.result)
        if is_static(self.operand.type):
            ones = (1,) * len(shape)
            given = (self.window_dimensions, self.window_strides)
            window, strides = (ones if one is None else tuple(one.get_values()) for one in given)
            edges = pairs_of(self.padding, len(shape))
            check_shape(self.source, pooled(shape, window, strides, ones, edges, ones), element_of(self.operand))


@irdl_op_definition
class SortOp(IRDLOperation):
    """
    Tensors in an order along an axis, all in the one that the region wants of their elements, in pairs.

        %y = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %p = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}>
            : (tensor<f32>, tensor<f32>) -> tensor<i1>
          "stablehlo.return"(%p) : (tensor<i1>) -> ()
        }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.sort"

    inputs = var_operand_def(TensorType)
    dimension = opt_prop_def(IntegerAttr[I64])
    is_stable = opt_prop_def(BoolAttr)
    comparator = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The tensors have one shape; the results have their types."""
        if not self.inputs or len(self.inputs) != len(self.results_):
            raise VerifyException(f"expected a result for each tensor, got {len(self.inputs)} and {len(self.results_)}")
        for one, result in zip(self.inputs, self.results_, strict=True):
            check_same_types(one, result)
            check_shape(one, shape_of(self.inputs[0]))


REDUCTIONS = (ReduceOp, ReduceWindowOp, SelectAndScatterOp, SortOp)

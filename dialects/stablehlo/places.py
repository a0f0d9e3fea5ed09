"""Slices and windows whose places are computed."""

from xdsl.dialects.builtin import BoolAttr, TensorType
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
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.stablehlo.numbering import GatherNumbersAttr, ScatterNumbersAttr
from npuc.dialects.stablehlo.rules import check_axes, check_length, check_same_types, check_shape, element_of, is_static
from npuc.dialects.stablehlo.shape import AXES
from npuc.dialects.tensors import shape_of


@irdl_op_definition
class GatherOp(IRDLOperation):
    """
    Slices of an operand, one at each place that the indices name; places are moved so that slices lie within.

        %y = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
            collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
            slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}>
            : (tensor<9x4xf32>, tensor<5x1xi32>) -> tensor<5x4xf32>
    """

    name = "stablehlo.gather"

    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    dimension_numbers = prop_def(GatherNumbersAttr)
    slice_sizes = prop_def(AXES)
    indices_are_sorted = opt_prop_def(BoolAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the axes of the indices but that of their vectors, and among them those of a slice."""
        given, indices = shape_of(self.operand), shape_of(self.start_indices)
        numbers, sizes = self.dimension_numbers.data, self.slice_sizes.get_values()
        check_length(sizes, len(given), "slice_sizes")
        gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        check_axes(gone, len(given))
        check_axes(numbers.start_index_map, len(given))
        if not is_static(self.operand.type, self.start_indices.type):
            return
        if not 0 <= numbers.index_vector_dim <= len(indices):
            raise VerifyException(f"index_vector_dim {numbers.index_vector_dim} is no axis of {indices}")
        if not all(0 <= part <= size for part, size in zip(sizes, given, strict=True)):
            raise VerifyException(f"a slice of {sizes} does not lie within {given}")
        outer = [size for axis, size in enumerate(indices) if axis != numbers.index_vector_dim]
        inner = [size for axis, size in enumerate(sizes) if axis not in gone]
        check_length(numbers.offset_dims, len(inner), "offset_dims")
        check_axes(numbers.offset_dims, len(outer) + len(inner))
        rest, part = iter(outer), iter(inner)
        shape = [next(part if axis in numbers.offset_dims else rest) for axis in range(len(outer) + len(inner))]
        check_shape(self.result, shape, element_of(self.operand))


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """
    Windows of updates combined with the operand, one at each place that the indices name; those outside are left out.

        %y = "stablehlo.scatter"(%table, %ids, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<
            update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
            index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%s) : (tensor<f32>) -> ()
        }) : (tensor<9x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<9x4xf32>
    """

    name = "stablehlo.scatter"

    inputs = var_operand_def(TensorType)
    scatter_indices = operand_def(TensorType)
    updates = var_operand_def(TensorType)
    scatter_dimension_numbers = prop_def(ScatterNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    unique_indices = opt_prop_def(BoolAttr)
    update_computation = region_def("single_block")
    results_ = var_result_def(TensorType)

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The axes are the operands'; the results have the types of the operands."""
        if not self.inputs or len(self.inputs) != len(self.results_):
            raise VerifyException(f"expected a result for each tensor, got {len(self.inputs)} and {len(self.results_)}")
        numbers = self.scatter_dimension_numbers.data
        for one, update, result in zip(self.inputs, self.updates, self.results_, strict=True):
            check_same_types(one, result)
            check_axes((*numbers.inserted_window_dims, *numbers.input_batching_dims), len(shape_of(one)))
            check_axes(numbers.scatter_dims_to_operand_dims, len(shape_of(one)))
            check_axes(numbers.update_window_dims, len(shape_of(update)))


PLACES = (GatherOp, ScatterOp)

"""Parts of tensors: slices, updates of them, padding."""

from xdsl.dialects.builtin import TensorType
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

from npuc.dialects.stablehlo.rules import check_length, check_same_types, check_shape, element_of, is_static, shape_text
from npuc.dialects.stablehlo.shape import AXES
from npuc.dialects.tensors import shape_of


@irdl_op_definition
class SliceOp(IRDLOperation):
    """
    The elements from a start to a limit, which does not count, each so many along every axis.

        %y = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 6>,
            strides = array<i64: 1, 2>}> : (tensor<2x6xf32>) -> tensor<2x3xf32>
    """

    name = "stablehlo.slice"

    operand = operand_def(TensorType)
    start_indices = prop_def(AXES)
    limit_indices = prop_def(AXES)
    strides = prop_def(AXES)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Start and limit are within the operand, in this order, and strides at least 1."""
        given = shape_of(self.operand)
        starts, limits = self.start_indices.get_values(), self.limit_indices.get_values()
        strides = self.strides.get_values()
        for what, numbers in (("start_indices", starts), ("limit_indices", limits), ("strides", strides)):
            check_length(numbers, len(given), what)
        if not is_static(self.operand.type):
            return
        sizes: list[int] = []
        for size, start, limit, stride in zip(given, starts, limits, strides, strict=True):
            if not 0 <= start <= limit <= size or stride < 1:
                raise VerifyException(f"{start} to {limit}, each {stride}, is no slice of an axis of {size}")
            sizes.append(-(-(limit - start) // stride))
        check_shape(self.result, sizes, element_of(self.operand))


@irdl_op_definition
class DynamicSliceOp(IRDLOperation):
    """
    A part of a given size from a start that is computed; the start is moved so that the part lies within.

        %y = "stablehlo.dynamic_slice"(%x, %i, %j) <{slice_sizes = array<i64: 1, 3>}>
            : (tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    """

    name = "stablehlo.dynamic_slice"

    operand = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    slice_sizes = prop_def(AXES)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """A start and a size along each axis, no more than the operand's."""
        given, sizes = shape_of(self.operand), self.slice_sizes.get_values()
        check_length(self.start_indices, len(given), "start_indices")
        check_length(sizes, len(given), "slice_sizes")
        if is_static(self.operand.type) and not all(0 <= part <= size for part, size in zip(sizes, given, strict=True)):
            raise VerifyException(f"a part of {shape_text(sizes)} does not lie within {shape_text(given)}")
        check_shape(self.result, sizes, element_of(self.operand))


@irdl_op_definition
class DynamicUpdateSliceOp(IRDLOperation):
    """
    The operand with other elements from a start that is computed, which is moved so that they lie within.

        %y = "stablehlo.dynamic_update_slice"(%x, %part, %i, %j)
            : (tensor<2x6xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
    """

    name = "stablehlo.dynamic_update_slice"

    operand = operand_def(TensorType)
    update = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """A start along each axis; the update is no larger than the operand, whose type the result has."""
        given, sizes = shape_of(self.operand), shape_of(self.update)
        check_length(self.start_indices, len(given), "start_indices")
        check_length(sizes, len(given), "the shape of the update")
        static = is_static(self.operand.type, self.update.type)
        if static and any(part > size for part, size in zip(sizes, given, strict=True)):
            raise VerifyException(f"an update of {shape_text(sizes)} does not lie within {shape_text(given)}")
        check_same_types(self.operand, self.result)


@irdl_op_definition
class PadOp(IRDLOperation):
    """
    The operand with a value before, after and between its elements; a negative number before or after takes some away.

        %y = "stablehlo.pad"(%x, %c) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, -1>,
            interior_padding = array<i64: 1, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
    """

    name = "stablehlo.pad"

    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    edge_padding_low = prop_def(AXES)
    edge_padding_high = prop_def(AXES)
    interior_padding = prop_def(AXES)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The value is a scalar; of each axis three numbers, the one between elements not below 0."""
        check_shape(self.padding_value, (), element_of(self.operand))
        given = shape_of(self.operand)
        low, high = self.edge_padding_low.get_values(), self.edge_padding_high.get_values()
        inner = self.interior_padding.get_values()
        for what, numbers in (("edge_padding_low", low), ("edge_padding_high", high), ("interior_padding", inner)):
            check_length(numbers, len(given), what)
        if any(number < 0 for number in inner):
            raise VerifyException(f"expected interior_padding of at least 0, got {shape_text(inner)}")
        if is_static(self.operand.type):
            along = zip(given, low, high, inner, strict=True)
            sizes = [size + before + after + max(size - 1, 0) * between for size, before, after, between in along]
            if min(sizes, default=0) < 0:
                raise VerifyException(f"more is taken away than there is: {shape_text(sizes)}")
            check_shape(self.result, sizes, element_of(self.operand))


PARTS = (SliceOp, DynamicSliceOp, DynamicUpdateSliceOp, PadOp)

"""Products: of matrices with batches, and convolutions."""

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType, TensorType, i1
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr as Dense
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

from npuc.dialects.stablehlo.enums import PrecisionAttr
from npuc.dialects.stablehlo.numbering import ConvNumbersAttr, DotNumbersAttr
from npuc.dialects.stablehlo.rules import Shape, check_axes, check_length, check_shape, is_static, pooled
from npuc.dialects.stablehlo.shape import AXES
from npuc.dialects.tensors import shape_of


@irdl_op_definition
class DotGeneralOp(IRDLOperation):
    """
    Sums of products over pairs of axes; pairs of batches come first in the result, then what is left of both operands.

        %y = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0],
            rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}>
            : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
    """

    name = "stablehlo.dot_general"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    dot_dimension_numbers = prop_def(DotNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Axes are paired with those of their size, each once; the result has the batches and all others in order."""
        numbers, lhs, rhs = self.dot_dimension_numbers.data, shape_of(self.lhs), shape_of(self.rhs)
        left = (*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions)
        right = (*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions)
        check_length(numbers.rhs_batching_dimensions, len(numbers.lhs_batching_dimensions), "rhs_batching_dimensions")
        check_length(right, len(left), "the dimensions of the right operand")
        check_axes(left, len(lhs))
        check_axes(right, len(rhs))
        if not is_static(self.lhs.type, self.rhs.type):
            return
        for one, other in zip(left, right, strict=True):
            if lhs[one] != rhs[other]:
                raise VerifyException(f"axis {one} of {lhs[one]} is paired with axis {other} of {rhs[other]}")
        batches = [lhs[axis] for axis in numbers.lhs_batching_dimensions]
        check_shape(self.result, (*batches, *_others(lhs, left), *_others(rhs, right)))


def _others(shape: Shape, axes: Sequence[int]) -> list[int]:
    """The sizes of the axes that are not named."""
    return [size for axis, size in enumerate(shape) if axis not in axes]


@irdl_op_definition
class ConvolutionOp(IRDLOperation):
    """
    Sums of products of a kernel with the windows of an operand.

    Both may be spread: `lhs_dilation` is the distance of the operand's elements in the padded one, with zeros between,
    `rhs_dilation` that of the kernel's. The kernel is not turned unless `window_reversal` says so. Feature groups
    connect parts of the features, batch groups parts of the batch, to parts of the result's features.

        %y = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
            dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>,
            padding = dense<1> : tensor<2x2xi64>, window_strides = array<i64: 2, 2>}>
            : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
    """

    name = "stablehlo.convolution"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    window_strides = opt_prop_def(AXES)
    padding = opt_prop_def(Dense)
    lhs_dilation = opt_prop_def(AXES)
    rhs_dilation = opt_prop_def(AXES)
    window_reversal = opt_prop_def(DenseArrayBase.constr(i1))
    dimension_numbers = prop_def(ConvNumbersAttr)
    feature_group_count = prop_def(IntegerAttr[I64])
    batch_group_count = prop_def(IntegerAttr[I64])
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def strides(self) -> Shape:
        """The distance of windows along each spatial axis."""
        return self._each(self.window_strides)

    def dilations(self) -> tuple[Shape, Shape]:
        """The distance of the elements of operand and kernel along each spatial axis."""
        return self._each(self.lhs_dilation), self._each(self.rhs_dilation)

    def edges(self) -> tuple[tuple[int, int], ...]:
        """The padding before and after each spatial axis."""
        return pairs_of(self.padding, self.dimension_numbers.data.spatial)

    def _each(self, numbers: DenseArrayBase[IntegerType] | None) -> Shape:
        return (1,) * self.dimension_numbers.data.spatial if numbers is None else tuple(numbers.get_values())

    def verify_(self) -> None:
        """Operands have the axes that are numbered; features and groups fit; the result has a window's sum a place."""
        numbers, given, kernel = self.dimension_numbers.data, shape_of(self.lhs), shape_of(self.rhs)
        check_length(given, len(numbers.lhs), "the shape of the operand")
        check_length(kernel, len(numbers.rhs), "the shape of the kernel")
        if not is_static(self.lhs.type, self.rhs.type):
            return
        lhs, rhs = dict(zip(numbers.lhs, given, strict=True)), dict(zip(numbers.rhs, kernel, strict=True))
        groups, batches = self.feature_group_count.value.data, self.batch_group_count.value.data
        if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
            raise VerifyException(f"expected feature or batch groups, got {groups} and {batches}")
        if lhs["f"] != rhs["i"] * groups or lhs["b"] % batches or rhs["o"] % groups or rhs["o"] % batches:
            raise VerifyException(f"operand {given} and kernel {kernel} do not fit {groups} and {batches} groups")
        axes = [str(axis) for axis in range(numbers.spatial)]
        base, dilation = self.dilations()
        spatial, window = tuple(lhs[axis] for axis in axes), tuple(rhs[axis] for axis in axes)
        places = pooled(spatial, window, self.strides(), dilation, self.edges(), base)
        sizes = {"b": lhs["b"] // batches, "f": rhs["o"], **dict(zip(axes, places, strict=True))}
        check_shape(self.result, [sizes[axis] for axis in numbers.result])


def pairs_of(padding: Dense | None, axes: int) -> tuple[tuple[int, int], ...]:
    """The padding before and after each axis; none where it is not given. Raises `VerifyException`."""
    if padding is None:
        return ((0, 0),) * axes
    if padding.get_shape() != (axes, 2):
        raise VerifyException(f"expected padding of shape [{axes}, 2], got {padding.get_shape()}")
    numbers = [int(number) for number in padding.iter_values() if isinstance(number, int)]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


PRODUCTS = (DotGeneralOp, ConvolutionOp)

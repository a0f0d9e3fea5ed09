"""
The matrix of sliding windows: `npu.im2col` and its transpose `npu.col2im`.

    %c = npu.im2col %x rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3)
         [b, i, y * 2 + r - 1, x * 2 + s - 1]
         : (tensor<2x3x8x8xf32>) -> tensor<32x27xf32>

Each row is a window: element (row, column) of the matrix is the element of the tensor at the index map of the
dimensions of row and column, 0 outside the tensor. `col2im` adds each element of the matrix to the element of the
tensor at that index. With `batch (g = 2)` in front, for grouped convolutions, there is one matrix for each value of
these dimensions.
"""

from collections.abc import Sequence
from math import prod
from typing import Self, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import DimsAttr, MapAttr
from npuc.dialects.npu.nest import Axis
from npuc.dialects.npu.syntax import parse_dims, parse_map, parse_types, print_dims, print_map, print_tail

Dims = Sequence[tuple[str, int]]


class WindowOp(IRDLOperation):
    """Base of the two: the dimensions of rows and columns, and the index map of the tensor."""

    source = operand_def(base(TensorType))
    result = result_def(base(TensorType))
    rows_attr = prop_def(DimsAttr, prop_name="rows")
    cols_attr = prop_def(DimsAttr, prop_name="cols")
    batch_attr = opt_prop_def(DimsAttr, prop_name="batch")
    map_attr = prop_def(MapAttr, prop_name="map")

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue | Operation,
        rows: Dims,
        cols: Dims,
        axes: Sequence[Axis],
        result_shape: Sequence[int],
        batch: Dims = (),
    ):
        source = SSAValue.get(source)
        properties: dict[str, Attribute] = {
            "rows": DimsAttr(tuple(rows)),
            "cols": DimsAttr(tuple(cols)),
            "map": MapAttr(tuple(axes)),
        }
        if batch:
            properties["batch"] = DimsAttr(tuple(batch))
        element = cast(TensorType[Attribute], source.type).get_element_type()
        super().__init__(operands=[source], result_types=[TensorType(element, result_shape)], properties=properties)

    @property
    def groups(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """The dimensions of each axis of the matrix."""
        batch = self.batch_attr
        return ((batch.data,) if batch is not None else ()) + (self.rows_attr.data, self.cols_attr.data)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The index map of the tensor."""
        return self.map_attr.data

    @property
    def matrix(self) -> SSAValue:
        """The matrix of windows: a result of `im2col`, an operand of `col2im`."""
        return self.result

    @property
    def image(self) -> SSAValue:
        """The tensor to which the index map applies."""
        return self.source

    def verify_(self) -> None:
        """
        Every dimension of batch, rows and columns is used by the map once; the matrix has their sizes, the tensor the
        map's rank.
        """
        sizes = [pair for group in self.groups for pair in group]
        names = [name for name, _ in sizes]
        if len(set(names)) != len(names):
            raise VerifyException(f"a dimension is named twice: {', '.join(names)}")
        used = [dim for axis in self.axes for dim in axis.dims]
        if sorted(used) != sorted(names):
            raise VerifyException(f"the map uses {', '.join(used)}, expected each of {', '.join(names)} once")
        matrix = cast(TensorType[Attribute], self.matrix.type)
        expected = tuple(prod(size for _, size in group) for group in self.groups)
        if matrix.get_shape() != expected:
            raise VerifyException(f"expected a matrix of {'x'.join(map(str, expected))}, got {matrix}")
        image = cast(TensorType[Attribute], self.image.type)
        if len(image.get_shape()) != len(self.axes):
            raise VerifyException(f"the map has {len(self.axes)} indices, the tensor is {image}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("batch"):
            properties["batch"] = DimsAttr(parse_dims(parser))
        for name in ("rows", "cols"):
            parser.parse_keyword(name)
            properties[name] = DimsAttr(parse_dims(parser))
        known = [dim for attr in properties.values() for dim, _ in cast(DimsAttr, attr).data]
        properties["map"] = MapAttr(parse_map(parser, known))
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs, start = parse_types(parser)
        operands = parser.resolve_operands([operand], inputs, start)
        return cls.create(operands=operands, result_types=outputs, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        for name, group in zip(("batch", "rows", "cols")[-len(self.groups) :], self.groups, strict=True):
            printer.print_string(f" {name} ")
            print_dims(printer, group)
        printer.print_string(" ")
        print_map(printer, self.axes)
        print_tail(printer, self)


@irdl_op_definition
class Im2ColOp(WindowOp):
    """
    The windows of a tensor as the rows of a matrix.

        %y = npu.im2col %x rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 2 + s - 1]
            : (tensor<2x3x8x8xf32>) -> tensor<32x27xf32>
    """

    name = "npu.im2col"

    def __init__(self, source: SSAValue | Operation, rows: Dims, cols: Dims, axes: Sequence[Axis], batch: Dims = ()):
        groups = [group for group in (batch, rows, cols) if group]
        super().__init__(source, rows, cols, axes, [prod(size for _, size in group) for group in groups], batch)


@irdl_op_definition
class Col2ImOp(WindowOp):
    """
    The sum of windows, the rows of a matrix, at their positions in a tensor.

        %y = npu.col2im %x rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 2 + s - 1]
            : (tensor<32x27xf32>) -> tensor<2x3x8x8xf32>
    """

    name = "npu.col2im"

    @property
    def matrix(self) -> SSAValue:
        return self.source

    @property
    def image(self) -> SSAValue:
        return self.result

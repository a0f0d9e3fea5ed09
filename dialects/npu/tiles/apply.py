"""
`npu.apply`: elementwise work on a block that lies in SPM, the tile level of a fused `npu.vector`.

    %w1, %v1 = npu.apply sgd(%w_b, %dW_b, %v_b) <{lr = 1.0 : f64}> into (%w_b, %v_b) on 8x4[k, n] over (k = %k : 2)
      {layer = "w", role = "update"} : (!npu.block<2x4xf64>, …) -> (!npu.block<2x4xf64>, …)

`on 8x4[k, n]` is the shape of the whole tensor and the index map of its block: the positions that the work is done at
are those that the map reaches in the box and that are inside the tensor.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.syntax import parse_map, parse_shape, parse_types, print_map, print_shape
from npuc.dialects.npu.tiles.box import BoxOp, parse_box, shape_of


@irdl_op_definition
class ApplyOp(BoxOp):
    """
    The operation `train.<kind>` on the elements of blocks: those of its box; a smaller operand is repeated.

    The results take the place of the blocks `into`, which must not be looked at any more; they may be operands.

        %w1 = npu.apply sgd(%w, %dw) <{lr = 1.0 : f64}> into (%w) on 6x4[m, n] over (m = %m : 2, n = 0 : 4)
            : (!npu.block<2x4xf32>, !npu.block<2x4xf32>) -> !npu.block<2x4xf32>
    """

    name = "npu.apply"

    args = var_operand_def(BlockType)
    into = var_operand_def(BlockType)
    outs = var_result_def(BlockType)
    kind_attr = prop_def(StringAttr, prop_name="kind")
    params_attr = prop_def(DictionaryAttr, prop_name="params")
    shape_attr = prop_def(DenseArrayBase, prop_name="shape")
    map_attr = prop_def(MapAttr, prop_name="map")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        kind: StringAttr,
        params: DictionaryAttr,
        args: Sequence[SSAValue],
        into: Sequence[SSAValue],
        shape: Sequence[int],
        map_: MapAttr,
        box: BoxAttr,
        indices: Sequence[SSAValue],
    ):
        """`kind` and `params` are those of an `npu.vector` whose results have this shape."""
        super().__init__(
            operands=[args, into, indices],
            result_types=[[value.type for value in into]],
            properties={
                "kind": kind,
                "params": params,
                "shape": DenseArrayBase.from_list(i64, shape),
                "map": map_,
                "box": box,
            },
        )

    @property
    def kind(self) -> str:
        """The name of the train operation, without `train.`."""
        return self.kind_attr.data

    @property
    def params(self) -> Mapping[str, Attribute]:
        """The properties of the train operation."""
        return self.params_attr.data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor that the results are blocks of."""
        return tuple(cast("DenseArrayBase[IntegerType]", self.shape_attr).get_values())

    def verify_(self) -> None:
        """
        The results have the types of the blocks whose place they take; each operand is a block of the box, or repeated
        in it.
        """
        super().verify_()
        if not self.outs or [value.type for value in self.into] != list(self.result_types):
            raise VerifyException("its results must have the types of the blocks whose place they take, one for one")
        shape, axes = self.shape, self.map_attr.data
        if len(axes) != len(shape):
            raise VerifyException(f"the map has {len(axes)} indices, the tensor {len(shape)}")
        room = block_shape(axes, shape, self.box_attr.extents)
        for value in self.outs:
            self.check_map(axes, value)
            if shape_of(value) != room:
                raise VerifyException(f"the box reaches {'x'.join(map(str, room))} elements, the block is {value.type}")
        for value in self.args:
            own = shape_of(value)
            first = len(shape) - len(own)
            if first < 0 or any(
                n not in (1, *sizes) for n, *sizes in zip(own, room[first:], shape[first:], strict=True)
            ):
                raise VerifyException(f"{value.type} is neither a block of the box nor a tensor that is repeated in it")

    @classmethod
    def parse(cls, parser: Parser) -> "ApplyOp":
        def places() -> list[UnresolvedOperand]:
            return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)

        kind = StringAttr(parser.parse_identifier(" of a train operation"))
        args = places()
        params = DictionaryAttr(parser.parse_optional_properties_dict())
        parser.parse_keyword("into")
        into = places()
        parser.parse_keyword("on")
        shape = parse_shape(parser)
        map_ = MapAttr(parse_map(parser, None))
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs, start = parse_types(parser)
        values = parser.resolve_operands(args, inputs, start), parser.resolve_operands(into, outputs, start)
        op = cls(kind, params, *values, shape, map_, box, indices)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind}")
        with printer.in_parens():
            printer.print_list(self.args, printer.print_operand)
        if self.params:
            printer.print_string(" ")
            with printer.in_angle_brackets():
                printer.print_attr_dict(self.params)
        printer.print_string(" into ")
        with printer.in_parens():
            printer.print_list(self.into, printer.print_operand)
        printer.print_string(" on ")
        print_shape(printer, self.shape)
        print_map(printer, self.map_attr.data)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([value.type for value in self.args], self.result_types)

"""
The tile level: blocks of tensors moved between DRAM and SPM, and contractions of blocks.

    %e = npu.empty : tensor<6x8xf64>
    %x = npu.load %X[m, k] over (m = %m : 2 in 6, k = 0 : 8) {tensor = "X"} : tensor<6x8xf64> -> !npu.block<2x8xf64>
    %p = npu.load partial %e1[m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"}
         : tensor<6x4xf64> -> !npu.block<2x4xf64>
    %z = npu.zero [m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"} : !npu.block<2x4xf64>
    %s = npu.start %z[m, n] from %b[n] over (m = %m : 2, n = %n : 4) : !npu.block<2x4xf64>, !npu.block<4xf64>
    %a = npu.mac %s[m, n] += %x[m, k] * %w[k, n] over (…) : !npu.block<…>, !npu.block<…>, !npu.block<…>
    %f = npu.store %a into %e[m, n] over (m = %m : 2, n = %n : 4) {tensor = "Y"} : !npu.block<2x4xf64>, tensor<6x4xf64>
    %y = npu.finish %f from %B axes [1] {tensor = "Y"} : tensor<6x4xf64>, tensor<4xf64>

Accumulators hold partial sums, whose type (`sums.py`) may be wider than the result's, and so does a tensor of blocks
that leave SPM before they are finished. Finished sums become elements of the result once: in a block before it is
stored, or, where an element may be stored several times, as the tensor is handed on.

    %c = npu.convert %a : !npu.block<2x4xf32> -> !npu.block<2x4xbf16>
    %y = npu.finish %f {tensor = "Y"} : tensor<6x4xf32> -> tensor<6x4xbf16>

Each works on a box (`box.py`). A block holds the distinct elements that its index map reaches in its box; positions
outside the tensor are 0 and are dropped when stored. DRAM tensors and accumulators are values, of which only the latest
may be used: an accumulator is updated in place by `start` and `mac`, a tensor by `store`. `tensor` names the tensor of
the nest.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, UnitAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr
from npuc.dialects.npu.box import BoxOp, parse_box, parse_place, parse_type_list, print_place, print_types, shape_of
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.syntax import parse_map, print_map
from npuc.dialects.npu.widths import is_sum, widths_of

_UNIT = UnitAttr()


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """A tensor in DRAM that nothing was written to yet."""

    name = "npu.empty"

    result = result_def(base(TensorType))

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, type_: Attribute):
        super().__init__(result_types=[type_])

    @classmethod
    def parse(cls, parser: Parser) -> "EmptyOp":
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.result])


@irdl_op_definition
class LoadOp(BoxOp):
    """
    Read a block from DRAM: the distinct elements inside the tensor that the index map reaches in the box.

    With `partial` the tensor is one of partial sums, and elements that were not written yet are not read but 0. With
    `when` false nothing is read, and the block must not be looked at.
    """

    name = "npu.load"

    tensor = operand_def(base(TensorType))
    when = opt_operand_def(eq(i1))
    block = result_def(BlockType)
    map_attr = prop_def(MapAttr, prop_name="map")
    partial_attr = opt_prop_def(UnitAttr, prop_name="partial")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        tensor: SSAValue | Operation,
        map_: MapAttr,
        box: BoxAttr,
        indices: Sequence[SSAValue],
        *,
        partial: bool = False,
        when: SSAValue | None = None,
    ):
        tensor = SSAValue.get(tensor)
        type_ = cast(TensorType[Attribute], tensor.type)
        block = BlockType(block_shape(map_.data, type_.get_shape(), box.extents), type_.get_element_type())
        super().__init__(
            operands=[tensor, when, indices],
            result_types=[block],
            properties={"map": map_, "box": box, "partial": _UNIT if partial else None},
        )

    @property
    def partial(self) -> bool:
        """Whether the tensor is one of partial sums."""
        return self.partial_attr is not None

    def verify_(self) -> None:
        super().verify_()
        self.check_block(self.map_attr.data, self.tensor, self.block)

    @classmethod
    def parse(cls, parser: Parser) -> "LoadOp":
        partial = parser.parse_optional_keyword("partial") is not None
        tensor, map_ = parse_place(parser)
        box, indices = parse_box(parser)
        when = None
        if parser.parse_optional_keyword("when"):
            when = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        (value,) = parser.resolve_operands([tensor], types, start)
        return cls.build(
            operands=[value, when, indices],
            result_types=[result],
            properties={"map": map_, "box": box, "partial": _UNIT if partial else None},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" partial " if self.partial else " ")
        print_place(printer, self.tensor, self.map_attr)
        self.print_box(printer)
        if self.when is not None:
            printer.print_string(" when ")
            printer.print_operand(self.when)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.tensor])
        printer.print_string(" -> ")
        printer.print_attribute(self.block.type)


@irdl_op_definition
class ZeroOp(BoxOp):
    """A block of zeros at the place of a box: what an accumulator starts from that was never visited before."""

    name = "npu.zero"

    block = result_def(BlockType)
    map_attr = prop_def(MapAttr, prop_name="map")

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, map_: MapAttr, box: BoxAttr, indices: Sequence[SSAValue], block: BlockType):
        super().__init__(operands=[indices], result_types=[block], properties={"map": map_, "box": box})

    def verify_(self) -> None:
        super().verify_()
        self.check_map(self.map_attr.data, self.block)
        shape = shape_of(self.block)
        room = block_shape(self.map_attr.data, shape, self.box_attr.extents)
        if shape != room:
            raise VerifyException(
                f"the box reaches {'x'.join(map(str, room))} elements, the block is {self.block.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> "ZeroOp":
        map_ = MapAttr(parse_map(parser, None))
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.build(
            operands=[indices],
            result_types=[parser.parse_type()],
            properties={"map": map_, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_map(printer, self.map_attr.data)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.block])


@irdl_op_definition
class StartOp(BoxOp):
    """
    Give the elements of an accumulator in the box their start, those that have one already (stored before, or by an
    earlier `npu.start`) excepted.

    Each axis of the start indexes like one axis of the accumulator and is repeated over the others.
    """

    name = "npu.start"

    acc = operand_def(BlockType)
    source = operand_def(BlockType)
    result = result_def(BlockType)
    acc_map = prop_def(MapAttr)
    source_map = prop_def(MapAttr)

    traits = traits_def(Pure())

    def __init__(
        self,
        acc: SSAValue,
        acc_map: MapAttr,
        source: SSAValue,
        source_map: MapAttr,
        box: BoxAttr,
        indices: Sequence[SSAValue],
    ):
        super().__init__(
            operands=[acc, source, indices],
            result_types=[acc.type],
            properties={"acc_map": acc_map, "source_map": source_map, "box": box},
        )

    def verify_(self) -> None:
        super().verify_()
        self.check_map(self.acc_map.data, self.acc)
        self.check_map(self.source_map.data, self.source)
        if self.result.type != self.acc.type:
            raise VerifyException(f"expected {self.acc.type}, got {self.result.type}")
        for axis in self.source_map.data:
            if axis not in self.acc_map.data:
                raise VerifyException(f"index {axis} of the start is no index of the accumulator")

    @classmethod
    def parse(cls, parser: Parser) -> "StartOp":
        acc, acc_map = parse_place(parser)
        parser.parse_keyword("from")
        source, source_map = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([acc, source], types, start)
        return cls.build(
            operands=[*values, indices],
            result_types=types[:1],
            properties={"acc_map": acc_map, "source_map": source_map, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_place(printer, self.acc, self.acc_map)
        printer.print_string(" from ")
        print_place(printer, self.source, self.source_map)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.acc, self.source])


@irdl_op_definition
class MacOp(BoxOp):
    """One statement of a nest on a box: `acc[…] += lhs[…] * rhs[…]`, all three in SPM."""

    name = "npu.mac"

    acc = operand_def(BlockType)
    lhs = operand_def(BlockType)
    rhs = operand_def(BlockType)
    result = result_def(BlockType)
    acc_map = prop_def(MapAttr)
    lhs_map = prop_def(MapAttr)
    rhs_map = prop_def(MapAttr)

    traits = traits_def(Pure())

    def __init__(
        self, operands: Sequence[SSAValue], maps: Sequence[MapAttr], box: BoxAttr, indices: Sequence[SSAValue]
    ):
        """`operands` and `maps` are those of the accumulator, the left and the right factor."""
        properties = dict(zip(("acc_map", "lhs_map", "rhs_map"), maps, strict=True))
        super().__init__(
            operands=[*operands, indices], result_types=[operands[0].type], properties={**properties, "box": box}
        )

    def verify_(self) -> None:
        super().verify_()
        self.check_map(self.acc_map.data, self.acc)
        self.check_map(self.lhs_map.data, self.lhs)
        self.check_map(self.rhs_map.data, self.rhs)
        if self.result.type != self.acc.type:
            raise VerifyException(f"expected {self.acc.type}, got {self.result.type}")
        element = cast(BlockType, self.acc.type).element_type
        if not is_sum(element, element, self):
            bits = widths_of(self).accumulator_bits
            raise VerifyException(f"accumulators have {bits} bits here (accumulator_bits), got one of {element}")

    @classmethod
    def parse(cls, parser: Parser) -> "MacOp":
        acc, acc_map = parse_place(parser)
        parser.parse_punctuation("+")
        parser.parse_punctuation("=")
        lhs, lhs_map = parse_place(parser)
        parser.parse_punctuation("*")
        rhs, rhs_map = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([acc, lhs, rhs], types, start)
        return cls.build(
            operands=[*values, indices],
            result_types=types[:1],
            properties={"acc_map": acc_map, "lhs_map": lhs_map, "rhs_map": rhs_map, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_place(printer, self.acc, self.acc_map)
        printer.print_string(" += ")
        print_place(printer, self.lhs, self.lhs_map)
        printer.print_string(" * ")
        print_place(printer, self.rhs, self.rhs_map)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.acc, self.lhs, self.rhs])


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """The finished sums of a block as elements of the result's type; the new block takes the place of the old one."""

    name = "npu.convert"

    block = operand_def(BlockType)
    result = result_def(BlockType)

    assembly_format = "$block attr-dict `:` type($block) `->` type($result)"

    def __init__(self, block: SSAValue, element: Attribute):
        shape = cast(BlockType, block.type).get_shape()
        super().__init__(operands=[block], result_types=[BlockType(shape, element)])

    def verify_(self) -> None:
        own, new = cast(BlockType, self.block.type), self.result.type
        if own.get_shape() != new.get_shape():
            raise VerifyException(f"expected a block of the shape of {own}, got {new}")
        _check_sum(self, own.element_type, new.element_type)


def _check_sum(op: Operation, own: Attribute, result: Attribute) -> None:
    """Raise unless elements of the type `own` are partial sums of results of a type."""
    if not is_sum(own, result, op):
        bits = widths_of(op).accumulator_bits
        raise VerifyException(f"partial sums of {result} in {bits}-bit accumulators are no {own}")


@irdl_op_definition
class StoreOp(BoxOp):
    """Write a block to DRAM; the result is the tensor after it."""

    name = "npu.store"

    block = operand_def(BlockType)
    tensor = operand_def(base(TensorType))
    result = result_def(base(TensorType))
    map_attr = prop_def(MapAttr, prop_name="map")

    def __init__(self, block: SSAValue, tensor: SSAValue, map_: MapAttr, box: BoxAttr, indices: Sequence[SSAValue]):
        super().__init__(
            operands=[block, tensor, indices], result_types=[tensor.type], properties={"map": map_, "box": box}
        )

    def verify_(self) -> None:
        super().verify_()
        self.check_block(self.map_attr.data, self.tensor, self.block)
        if self.result.type != self.tensor.type:
            raise VerifyException(f"expected {self.tensor.type}, got {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> "StoreOp":
        block = parser.parse_unresolved_operand()
        parser.parse_keyword("into")
        tensor, map_ = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([block, tensor], types, start)
        return cls.build(
            operands=[*values, indices],
            result_types=types[1:],
            properties={"map": map_, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.block)
        printer.print_string(" into ")
        print_place(printer, self.tensor, self.map_attr)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.block, self.tensor])


@irdl_op_definition
class FinishOp(IRDLOperation):
    """
    Write what no store wrote, zeros or the start, and hand the tensor on as an ordinary one.

    Axis i of the start runs along axis `axes[i]` of the tensor and is repeated over the others. Elements of the start
    that no stored element took are read.

    Of a tensor of partial sums the result has the result's type. That moves nothing: the last store of an element
    finishes it and writes it in that type. The indices of the loops tell the last one, so that no condition is written.
    """

    name = "npu.finish"

    tensor = operand_def(base(TensorType))
    start = opt_operand_def(base(TensorType))
    result = result_def(base(TensorType))
    axes_attr = opt_prop_def(DenseArrayBase, prop_name="axes")

    def __init__(
        self,
        tensor: SSAValue,
        start: SSAValue | None = None,
        axes: Sequence[int] = (),
        type_: Attribute | None = None,
    ):
        """`type_` is that of the result, where the tensor is one of partial sums."""
        super().__init__(
            operands=[tensor, start],
            result_types=[tensor.type if type_ is None else type_],
            properties={"axes": None if start is None else DenseArrayBase.from_list(i64, axes)},
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """The axis of the tensor for each axis of the start."""
        attr = self.axes_attr
        return () if attr is None else tuple(cast(DenseArrayBase[IntegerType], attr).get_values())

    def verify_(self) -> None:
        if self.result.type != self.tensor.type:
            if shape_of(self.result) != shape_of(self.tensor):
                raise VerifyException(f"expected a tensor of the shape of {self.tensor.type}, got {self.result.type}")
            own, result = (cast("TensorType[Attribute]", v.type).element_type for v in (self.tensor, self.result))
            _check_sum(self, own, result)
        if (self.start is None) != (self.axes_attr is None):
            raise VerifyException("a start and its axes go together")
        if self.start is None:
            return
        shape, axes = shape_of(self.tensor), self.axes
        if len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
            raise VerifyException(f"axes are {list(axes)}, expected different ones below {len(shape)}")
        expected = tuple(shape[axis] for axis in axes)
        if shape_of(self.start) != expected:
            raise VerifyException(f"expected a start of {'x'.join(map(str, expected))}, got {self.start.type}")

    @classmethod
    def parse(cls, parser: Parser) -> "FinishOp":
        operands = [parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("from"):
            operands.append(parser.parse_unresolved_operand())
            parser.parse_keyword("axes")
            axes = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )
            properties["axes"] = DenseArrayBase.from_list(i64, axes)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands(operands, types, start)
        result = parser.parse_type() if parser.parse_optional_punctuation("->") else types[0]
        return cls.create(operands=values, result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tensor)
        if self.start is not None:
            printer.print_string(" from ")
            printer.print_operand(self.start)
            printer.print_string(f" axes [{', '.join(map(str, self.axes))}]")
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.operands)
        if self.result.type != self.tensor.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)


def _check_same(tensor: SSAValue, block: SSAValue) -> None:
    """Raise unless a block is that of all of a tensor."""
    type_ = cast("TensorType[Attribute]", tensor.type)
    expected = BlockType(type_.get_shape(), type_.get_element_type())
    if block.type != expected:
        raise VerifyException(f"the block of all of {type_} is {expected}, got {block.type}")


@irdl_op_definition
class AsBlockOp(IRDLOperation):
    """The block of a whole tensor, which an operation before has left in SPM: nothing is read."""

    name = "npu.as_block"

    value = operand_def(base(TensorType))
    result = result_def(BlockType)

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        type_ = cast("TensorType[Attribute]", value.type)
        super().__init__(operands=[value], result_types=[BlockType(type_.get_shape(), type_.get_element_type())])

    def verify_(self) -> None:
        _check_same(self.value, self.result)


@irdl_op_definition
class AsTensorOp(IRDLOperation):
    """The tensor of a block that is all of it, and stays in SPM for the operations that use it: nothing is written."""

    name = "npu.as_tensor"

    value = operand_def(BlockType)
    result = result_def(base(TensorType))

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        type_ = cast(BlockType, value.type)
        super().__init__(operands=[value], result_types=[TensorType(type_.element_type, type_.get_shape())])

    def verify_(self) -> None:
        _check_same(self.result, self.value)

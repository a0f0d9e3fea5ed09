"""
Attributes and types of the npu dialect: each wraps frozen plain data, so that operations can share it.

    #npu.nest<(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)>
    #npu.schedule<loops [m : 2] keep(W = 1) spm 320 bytes>
    #npu.map<[b, i, y * 2 + r - 1, x * 2 + s - 1]>
    #npu.dims<(b = 2, y = 4)>
    #npu.box<(m = ? : 2 in 6, n = 0 : 4)>
    !npu.block<2x4xf64>
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Axis, Nest, Schedule, Tensor
from npuc.dialects.npu.schedule_syntax import parse_schedule, schedule_text
from npuc.dialects.npu.syntax import (
    parse_dims,
    parse_map,
    parse_nest,
    parse_shape,
    print_dims,
    print_map,
    print_nest,
    print_shape,
)
from npuc.dialects.products import DENSE


@irdl_attr_definition
class NestAttr(Data[Nest]):
    """The nest of a contraction; the text of an operation gives operands in place of the shapes of its tensors."""

    name = "npu.nest"

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the nest; checked once for all operations that share it."""
        return tuple(self.data.problems())

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Nest:
        def place_in() -> tuple[int, ...]:
            return parse_shape(parser)

        def place_out() -> tuple[int, ...]:
            parser.parse_punctuation("=")
            return parse_shape(parser)

        with parser.in_angle_brackets():
            return parse_nest(parser, place_in, place_out).nest(lambda tensor: tensor.place)

    def print_parameter(self, printer: Printer) -> None:
        def place_in(tensor: Tensor) -> None:
            print_shape(printer, tensor.shape)

        def place_out(tensor: Tensor) -> None:
            printer.print_string(" = ")
            print_shape(printer, tensor.shape)

        with printer.in_angle_brackets():
            print_nest(printer, self.data, place_in, place_out)


@lru_cache(maxsize=4096)
def shared_nest(nest: Nest) -> NestAttr:
    """The shared attribute of a nest; passes follow from types and machine, so that none are written down."""
    return NestAttr(replace(nest, statements=tuple(replace(s, passes=1, factors=DENSE) for s in nest.statements)))


@irdl_attr_definition
class ScheduleAttr(Data[Schedule]):
    """The schedule of a contraction."""

    name = "npu.schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Schedule:
        with parser.in_angle_brackets():
            return parse_schedule(parser, None) or Schedule()

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(schedule_text(self.data))


@lru_cache(maxsize=4096)
def shared_schedule(schedule: Schedule) -> ScheduleAttr:
    """The shared attribute of a schedule."""
    return ScheduleAttr(schedule)


@irdl_attr_definition
class MapAttr(Data[tuple[Axis, ...]]):
    """The index map of one tensor, one index per axis."""

    name = "npu.map"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Axis, ...]:
        with parser.in_angle_brackets():
            return parse_map(parser, None)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_map(printer, self.data)


@irdl_attr_definition
class DimsAttr(Data[tuple[tuple[str, int], ...]]):
    """Named dimensions with their sizes."""

    name = "npu.dims"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, int], ...]:
        with parser.in_angle_brackets():
            return parse_dims(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_dims(printer, self.data)


@frozen
class Range:
    """
    The part of a dimension that a tile operation works on: `extent` indices from `offset`, those below `limit` only.

    An offset or limit of None is an operand of the operation; `limited` false means that the range is never clipped.
    """

    dim: str
    offset: int | None
    extent: int
    limit: int | None = None
    limited: bool = False

    @property
    def operands(self) -> int:
        """The number of operands of the operation that belong to this range."""
        return (self.offset is None) + (self.limited and self.limit is None)

    def resolve(self, values: Sequence[int]) -> tuple[int, int]:
        """The first index and the one past the last, given the values of the range's operands."""
        given = iter(values)
        low = next(given) if self.offset is None else self.offset
        high = low + self.extent
        if self.limited:
            high = min(high, next(given) if self.limit is None else self.limit)
        return low, max(low, high)

    def text(self, operands: Sequence[str] = ("?", "?")) -> str:
        """`m = %m : 2 in 6`, with these texts for the operands."""
        given = iter(operands)
        text = f"{self.dim} = {next(given) if self.offset is None else self.offset} : {self.extent}"
        if self.limited:
            text += f" in {next(given) if self.limit is None else self.limit}"
        return text


def parse_ranges(parser: AttrParser, parse_number: Callable[[], int | None]) -> tuple[Range, ...]:
    """The ranges of a box; `parse_number` reads an offset or a limit, and returns None if it is an operand."""

    def parse_one() -> Range:
        dim = parser.parse_identifier(" of a dimension")
        parser.parse_punctuation("=")
        offset = parse_number()
        parser.parse_punctuation(":")
        extent = parser.parse_integer(allow_boolean=False)
        limited = parser.parse_optional_keyword("in") is not None
        return Range(dim, offset, extent, parse_number() if limited else None, limited)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one, " in a box"))


@irdl_attr_definition
class BoxAttr(Data[tuple[Range, ...]]):
    """The box of the nest that a tile operation works on, one range per dimension."""

    name = "npu.box"

    @cached_property
    def operands(self) -> int:
        """The number of index operands of the box."""
        return sum(r.operands for r in self.data)

    @cached_property
    def extents(self) -> dict[str, int]:
        """The largest extent of each dimension."""
        return {r.dim: r.extent for r in self.data}

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Range, ...]:
        def parse_number() -> int | None:
            return None if parser.parse_optional_punctuation("?") else parser.parse_integer(allow_boolean=False)

        with parser.in_angle_brackets():
            return parse_ranges(parser, parse_number)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"({', '.join(r.text() for r in self.data)})")


@irdl_attr_definition
class BlockType(ParametrizedAttribute, TypeAttribute):
    """
    A block of a tensor in SPM, written `!npu.block<2x4xf64>`.

    The shape is the largest number of distinct positions along each axis; a block at the edge of the tensor has fewer.
    """

    name = "npu.block"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    def __init__(self, shape: Sequence[int], element_type: Attribute):
        super().__init__(ArrayAttr([IntAttr(size) for size in shape]), element_type)

    def get_shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return tuple(size.data for size in self.shape)

    @property
    def elements(self) -> int:
        """The number of elements that the block occupies in SPM."""
        product = 1
        for size in self.shape:
            product *= size.data
        return product

    def verify(self) -> None:
        if any(size.data < 0 for size in self.shape):
            raise VerifyException(f"sizes of a block must not be negative, got {self.get_shape()}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
        return ArrayAttr([IntAttr(size) for size in shape]), element_type

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for size in self.shape:
                printer.print_string(f"{size.data}x")
            printer.print_attribute(self.element_type)

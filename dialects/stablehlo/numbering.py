"""
Which axes of operands and results play which part, in MLIR's syntax.

    #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>
    #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>
    #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
    #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>

Fields that are empty or 0 are not written.
"""

from dataclasses import fields
from typing import ClassVar, TypeVar, cast

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from npuc.compiler.core.frozen import frozen

Axes = tuple[int, ...]


@frozen
class DotNumbers:
    """The axes of a product's operands that are batches and those that are contracted, in pairs."""

    lhs_batching_dimensions: Axes = ()
    rhs_batching_dimensions: Axes = ()
    lhs_contracting_dimensions: Axes = ()
    rhs_contracting_dimensions: Axes = ()


@frozen
class GatherNumbers:
    """Which axes of the result are of a slice, which axes of the operand a slice lacks, and what indices name."""

    offset_dims: Axes = ()
    collapsed_slice_dims: Axes = ()
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()
    start_index_map: Axes = ()
    index_vector_dim: int = 0


@frozen
class ScatterNumbers:
    """Which axes of the updates are of a window, which axes of the operand a window lacks, and what indices name."""

    update_window_dims: Axes = ()
    inserted_window_dims: Axes = ()
    input_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()
    scatter_dims_to_operand_dims: Axes = ()
    index_vector_dim: int = 0


@frozen
class ChannelHandle:
    """The channel of an exchange between processes."""

    handle: int
    type: int


@frozen
class ConvNumbers:
    """
    The parts of a convolution's axes, a name for each.

    `b` and `f` are of operand and result, `i` and `o` of the kernel; spatial axes have numbers from 0.
    """

    lhs: tuple[str, ...]
    rhs: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def spatial(self) -> int:
        """How many spatial axes there are."""
        return len(self.lhs) - 2


Numbers = DotNumbers | GatherNumbers | ScatterNumbers | ChannelHandle
NumbersT = TypeVar("NumbersT", DotNumbers, GatherNumbers, ScatterNumbers, ChannelHandle)


class _FieldsAttr(Data[NumbersT]):
    """An attribute of named fields, each a list of axes or a number."""

    KIND: ClassVar[type[Numbers]]
    WHOLE: ClassVar[bool] = False
    """Whether all fields are written."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> NumbersT:
        default = {one.name: one.default for one in fields(cls.KIND)}
        given: dict[str, Axes | int] = {}

        def parse_field() -> None:
            place = parser.pos
            name = parser.parse_identifier()
            if name not in default or name in given:
                problem = "a second" if name in given else "no"
                parser.raise_error(f"{problem} field '{name}', expected one of {', '.join(default)}", place, parser.pos)
            parser.parse_punctuation("=")
            if isinstance(default[name], tuple):
                given[name] = tuple(
                    parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer())
                )
            else:
                given[name] = parser.parse_integer()

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        if cls.WHOLE and (missing := sorted(default.keys() - given.keys())):
            parser.raise_error(f"field '{missing[0]}' is missing")
        return cast("NumbersT", cls.KIND(**given))  # pyright: ignore[reportArgumentType]

    def print_parameter(self, printer: Printer) -> None:
        parts: list[str] = []
        for one in fields(self.KIND):
            value: Axes | int = getattr(self.data, one.name)
            if value or self.WHOLE:
                text = f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
                parts.append(f"{one.name} = {text}")
        with printer.in_angle_brackets():
            printer.print_string(", ".join(parts))


@irdl_attr_definition
class DotNumbersAttr(_FieldsAttr[DotNumbers]):
    """The axes of a product's operands that are batches and those that are contracted."""

    name = "stablehlo.dot"
    KIND = DotNumbers


@irdl_attr_definition
class GatherNumbersAttr(_FieldsAttr[GatherNumbers]):
    """How indices name slices of an operand."""

    name = "stablehlo.gather"
    KIND = GatherNumbers


@irdl_attr_definition
class ScatterNumbersAttr(_FieldsAttr[ScatterNumbers]):
    """How indices name windows of an operand."""

    name = "stablehlo.scatter"
    KIND = ScatterNumbers


@irdl_attr_definition
class ChannelHandleAttr(_FieldsAttr[ChannelHandle]):
    """The channel of an exchange."""

    name = "stablehlo.channel_handle"
    KIND = ChannelHandle
    WHOLE = True


@irdl_attr_definition
class ConvNumbersAttr(Data[ConvNumbers]):
    """The parts of a convolution's axes."""

    name = "stablehlo.conv"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConvNumbers:
        with parser.in_angle_brackets():
            lhs = _parse_axes(parser, ("b", "f"))
            # `x[` is a word and a bracket; the lexer splits them.
            parser.parse_keyword("x")
            rhs = _parse_axes(parser, ("i", "o"))
            parser.parse_punctuation("->")
            result = _parse_axes(parser, ("b", "f"))
        if not len(lhs) == len(rhs) == len(result):
            parser.raise_error("operand, kernel and result of a convolution have axes of other numbers")
        return ConvNumbers(lhs, rhs, result)

    def print_parameter(self, printer: Printer) -> None:
        lhs, rhs, result = (f"[{', '.join(part)}]" for part in (self.data.lhs, self.data.rhs, self.data.result))
        with printer.in_angle_brackets():
            printer.print_string(f"{lhs}x{rhs}->{result}")


def _parse_axes(parser: AttrParser, letters: tuple[str, str]) -> tuple[str, ...]:
    """The parts of the axes of one tensor, in brackets: two letters, and the numbers from 0."""

    def parse_axis() -> str:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier() if number is None else str(number)

    place = parser.pos
    found = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_axis))
    expected = {*letters, *map(str, range(len(found) - 2))}
    if len(found) < 2 or set(found) != expected:
        names = f"'{letters[0]}', '{letters[1]}' and the numbers of spatial axes"
        parser.raise_error(f"expected {names}, each once, got {list(found)}", place, parser.pos)
    return found

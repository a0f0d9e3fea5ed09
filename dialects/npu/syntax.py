"""
Parsing and printing of index maps and nests, for attributes and for the custom syntax of operations.

    map        ::= `[` (index (`,` index)*)? `]`              index ::= term ((`+` | `-`) term)*
    term       ::= dimension (`*` integer)? | integer
    dimensions ::= `(` (name `=` integer),* `)`
    nest       ::= dimensions `ins` `(` (name `=` place map),* `)`
                   `outs` `(` (out (`from` place map)?),* `)` `do` `(` statement,* `)`

A place is an SSA value in an operation (outs have none: `dX[m, k]`), and a shape in an attribute (`dX = 6x8[m, k]`).
`schedule_syntax.py` has schedules.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Generic, TypeVar

from xdsl.ir import Attribute, Operation
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor

PlaceT = TypeVar("PlaceT")


def unknown_dimension(name: str, known: Collection[str]) -> str:
    """The message of the parser for an undeclared dimension."""
    return f"unknown dimension '{name}', the nest has {', '.join(known)}"


def parse_dims(parser: AttrParser) -> tuple[tuple[str, int], ...]:
    """Parse `(m = 6, n = 4)`; a duplicate name is an error at its place."""
    names: set[str] = set()

    def parse_one() -> tuple[str, int]:
        start = parser.pos
        name = parser.parse_identifier(" of a dimension")
        if name in names:
            parser.raise_error(f"dimension {name} is named twice", start, start + len(name))
        names.add(name)
        parser.parse_punctuation("=")
        return name, parser.parse_integer(allow_boolean=False)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one, " in the dimensions"))


def print_dims(printer: Printer, dims: Sequence[tuple[str, int]]) -> None:
    """Print `(m = 6, n = 4)`."""
    printer.print_string(f"({', '.join(f'{name} = {size}' for name, size in dims)})")


def parse_known_dim(parser: AttrParser, known: Collection[str] | None) -> str:
    """Parse the name of a dimension; `known` None accepts any."""
    start = parser.pos
    return known_dim(parser.parse_identifier(" of a dimension"), parser, start, known)


def known_dim(name: str, parser: AttrParser, start: int, known: Collection[str] | None) -> str:
    """The name of a dimension that stands at `start`, if it is known."""
    if known is not None and name not in known:
        parser.raise_error(unknown_dimension(name, known), start, start + len(name))
    return name


def parse_axis(parser: AttrParser, known: Collection[str] | None) -> Axis:
    """Parse one index: a sum of dimension x coefficient and constants."""
    terms: list[tuple[str, int]] = []
    offset = 0
    sign = -1 if parser.parse_optional_punctuation("-") else 1
    while True:
        start = parser.pos
        constant = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if constant is not None:
            offset += sign * constant
        else:
            dim = parse_known_dim(parser, known)
            starred = parser.parse_optional_punctuation("*") is not None
            coefficient = sign * (parser.parse_integer(allow_boolean=False) if starred else 1)
            if coefficient < 1:
                parser.raise_error(f"coefficient of {dim} is {coefficient}, expected at least 1", start, parser.pos)
            terms.append((dim, coefficient))
        if parser.parse_optional_punctuation("+"):
            sign = 1
        elif parser.parse_optional_punctuation("-"):
            sign = -1
        else:
            return Axis(tuple(terms), offset)


def parse_map(parser: AttrParser, known: Collection[str] | None) -> tuple[Axis, ...]:
    """Parse an index map `[b, y * 2 + r - 1]`, one index per axis."""
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_axis(parser, known), " in an index map"
        )
    )


def print_map(printer: Printer, axes: Sequence[Axis]) -> None:
    """Print an index map in square brackets."""
    printer.print_string(f"[{', '.join(map(str, axes))}]")


@frozen
class ParsedTensor(Generic[PlaceT]):
    """A parsed tensor: its place is an operand, a shape, or None."""

    name: str
    place: PlaceT
    axes: tuple[Axis, ...]


@frozen
class ParsedNest(Generic[PlaceT]):
    """A parsed nest; `nest` builds the `Nest` once the shapes are known."""

    dims: tuple[tuple[str, int], ...]
    ins: tuple[ParsedTensor[PlaceT], ...]
    outs: tuple[ParsedTensor[PlaceT], ...]
    starts: tuple[ParsedTensor[PlaceT] | None, ...]
    statements: tuple[Statement, ...]

    def nest(self, shape_of: Callable[[ParsedTensor[PlaceT]], tuple[int, ...]]) -> Nest:
        """The nest with the shapes that `shape_of` gives its tensors."""

        def tensor(parsed: ParsedTensor[PlaceT]) -> Tensor:
            return Tensor(parsed.name, shape_of(parsed), parsed.axes)

        return Nest(
            self.dims,
            tuple(tensor(t) for t in self.ins),
            tuple(tensor(t) for t in self.outs),
            tuple(None if t is None else tensor(t) for t in self.starts),
            self.statements,
        )


def parse_statement(parser: AttrParser) -> Statement:
    """Parse `Y += X * W`."""
    out = parser.parse_identifier(" of a result")
    parser.parse_punctuation("+")
    parser.parse_punctuation("=")
    lhs = parser.parse_identifier(" of an input")
    parser.parse_punctuation("*")
    return Statement(out, lhs, parser.parse_identifier(" of an input"))


def parse_nest(
    parser: AttrParser, in_place: Callable[[], PlaceT], out_place: Callable[[], PlaceT]
) -> ParsedNest[PlaceT]:
    """Parse a nest; `in_place` parses the place of an input or start, `out_place` that of a result."""
    dims = parse_dims(parser)
    known = [name for name, _ in dims]
    starts: list[ParsedTensor[PlaceT] | None] = []

    def parse_in() -> ParsedTensor[PlaceT]:
        name = parser.parse_identifier(" of a tensor")
        parser.parse_punctuation("=")
        return ParsedTensor(name, in_place(), parse_map(parser, known))

    def parse_out() -> ParsedTensor[PlaceT]:
        out = ParsedTensor(parser.parse_identifier(" of a result"), out_place(), parse_map(parser, known))
        start = None
        if parser.parse_optional_keyword("from"):
            start = ParsedTensor(f"{out.name}0", in_place(), parse_map(parser, known))
        starts.append(start)
        return out

    parser.parse_keyword("ins")
    ins = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_in, " in ins")
    parser.parse_keyword("outs")
    outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_out, " in outs")
    parser.parse_keyword("do")
    statements = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parse_statement(parser), " in the statements"
    )
    return ParsedNest(dims, tuple(ins), tuple(outs), tuple(starts), tuple(statements))


def print_nest(
    printer: Printer, nest: Nest, in_place: Callable[[Tensor], None], out_place: Callable[[Tensor], None]
) -> None:
    """Print a nest; the two functions print the place of an input or start, and of a result."""

    def print_in(tensor: Tensor) -> None:
        printer.print_string(f"{tensor.name} = ")
        in_place(tensor)
        print_map(printer, tensor.axes)

    def print_out(pair: tuple[Tensor, Tensor | None]) -> None:
        out, start = pair
        printer.print_string(out.name)
        out_place(out)
        print_map(printer, out.axes)
        if start is not None:
            printer.print_string(" from ")
            in_place(start)
            print_map(printer, start.axes)

    print_dims(printer, nest.dims)
    printer.print_string(" ins")
    with printer.in_parens():
        printer.print_list(nest.ins, print_in)
    printer.print_string(" outs")
    with printer.in_parens():
        printer.print_list(zip(nest.outs, nest.starts, strict=True), print_out)
    printer.print_string(f" do({', '.join(map(str, nest.statements))})")


def parse_shape(parser: AttrParser) -> tuple[int, ...]:
    """Parse `6x4`; nothing for a scalar."""
    return tuple(parser.parse_dimension_list())


def print_shape(printer: Printer, shape: Sequence[int]) -> None:
    """Print `6x4`; nothing for a scalar."""
    printer.print_string("x".join(map(str, shape)))


def parse_types(parser: Parser) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...], int]:
    """Parse `: (types) -> types`: the operand types, the result types, and where they start."""
    parser.parse_punctuation(":")
    start = parser.pos
    function = parser.parse_function_type()
    return function.inputs.data, function.outputs.data, start


def print_tail(printer: Printer, op: Operation, noted: Sequence[tuple[str, Attribute]] = ()) -> None:
    """
    Print the attribute dictionary and the functional type that end every operation of the dialect.

    `noted` are properties to print in the dictionary, after the attributes.
    """
    printer.print_op_attributes({**op.attributes, **dict(noted)})
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)

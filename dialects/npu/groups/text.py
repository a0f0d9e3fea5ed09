"""The properties of `npu.group`, and the parts of its text."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser

from npuc.dialects.npu.groups.batches import WHOLE, Batches
from npuc.dialects.npu.groups.walk import HALOS, RowWalk


def numbers(attr: Attribute | None) -> tuple[int, ...]:
    """The numbers of an array of them; none where it is not there."""
    return tuple(attr.get_values()) if isinstance(attr, DenseArrayBase) else ()


def properties(
    batches: Batches, slices: Sequence[int], joins: Sequence[int], held: Sequence[int], walk: RowWalk | None
) -> dict[str, Attribute]:
    """The properties of a group."""
    found: dict[str, Attribute] = {
        "micro": IntegerAttr(batches.micro, i64),
        "samples": IntegerAttr(batches.samples, i64),
        "slices": DenseArrayBase.from_list(i64, slices),
        "joins": DenseArrayBase.from_list(i64, joins),
    }
    if held:
        found["held"] = DenseArrayBase.from_list(i64, held)
    if walk is not None:
        found["rows"] = DenseArrayBase.from_list(i64, (walk.rows, walk.height, walk.axis))
        found["halo"] = StringAttr(walk.halo)
    return found


def parse_walk(parser: Parser) -> RowWalk | None:
    """The text `rows 8 of 56 axis 2 keep`, if it is there."""
    if not parser.parse_optional_keyword("rows"):
        return None
    rows = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_keyword("of")
    height = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_keyword("axis")
    axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
    before = parser.pos
    halo = parser.parse_identifier(f" ({' or '.join(HALOS)})")
    if halo not in HALOS:
        parser.raise_error(f"expected {' or '.join(HALOS)}, got '{halo}'", before, parser.pos)
    return RowWalk(rows, height, axis, halo == HALOS[0])


def parse_axis(parser: Parser, *, needed: bool = False) -> int:
    """An axis in brackets; `WHOLE` where there is none, which may be an error."""
    if needed:
        parser.parse_punctuation("[", " of an axis, or sum")
    elif not parser.parse_optional_punctuation("["):
        return WHOLE
    axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation("]")
    return axis

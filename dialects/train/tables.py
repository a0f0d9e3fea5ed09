"""
Arguments that hold embedding tables with rows between or behind them, so that devices have equally many.

    %w: tensor<16x4xf32> {train.param = "w", train.tables = [{name = "w", at = 0 : i64, rows = 14 : i64}]}
"""

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from npuc.compiler.core.frozen import frozen
from npuc.dialects.train.signature import Argument, argument_entries, arguments_of

TABLES = "train.tables"
"""The attribute of a parameter that holds tables: the name of each, its first row, and how many it has."""


@frozen
class Piece:
    """A table in an argument: its rows begin `at` one, and start in [-bound, bound] (None: with the fill)."""

    name: str
    at: int
    rows: int
    bound: float | None = None


def tables_attr(pieces: Sequence[Piece]) -> ArrayAttr[DictionaryAttr]:
    """The attribute of some tables."""
    return ArrayAttr([DictionaryAttr(_entries(piece)) for piece in pieces])


def _entries(piece: Piece) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {
        "name": StringAttr(piece.name),
        "at": IntegerAttr(piece.at, i64),
        "rows": IntegerAttr(piece.rows, i64),
    }
    return found if piece.bound is None else found | {"bound": FloatAttr(piece.bound, f64)}


def pieces_of(func: FuncOp) -> Iterator[tuple[Argument, tuple[Piece, ...]]]:
    """The parameters of a function that hold tables, and these."""
    entries = list(argument_entries(func))
    for argument in arguments_of(func):
        attr = entries[argument.index].get(TABLES)
        if attr is not None and isa(attr, ArrayAttr[Attribute]):  # `isa` is slow, and few arguments have tables
            yield argument, tuple(_piece(own) for own in attr.data if isinstance(own, DictionaryAttr))


def _piece(entries: DictionaryAttr) -> Piece:
    name, at, rows, bound = (entries.data.get(key) for key in ("name", "at", "rows", "bound"))
    return Piece(
        name.data if isinstance(name, StringAttr) else "",
        at.value.data if isinstance(at, IntegerAttr) else 0,
        rows.value.data if isinstance(rows, IntegerAttr) else 0,
        float(bound.value.data) if isinstance(bound, FloatAttr) else None,
    )

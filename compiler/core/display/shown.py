"""What is shown of a result, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import cast

from npuc.compiler.core.frozen import frozen


@frozen
class ShownTable:
    """
    The first rows of a table as text, a cell for each heading, and how many rows there are (`count`).

    The cells of the first `words` columns are words, of the others numbers. Only as many rows are taken of `rows` as
    are shown. `what` are the rows, `footer` is a row behind a rule.
    """

    headings: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]
    count: int
    words: int = 1
    what: str = "rows"
    footer: tuple[str, ...] = ()


def table_of(names: Sequence[str], rows: Sequence[Sequence[object]], what: str) -> ShownTable:
    """A table of plain values; leading columns of texts are words."""
    first = rows[0] if rows else ()
    words = next((number for number, value in enumerate(first) if not isinstance(value, str)), len(first))
    return ShownTable(tuple(names), _cells(rows), len(rows), words, what)


def _cells(rows: Sequence[Sequence[object]]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        yield tuple(map(value_text, row))


def value_text(value: object) -> str:
    """A plain value in a cell: numbers with six digits, whole ones with all; empty for None."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}" if abs(value) < 10**18 else f"{value:.6g}" if abs(value) < 10**300 else "a large number"
        case float():
            return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.6g}"
        case list() | tuple():
            return ", ".join(value_text(one) for one in cast("Sequence[object]", value)[:8])
        case _:
            return str(value)


@frozen
class Shown:
    """
    What is shown of a result: its `kind` and `title` ("of net on igo-large"), a `summary` in a few words, and in more
    room `facts`, a heading and a text each, a `picture` as SVG, a `table`, and a `note`.
    """

    kind: str
    title: str
    summary: str
    facts: tuple[tuple[str, str], ...] = ()
    picture: str = ""
    table: ShownTable | None = field(default=None)
    note: str = ""

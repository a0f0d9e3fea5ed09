"""
The sections of a page, as frozen data.

A chart shows columns of a table, so that a row that is selected in one place is selected everywhere. Times are in
seconds, data in bytes, energies in joules; None is "not modelled".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

Unit: TypeAlias = Literal["text", "count", "number", "seconds", "bytes", "joules", "share", "ratio"]
"""How values are written: `share` as percent, `ratio` as 1.25x, `count` with prefixes of thousands."""
Cell: TypeAlias = str | int | float | None


class TableColumn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a table; `shown` says whether it is before a reader chooses columns."""

    name: str
    title: str
    unit: Unit = "text"
    values: Sequence[Cell]
    shown: bool = True
    about: str = ""
    """what the title means, in a sentence"""
    scale: str = ""
    """columns of one name are compared: bars behind their values have one scale"""


class Facts(msgspec.Struct, frozen=True, kw_only=True, tag="facts"):
    """Headings with a text each."""

    title: str
    entries: Sequence[tuple[str, str]]
    folded: bool = False
    """whether it is shown when a reader asks"""


class Table(msgspec.Struct, frozen=True, kw_only=True, tag="table", omit_defaults=True):
    """
    Rows that can be sorted, filtered and selected.

    Rows may belong to those of another table: `of` is its name and `owner` the number of the owning row of each. Such
    a table shows the rows of what is selected.
    """

    name: str
    title: str
    columns: Sequence[TableColumn]
    note: str = ""
    of: str | None = None
    owner: Sequence[int] | None = None
    narrow: bool = False
    """whether it takes half of a wide page"""


class Treemap(msgspec.Struct, frozen=True, kw_only=True, tag="treemap"):
    """
    A rectangle for each row of a table, nested by the dotted parts of a name; its area is one of the `measures`.

    `colour` is the column of words that colours stand for.
    """

    title: str
    table: str
    label: str
    measures: Sequence[str]
    colour: str


class Bars(msgspec.Struct, frozen=True, kw_only=True, tag="bars", omit_defaults=True):
    """A bar for each row of a table, of parts that are columns in one unit."""

    title: str
    table: str
    label: str
    parts: Sequence[str]
    about: str = ""


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a scatter plot, by its points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


class Scatter(msgspec.Struct, frozen=True, kw_only=True, tag="scatter", omit_defaults=True):
    """A point for each row of a table that has both values, below lines; the area of a point is the column `size`."""

    title: str
    table: str
    label: str
    x: str
    y: str
    size: str | None = None
    colour: str | None = None
    lines: Sequence[Curve] = ()
    logarithmic: bool = True
    about: str = ""


class Area(msgspec.Struct, frozen=True, kw_only=True, tag="area", omit_defaults=True):
    """Amounts over a program, one above the other: `places` name the operations, `series` have a value for each."""

    title: str
    unit: Unit
    places: Sequence[str]
    series: Sequence[tuple[str, Sequence[float]]]
    mark: int | None = None
    """the place of the most"""
    about: str = ""
    wide: bool = False
    """whether it takes all of a wide page"""


class Spans(msgspec.Struct, frozen=True, kw_only=True, tag="spans", omit_defaults=True):
    """
    Times on tracks: of each span its track, begin and end in nanoseconds, its name by number, and its row or -1.

    `kinds` are the colours by number: matrix, vector, …, `wait` for those in which nothing is done.
    """

    title: str
    table: str
    tracks: Sequence[str]
    names: Sequence[str]
    kinds: Sequence[str]
    track: Sequence[int]
    begin: Sequence[int]
    length: Sequence[int]
    name: Sequence[int]
    kind: Sequence[int]
    row: Sequence[int]
    about: str = ""


class Code(msgspec.Struct, frozen=True, kw_only=True, tag="code"):
    """A text for each row of a table, shown where it is selected; `deflated` is a JSON array of them, in base 64."""

    title: str
    table: str
    deflated: str


class Text(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """Lines as a terminal shows them."""

    title: str
    text: str


class Picture(msgspec.Struct, frozen=True, kw_only=True, tag="picture"):
    """A drawing, an SVG file in base 64; `about` is what it shows, for readers who do not see it."""

    title: str
    svg: str
    about: str


class Tabs(msgspec.Struct, frozen=True, kw_only=True, tag="tabs"):
    """Sections of which those of one name are shown at a time; tables have names of their own in each."""

    title: str
    names: Sequence[str]
    sections: Sequence[Sequence[Section]]


Section: TypeAlias = Text | Picture | Facts | Table | Treemap | Bars | Scatter | Area | Spans | Code | Tabs


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page: its title, what is said first, numbers that are shown large, and sections."""

    title: str
    subtitle: str
    verdict: str
    numbers: Sequence[tuple[str, str, str]]
    """a name, a value, and a remark each"""
    sections: Sequence[Section]
    made: str
    """the version and the command that made it"""

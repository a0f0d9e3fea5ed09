"""Pages of results that are rows: what a terminal shows, the rows as a table, and charts of its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.report.page.model import Cell, Page, Scatter, Section, Table, TableColumn, Text, Unit

ROWS = "rows"
_UNITS: tuple[tuple[str, Unit], ...] = (
    ("utilization", "share"),
    ("energy_mac_units", "number"),
    ("seconds", "seconds"),
    ("bytes", "bytes"),
    ("energy_j", "joules"),
    ("_j", "joules"),
    ("macs", "count"),
    ("vector_ops", "count"),
    ("cycles", "number"),
)
"""Units by what is in the name of a column, the first that is."""
_TOTALS = ("cycles", "seconds", "macs", "dram_read_bytes", "dram_write_bytes", "energy_j", "utilization", "peak_bytes")


_TITLES = {
    "seconds": "Time",
    "macs": "MACs",
    "dram_read_bytes": "DRAM read",
    "dram_write_bytes": "DRAM written",
    "energy_j": "Energy",
    "utilization": "Array",
    "peak_bytes": "Peak memory",
    "lower_bound_seconds": "Least time",
    "lower_bound_bytes": "Least DRAM",
}
"""Columns under the titles that reports have; of others the name is the title."""


def result_page(title: str, subtitle: str, made: str, sections: Sequence[Section], verdict: str = "") -> Page:
    """A page of sections without numbers that are shown large."""
    return Page(title=title, subtitle=subtitle, verdict=verdict, numbers=[], sections=sections, made=made)


def text_section(text: str, title: str = "Summary") -> Text:
    """What a terminal shows."""
    return Text(title=title, text=text.rstrip("\n"))


def table_of_csv(text: str, title: str, *, first: Sequence[str] = (), hidden: Sequence[str] = ()) -> Table:
    """
    The rows of a CSV text as a table: columns that are empty are left out, numbers are numbers.

    Of many columns those of `first`, totals and texts are shown, the others when a reader asks; `hidden` are not.
    """
    head, *rows = list(csv.reader(io.StringIO(text)))
    columns: list[TableColumn] = []
    for place, name in enumerate(head):
        values = _values([row[place] for row in rows])
        if name == "phase":
            values = [PHASE_NAMES.get(str(value), value) for value in values]
        if all(value is None for value in values):
            continue
        is_text = any(isinstance(value, str) for value in values)
        shown = name not in hidden and (len(head) <= 24 or name in first or name in _TOTALS or is_text)
        unit: Unit = "text" if is_text else "number" if name in first else unit_of(name)
        columns.append(
            TableColumn(
                name=name,
                title=_TITLES.get(name, name if "." in name else name.replace("_", " ")),
                unit=unit,
                values=values,
                shown=shown,
            )
        )
    return Table(name=ROWS, title=title, columns=columns)


TRAFFIC = "dram_bytes"


def with_traffic(table: Table) -> Table:
    """The table with a column of what is read from DRAM and written to it, where it has both."""
    columns = {column.name: column for column in table.columns}
    if not {"dram_read_bytes", "dram_write_bytes"} <= columns.keys():
        return table
    pairs = zip(columns["dram_read_bytes"].values, columns["dram_write_bytes"].values, strict=True)
    values: list[Cell] = [a + b if isinstance(a, int) and isinstance(b, int) else None for a, b in pairs]
    moved = TableColumn(name=TRAFFIC, title="DRAM traffic", unit="bytes", values=values, shown=False)
    return replace(table, columns=[*table.columns, moved])


def named_by(table: Table, first: str, second: str) -> Table:
    """The table with a column of two texts together, under both names."""
    columns = {column.name: column for column in table.columns}
    if not {first, second} <= columns.keys():
        return table
    pairs = zip(columns[first].values, columns[second].values, strict=True)
    values: list[Cell] = [f"{a} {b}" for a, b in pairs]
    return replace(
        table, columns=[*table.columns, TableColumn(name=f"{first} {second}", title="Name", values=values, shown=False)]
    )


def unit_of(name: str) -> Unit:
    """The unit of a column by its name, as the columns of results are named."""
    if "ratio" in name or "per_" in name:
        return "number"
    for part, unit in _UNITS:
        if part in name:
            return unit
    return "number"


def _values(cells: Sequence[str]) -> list[Cell]:
    """Cells as whole numbers, else as numbers, else as texts; empty ones are None."""
    for kind in (int, float):
        try:
            found = [None if cell == "" else kind(cell) for cell in cells]
        except ValueError:
            continue
        if all(value is None or abs(value) <= 1e300 for value in found):
            return list(found)
    return [cell or None for cell in cells]


def scatter_of(table: Table, label: str, x: str, y: str, *, title: str, colour: str | None = None) -> Scatter | None:
    """A chart of two columns of numbers above 0; None where the table lacks one, or has fewer than two such rows."""
    columns: Mapping[str, TableColumn] = {column.name: column for column in table.columns}
    if x not in columns or y not in columns or label not in columns:
        return None
    pairs = list(zip(columns[x].values, columns[y].values, strict=True))
    if any(isinstance(value, str) for pair in pairs for value in pair):
        return None
    known = [(a, b) for a, b in pairs if a is not None and b is not None and float(a) > 0 and float(b) > 0]
    if len(set(known)) < 2:
        return None
    coloured = colour if colour in columns else None
    return Scatter(title=title, table=table.name, label=label, x=x, y=y, colour=coloured)

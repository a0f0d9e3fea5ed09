"""The rows of the study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.studies.rows import rows_csv, rows_json
from npuc.studies.thesis.claims import ClaimRow
from npuc.studies.thesis.settings import Value
from npuc.studies.thesis.study import ThesisResults

if TYPE_CHECKING:
    from rich.console import Console


def to_json(study: ThesisResults) -> str:
    """The rows."""
    return rows_json("thesis", study.preset, {"rows": [asdict(row) for row in study.rows]})


def to_csv(study: ThesisResults) -> str:
    """The rows, a line each; classes of networks as text."""
    rows: list[dict[str, object]] = [
        asdict(row) | {"published": _cell(row.published), "ours": _cell(row.ours)} for row in study.rows
    ]
    return rows_csv([field.name for field in fields(ClaimRow)], rows)


def _cell(value: Value | None) -> object:
    return value_text(value) if isinstance(value, Mapping) else value


def value_text(value: Value | None) -> str:
    """A value of a row as people read it: four digits, names by class."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in value.items())
    if abs(value) >= 1e4:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1 or value == 0 else f"{value:.3f}"


def tolerance_text(row: ClaimRow) -> str:
    """How far ours may be from the published value."""
    return "" if row.tolerance is None else f"± {row.tolerance:g}"


def print_study(study: ThesisResults, console: Console) -> None:
    """The table: claims, published and ours, and a verdict; or the measures of other networks."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    heads = ["claim", "published", "ours", "unit", "within", "reproduced"] if study.theirs else ["", "ours", "unit"]
    for head in heads:
        table.add_column(head, justify="right" if head in ("published", "ours", "within") else "left", overflow="fold")
    if study.theirs:
        console.print(
            f"Roofline study (C.-Y. Tsai, NTU, 2021), preset {study.preset}: claim, published, ours", soft_wrap=True
        )
        for row in study.rows:
            for cells in _claim_lines(row):
                table.add_row(*cells)
        console.print(table)
        for line in verdict(study.rows):
            console.print(line, soft_wrap=True)
        return
    console.print(f"Measures of the roofline study, preset {study.preset}", soft_wrap=True)
    setting = ""
    for row in study.rows:
        if row.setting != setting:
            table.add_row(row.setting)
            setting = row.setting
        table.add_row(f"  {row.claim}", value_text(row.ours) or "does not fit", row.unit)
    console.print(table)


def _claim_lines(row: ClaimRow) -> Iterator[tuple[str, ...]]:
    """The cells of a claim; a line more for each class of networks."""
    within, reproduced = tolerance_text(row), "yes" if row.reproduced else "NO"
    if isinstance(row.published, Mapping) and isinstance(row.ours, Mapping):
        yield (row.claim, "", "", row.unit, within, reproduced)
        for kind, names in row.published.items():
            yield (f"    {kind}", ", ".join(names), ", ".join(row.ours[kind]))
    else:
        yield (row.claim, value_text(row.published), value_text(row.ours), row.unit, within, reproduced)


def verdict(rows: Sequence[ClaimRow]) -> Iterator[str]:
    """How many claims are reproduced, then those that are not with what there is to say of them."""
    missed = [row for row in rows if not row.reproduced]
    text = f"{len(rows) - len(missed)} of {len(rows)} claims reproduced"
    yield f"verdict   {text}{'; not ' + ', '.join(str(row.id) for row in missed) if missed else ''}"
    for row in missed:
        ours, published = value_text(row.ours) or "nothing", value_text(row.published)
        unit = f" {row.unit}" if row.unit else ""
        yield f"{row.id!s:<10}{ours}{unit} in place of {published}{unit}{': ' + row.note if row.note else ''}"

"""The rows of the study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.rows import rows_csv, rows_json
from npuc.studies.thesis.claims import ClaimRow
from npuc.studies.thesis.gains import GAIN_MIB, VARIANTS, GainRow
from npuc.studies.thesis.settings import HARDWARE, Value
from npuc.studies.thesis.study import ThesisResults

if TYPE_CHECKING:
    from rich.console import Console


def to_json(study: ThesisResults) -> str:
    """The rows, and what each idea gains."""
    tables = {"rows": [asdict(row) for row in study.rows], "gains": [asdict(row) for row in study.gains]}
    return rows_json("thesis", study.preset, tables)


def to_csv(study: ThesisResults) -> str:
    """The rows, a line each, then what each idea gains, two lines each; what is told by name as text."""
    rows: list[dict[str, object]] = [
        asdict(row) | {"published": _cell(row.published), "ours": _cell(row.ours)}
        for row in [*study.rows, *measures_of(study)]
    ]
    return rows_csv([field.name for field in fields(ClaimRow)], rows)


def measures_of(study: ThesisResults) -> Iterator[ClaimRow]:
    """What each idea gains as rows: the time and the traffic of each variant."""
    for row in study.gains:
        for name, value, unit in (("time", row.time_ms, "ms"), ("traffic", row.traffic_mib, "MiB")):
            without = f"{row.instead} in place of {row.idea}" if row.instead else "all ideas"
            claim = f"{name}, {row.cache_mib} MB, {without}"
            setting = f"{row.network} on {HARDWARE}, preset {study.preset}"
            yield ClaimRow(None, claim, setting, None, value, None, None, "", unit)


def _cell(value: Value | None) -> object:
    return value_text(value) if isinstance(value, Mapping) else value


def value_text(value: Value | None) -> str:
    """A value of a row as text: four digits, names by class."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {part_text(part)}" for name, part in value.items())
    if abs(value) >= 1e4:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1 or value == 0 else f"{value:.3f}"


def part_text(part: Sequence[str] | Sequence[float] | float) -> str:
    """What a value has of one name: a number, numbers, or names."""
    if isinstance(part, float | int):
        return value_text(part)
    return ", ".join(one if isinstance(one, str) else value_text(one) for one in part) or "none"


def tolerance_text(row: ClaimRow) -> str:
    """The tolerance of ours against the published value."""
    return "" if row.tolerance is None else f"± {row.tolerance:g}"


def published_text(row: ClaimRow) -> str:
    """The published value; of a finding without one where it stands: in words, or in a figure alone."""
    if row.published is not None:
        return value_text(row.published)
    return "a figure" if row.reproduced is None else "in words"


def print_study(study: ThesisResults, console: Console) -> None:
    """The table: claims, published and ours, and a verdict; or the measures of other networks; then the gains."""
    if study.theirs:
        title = f"Roofline study (C.-Y. Tsai, NTU, 2021), preset {study.preset}: claim, published, ours"
        rows = [("claim", "published", "ours", "unit", "within", "reproduced")]
        rows += [cells for row in study.rows for cells in claim_lines(row)]
        columns = columns_of(rows, left=(0, 3, 5), ranks={3: 2, 4: 3, 5: 1})
    else:
        title = f"Measures of the roofline study, preset {study.preset}"
        columns = columns_of([("", "ours", "unit"), *_measures(study)], left=(0, 2))
    print_note(title, console, style="bold")
    console.print()
    print_grid(columns, console, gap=2)
    for label, text in verdict(study.rows) if study.theirs else ():
        print_line(label, text, console)
    _print_gains(study, console)


def _measures(study: ThesisResults) -> Iterator[tuple[str, ...]]:
    """The lines of each setting, below its name."""
    setting = ""
    for row in study.rows:
        if row.setting != setting:
            yield (row.setting,)
            setting = row.setting
        yield f"  {row.claim}", value_text(row.ours) or "does not fit", row.unit


def _print_gains(study: ThesisResults, console: Console) -> None:
    """What each idea gains: time and traffic with all of them, and without one how many times as much."""
    console.print()
    print_note("Gains: time and traffic with all ideas; without one, how many times as much", console, style="bold")
    console.print()
    rows: list[tuple[str, ...]] = [tuple(head.replace(", ", ",\n") for head in GAIN_HEADS)]
    for network in study.networks:
        rows.append((network.command,))
        rows += [(f"  {cells[0]}", *cells[1:]) for cells in gain_lines(study.gains, network.command)]
    print_grid(
        columns_of(rows, left=(0, 1), ranks={n: n for n in range(2, len(GAIN_HEADS))}), console, gap=2, last=True
    )


GAIN_HEADS = (
    "without",
    "instead",
    *(f"time, {mib} MB" for mib in GAIN_MIB),
    *(f"traffic, {mib} MB" for mib in GAIN_MIB),
)


def gain_lines(gains: Sequence[GainRow], network: str) -> Iterator[tuple[str, ...]]:
    """The cells of a network: milliseconds and MiB with all ideas, and the ratios without one."""
    for variant in VARIANTS:
        rows = [
            row for row in gains if (row.network, row.idea, row.instead) == (network, variant.idea, variant.instead)
        ]
        if variant.instead:
            cells = [row.time_ratio for row in rows] + [row.traffic_ratio for row in rows]
            texts = ["" if value is None else f"{value:.3f}" for value in cells]
            yield (variant.idea, variant.instead, *texts)
        else:
            times = ["does not fit" if row.time_ms is None else f"{row.time_ms:.4g} ms" for row in rows]
            moved = ["" if row.traffic_mib is None else f"{row.traffic_mib:,.0f} MiB" for row in rows]
            yield ("nothing", "", *times, *moved)


def claim_lines(row: ClaimRow) -> Iterator[tuple[str, ...]]:
    """The cells of a claim; a line more for each class of networks, or for each of several numbers."""
    within, reproduced = tolerance_text(row), {True: "yes", False: "NO", None: "not judged"}[row.reproduced]
    if isinstance(row.ours, Mapping):
        published = "" if isinstance(row.published, Mapping) else published_text(row)
        yield (row.claim, published, "", row.unit, within, reproduced)
        for name, part in row.ours.items():
            published = part_text(row.published[name]) if isinstance(row.published, Mapping) else ""
            yield (f"    {name}", published, part_text(part))
    else:
        yield (row.claim, published_text(row), value_text(row.ours), row.unit, within, reproduced)


def verdict(rows: Sequence[ClaimRow]) -> Iterator[tuple[str, str]]:
    """How many claims are reproduced, then those that are not, with what there is to say of them, or are not judged."""
    missed = [row for row in rows if row.reproduced is False]
    compared = sum(row.reproduced is not None for row in rows)
    text = f"{compared - len(missed)} of {compared} claims reproduced"
    yield "verdict", f"{text}{'; not ' + ', '.join(str(row.id) for row in missed) if missed else ''}"
    for row in missed:
        ours, published = value_text(row.ours) or "nothing", value_text(row.published)
        unit = f" {row.unit}" if row.unit else ""
        said = f" in place of {published}{unit}" if published else ""
        yield str(row.id), f"{ours}{unit}{said}{': ' + row.note if row.note else ''}"
    for row in rows:
        if row.reproduced is None:
            yield str(row.id), "is not judged: the study has a figure of it, and no value"

"""The page of a compiled step: what it costs, where, and why, of one report or of several of one program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.report.layers import Line, by_layer, costing, time_by_limit
from npuc.compiler.report.page.given import given_to
from npuc.compiler.report.page.model import (
    Area,
    Bars,
    Cell,
    Code,
    Facts,
    Page,
    Section,
    Table,
    TableColumn,
    Tabs,
    Treemap,
    Unit,
)
from npuc.compiler.report.page.roofline import roofline_of
from npuc.compiler.report.page.rows import OPERATIONS, operations_of
from npuc.compiler.report.page.timeline import spans_of
from npuc.compiler.report.page.write import deflated
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.precision import precision_text
from npuc.compiler.report.text.quantities import bytes_cell, count_cell, energy_text, percent_cell, time_cell
from npuc.compiler.report.text.summary.lines import summary
from npuc.compiler.report.text.summary.verdict import is_training
from npuc.compiler.report.text.words import PLAIN, Words

LAYERS = "layers"
_Measure = Callable[[Line], Cell]


@dataclass(frozen=True)
class Extras:
    """
    What reports do not hold: the `command` that made them, the program of each layer, and memory over the step.

    `programs` and `words` are those of each report.
    """

    command: str = ""
    programs: Sequence[Mapping[str, str]] = ()
    memory: Area | None = None
    words: Sequence[Words] = ()


def step_page(reports: Sequence[Report], extras: Extras) -> Page:
    """The page of reports of one program: one report after its totals, several as tabs below their totals."""
    report = reports[0]
    what = "training step" if is_training(report) else "forward pass"
    made = f"npuc {report.npuc}" + (f": {extras.command}" if extras.command else "")
    if len(reports) > 1:
        told = [_told(one, _words(extras, number)) for number, one in enumerate(reports)]
        tabs = Tabs(
            title="By backend",
            names=[one.backend for one in reports],
            sections=[[*_sections(one, number, extras, f"{number}")] for number, one in enumerate(reports)],
        )
        return Page(
            title=f"{report.network or report.source}: a {what} by {len(reports)} backends",
            subtitle=report.source,
            verdict="",
            numbers=[],
            sections=[
                _backends(reports),
                Facts(title="What each says", entries=told),
                tabs,
                *_memory(extras, wide=True),
            ],
            made=made,
        )
    machine = report.hardware.get("name") or "custom"
    return Page(
        title=f"{report.network or report.source}: a {what} on {machine}",
        subtitle=f"{report.source}, backend {report.backend}{precision_text(report)}{_devices(report)}",
        verdict=_told(report, _words(extras, 0))[1],
        numbers=_numbers(report),
        sections=[*_sections(report, 0, extras)],
        made=made,
    )


def _devices(report: Report) -> str:
    many = 1 if report.parallel is None else report.parallel.devices
    return f", {many:,} devices; amounts are those of one" if many > 1 else ""


def _words(extras: Extras, number: int) -> Words:
    return extras.words[number] if extras.words else PLAIN


def _told(report: Report, words: Words) -> tuple[str, str]:
    """A backend, and its verdict."""
    return report.backend, dict(summary(report, words)).get("verdict", "")


def _memory(extras: Extras, *, wide: bool = False) -> Sequence[Section]:
    return () if extras.memory is None else (replace(extras.memory, wide=wide),)


def _numbers(report: Report) -> list[tuple[str, str, str]]:
    """The totals that are shown large."""
    totals = report.totals
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    bound = totals.lower_bound_seconds
    near = f"{totals.seconds / bound:.2f}x the lower bound" if totals.seconds and bound else ""
    cycles = "" if totals.cycles is None else f"{totals.cycles:,} cycles"
    found = [
        ("time", time_cell(totals.seconds), near or cycles),
        (
            "MACs",
            count_cell(totals.macs),
            "" if totals.vector_ops is None else f"{count_cell(totals.vector_ops)} vector",
        ),
        ("DRAM traffic", bytes_cell(moved) if totals.dram_read_bytes is not None else "", _read_share(report)),
        ("utilisation", _percent(totals.utilization), "of the array's peak"),
        ("energy", "" if totals.energy_j is None else energy_text(totals.energy_j), _per_operation(report)),
        ("peak memory", bytes_cell(totals.peak_bytes), report.memory.peak_layer if report.memory else ""),
    ]
    return [one for one in found if one[1]]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{percent_cell(share)}%"


def _read_share(report: Report) -> str:
    read, written = report.totals.dram_read_bytes or 0, report.totals.dram_write_bytes or 0
    return f"{100 * read / (read + written):.0f}% reads" if read + written else ""


def _per_operation(report: Report) -> str:
    found = report.totals.tops_per_w
    return "" if found is None else f"{found:.3g} TOPS/W"


def _sections(report: Report, number: int, extras: Extras, tab: str = "") -> Iterable[Section]:
    """The sections of a report; in a `tab` its tables have names of their own, and memory, alike in all, is not."""
    lines = costing(by_layer(report.ops))
    layers = LAYERS + tab
    table = layers_table(report, lines, layers)
    names = {column.name for column in table.columns}
    yield Facts(
        title="Summary", entries=[one for one in summary(report, _words(extras, number)) if one[0] != "verdict"]
    )
    if report.totals.seconds:
        yield _limits(report, tab)
    parts = [name for name in PHASE_NAMES if name in names]
    if parts:
        yield Bars(title="Time by phase", table=layers, label="layer", parts=parts)
    measures = [name for name in ("time", "traffic", "energy", "macs") if name in names]
    if measures:
        colour = "limit" if "limit" in names else "layer"
        yield Treemap(title="Where it goes", table=layers, label="layer", measures=measures, colour=colour)
    yield table
    yield operations_of(report, owners_of(lines), layers, OPERATIONS + tab)
    if number < len(extras.programs):
        programs = extras.programs[number]
        texts = ["\n".join(programs.get(name, "") for name in line.names) for line in lines]
        yield Code(title="Program of the selected layer", table=layers, deflated=deflated(texts))
    roofline = roofline_of(report, OPERATIONS + tab)
    if roofline is not None:
        yield roofline
    if not tab:
        yield from _memory(extras)
    spans = spans_of(report, owners_of(lines), layers)
    if spans is not None:
        yield spans
    yield from given_to(report)


def _limits(report: Report, tab: str) -> Table:
    """What sets the time, and of how much of it."""
    times = sorted(time_by_limit(report.ops).items(), key=lambda item: -item[1])
    layers = {name: len({row.name for row in report.ops if row.limit == name}) for name, _ in times}
    moved = {name: sum(_moved(row) for row in report.ops if row.limit == name) for name, _ in times}
    return Table(
        name=f"limits{tab}",
        title="What limits the time",
        narrow=True,
        columns=[
            TableColumn(name="limit", title="Limit", values=[name for name, _ in times]),
            TableColumn(name="time", title="Time", unit="seconds", values=[seconds for _, seconds in times]),
            TableColumn(
                name="share",
                title="Share",
                unit="share",
                values=[seconds / (report.totals.seconds or 1) for _, seconds in times],
            ),
            TableColumn(name="traffic", title="DRAM", unit="bytes", values=[moved[name] for name, _ in times]),
            TableColumn(name="layers", title="Layers", unit="number", values=[layers[name] for name, _ in times]),
        ],
    )


def _moved(row: OpRow) -> int:
    return row.repeat * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0))


def owners_of(lines: Sequence[Line]) -> dict[int, int]:
    """The line of each row, by its index."""
    return {row.index: number for number, line in enumerate(lines) for row in line.rows}


def layers_table(report: Report, lines: Sequence[Line], name: str = LAYERS) -> Table:
    """A row for each layer: its time by phase, work, traffic, and how far it is from what is possible."""
    seconds = report.totals.seconds or 0.0
    columns = [
        TableColumn(name="layer", title="Layer", values=[line.name for line in lines]),
        *_column("time", "Time", "seconds", lines, lambda line: line.seconds),
        *_column("share", "Share", "share", lines, lambda line: (line.seconds or 0) / seconds if seconds else None),
        *(
            column
            for phase, title in PHASE_NAMES.items()
            for column in _column(phase, title, "seconds", lines, lambda line, phase=phase: line.phases.get(phase))
        ),
        *_column("macs", "MACs", "count", lines, lambda line: line.macs),
        *_column(
            "traffic", "DRAM", "bytes", lines, lambda line: line.dram_bytes, about="read from and written to DRAM"
        ),
        *_column("energy", "Energy", "joules", lines, lambda line: _sum(line, "energy_j")),
        *_column(
            "utilization", "Array", "share", lines, lambda line: line.utilization, about="MACs over the array's peak"
        ),
        *_column("limit", "Limit", "text", lines, lambda line: line.limit, about="what sets most of the time"),
        *_column("bound", "Least time", "seconds", lines, lambda line: _sum(line, "lower_bound_seconds")),
        *_column("gap", "Time / least", "ratio", lines, _gap, about="the time over its lower bound"),
        *_certified(report, lines),
        *_column("operations", "Operations", "number", lines, lambda line: len(line.rows), shown=False),
    ]
    note = "Enter or a click selects a layer: its operations and program are shown below, and it is marked everywhere."
    return Table(name=name, title="Layers", columns=columns, note=note)


def _certified(report: Report, lines: Sequence[Line]) -> list[TableColumn]:
    """The proved least traffic of products, and what they move over it."""
    proved = {one.layer: one for one in report.certificates or ()}
    found = [[proved[name] for name in line.names if name in proved] for line in lines]
    least = [sum(one.bound_bytes for one in ones) if ones else None for ones in found]
    reached = [sum(one.reached_bytes for one in ones) if ones else None for ones in found]
    if not any(least):
        return []
    over = [a / b if a is not None and b else None for a, b in zip(reached, least, strict=True)]
    return [
        TableColumn(
            name="least", title="Least DRAM", unit="bytes", values=least, about="of products, whatever the schedule"
        ),
        TableColumn(
            name="reached", title="Products' DRAM", unit="bytes", values=reached, about="what they move", shown=False
        ),
        TableColumn(
            name="over",
            title="Products' DRAM / least",
            unit="ratio",
            values=over,
            about="what they move over that",
        ),
    ]


def _column(
    name: str, title: str, unit: Unit, lines: Sequence[Line], of: _Measure, *, about: str = "", shown: bool = True
) -> list[TableColumn]:
    """A column, unless no line has a value."""
    values = [of(line) for line in lines]
    if not any(values):
        return []
    return [TableColumn(name=name, title=title, unit=unit, values=values, about=about, shown=shown)]


def _sum(line: Line, name: str) -> float | None:
    known = [row.repeat * value for row in line.rows if (value := getattr(row, name)) is not None]
    return sum(known) if known else None


def _gap(line: Line) -> float | None:
    bound = _sum(line, "lower_bound_seconds")
    return line.seconds / bound if bound and line.seconds is not None else None


def _backends(reports: Sequence[Report]) -> Table:
    """A row for each backend's totals."""
    totals = [report.totals for report in reports]
    return Table(
        name="backends",
        title="Backends",
        columns=[
            TableColumn(name="backend", title="Backend", values=[report.backend for report in reports]),
            TableColumn(name="time", title="Time", unit="seconds", values=[t.seconds for t in totals]),
            TableColumn(name="read", title="DRAM read", unit="bytes", values=[t.dram_read_bytes for t in totals]),
            TableColumn(
                name="written", title="DRAM written", unit="bytes", values=[t.dram_write_bytes for t in totals]
            ),
            TableColumn(name="energy", title="Energy", unit="joules", values=[t.energy_j for t in totals]),
            TableColumn(name="utilization", title="Array", unit="share", values=[t.utilization for t in totals]),
        ],
        narrow=True,
    )

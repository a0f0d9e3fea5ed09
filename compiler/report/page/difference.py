"""The page of a difference: what got faster and slower, and why, layer by layer and phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.report.causes import NAMES as CAUSES
from npuc.compiler.report.difference.document import DiffHead, DiffLayer, DiffPart, DiffTotal
from npuc.compiler.report.difference.result import Difference
from npuc.compiler.report.page.model import Bars, Cell, Curve, Facts, Page, Scatter, Section, Table, TableColumn, Unit
from npuc.compiler.report.text.difference import TOTALS, signed_total
from npuc.compiler.report.text.signed import cell_of

LAYERS, PHASES = "layers", "phases"
_Side = Callable[[DiffLayer | DiffPart], Cell]
_Measure = tuple[str, str, Unit, _Side]
LARGE = ("time", "traffic", "energy", "memory", "macs", "utilization")
"""The totals that are shown large."""


def difference_page(found: Difference, made: str) -> Page:
    """The page of a difference; `made` says what made it."""
    a, b = found.a, found.b
    return Page(
        title=f"{_name(a)} and {_name(b)}" if _name(a) != _name(b) else f"{_name(a)}: two steps",
        subtitle=f"A: {_about(a)}; B: {_about(b)}",
        verdict=found.verdict,
        numbers=[
            (TOTALS[one.name], _cell(one, one.b), _change(one))
            for one in found.totals
            if one.name in LARGE and one.b is not None
        ],
        sections=[*_sections(found)],
        made=made,
    )


def _name(head: DiffHead) -> str:
    return f"{head.network or head.source} on {head.machine or 'custom'}"


def _about(head: DiffHead) -> str:
    devices = f", {head.devices:,} devices, amounts of one" if head.devices > 1 else ""
    return f"{head.source}, backend {head.backend}, floats {head.precision}, {head.layers:,} layers{devices}"


def _sections(found: Difference) -> Iterable[Section]:
    yield _totals(found.totals, "Totals", "totals")
    if found.per_sample:
        yield _totals(found.per_sample, "A sample", "samples")
    entries = [*(("note", text) for text in found.notes), *_settings(found)]
    if entries:
        yield Facts(title="What was given, and differs", entries=entries)
    layers = _layers(found.layers)
    names = {column.name for column in layers.columns}
    if "slower" in names or "faster" in names:
        parts = [name for name in ("slower", "faster") if name in names]
        about = "Percent are of the sum of all bars."
        yield Bars(title="Layers whose time differs", table=LAYERS, label="layer", parts=parts, about=about)
    both = [layer for layer in found.layers if _of(layer.a, "seconds") and _of(layer.b, "seconds")]
    if both:
        yield _scatter([_of(side, "seconds") or 0.0 for layer in both for side in (layer.a, layer.b)])
    yield layers
    parts_table = _parts(found.layers)
    if parts_table is not None:
        yield parts_table


def _settings(found: Difference) -> Iterable[tuple[str, str]]:
    for one in found.settings:
        yield one.name, f"{'nothing' if one.a is None else one.a} → {'nothing' if one.b is None else one.b}"


def _totals(totals: Sequence[DiffTotal], title: str, name: str) -> Table:
    """Totals, whose units differ, as text."""
    return Table(
        name=name,
        title=title,
        narrow=True,
        columns=[
            TableColumn(
                name="name", title="Quantity", values=[TOTALS.get(one.name, one.name).strip() for one in totals]
            ),
            TableColumn(name="a", title="A", values=[_cell(one, one.a) for one in totals]),
            TableColumn(name="b", title="B", values=[_cell(one, one.b) for one in totals]),
            TableColumn(name="difference", title="B less A", values=[signed_total(one) for one in totals]),
            TableColumn(name="ratio", title="B / A", unit="ratio", values=[one.ratio for one in totals]),
        ],
    )


def _cell(total: DiffTotal, value: float | None) -> str:
    return "" if value is None else cell_of(total.unit)(value)


def _change(total: DiffTotal) -> str:
    was = f"was {_cell(total, total.a)}" if total.a is not None else ""
    if total.ratio == 1:
        return "equal"
    return was if total.ratio is None else f"{total.ratio:.3g}x; {was}"


def _scatter(seconds: Sequence[float]) -> Scatter:
    ends = [min(seconds), max(seconds)]
    return Scatter(
        title="Time in A and in B",
        table=LAYERS,
        label="layer",
        x="a_time",
        y="b_time",
        colour="cause",
        lines=[Curve(label="equal", x=ends, y=ends)],
        about="A layer below the line is faster in B.",
    )


def _layers(layers: Sequence[DiffLayer]) -> Table:
    """A row for each layer of either report."""

    def change(sign: int) -> list[Cell]:
        changed = [sign * (layer.difference.seconds or 0.0) for layer in layers]
        return [value if value > 0 else None for value in changed]

    columns = [
        TableColumn(name="layer", title="Layer", values=[layer.name for layer in layers]),
        TableColumn(name="found", title="In", values=[_FOUND[layer.found] for layer in layers]),
        *_both(layers),
        TableColumn(name="why", title="Why", values=[layer.why or None for layer in layers]),
        TableColumn(
            name="cause",
            title="Cause",
            values=[None if layer.cause is None else CAUSES.get(layer.cause, layer.cause) for layer in layers],
            about="whose time changed most",
        ),
        TableColumn(name="slower", title="slower", unit="seconds", values=change(1), shown=False),
        TableColumn(name="faster", title="faster", unit="seconds", values=change(-1), shown=False),
        TableColumn(name="name_a", title="Name in A", values=[layer.name_a for layer in layers], shown=False),
    ]
    kept = [column for column in columns if any(value is not None for value in column.values)]
    note = "Enter or a click selects a layer: its phases are shown below, and it is marked everywhere."
    return Table(name=LAYERS, title="Layers", columns=kept, note=note)


_FOUND = {"both": "both", "renamed": "both, renamed", "only_a": "A alone", "only_b": "B alone"}


def _parts(layers: Sequence[DiffLayer]) -> Table | None:
    """The phases of the layers."""
    parts = [(row, layer.name, part) for row, layer in enumerate(layers) for part in layer.parts]
    if not parts:
        return None
    columns = [
        TableColumn(name="layer", title="Layer", values=[name for _, name, _ in parts]),
        TableColumn(
            name="phase", title="Phase", values=[PHASE_NAMES.get(part.phase, part.phase) for _, _, part in parts]
        ),
        *_both([part for _, _, part in parts]),
        TableColumn(
            name="why",
            title="Why",
            values=["; ".join(reason.text for reason in part.reasons) or None for _, _, part in parts],
        ),
    ]
    return Table(
        name=PHASES,
        title="Phases of the selected layer",
        columns=[column for column in columns if any(value is not None for value in column.values)],
        of=LAYERS,
        owner=[row for row, _, _ in parts],
    )


def _both(ones: Sequence[DiffLayer | DiffPart]) -> list[TableColumn]:
    """What both sides take, and the difference."""
    measures: tuple[tuple[str, str, Unit, bool], ...] = (
        ("seconds", "time", "seconds", True),
        ("dram_bytes", "DRAM", "bytes", True),
        ("energy_j", "energy", "joules", False),
        ("macs", "MACs", "count", False),
    )
    columns: list[TableColumn] = []
    for field, title, unit, shown in measures:
        short = title.lower()
        for name, heading, values in (
            (f"a_{short}", f"{title} A", [_of(one.a, field) for one in ones]),
            (f"b_{short}", f"{title} B", [_of(one.b, field) for one in ones]),
            (f"d_{short}", f"{title}, B less A", [_of(one.difference, field) for one in ones]),
        ):
            scale = "" if name.startswith("d_") else short
            columns.append(TableColumn(name=name, title=heading, unit=unit, values=values, shown=shown, scale=scale))
    return columns


def _of(side: object, field: str) -> float | None:
    return None if side is None else getattr(side, field)

"""
The difference of two reports.

Every row is in one layer, and every layer in one pair or alone, so that the differences of the layers add up to that of
the reports; bytes, cycles and operations exactly, since they are integers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.causes import NAMES as CAUSES
from npuc.compiler.report.causes import added, parts_by_limit
from npuc.compiler.report.difference.align import aligned
from npuc.compiler.report.difference.amounts import (
    PartsOf,
    difference_of,
    said_by,
    side_of,
    spent_difference,
)
from npuc.compiler.report.difference.document import (
    Amounts,
    DiffHead,
    DiffLayer,
    DiffPart,
    DiffReason,
    DiffSetting,
    DiffSide,
    Found,
)
from npuc.compiler.report.difference.reasons import Between, reasons_of, sizes_text
from npuc.compiler.report.difference.result import Difference
from npuc.compiler.report.difference.sentences import notes_of, phase_named, verdict_of
from npuc.compiler.report.difference.settings import settings_of
from npuc.compiler.report.difference.totals import devices_of, per_sample, samples_of, totals_of
from npuc.compiler.report.layers import Line, by_layer
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.quantities import time_cell
from npuc.compiler.report.text.signed import signed
from npuc.compiler.report.text.summary.verdict import is_training

GRADIENTS = ("dx", "dw", "dxdw")
BACKWARD = "backward"
CLAUSES = 3
"""Of the reasons of a part so many are in the clause of the layer."""
OUTWEIGHED, OUTWEIGHING = 1.2, 0.7
"""A cause that changed by more or less than so many times the whole is not named alone."""
_PLACES = ("index", "loc", "source")
_COMPARED = [name for name in OpRow.__struct_fields__ if name not in _PLACES]


@frozen
class _Sides:
    """What is the same for all layers of a comparison."""

    a: Report
    b: Report
    parts_a: PartsOf
    parts_b: PartsOf
    said: Collection[str]
    settings: Sequence[DiffSetting]


def compare(a: Report, b: Report, parts_a: PartsOf = parts_by_limit, parts_b: PartsOf = parts_by_limit) -> Difference:
    """
    The difference of two reports: B less A. `parts_a` and `parts_b` say the seconds of a row by cause, as the backend
    of each does.
    """
    settings = settings_of(a, b)
    said = said_by(a.totals) & said_by(b.totals)
    it = _Sides(a, b, parts_a, parts_b, said, settings)
    lines_a, lines_b = by_layer(a.ops), by_layer(b.ops)
    layers = [
        _layer(None if i is None else lines_a[i], None if j is None else lines_b[j], it)
        for i, j in aligned(lines_a, lines_b)
    ]
    head_a, head_b = _head(a, len(lines_a), parts_a), _head(b, len(lines_b), parts_b)
    totals, samples = totals_of(a, b), per_sample(a, b)
    difference = Amounts(**{name: _less(b.totals[name], a.totals[name]) for name in said})
    return Difference(
        a=head_a,
        b=head_b,
        settings=settings,
        totals=totals,
        per_sample=samples,
        difference=difference,
        verdict=verdict_of(head_a, head_b, totals, layers, settings),
        notes=notes_of(head_a, head_b, totals, layers),
        layers=layers,
    )


def _less(b: Any, a: Any) -> Any:
    return b - a


def _head(report: Report, layers: int, parts: PartsOf) -> DiffHead:
    return DiffHead(
        source=report.source,
        network=report.network,
        backend=report.backend,
        machine=str(report.hardware.get("name", "custom")),
        precision=report.precision,
        pipeline=report.pipeline,
        defines=report.defines,
        npuc=report.npuc,
        training=is_training(report),
        samples=samples_of(report),
        devices=devices_of(report),
        layers=layers,
        rows=len(report.ops),
        spent=added((row.repeat, parts(row)) for row in report.ops),
    )


def _layer(a: Line | None, b: Line | None, it: _Sides) -> DiffLayer:
    side_a = None if a is None else side_of(a.rows, it.parts_a)
    side_b = None if b is None else side_of(b.rows, it.parts_b)
    name_a, name_b = None if a is None else a.name, None if b is None else b.name
    difference = difference_of(side_a, side_b, it.said)
    cause, changed = _cause(side_a, side_b, difference)
    parts = [] if a is None or b is None or _equal(a.rows, b.rows) else _parts(a.rows, b.rows, it)
    if a is None or b is None:
        why = "in B alone" if a is None else "in A alone"
    else:
        why = _why(parts, _causes_told(side_a, side_b, difference), side_a, side_b)
    found: Found = "only_b" if a is None else "only_a" if b is None else "both" if name_a == name_b else "renamed"
    return DiffLayer(
        name=name_b or name_a or "",
        name_a=name_a,
        name_b=name_b,
        found=found,
        a=side_a,
        b=side_b,
        difference=difference,
        cause=cause,
        cause_seconds=changed,
        why=why,
        parts=parts,
    )


def _equal(a: Sequence[OpRow], b: Sequence[OpRow]) -> bool:
    """Whether rows say the same but for their places in program and source; names are compared before."""
    return len(a) == len(b) and all(
        getattr(one, name) == getattr(other, name)
        for one, other in zip(a, b, strict=True)
        for name in _COMPARED
        if name != "name"
    )


def _cause(a: DiffSide | None, b: DiffSide | None, difference: Amounts) -> tuple[str | None, float | None]:
    """The cause of time that changed most in the direction of the whole, and by how much."""
    if not difference.seconds:
        return None, None
    along = [(cause, seconds) for cause, seconds in spent_difference(a, b).items() if seconds * difference.seconds > 0]
    return along[0] if along else (None, None)


def _causes_told(a: DiffSide | None, b: DiffSide | None, difference: Amounts) -> list[str]:
    """The cause of time that changed most; where it changed by more than the whole, with what went the other way."""
    cause, changed = _cause(a, b, difference)
    if cause is None or changed is None or not difference.seconds:
        return []
    shown = [(cause, changed)]
    if abs(changed) < OUTWEIGHING * abs(difference.seconds):
        shown += [one for one in spent_difference(a, b).items() if one[1] * changed > 0][1:2]
    if abs(changed) > OUTWEIGHED * abs(difference.seconds):
        shown += [one for one in spent_difference(a, b).items() if one[1] * changed < 0][:1]
    return [", ".join(f"{CAUSES.get(name, name)} {signed(seconds, time_cell)}" for name, seconds in shown)]


def _parts(rows_a: Sequence[OpRow], rows_b: Sequence[OpRow], it: _Sides) -> list[DiffPart]:
    """The phases of a layer that is in both reports, those of its gradients as one where they are not the same."""
    gradients = [{row.phase for row in rows if row.phase in GRADIENTS} for rows in (rows_a, rows_b)]
    together = gradients[0] != gradients[1] and all(gradients)

    def phase_of(row: OpRow) -> str:
        return BACKWARD if together and row.phase in GRADIENTS else row.phase

    found: list[DiffPart] = []
    for phase in dict.fromkeys(map(phase_of, (*rows_a, *rows_b))):
        own_a, own_b = ([row for row in rows if phase_of(row) == phase] for rows in (rows_a, rows_b))
        if not _equal(own_a, own_b):
            found.append(_part(phase, own_a, own_b, it))
    return found


def _part(phase: str, a: Sequence[OpRow], b: Sequence[OpRow], it: _Sides) -> DiffPart:
    side_a, side_b = side_of(a, it.parts_a), side_of(b, it.parts_b)
    difference = difference_of(side_a if a else None, side_b if b else None, it.said)
    if not a or not b:
        text = f"{phase_named(phase)} in {'B' if b else 'A'} alone"
        reasons = [DiffReason(kind="phase", a=len(a), b=len(b), text=text)]
    else:
        same, precision = it.a.backend == it.b.backend, (it.a.precision, it.b.precision)
        cause, _ = _cause(side_a, side_b, difference)
        reasons = reasons_of(Between(a, b, side_a, side_b, same, precision, it.settings, cause))
    return DiffPart(
        phase=phase, a=side_a if a else None, b=side_b if b else None, difference=difference, reasons=reasons
    )


def _why(parts: Sequence[DiffPart], causes: Sequence[str], a: DiffSide | None, b: DiffSide | None) -> str:
    """
    The clause of a layer: its sizes, the causes of time that changed most, and what the part that changed most says of
    it.
    """
    told = list(causes)
    seconds = (b.seconds or 0.0) - (a.seconds or 0.0) if a is not None and b is not None else 0.0
    main = max(parts, key=lambda part: _weight(part, seconds), default=None)
    if main is not None and main.reasons:
        kinds = {reason.kind for reason in main.reasons}
        told_enough = not kinds.isdisjoint(("traffic", "precision", "bandwidth"))
        texts = [reason.text for reason in main.reasons if not (reason.kind == "stalls" and told_enough)]
        if len(texts) == len(main.reasons) == 1 and main.reasons[0].kind == "phase":
            texts = [f"in {'A' if main.b is None else 'B'} alone"]
        where = "" if len(parts) == 1 and main.phase == "forward" else f"{phase_named(main.phase)}: "
        told.append(where + ", ".join(texts[:CLAUSES]))
    sizes = sizes_text(None if a is None else a.shape, None if b is None else b.shape)
    text = "; ".join(told)
    return f"{sizes}; {text}" if sizes and sizes not in text else text


def _weight(part: DiffPart, whole: float) -> tuple[float, int, int]:
    """How much of the difference a part is: by time in the direction of the whole, then by bytes, then by reasons."""
    change = part.difference
    seconds = (change.seconds or 0.0) * (1 if whole > 0 else -1) if whole else abs(change.seconds or 0.0)
    return seconds, abs(change.dram_bytes or 0), len(part.reasons)

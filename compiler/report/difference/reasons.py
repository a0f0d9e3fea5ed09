"""
Why a part of a layer differs: what its rows in both reports say, in the order in which it explains the time.

Each function looks at one kind of thing. What is about the cause of time whose share changed most comes first: bytes
where a part waits for DRAM longer, the array where MACs take longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log

from msgspec.structs import replace

from npuc.compiler.report.difference.align import operation_of
from npuc.compiler.report.difference.between import COMPUTING, MOVING, Between, Rows
from npuc.compiler.report.difference.document import DiffReason, ReasonKind
from npuc.compiler.report.difference.rates import bandwidth, clock, machine, peak, utilization
from npuc.compiler.report.difference.tensors import fusion, interleaving, moved_bytes, residency, says_bytes, traffic
from npuc.compiler.report.layers import passes_of
from npuc.compiler.report.rows import OpRow, ScheduleRow
from npuc.compiler.report.sections import ExchangeFacts, RecomputeFacts
from npuc.compiler.report.text.quantities import bytes_cell, count_cell
from npuc.compiler.report.text.signed import times

ALWAYS: tuple[ReasonKind, ...] = ("model", "phase", "operation", "work", "recompute", "passes")
ABOUT_MOVING: tuple[ReasonKind, ...] = (
    "interleaving",
    "fusion",
    "residency",
    "precision",
    "traffic",
    "bandwidth",
    "machine",
    "clock",
)
ABOUT_COMPUTING: tuple[ReasonKind, ...] = ("peak", "utilization", "interleaving", "machine", "clock", "schedule")
LAST: tuple[ReasonKind, ...] = ("stalls", "schedule", "limit", "energy")


def reasons_of(between: Between) -> list[DiffReason]:
    """Why a part differs, what explains most first."""
    found = [one for look in _LOOKS for one in look(between)]
    about = ABOUT_MOVING if between.cause in MOVING else ABOUT_COMPUTING if between.cause in COMPUTING else ()
    order = [*ALWAYS, *about]

    rates = {one.kind: one for one in found if one.kind in ("traffic", "precision", "bandwidth")}
    if between.cause in MOVING and len(rates) > 1 and max(rates, key=lambda kind: _factor(rates[kind])) == "bandwidth":
        order.insert(len(ALWAYS), "bandwidth")

    def place(reason: DiffReason) -> int:
        if reason.kind in order:
            return order.index(reason.kind)
        return len(order) + (1 + LAST.index(reason.kind) if reason.kind in LAST else 0)

    change = (between.side_b.seconds or 0.0) - (between.side_a.seconds or 0.0)
    told = sorted(found, key=lambda one: (_is_against(one, change), place(one)))
    return [replace(one, text=f"although {one.text}") if _is_against(one, change) else one for one in told]


def _is_against(reason: DiffReason, change: float) -> bool:
    """Whether a reason is for a change of time in the other direction: fewer bytes of what takes longer."""
    a, b = reason.a, reason.b
    if not isinstance(a, int | float) or not isinstance(b, int | float) or not change:
        return False
    if reason.kind in ("work", "traffic", "stalls", "exchange", "passes"):
        return (b - a) * change < 0
    return reason.kind in ("peak", "bandwidth", "clock", "utilization") and (b - a) * change > 0


def _factor(reason: DiffReason) -> float:
    """How many times as much one value is as the other, as a logarithm without its sign."""
    values = [value for value in (reason.a, reason.b) if isinstance(value, int | float) and value > 0]
    return abs(log(values[1] / values[0])) if len(values) > 1 else 0.0


def _operation(it: Between) -> Iterator[DiffReason]:
    if not it.same_model:
        return
    names_a, names_b = (dict.fromkeys(map(_named, rows)) for rows in (it.a, it.b))
    gone, come = [n for n in names_a if n not in names_b], [n for n in names_b if n not in names_a]
    if gone and come:
        a, b = ", ".join(gone), ", ".join(come)
        yield DiffReason(kind="operation", a=a, b=b, text=f"{a} → {b}")
    elif gone or come:
        text = f"{', '.join(come or gone)} in {'B' if come else 'A'} alone"
        yield DiffReason(kind="operation", a=", ".join(gone) or None, b=", ".join(come) or None, text=text)


def _named(row: OpRow) -> str:
    """An operation by name, where products that run together are products."""
    return "product" if row.kind == "matrix" and row.op.startswith("npu.") else operation_of(row)


def _work(it: Between) -> Iterator[DiffReason]:
    for name, what in (("macs", "MACs"), ("vector_ops", "vector operations")):
        before, after = getattr(it.side_a, name) or 0, getattr(it.side_b, name) or 0
        if before == after:
            continue
        if name == "vector_ops" and (it.side_a.macs or 0) != (it.side_b.macs or 0):
            continue  # what the products say is enough
        sizes = sizes_text(it.side_a.shape, it.side_b.shape)
        ratio = f"{times(before, after)} the {what}" if before and after else f"{count_cell(after) or 'no'} {what}"
        yield DiffReason(kind="work", a=before, b=after, text=ratio + (f" ({sizes})" if sizes else ""))


def sizes_text(a: Mapping[str, int] | None, b: Mapping[str, int] | None) -> str:
    """The sizes of a product that differ."""
    if not a or not b:
        return ""
    return ", ".join(f"{name} {a[name]:,} → {b[name]:,}" for name in a if name in b and a[name] != b[name])


def _recompute(it: Between) -> Iterator[DiffReason]:
    before, after = (sum(RecomputeFacts.found_in(row) is not None for row in rows) for rows in (it.a, it.b))
    if before != after:
        text = "runs again in the backward pass" if after > before else "does not run again in the backward pass"
        yield DiffReason(kind="recompute", a=before, b=after, text=text)


def _passes(it: Between) -> Iterator[DiffReason]:
    """The passes of a MAC through multipliers, by number formats and zeros."""
    rates: list[float] = []
    for rows in it.products:
        macs = sum(row.repeat * (row.macs or 0) for row in rows)
        rates.append(sum(row.repeat * passes_of(row) for row in rows) / macs if macs else 0.0)
    before, after = rates
    if before and after and before != after:
        text = f"{before:.3g} → {after:.3g} passes of a MAC through a multiplier"
        yield DiffReason(kind="passes", a=before, b=after, text=text)


def _traffic(it: Between) -> Iterator[DiffReason]:
    for look in (interleaving, fusion, residency):
        yield from look(it.a, it.b)
    if not says_bytes(it.a, it.b):
        return
    a, b = it.precision
    before, after = moved_bytes(it.a), moved_bytes(it.b)
    if a != b and before and after in (2 * before, before / 2):
        yield DiffReason(kind="precision", a=a, b=b, text=f"{times(before, after)} the bytes: {a} → {b}")
    else:
        yield from traffic(it.a, it.b, by_tensor=it.same_model)


def _exchange(it: Between) -> Iterator[DiffReason]:
    before, after = (_sent(rows) for rows in (it.a, it.b))
    if before != after:
        text = f"a device sends {bytes_cell(before)} → {bytes_cell(after)}"
        yield DiffReason(kind="exchange", a=before, b=after, text=text)


def _sent(rows: Rows) -> float:
    known = ((row.repeat, ExchangeFacts.found_in(row)) for row in rows if row.kind == "comm")
    return sum(
        n * (facts.operand_bytes if facts.sent_bytes is None else facts.sent_bytes) for n, facts in known if facts
    )


def _stalls(it: Between) -> Iterator[DiffReason]:
    before, after = (sum(row.repeat * (row.stall_cycles or 0) for row in rows) for rows in (it.a, it.b))
    changed = (it.side_b.cycles or 0) - (it.side_a.cycles or 0)
    if before != after and 2 * (after - before) * (1 if changed > 0 else -1) >= abs(changed) > 0:
        yield DiffReason(kind="stalls", a=before, b=after, text=f"waits {before:,.10g} → {after:,.10g} cycles")


def _schedule(it: Between) -> Iterator[DiffReason]:
    """Other loops, of products that are one for one the same."""
    a, b = it.products
    if len(a) != len(b):
        return
    for row_a, row_b in zip(a, b, strict=True):
        before, after = row_a.schedule, row_b.schedule
        if before is None or after is None or before == after or row_a.phase != row_b.phase:
            continue
        text = ", ".join(_changes(before, after))
        if text:
            yield DiffReason(kind="schedule", a=schedule_text(before), b=schedule_text(after), text=text)
            return


def _changes(a: ScheduleRow, b: ScheduleRow) -> Iterator[str]:
    steps = [
        f"{dim} {a.tile[dim]:,} → {b.tile[dim]:,}" for dim in a.tile if b.tile.get(dim, a.tile[dim]) != a.tile[dim]
    ]
    if steps:
        yield f"tile {', '.join(steps)}"
    if a.order != b.order:
        yield f"loops {' '.join(a.order) or 'none'} → {' '.join(b.order) or 'none'}"
    if a.keep != b.keep:
        yield f"keeps {' '.join(a.keep) or 'nothing'} → {' '.join(b.keep) or 'nothing'}"
    if a.partition != b.partition:
        yield f"parts {_parts(a)} → {_parts(b)}"


def _parts(schedule: ScheduleRow) -> str:
    part = schedule.partition
    return "none" if part is None else f"{part.parts:,} of {part} over {part.over}"


def schedule_text(schedule: ScheduleRow) -> str:
    """A schedule in words: sequential; loops b y; tile b 1 o 64; keeps X."""
    parts = [
        schedule.program,
        f"loops {' '.join(schedule.order) or 'none'}",
        f"tile {' '.join(f'{dim} {step}' for dim, step in schedule.tile.items()) or 'none'}",
    ]
    if schedule.keep:
        parts.append(f"keeps {' '.join(f'{name} {depth}' for name, depth in schedule.keep.items())}")
    if schedule.partition is not None:
        parts.append(f"parts {_parts(schedule)}")
    return "; ".join(parts)


def _limit(it: Between) -> Iterator[DiffReason]:
    before, after = it.side_a.limit, it.side_b.limit
    if before != after and before is not None and after is not None:
        yield DiffReason(kind="limit", a=before, b=after, text=f"limited by {before} → {after}")


def _energy(it: Between) -> Iterator[DiffReason]:
    """Where costs differ in energy alone."""
    a, b = it.side_a, it.side_b
    if a.energy_j is not None and b.energy_j is not None and a.energy_j != b.energy_j and a.seconds == b.seconds:
        text = f"{times(a.energy_j, b.energy_j)} the energy" if a.energy_j else "energy"
        yield DiffReason(kind="energy", a=a.energy_j, b=b.energy_j, text=text)


_LOOKS: Sequence[Callable[[Between], Iterator[DiffReason]]] = (
    *(_operation, _work, _recompute, _passes, _traffic, peak, utilization, bandwidth, clock),
    *(machine, _exchange, _stalls, _schedule, _limit, _energy),
)

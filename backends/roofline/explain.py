"""The explanation of a step of the iteration: the text of `npuc explain -b roofline` on a layer."""

from __future__ import annotations

from collections.abc import Iterator

from npuc.backends.base import Answer, Question
from npuc.backends.roofline.facts import StepFacts
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.sections import IterationFacts, RecomputeFacts
from npuc.compiler.report.text.grid import LABEL, wrapped
from npuc.compiler.report.text.quantities import bytes_cell, count_cell, time_text

NARROWEST = 40
ROUNDING = 1e-6
"""Waiting of less than this share of a step is rounding."""
WHY = {
    "compute": "computation takes longer than the transfers beside it",
    "dram": "transfers take longer than the computation beside them",
}


def answer(question: Question) -> Answer:
    """Text of the steps that were asked for."""
    rows = [row for row in question.rows if question.phase in (None, row.phase)]
    return Answer(text=lambda width: "\n".join(explain_text(row, question.report, width) for row in rows))


def explain_text(row: OpRow, report: Report, width: int) -> str:
    """The lines on a step, of at most `width` characters (40 at least)."""
    width, lines = max(width, NARROWEST), list[str]()
    for heading, sentence in _facts(row, report):
        for number, line in enumerate(wrapped(sentence, width - LABEL)):
            lines.append(f"{'' if number else heading:<{LABEL}}{line}".rstrip())
    again = ", again" if RecomputeFacts.found_in(row) is not None else ""
    place = f" at {row.loc}" if row.loc else ""
    title = wrapped(f"{row.name} {row.phase}{again}: {row.op}{place}", width)
    return "\n".join([*title, "", *lines, "", *_tensors(row)]) + "\n"


def _facts(row: OpRow, report: Report) -> Iterator[tuple[str, str]]:
    step, whole = StepFacts.found_in(row), IterationFacts.found_in(report)
    seconds, least = row.seconds or 0.0, row.lower_bound_seconds or 0.0
    ops = f"{count_cell(row.macs)} MACs" if row.macs else f"{count_cell(row.vector_ops)} vector operations"
    yield "work", ops if row.macs or row.vector_ops else "none: it moves data only"
    yield "time", f"{time_text(seconds)}; computation alone takes {time_text(least)}"
    if step is None:
        return
    share = f" of {time_text(report.totals.seconds)}" if report.totals.seconds else ""
    yield "", f"from {time_text(step.start_seconds)} to {time_text(step.end_seconds)}{share}"
    if step.stall_seconds > ROUNDING * seconds:
        beside = "while it streams its tensors" if step.streams else "until its tensors are in the cache"
        yield "", f"it waits for transfers {time_text(step.stall_seconds)}, {beside}"
    yield "limit", f"{row.limit}: {WHY.get(row.limit or '', 'it sets the time')}"
    yield "intensity", _intensity(step, None if whole is None else whole.ridge_ops_per_byte)
    moved, compulsory = step.bytes_in + step.bytes_out, row.lower_bound_bytes or 0
    more = f", {moved / compulsory:,.3g}x what is compulsory" if compulsory and moved > compulsory else ""
    yield "traffic", f"{bytes_cell(step.bytes_in)} read, {bytes_cell(step.bytes_out)} written{more}"
    saved = step.footprint_bytes - moved
    kept = f"; {bytes_cell(saved)} of them are in the cache already, or stay there" if saved > 0 else ""
    yield "cache", f"its tensors take {bytes_cell(step.footprint_bytes)}{kept}"
    if whole is not None:
        held = f"{bytes_cell(step.resident_bytes)} are in use meanwhile, of {whole.plan_mib:,.4g} MiB"
        yield "", held + ("; it streams: its tensors do not fit beside what the plan keeps" if step.streams else "")


def _intensity(step: StepFacts, ridge: float | None) -> str:
    text = f"{step.reuse_frequency:,.3g} operations per byte of its tensors"
    if ridge is not None:
        side = "below" if step.reuse_frequency < ridge else "above"
        text += f", {side} the machine's ridge point of {ridge:,.3g}"
    return f"{text}: without reuse between steps {step.attainable_tops:,.3g} T operations a second"


def _tensors(row: OpRow) -> Iterator[str]:
    cells = [(name, bytes_cell(one.read_bytes), bytes_cell(one.write_bytes)) for name, one in row.tensors.items()]
    table = [("tensor", "read", "written"), *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *sizes in table:
        yield f" {name:<{widths[0]}}" + "".join(f"   {s:>{w}}" for s, w in zip(sizes, widths[1:], strict=True))

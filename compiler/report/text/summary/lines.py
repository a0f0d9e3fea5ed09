"""The lines below the table of a report: where time and traffic go, bounds, what runs together, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator

from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import RecomputeFacts
from npuc.compiler.report.sparse import SparseFacts
from npuc.compiler.report.text.cores import load_balance
from npuc.compiler.report.text.quantities import bytes_unit, time_text
from npuc.compiler.report.text.sharding import chunks_text, overlap_text, sums_text
from npuc.compiler.report.text.summary.certified import certified_text
from npuc.compiler.report.text.summary.derived import derived_text
from npuc.compiler.report.text.summary.energy import energy_line
from npuc.compiler.report.text.summary.fused import fused_text
from npuc.compiler.report.text.summary.grouped import grouped_text
from npuc.compiler.report.text.summary.interleaving import interleaving_text
from npuc.compiler.report.text.summary.iteration import iteration_text, nearness_text
from npuc.compiler.report.text.summary.levels import levels_text
from npuc.compiler.report.text.summary.memory import memory_text
from npuc.compiler.report.text.summary.refreshed import refreshed_text
from npuc.compiler.report.text.summary.resident import resident_text
from npuc.compiler.report.text.summary.verdict import bound_holds, verdict
from npuc.compiler.report.text.words import PHASES, Words


def summary(report: Report, words: Words) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    totals = report.totals
    if totals.seconds:
        yield "phases", _shares(totals.seconds_by_phase, totals.seconds, PHASES)
        yield "kinds", _shares(totals.seconds_by_kind, totals.seconds, {})
    if totals.lower_bound_seconds is not None and totals.seconds is not None:
        bound = totals.lower_bound_seconds
        gap = f"; this one takes {totals.seconds / bound:.2f}x that" if bound else ""
        yield "bound", f"no schedule takes less than {time_text(bound)} {bound_holds(report, words)}{gap}"
    read, written = totals.dram_read_bytes, totals.dram_write_bytes
    if read is not None and written is not None:
        scale, unit = bytes_unit(read + written)
        text = f"{read / scale:,.2f} {unit} read, {written / scale:,.2f} {unit} written"
        if totals.lower_bound_bytes:
            least = totals.lower_bound_bytes
            text += f"; {(read + written) / least:.2f}x the lower bound {bound_holds(report, words)}, "
            text += f"{least / scale:,.2f} {unit}"
        yield "traffic", text
    memory = None if report.memory is None else memory_text(report.memory, totals)
    for name, text in (
        ("levels", levels_text(report)),
        ("network", overlap_text(report)),
        ("chunks", chunks_text(report)),
        ("sums", sums_text(report)),
        ("memory", memory),
        ("recompute", _rare(report, "recompute")),
        ("refreshes", refreshed_text(report)),
        ("sparse", _rare(report, "sparse")),
        ("assumed", _rare(report, "assumed")),
        ("optimal", certified_text(report)),
        ("together", interleaving_text(report)),
        ("fused", fused_text(report)),
        ("iteration", iteration_text(report)),
        ("gap", nearness_text(report)),
        ("groups", grouped_text(report)),
        ("resident", resident_text(report)),
        ("derived", derived_text(report)),
    ):
        if text is not None:
            yield name, text
    balance = load_balance(report)
    if balance is not None:
        yield "cores", f"load balance {balance:.1%}: the mean work of the cores' arrays over that of the busiest"
    energy = energy_line(report)
    if energy is not None:
        yield "energy", energy
    yield "verdict", verdict(report, words)


def _shares(times: dict[str, float | None], whole: float, names: dict[str, str]) -> str:
    parts = [
        f"{names.get(key, key)} {time_text(seconds)} ({seconds / whole:.0%})"
        for key, seconds in times.items()
        if seconds
    ]
    return ", ".join(parts)


def _rare(report: Report, what: str) -> str | None:
    """A line that few reports have: its module is imported for these alone."""
    if what == "assumed" and report.totals.assumed:
        from npuc.compiler.report.text.summary.assumed import assumed_text

        return assumed_text(report)
    if what == "recompute" and any(RecomputeFacts.found_in(row) for row in report.ops):
        from npuc.compiler.report.text.summary.recomputed import again_text

        return again_text(report)
    if what == "sparse" and any(SparseFacts.found_in(row) for row in report.ops):
        from npuc.compiler.report.text.summary.sparse import sparse_text

        return sparse_text(report)
    return None

"""The plan of a step shared among devices as text: the type of each layer at each level, and the movement."""

from __future__ import annotations

from fractions import Fraction
from math import fsum
from typing import TYPE_CHECKING

from npuc.compiler.core.options import is_fixed, is_joint, uses_mp
from npuc.compiler.core.units import MIB
from npuc.compiler.report.parallel import Parallel, ParallelLevel
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import (
    CommunicationBytes,
    CommunicationTime,
    ExchangeChunks,
    OverlapFacts,
    OverlapTime,
)
from npuc.compiler.report.text.grid import Column, print_grid, print_note
from npuc.compiler.report.text.quantities import bytes_unit, time_text
from npuc.compiler.report.text.summary.verdict import is_training

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.compiler.report.plan import PlanReport

STYLES = {"dp": "green", "mp": "magenta", "mp out": "cyan", "I": "green", "II": "magenta", "III": "cyan"}
CUT_WORDS = {"output": "out", "rows": "rows", "whole": "whole"}
"""What is said of a cut beside the type."""
ROUNDING = 1e-9
"""The tolerance of sums of seconds."""
CUT_NOTE = "mp cuts a layer along its input's channels, mp out along its output's"
LONGEST_RUN = 3
"""Up to this many layers with the same types are shown one by one; of more only the first and the last."""


def print_parallel(parallel: Parallel, console: Console) -> None:
    """Print the types as papers draw them: one line per layer, one column per level, the top level first."""
    heading = f"{parallel.devices:,} devices by {parallel.strategy}, movement counted as {parallel.convention}"
    print_note(heading, console, style="bold")
    console.print()
    rows = _rows(parallel.levels)
    last = f"elements of a {'pair' if all(level.parts == 2 for level in parallel.levels) else 'group'}"
    columns = [Column("layer", tuple(name for name, _ in rows), left=True, footer=last)]
    for number, level in enumerate(parallel.levels):
        cells = tuple(types[number] for _, types in rows)
        styles = tuple(STYLES.get(cell, "") for cell in cells)
        columns.append(Column(level.level, cells, styles=styles, footer=short_amount(Fraction(level.elements))))
    cut = any("output" in (level.cuts or {}).values() for level in parallel.levels)
    print_grid(columns, console, notes=[CUT_NOTE] if cut else [])
    for text in [*_planned(parallel), *_summary(parallel)]:
        print_note(text, console, style="")
    console.print()


def _rows(levels: list[ParallelLevel]) -> list[tuple[str, tuple[str, ...]]]:
    """Layers with their types; long runs of the same types folded."""
    names = list(levels[0].choices) if levels else []
    patterns = [
        (name, tuple(type_text(level.choices[name], (level.cuts or {}).get(name)) for level in levels))
        for name in names
    ]
    runs: list[list[tuple[str, tuple[str, ...]]]] = []
    for row in patterns:
        if runs and runs[-1][0][1] == row[1]:
            runs[-1].append(row)
        else:
            runs.append([row])
    found: list[tuple[str, tuple[str, ...]]] = []
    for run in runs:
        if len(run) <= LONGEST_RUN:
            found += run
        else:
            found.append((f"{run[0][0]} … {run[-1][0]} ({len(run):,})", run[0][1]))
    return found


def type_text(choice: str, cut: str | None) -> str:
    """
    A type; `mp out` where the output's channels are split instead of the input's, `mp rows` where rows of a table.
    """
    return f"{choice} {CUT_WORDS[cut]}" if cut in CUT_WORDS else choice


def short_amount(amount: Fraction) -> str:
    """Elements with three digits: 1.47 G."""
    for scale, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if amount >= scale:
            return f"{float(amount / scale):.4g} {unit}"
    return f"{float(amount):.4g}"


def _planned(parallel: Parallel) -> list[str]:
    """The plan's objective, if it is not movement, and its gap to the best."""
    if parallel.planned is None:
        return []
    value, bound = parallel.planned.value, parallel.planned.lower_bound
    if parallel.planned.objective == "time":
        text = f"planned for time: {time_text(value)} a step"
    else:
        text = f"planned for memory: {value / MIB:,.2f} MiB of a device kept for the backward pass"
    if value <= bound * (1 + ROUNDING):
        return [f"{text}, the least of the plans searched"]
    return [f"{text}, {(value - bound) / bound:.1%} above the proved bound" if bound else text]


def gap_percent(total: Fraction, bound: Fraction) -> str:
    """The movement above its bound in percent: small gaps with as many digits as they need."""
    gap = float((total - bound) / bound)
    return f"{gap:.1%}" if gap >= 5e-4 else f"{100 * gap:.1g}%"


def _summary(parallel: Parallel) -> list[str]:
    total, size = Fraction(parallel.total.elements), Fraction(parallel.total.bytes or 0)
    scale, unit = bytes_unit(int(size))
    moved = f"{short_amount(total)} elements between devices, one direction"
    step = "a step" if parallel.training else "a forward pass"
    text = f"{step} moves {moved}, {float(size) / scale:,.2f} {unit} both"
    if parallel.lower_bound_elements is None:
        return [f"{text}; how little any plan moves is not known"]
    return [text + bound_text(total, Fraction(parallel.lower_bound_elements), parallel)]


def bound_text(total: Fraction, bound: Fraction, plan: Parallel | PlanReport) -> str:
    """
    How near the elements of a plan are to what is proved of the plans that were searched: the end of a sentence.

    A level may cut an axis only if all devices divide it, those along levels that do not cut it as well; which plans
    that leaves out is said, as one of them may move less.
    """
    types = "types dp and mp" if is_fixed(plan.strategy) else "these types"
    cut = "axes" if is_joint(plan.strategy) else ""
    if not cut and plan.convention == "physical" and uses_mp(plan.strategy):
        cut = "channels"
    which = f" whose cut {cut} are divisible by all {plan.devices:,} devices" if cut else ""
    if total <= bound:
        return f": no plan of {types}{which} moves fewer elements"
    if not bound:
        return "; no more than 0 is proved to be needed"
    searched = f"plans of {types}{which}" if which else types
    return f"; {gap_percent(total, bound)} above the proved bound of {searched}, {short_amount(bound)}"


def overlap_text(report: Report) -> str | None:
    """The share of communication in the step, and the step's time where gradient sums overlap with other work."""
    found, total = CommunicationTime.found_in(report), report.totals.seconds
    if found is None or found.overlapped_seconds is None or not total:
        return None
    exposed = OverlapTime.found_in(report)
    if exposed is not None:
        return (
            f"{time_text(exposed.exposed_seconds)} of {time_text(total)} exposed, of {time_text(found.comm_seconds)} "
            f"between devices; no order of these exposes less than {time_text(exposed.exposed_bound_seconds)}; "
            f"{time_text(exposed.unbucketed_seconds)} a step without buckets"
        )
    text = f"{time_text(found.comm_seconds)} of {time_text(total)} between devices"
    if not is_training(report):
        return text
    return f"{text}; {time_text(found.overlapped_seconds)} a step if gradients of weights are summed beside other work"


def chunks_text(report: Report) -> str | None:
    """How many collectives move in chunks, how long these take, and how near that is to what no order is below."""
    found = [
        (chunks, row.seconds if (beside := OverlapFacts.found_in(row)) is None else beside.alone_seconds, row.repeat)
        for row in report.ops
        if (chunks := ExchangeChunks.found_in(row)) is not None and row.seconds is not None
    ]
    if not found:
        return None
    moved = sum(row.kind == "comm" for row in report.ops)
    counts = sorted({chunks.chunks for chunks, _, _ in found})
    shown = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    seconds = fsum(repeat * seconds for _, seconds, repeat in found)
    bound = fsum(repeat * chunks.bound_seconds for chunks, _, repeat in found)
    above = f"{max(seconds / bound - 1, 0.0):.1%} above" if bound else "beside"
    return (
        f"{len(found):,} of {moved:,} movements go in {shown} chunks and take {time_text(seconds)}, {above} the lower "
        f"bound of any orders, {time_text(bound)}"
    )


def sums_text(report: Report) -> str | None:
    """The bytes that a device reads from others, for sums of weight gradients and for everything else."""
    found = CommunicationBytes.found_in(report)
    if found is None:
        return None
    whole, read = found.gradient_operand_bytes, (found.gradient_read_bytes, found.other_read_bytes)
    scale, unit = bytes_unit(max(whole, *map(int, read)))
    gradients, other = (f"{float(one) / scale:,.2f} {unit}" for one in read)
    operands = f"{whole / scale:,.2f} {unit}"
    return f"a device reads {gradients} to sum {operands} of weights' gradients, and {other} for all else"

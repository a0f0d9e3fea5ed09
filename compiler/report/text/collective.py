"""One collective as text: its chunks and orders, the use of each level over time, and how near it is to a bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.report.explained import CollectiveOrder, CollectiveStage, ExplainedCollective
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import bytes_cell, percent_cell, three_digits, time_cell, time_text

if TYPE_CHECKING:
    from rich.console import Console

SHADES = " ▁▂▃▄▅▆▇█"
"""How much of a part of the time a level works."""
WIDEST = 64
"""The most parts of the time that are shown."""
QUEUES = {
    "fifo": "the chunk that came first goes first",
    "scf": "the chunk with the least data goes first",
    "listed": "the stages go in the order of a search",
}


def print_collective(one: ExplainedCollective, console: Console) -> None:
    """Print a collective: what it is, a table of levels, their use over time, orders, and what others take."""
    kind = one.op.rpartition(".")[2].replace("_", "-")
    title = (
        f"{kind} of {one.layer} ({one.of}), {bytes_cell(one.operand_bytes)} on each of {one.devices:,} devices of "
        f"{one.hardware}, over {_levels_text(one.over)}: {time_text(one.seconds)}"
    )
    print_note(title, console, style="bold")
    console.print()
    print_grid(columns_of([*_rows(one)], left=(0,)), console)
    room = max(min(console.width - 12, WIDEST), 8)
    for level in one.levels:
        own = [stage for stage in one.stages if stage.level == level.level]
        print_line(f"level {level.level + 1}", strip(own, one.seconds, room), console)
    print_line(
        "", f"from 0 to {time_text(one.seconds)}; the height is the part of the time that a level works", console
    )
    for name, text in _lines(one):
        print_line(name, text, console)


def strip(stages: Sequence[CollectiveStage], seconds: float, parts: int) -> str:
    """How much of each of so many equal parts of a time a level works, as a line of blocks."""
    work = [0.0] * parts
    for stage in stages:
        first, last = stage.begin / seconds * parts, stage.end / seconds * parts
        for number in range(int(first), min(int(last) + 1, parts)):
            work[number] += max(min(last, number + 1) - max(first, number), 0.0)
    # a part in which a level works at all is never blank
    return "".join(SHADES[min(max(round(8 * one), one > 1e-9), 8)] for one in work).rstrip() or "·"


def _rows(one: ExplainedCollective) -> Iterator[Sequence[str]]:
    yield "level", "GB/s", "sends", "works", "use, %"
    for level in one.levels:
        name = level.shown
        rate = three_digits(level.gb_per_s)
        yield name, rate, bytes_cell(level.sent_bytes), time_cell(level.busy_seconds), percent_cell(level.use)


def _lines(one: ExplainedCollective) -> Iterator[tuple[str, str]]:
    if one.chunks == 1:
        yield "chunks", f"it moves whole, over the levels {_order_text(one.orders[0])}"
    else:
        yield "chunks", f"{one.chunks:,}; where several wait, {QUEUES[one.queue]}"
        orders = ", ".join(f"{order.chunks:,} x {_order_text(order)}" for order in one.orders)
        yield "orders", f"of the levels above, in the order of chunks: {orders}"
    above = one.seconds / one.bound_seconds - 1 if one.bound_seconds else 0.0
    yield "bound", f"no order of as many chunks takes less than {time_text(one.bound_seconds)}: {above:.1%} above"
    yield "use", f"{one.utilisation:.1%} of what all levels could send in the time; latencies {one.latency}"
    yield (
        "policies",
        ", ".join(
            f"{policy.policy} {time_text(policy.seconds)}"
            if policy.chunks == 1 or policy.policy != "baseline"
            else f"in {policy.chunks:,} chunks baseline {time_text(policy.seconds)}"
            for policy in one.policies
        ),
    )
    if one.others:
        shown = ", ".join(f"{other.layer} ({other.of}) {time_text(other.seconds)}" for other in one.others[:4])
        more = f" and {len(one.others) - 4:,} more" if len(one.others) > 4 else ""
        chooses = "; --phase chooses" if any(other.of != one.of for other in one.others) else ""
        yield "others", f"of that name are also {shown}{more}{chooses}"


def _order_text(order: CollectiveOrder) -> str:
    """The levels of the network by their numbers in the table, joined by arrows."""
    back = "" if order.back in ([], order.levels[::-1]) else f", back {_way(order.back)}"
    return f"{_way(order.levels)}{back}"


def _way(levels: Sequence[int]) -> str:
    return "-".join(str(level + 1) for level in levels)


def _levels_text(levels: Sequence[str]) -> str:
    """Levels of the mesh, ascending, those that follow each other as a run: H1-H4, H10."""
    runs: list[list[str]] = []
    for level in levels:
        if runs and int(level[1:]) == int(runs[-1][-1][1:]) + 1:
            runs[-1].append(level)
        else:
            runs.append([level])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

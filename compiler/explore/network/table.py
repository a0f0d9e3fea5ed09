"""The bandwidths of a network as text: levels, splits, shapes, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from npuc.compiler.explore.network.result import NetworkResult, ShapeChoice
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import time_cells, time_text

if TYPE_CHECKING:
    from rich.console import Console

STAGE_WORDS = {
    "serial": "the stages of a collective run one after the other",
    "pipelined": "all levels work at the same time within a collective, as with very many chunks",
}
OVERLAP_WORDS = {
    "none": "work and collectives run one after the other",
    "gradients": "sums of weights' gradients run beside other work",
}


def print_result(result: NetworkResult, console: Console) -> None:
    """Print the result."""
    settings = result.settings
    asked = [] if settings.total_gb_per_s is None else [f"{settings.total_gb_per_s:,g} GB/s a device"]
    asked += [] if settings.budget_usd is None else [f"{settings.budget_usd:,.12g} USD"]
    goal = "least time" if settings.objective == "time" else "least time x cost"
    text = f"{result.title} ({result.source}): {' and '.join(asked)} on {result.hardware} for {goal}"
    print_note(text, console, style="bold")
    console.print()
    print_grid(columns_of([*_levels(result)], left=(0, 1), ranks={3: 2, 4: 1, 5: 3}), console, gap=2)
    print_grid(columns_of([*_splits(result)]), console, gap=2)
    if result.shapes:
        print_grid(columns_of([*_shapes(result)], left=(1,)), console, gap=2)
    for name, words in _summary(result):
        print_line(name, words, console)


def _levels(result: NetworkResult) -> Iterator[tuple[str, ...]]:
    yield ("level", "kind", "size", "MB of\na step", "USD of\nGB/s", "given\nGB/s", "equal\nGB/s", "best\nGB/s")
    splits = [result.split(name).gb_per_s for name in ("given", "equal", "best")]
    for number, level in enumerate(result.levels):
        price = level.usd_per_gb_per_s
        rates = (f"{split[number]:,.4g}" for split in splits)
        cost = "" if price is None else f"{price:g}"
        shape = " x ".join(f"{size:,}" for size in level.dimensions)
        yield (f"b{number + 1}", level.kind, shape, f"{level.sent_bytes / 1e6:,.4g}", cost, *rates)


def _splits(result: NetworkResult) -> Iterator[tuple[str, ...]]:
    yield ("split", "GB/s", "step", "exposed", "USD", "")
    steps = time_cells([one.seconds for one in result.splits])
    beside = time_cells([one.seconds - result.work_seconds for one in result.splits])
    for one, step, exposed in zip(result.splits, steps, beside, strict=True):
        usd = "" if one.usd is None else f"{one.usd:,.0f}"
        yield (one.split, f"{sum(one.gb_per_s):,.4g}", step, exposed, usd, "" if one.meets else "not within")


def best_by_count(result: NetworkResult) -> list[ShapeChoice]:
    """The best shape of each number of levels."""
    found: dict[int, ShapeChoice] = {}
    for one in result.shapes:
        found.setdefault(len(one.sizes), one)
    return [found[count] for count in sorted(found)]


def _shapes(result: NetworkResult) -> Iterator[tuple[str, ...]]:
    shapes, costs = best_by_count(result), result.settings.objective == "time-cost"
    values = [one.seconds * (one.usd or 1.0) if costs else one.seconds for one in shapes]
    yield ("levels", "best sizes", "GB/s by level", "step", "USD", "saves\n%")
    steps = time_cells([one.seconds for one in shapes])
    saved = ["", *(f"{100 * (1 - one / before):.1f}" for before, one in pairwise(values))]
    for one, step, share in zip(shapes, steps, saved, strict=True):
        usd = "" if one.usd is None else f"{one.usd:,.0f}"
        sizes = " x ".join(map(_level_size, one.dimensions))
        yield (str(len(one.sizes)), sizes, ", ".join(f"{rate:.4g}" for rate in one.gb_per_s), step, usd, share)


def _level_size(dimensions: tuple[int, ...]) -> str:
    text = " x ".join(map(str, dimensions))
    return text if len(dimensions) == 1 else f"({text})"


def _summary(result: NetworkResult) -> Iterator[tuple[str, str]]:
    settings = result.settings
    yield "model", f"{STAGE_WORDS[settings.stages]}; {OVERLAP_WORDS[settings.overlap]}"
    if settings.constraints:
        yield "limits", "; ".join(settings.constraints)
    more = f" by more than {result.gap:.1e} of it" if result.gap > 0 else ""
    formula = "a closed form: " if result.method == "closed form" else ""
    yield "bound", f"{formula}no split is better{more}"
    yield "floor", f"{time_text(result.floor_seconds)} at any bandwidths: work and latencies"
    unused = [f"b{number}" for number, one in enumerate(result.levels, 1) if not one.sent_bytes]
    if unused:
        yield "unused", f"no bytes of this step cross {' and '.join(unused)}"
    if result.shapes:
        most = f"inner levels have at most the sizes of {result.hardware}"
        count = "one shape" if len(result.shapes) == 1 else f"{len(result.shapes):,} shapes"
        text = f"{count} of as many devices; {most}"
        mesh = " x ".join(map(str, result.mesh))
        unfit = f"; {result.unfit:,} more do not hold the mesh {mesh} (one of smaller levels may fit)"
        yield "shapes", text + (unfit if result.unfit else "")
    yield "verdict", _verdict(result)


def _verdict(result: NetworkResult) -> str:
    """The best split beside the equal one."""
    equal, best = result.split("equal"), result.split("best")
    what, gain = "training step" if result.training else "forward pass", equal.seconds / best.seconds
    text = f"One {what} takes {time_text(best.seconds)}: {gain:.3f} times as fast as the equal split"
    if equal.usd is not None and best.usd:
        share = best.usd / equal.usd
        text += f", for {100 * share:.0f}% of its price"
        if result.settings.objective == "time-cost":
            text += f" and {100 * share * best.seconds / equal.seconds:.1f}% of its time x cost"
    return text + ("." if equal.meets else ". The equal split is not within what was asked for.")

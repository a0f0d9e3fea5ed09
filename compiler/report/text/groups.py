"""The groups of layers that run by micro-batches as a text table: one line per group, with what it saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.report.groups import LayerGroup, layer_groups
from npuc.compiler.report.report import Report
from npuc.compiler.report.text.grid import Column, print_grid
from npuc.compiler.report.text.quantities import bytes_cells, percent_cell, time_cells

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 8
"""How many groups are shown where not all are asked for: those that save most time."""


def print_groups(report: Report, console: Console, *, every: bool) -> None:
    """Print the table, of `every` group or of those that save most; nothing for a report without groups."""
    groups = layer_groups(report)
    if not groups:
        return
    shown = groups
    if not every and len(groups) > SHOWN:
        most = sorted(groups, key=lambda group: -(group.saved_cycles or 0))[:SHOWN]
        shown = [group for group in groups if group in most]
    note = f"the {SHOWN} groups of {len(groups):,} that save most; sums: all; --rows all shows each"
    print_grid([*_columns(shown, groups)], console, notes=[note if len(shown) < len(groups) else ""])


def _columns(shown: Sequence[LayerGroup], every: Sequence[LayerGroup]) -> Iterator[Column]:
    """
    The columns. Layers, micro-batches and what is saved are always there; then in this order, as far as there is room:
    traffic with its bound, time, operations, SPM.
    """

    def column(heading: str, cells: Sequence[str], rank: int, footer: str = "", *, left: bool = False) -> Column:
        return Column(heading, tuple(cells), left=left, rank=rank, footer=footer)

    def amounts(
        heading: str, of: Callable[[LayerGroup], float | None], rank: int, cells: Callable[..., list[str]]
    ) -> Column:
        values = [of(group) for group in shown]
        total = sum(of(group) or 0 for group in every)
        *own, footer = cells([*values, total])
        return column(heading, own, rank, footer)

    yield column("group", [str(group.number) for group in shown], 0)
    yield column("layers", [group.title for group in shown], 0, "total", left=True)
    counts = [len(group.rows) for group in every]
    yield column("ops", [str(len(group.rows)) for group in shown], 4, f"{sum(counts):,}")
    yield column("micro\nbatches", [f"{group.micro_batches:,} x {group.micro_batch:,}" for group in shown], 0)
    if any(group.bands > 1 for group in every):
        yield column("bands", [f"{group.bands:,}" if group.bands > 1 else "" for group in shown], 1)
    yield amounts("time", lambda group: group.seconds, 3, time_cells)
    yield amounts("time\nsaved", lambda group: group.saved_seconds, 0, time_cells)
    yield column("%", [percent_cell(_share(group)) for group in shown], 3)
    yield amounts("DRAM", lambda group: group.dram_bytes, 2, bytes_cells)
    yield amounts("DRAM\nsaved", lambda group: group.saved_bytes, 0, bytes_cells)
    yield amounts("DRAM\nleast", lambda group: group.bound_bytes, 2, bytes_cells)
    yield column("SPM", bytes_cells([group.spm_bytes for group in shown]), 5)


def _share(group: LayerGroup) -> float | None:
    """The time that a group saves over that of its operations by themselves."""
    saved = group.saved_seconds
    return None if saved is None or not group.seconds + saved else saved / (group.seconds + saved)

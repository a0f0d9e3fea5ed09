"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.rasa.settings import BLOCK, BLOCKS, CHANGES, COLS, DESIGNS, REASONS, REGISTERS, ROWS, TILE_M
from npuc.studies.rasa.study import MEAN, RasaClaim, RasaResults, RasaRow, block_text
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console

PRODUCT = ("network", "layer", "phase", "repeat", "batch", "m", "n", "k", "instructions", "weight_groups")


def to_json(results: RasaResults) -> str:
    """The products, as `reductions` those of networks by block and design, as `claims` the findings."""
    tables = {
        "rows": [_cells(row) for row in results.rows],
        "reductions": [asdict(one) for one in results.reductions],
        "claims": [asdict(one) for one in results.claims],
    }
    return rows_json("rasa", results.preset, tables)


def to_csv(results: RasaResults) -> str:
    """The products, one a line."""
    return rows_csv([*PRODUCT, *map(_column, DESIGNS)], [_cells(row) for row in results.rows])


def print_study(results: RasaResults, console: Console) -> None:
    """Reductions by design and network, by the block in registers, and the findings."""
    title = f"Instructions of {TILE_M} x {ROWS} by {ROWS} x {COLS} elements, overlapped (RASA): % less time than base"
    print_note(f"{title}, {results.preset}", console, style="bold")
    console.print()
    print_grid(columns_of([*design_lines(results)], left=(0, len(results.networks) + 3), ranks={}), console, gap=2)
    console.print()
    print_grid(columns_of([*block_lines(results)], left=(0,), ranks={}), console, gap=2)
    console.print()
    print_grid(columns_of([*claim_lines(results.claims)], left=(0, 1, 2, 4, 5), ranks={5: 1}), console, gap=2)
    if results.verdict:
        print_line("verdict", results.verdict, console)
    print_line("note", " ".join(REASONS), console)


def design_lines(results: RasaResults) -> Iterator[Sequence[str]]:
    """A line a design: reductions of networks, their mean, what is published, and what the design does."""
    published = {one.claim: one.published for one in results.claims}
    yield ("design", *results.networks, MEAN, "published", "what it does")
    for design in DESIGNS[1:]:
        known = published[f"less run time by {design}, %"]
        own = [f"{results.reduction(name, design):.1f}" for name in (*results.networks, MEAN)]
        yield (design, *own, "" if known is None else f"{known:g}", CHANGES[design])


def block_lines(results: RasaResults) -> Iterator[Sequence[str]]:
    """A line a block of registers: the mean reduction by each design."""
    yield (f"block, of {REGISTERS} registers", *DESIGNS[1:])
    for block in BLOCKS:
        used = block[0] * block[1] + sum(block)
        mark = " (above)" if block == BLOCK else ""
        own = [f"{results.reduction(MEAN, design, block):.1f}" for design in DESIGNS[1:]]
        yield (f"{block_text(block)}, {used}{mark}", *own)


def claim_lines(claims: Sequence[RasaClaim]) -> Iterator[Sequence[str]]:
    """A line a finding."""
    yield ("claim", "setting", "published", "ours", "holds", "note")
    for one in claims:
        known = "" if one.published is None else f"{one.published:g}"
        met = {None: "", True: "yes", False: "no"}[one.reproduced]
        yield (one.claim, one.setting, known, f"{one.ours:.3g}", met, one.note)


def _cells(row: RasaRow) -> dict[str, object]:
    cells: dict[str, object] = {name: getattr(row, name) for name in PRODUCT}
    return cells | {_column(one): row.cycles[one] for one in DESIGNS}


def _column(design: str) -> str:
    """The name of the column of a design's cycles."""
    return f"{design.replace('-', '_')}_cycles"

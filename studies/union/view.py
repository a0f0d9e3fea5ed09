"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.rows import rows_csv, rows_json
from npuc.studies.union.settings import ARRAY, FIXED, FREE, MODEL_TEXT, MODELS, Model
from npuc.studies.union.study import UnionClaim, UnionResults, UnionRow

if TYPE_CHECKING:
    from rich.console import Console

NOTE = (
    "The array, the contractions and all numbers are ours: the paper's idea is repeated, not its figures. Cycles are "
    "of the best of so many mappings, no proof that there is none better."
)


def to_json(results: UnionResults) -> str:
    """The rows, and as `claims` the findings."""
    tables = {"rows": [asdict(row) for row in results.rows], "claims": [asdict(one) for one in results.claims]}
    return rows_json("union", results.preset, tables)


def to_csv(results: UnionResults) -> str:
    """The rows, one a line."""
    return rows_csv([one.name for one in fields(UnionRow)], [asdict(row) for row in results.rows])


def print_study(results: UnionResults, console: Console) -> None:
    """Cycles by machine, a table for each model, and the findings."""
    pes = ARRAY["maestro.num_pes"]
    tried = f"{results.evaluations:,} mappings tried"
    print_note(f"One array of {pes:,} elements under constraints (Union), {results.preset}, {tried}", console, "bold")
    for model in MODELS:
        console.print()
        print_note(f"model {model}: {MODEL_TEXT[model]}; cycles of free, and how many times those on machines", console)
        lines = [*model_lines(results, model)]
        print_grid(columns_of(lines, left=(0, 1, len(FIXED) + 3), ranks={}), console, gap=2)
    console.print()
    print_grid(columns_of([*claim_lines(results.claims)], left=(0, 1, 3), ranks={3: 1}), console, gap=2)
    print_line("note", NOTE, console)


def model_lines(results: UnionResults, model: Model) -> Iterator[Sequence[str]]:
    """A line a contraction: the cycles of the free machine, how many times those the others take, and who wins."""
    yield ("layer", "phase", FREE, *FIXED, "winner")
    for one in results.contractions:
        free = results.row(model, one, FREE)
        others = [results.row(model, one, name).over_free for name in FIXED]
        cells = ["none" if over is None else f"{over:.2f}" for over in others]
        named = (one.layer, PHASE_NAMES.get(one.phase, one.phase))
        yield (*named, f"{free.cycles or 0:,.0f}", *cells, results.winner(model, one) or "none")


def claim_lines(claims: Sequence[UnionClaim]) -> Iterator[Sequence[str]]:
    """A line a finding."""
    yield ("finding", "setting", "ours", "note")
    for one in claims:
        yield (one.claim, one.setting, "" if one.ours is None else f"{one.ours:.3g}", one.note)

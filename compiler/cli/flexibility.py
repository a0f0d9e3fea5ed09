"""`npuc flexibility`: what a machine can choose of mappings, and what more choice would gain."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import progress, said
from npuc.compiler.cli.searching import Searching, SearchTargets, all_rows, search_targets
from npuc.compiler.cli.shared import Verb, check_rows, make_console, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.watching import watching

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.flexibility.find import Advance
    from npuc.compiler.explore.flexibility.result import Flexibility

VERB = "flexibility"


@dataclass(frozen=True)
class FlexSearch(Searching):
    """How choices are counted, and how the best mappings are searched."""

    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            metavar="N",
            parser=whole(),
            help="Count tiles by so many samples (default: exactly where feasible).",
        ),
    ] = None
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="folded|all", help="Rows of the table: the costliest contractions, or all."),
    ] = None


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(VERB)(expanded(command))


def command(
    program: Program,
    asked: Annotated[
        FlexSearch,
        Takes(
            without=("levels", "tiles"),
            help={"budget": "Mappings to try for each class and distinct contraction."},
            default={"budget": 500},
        ),
    ],
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without(VERB, Optimisation),
            help={"objective": "What mappings minimise: time, energy or edp."},
        ),
    ],
    devices: Annotated[Devices, Takes(without=without(VERB, Devices))],
    output: Annotated[
        Output,
        Takes(
            without=without(VERB, Output),
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per contraction.",
                "plot": "Plot the gain of each class.",
            },
        ),
    ],
) -> None:
    """Compare a machine's choices of mappings with all that there are, and the sixteen classes of machines."""
    with Verb(output.debug):
        every = all_rows(asked.rows)
        check_rows(asked.rows, output.json, output.csv)
        targets = search_targets(output, optimisation.statistics_json)
        options: CompileKeywords = {**machine.keywords(), **collected(program, optimisation), **devices.shared()}
        result = _find(program.source, options, optimisation, asked, quiet=output.quiet)
        _write(result, targets)
        if targets.shows:
            from npuc.compiler.explore.flexibility.table import print_flexibility

            print_flexibility(result, make_console(), all_rows=every)


def _find(
    source: str,
    options: CompileKeywords,
    optimisation: Optimisation,
    asked: FlexSearch,
    *,
    quiet: bool,
) -> Flexibility:
    """The flexibility of the machine. What is to be told goes to standard error."""
    from npuc.compiler.explore.flexibility.request import find_flexibility
    from npuc.frontends.source import open_source

    say = said(lambda text: print(text, file=sys.stderr), quiet=quiet)

    @contextmanager
    def shown(count: int) -> Generator[Advance]:
        with progress(VERB, count, bar=not quiet) as (advance, _):
            yield advance

    start = time.monotonic()
    with watching(optimisation) as watchers:
        answer = find_flexibility(
            open_source(source),
            options,
            asked.budget,
            asked.seed,
            asked.samples,
            rules=asked.rules(),
            say=say,
            watchers=watchers,
            progress=shown,
        )
    for warning in answer.warnings:
        say(f"warning: {warning}")
    seconds, found = time.monotonic() - start, answer.result.found
    count = sum(best.evaluations for one in found for best in one.best)
    say(
        f"{count:,} mappings of {len(found):,} distinct contractions in {seconds:.1f} s, "
        f"{count / max(seconds, 1e-9):,.0f} a second"
    )
    return answer.result


def _write(result: Flexibility, targets: SearchTargets) -> None:
    if targets.json is not None:
        write_result(targets.json, result.to_json())
    if targets.csv is not None:
        write_result(targets.csv, result.to_csv())
    if targets.picture is not None:
        from npuc.compiler.explore.flexibility.picture import draw

        targets.picture.draw(lambda kind: draw(result, kind))

"""`npuc flexibility`: what a machine can choose of mappings, and what more choice would gain."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import progress, said
from npuc.compiler.cli.shared import Verb, check_rows, check_target, make_console, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.outputs import write_file

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.flexibility.find import Advance
    from npuc.compiler.explore.flexibility.result import Flexibility

VERB = "flexibility"
BUDGET = 500


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(VERB)(expanded(command))


def command(
    program: Program,
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without(VERB, Optimisation),
            help={"objective": "What mappings minimise: time, energy or edp."},
        ),
    ],
    devices: Devices,
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
    budget: Annotated[
        int,
        typer.Option(
            "--budget", metavar="N", parser=whole(), help="Mappings to try for each class and distinct contraction."
        ),
    ] = BUDGET,
    seed: Annotated[int, typer.Option("--seed", metavar="N", parser=whole(), help="Seed of the random numbers.")] = 0,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            metavar="N",
            parser=whole(),
            help="Count tiles by so many samples (default: exactly where feasible).",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="folded|all", help="Rows of the table: the costliest contractions, or all."),
    ] = None,
) -> None:
    """Compare a machine's choices of mappings with all that there are, and the sixteen classes of machines."""
    with Verb(output.debug):
        if rows not in (None, "folded", "all"):
            raise UsageError(f"--rows {rows}: expected folded or all")
        check_rows(rows, output.json, output.csv)
        shows = not check_one_on_stdout(json=output.json, csv=output.csv, statistics_json=optimisation.statistics_json)
        for path in (output.json, output.csv, output.plot):
            check_target(path)
        kind = None
        if output.plot is not None:
            from npuc.compiler.core.drawing.figure import check_format

            kind = check_format(output.plot)
        options: CompileKeywords = {**machine.keywords(), **collected(program, optimisation), **devices.shared()}
        result = _find(program.source, options, optimisation, (budget, seed, samples), quiet=output.quiet)
        _write(result, output, kind)
        if shows:
            from npuc.compiler.explore.flexibility.table import print_flexibility

            print_flexibility(result, make_console(), all_rows=rows == "all")


def _find(
    source: str,
    options: CompileKeywords,
    optimisation: Optimisation,
    asked: tuple[int, int, int | None],
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
        answer = find_flexibility(open_source(source), options, *asked, say=say, watchers=watchers, progress=shown)
    for warning in answer.warnings:
        say(f"warning: {warning}")
    seconds, found = time.monotonic() - start, answer.result.found
    count = sum(best.evaluations for one in found for best in one.best)
    say(
        f"{count:,} mappings of {len(found):,} distinct contractions in {seconds:.1f} s, "
        f"{count / max(seconds, 1e-9):,.0f} a second"
    )
    return answer.result


def _write(result: Flexibility, output: Output, kind: str | None) -> None:
    if output.json is not None:
        write_result(output.json, result.to_json())
    if output.csv is not None:
        write_result(output.csv, result.to_csv())
    if output.plot is not None and kind is not None:
        from npuc.compiler.explore.flexibility.picture import draw

        write_file(output.plot, draw(result, kind))

"""`npuc compile`: what one training step of a network costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.step import VIEWS, draw_step
from npuc.compiler.cli.plot.target import picture_target
from npuc.compiler.cli.progress import said, stages
from npuc.compiler.cli.shared import (
    Verb,
    aside,
    check_rows,
    is_defect,
    make_console,
    write_folder,
    write_result,
)
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.compile_outputs import CompileOutputs
from npuc.compiler.cli.verbs.tables import on_stdout, table_target
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.outputs import write_file
from npuc.compiler.core.options import BEST_BUCKETS

if TYPE_CHECKING:
    from rich.console import Console
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.compile import Compilation
    from npuc.compiler.driver.levels.primitives import AboveNpu
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.emit.base import Emitted
    from npuc.compiler.report.text.table import Rows
    from npuc.frontends.source import Source


EMITTED = "mlir|linalg|stablehlo|dot|svg|trace|chakra|astra-network|scalesim"
DEPTHS = "auto|ops|layers|N"
ROWS: tuple[Rows, ...] = ("folded", "all", "cores")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compile")(expanded(command))


def command(
    program: Program,
    machine: Machine,
    optimisation: Optimisation,
    devices: Devices,
    output: Annotated[
        Output, Takes(without=without("compile", Output), help={"plot": "Draw the step: .svg, .png or .pdf."})
    ],
    backend: Backends = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also check that no pass changes what the program computes.")
    ] = False,
    csv_format: Annotated[
        str,
        typer.Option(
            "--csv-format",
            metavar="npuc|scalesim",
            help="Format of --csv; scalesim writes SCALE-Sim's reports into a folder.",
        ),
    ] = "npuc",
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit", metavar=EMITTED, help="Format of -o; scalesim writes SCALE-Sim's input files into a folder."
        ),
    ] = None,
    depth: Annotated[
        str | None,
        typer.Option("--depth", metavar=DEPTHS, help="What a graph draws as one: names to N parts, or nothing."),
    ] = None,
    view: Annotated[
        str | None,
        typer.Option("--view", metavar="|".join(VIEWS), help="What --plot draws: layers by phase, by default."),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="|".join(ROWS),
            help="Rows of the table: layers folded by block, all layers, or all cores.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print the passes that ran.")] = False,
) -> None:
    """Compile a network and print the cost of one training step."""
    quiet = output.quiet
    with Verb(output.debug):
        from npuc.compiler.driver.machine import backend_for
        from npuc.frontends.source import open_source

        outputs = replace(
            _outputs(output, csv_format, emit, depth, view, rows=_rows_named(rows)),
            statistics=optimisation.statistics_json,
            html=output.html,
            table=table_target(output.table),
        )
        check_rows(rows, *outputs.files, outputs.statistics)
        if check:
            _refuse_scores(devices)
        opened = open_source(program.source)
        backends = backend or [backend_for(opened)]
        outputs.check(backends)
        if program.only and outputs.emits_primitives:
            raise UsageError(f"--emit {emit} writes the whole step, and --only a part of it", hint="leave out --only")
        shared = devices.shared()
        options: CompileKeywords = {**collected(machine, program, optimisation), **shared}
        with watching(optimisation) as watchers:
            result = _compile(opened, backends, options, outputs, watchers, quiet=quiet, verbose=verbose)
        for pipeline in dict.fromkeys(report.pipeline for report in result.reports) if check else ():
            _check(
                program, {**collected(machine, program), "pipeline": pipeline, "load": optimisation.load or []}, quiet
            )


def _rows_named(word: str | None) -> Rows:
    """The rows of the table that `--rows` asks for. Raises `UsageError` for another word."""
    shown: Rows | None = next((known for known in ROWS if known == (word or "folded")), None)
    if shown is None:
        raise UsageError(f"--rows {word}: expected folded, all or cores")
    return shown


def _refuse_scores(devices: Devices) -> None:
    """Raise `UsageError` for what `--check`, which scores nothing, would need a score for."""
    if devices.plan_objective == "time":
        raise UsageError("--check scores nothing, so it cannot plan for time", hint="leave out --plan-objective time")
    if devices.bucket_mib == BEST_BUCKETS:
        raise UsageError(
            "--check scores nothing, so it knows no best buckets", hint="give --bucket-mib a number of MiB"
        )


def _outputs(
    asked: Output, csv_format: str, emit: str | None, depth: str | None, view: str | None, *, rows: Rows
) -> CompileOutputs:
    """Where results go. Raises `UsageError` for an unknown format."""
    csv, output = asked.csv, asked.output
    from npuc.compiler.emit.base import Drawing, check_depth, get_emitter

    if csv_format not in ("npuc", "scalesim"):
        raise UsageError(f"--csv-format {csv_format}: expected npuc or scalesim")
    emitter = get_emitter(emit or "mlir")
    check_depth(depth, drawn=isinstance(emitter, Drawing) or view == "graph")
    picture = picture_target(asked.plot, view, VIEWS, made_for=asked.plot_as)
    for option, in_folder, target, needed in (
        (f"--csv-format {csv_format}", csv_format == "scalesim", csv, "--csv"),
        (f"--emit {emit}", emitter.folder, output, "-o"),
    ):
        if in_folder and target is None:
            raise UsageError(f"{option} needs {needed} FOLDER")
    if emitter.printed and output is None:
        output = "-"
    if emit is not None and output is None:
        raise UsageError(f"--emit {emit} needs -o FILE")
    reports = csv if csv_format == "scalesim" else None
    return CompileOutputs(
        asked.json, None if reports is not None else csv, output, emitter, rows, reports, depth, picture
    )


def _check(program: Program, options: CompileKeywords, quiet: bool) -> None:
    """Compare the program before and after each pass of a compilation, on its hardware."""
    from npuc.compiler.cli.check import compare_passes
    from npuc.compiler.driver.check import MAC_LIMIT
    from npuc.compiler.driver.running.options import RunKeywords

    run = cast("RunKeywords", {name: options[name] for name in RunKeywords.__annotations__ if name in options})
    compare_passes(program.source, run, only=program.only, limit=MAC_LIMIT, out=False, quiet=quiet)


def _compile(
    source: Source,
    backends: Sequence[str],
    options: CompileKeywords,
    outputs: CompileOutputs,
    watchers: tuple[Watcher, ...],
    *,
    quiet: bool,
    verbose: bool,
) -> Compilation:
    from npuc.compiler.driver.compile import compile_program

    above: AboveNpu | None = None
    if outputs.emits_primitives or outputs.html is not None:
        from npuc.compiler.driver.levels.primitives import AboveNpu

        above = AboveNpu()
    watching = watchers if above is None else (*watchers, above)
    try:
        with stages(quiet=quiet) as line:
            result = compile_program(source, backends, options, said(line, quiet=quiet), watchers=watching)
    except Exception as error:  # looked at, and raised again
        if len(backends) == 1 and is_defect(error):
            _keep(source, backends[0], options, error)
        raise
    if verbose and not quiet:
        for report in result.reports:
            aside(f"passes: {report.pipeline or '(none)'}")
    page = None if outputs.html is None else _page(result, above)
    primitives = above.primitives(source) if above is not None and outputs.emits_primitives else None
    emitted = _emitted(result, outputs, primitives)
    drawn = None if outputs.picture is None else draw_step(result, outputs.picture, outputs.depth)
    _write(result, outputs, emitted)
    if outputs.picture is not None and drawn is not None:
        outputs.picture.write(drawn)
    if outputs.html is not None and page is not None:
        write_result(outputs.html, page)
    if outputs.reports is not None:
        from npuc.backends.cycle.export import report_files

        write_folder(outputs.reports, report_files(result.reports[0]))
    if emitted is not None and not isinstance(emitted.content, str) and outputs.program is not None:
        if emitted.note and not quiet:
            line(f"npuc: {emitted.note} to {outputs.program}")
        write_folder(outputs.program, emitted.content)
    for warning in (*_unshown(result, outputs), *(() if emitted is None else emitted.warnings)):
        said(line, quiet=quiet)(f"warning: {warning}")
    return result


def _page(result: Compilation, above: AboveNpu | None) -> str:
    from npuc.compiler.cli.page.step import step_html

    return step_html(result, None if above is None else above.module)


def _unshown(result: Compilation, outputs: CompileOutputs) -> Iterator[str]:
    """The warning of rows of cores where no report has any."""
    from npuc.compiler.report.text.cores import has_cores

    if outputs.rows == "cores" and not any(map(has_cores, result.reports)):
        yield "--rows cores has no effect: nothing is said of single cores here, as on a machine of one"


def _keep(source: Source, backend: str, options: CompileKeywords, error: Exception) -> None:
    """Write what shows a defect again beside where npuc was called, if that can be; the error then says the file."""
    from npuc.compiler.driver.crash import reproducer

    found = reproducer(source, backend, options, error)
    if found is None:
        return
    with suppress(UsageError):
        write_file(found.name, found.text.encode(), now=True)
        error.add_note(f"the program before it failed, and the command that runs it: {found.name}")


def _emitted(result: Compilation, outputs: CompileOutputs, primitives: ModuleOp | None) -> Emitted | None:
    """What `-o` writes, made before anything is written, of the step in primitives if it is of that."""
    if outputs.program is None:
        return None
    from npuc.compiler.emit.base import Compiled

    module = result.modules[0] if primitives is None else primitives
    found = outputs.emitter.emit(Compiled(module, result.machines[0], result.reports[0], outputs.depth))
    found.check_beside(outputs.program)
    return found


def _write(result: Compilation, outputs: CompileOutputs, emitted: Emitted | None) -> None:
    """Write the files that are one each, and the tables unless one of them goes to standard output."""
    from npuc.compiler.report import Comparison, to_csv

    reports = result.reports
    if outputs.json is not None:
        document = reports[0] if len(reports) == 1 else Comparison(reports=reports)
        write_result(outputs.json, document.to_json())
    if outputs.csv is not None:
        write_result(outputs.csv, to_csv(reports))
    if outputs.program is not None and emitted is not None and isinstance(emitted.content, str):
        write_result(outputs.program, emitted.content)
    if outputs.table is not None:
        outputs.table.write(lambda console: _show(result, outputs, console))
    if "-" not in (*outputs.files, outputs.statistics, on_stdout(outputs.table)):
        _show(result, outputs, make_console())


def _show(result: Compilation, outputs: CompileOutputs, console: Console) -> None:
    """Print the tables with what is said below them."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.report.text.comparison import print_comparison
    from npuc.compiler.report.text.table import print_report

    if len(result.reports) > 1 and outputs.rows != "cores":
        print_comparison(result.reports, console, every=outputs.rows == "all")
        return
    for report in result.reports:
        print_report(report, console, rows=outputs.rows, words=get_backend(report.backend).words)

"""`npuc compile`: what one training step of a network costs."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    Devices,
    ExactPlan,
    Inference,
    Load,
    MappedBy,
    MaxOps,
    Mesh,
    MovementBy,
    Objective,
    OptLevel,
    Parallel,
    Pipeline,
    PlanObjective,
    Precision,
    Quiet,
    Source,
    Verb,
    Zero,
    check_folder,
    check_target,
    make_console,
    parse_defines,
    plan_options,
    write_folder,
    write_result,
)
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import MAX_OPS

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileOptions, Say
    from npuc.compiler.driver.compile import Compilation
    from npuc.compiler.driver.run import RunOptions
    from npuc.compiler.report.text.table import Rows
    from npuc.frontends.source import Source as Program


EMITTED = ("mlir", "trace", "scalesim")
ROWS: tuple[Rows, ...] = ("folded", "all", "cores")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compile")(command)


@dataclass(frozen=True)
class Outputs:
    """Where results go: `-` is standard output, None nowhere."""

    json: str | None
    csv: str | None
    program: str | None
    rows: Rows
    timeline: bool = False
    """Whether `program` takes the timeline of the step in place of the IR."""
    reports: str | None = None
    """A folder for SCALE-Sim's reports."""
    topology: str | None = None
    """A folder for the program as SCALE-Sim's files."""

    def check(self, backends: Sequence[str]) -> None:
        """Raise `UsageError` for outputs that cannot be, before any work is done."""
        for folder in (self.reports, self.topology):
            if folder is not None:
                check_folder(folder)
                if list(backends) != ["cycle"]:
                    raise UsageError("SCALE-Sim's files come from the backend 'cycle' alone", hint="-b cycle")
        if [self.json, self.csv, self.program].count("-") > 1:
            raise UsageError("only one of --json, --csv and -o can go to standard output")
        if self.program is not None and len(backends) > 1:
            raise UsageError("-o writes what one backend scored, and several are named")
        for path in (self.json, self.csv, self.program):
            check_target(path)


def command(
    source: Source,
    backend: Annotated[list[str] | None, typer.Option("-b", "--backend", metavar="NAME", help="Cost model.")] = None,
    hw: Annotated[str | None, typer.Option("--hw", metavar="NAME|FILE", help="Preset, .toml, .cfg or .m file.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a hardware key.")
    ] = None,
    define: Defines = None,
    precision: Precision = None,
    opt_level: OptLevel = None,
    objective: Objective = "time",
    pipeline: Pipeline = None,
    inference: Inference = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GLOB|INDEX", help="Layers to keep.")] = None,
    devices: Devices = None,
    mesh: Mesh = None,
    parallel: Parallel = None,
    convention: MovementBy = None,
    plan_objective: PlanObjective = None,
    exact_plan: ExactPlan = False,
    zero: Zero = False,
    check: Annotated[
        bool, typer.Option("--check", help="Also compare the program before and after each pass.")
    ] = False,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE|-", help="Write the rows as CSV.")] = None,
    csv_format: Annotated[
        str,
        typer.Option("--csv-format", metavar="npuc|scalesim", help="SCALE-Sim's reports, into the folder of --csv."),
    ] = "npuc",
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE|-", help="Write the program.")] = None,
    emit: Annotated[
        str, typer.Option("--emit", metavar="|".join(EMITTED), help="What -o writes; SCALE-Sim's files go to a folder.")
    ] = "mlir",
    rows: Annotated[str, typer.Option("--rows", metavar="|".join(ROWS), help="What the table shows.")] = "folded",
    print_after: Annotated[str | None, typer.Option("--print-after", metavar="PASS|all", help="Show the IR.")] = None,
    verify_each: Annotated[bool, typer.Option("--verify-each", help="Verify after every pass.")] = False,
    mapping: MappedBy = None,
    load: Load = None,
    max_ops: MaxOps = MAX_OPS,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say which passes ran.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compile a network and print what one training step costs, a line a layer."""
    with Verb(debug):
        from npuc.compiler.driver.score import backend_for
        from npuc.frontends.source import open_source
        from npuc.hardware import parse_setting

        shown: Rows | None = next((known for known in ROWS if known == rows), None)
        if shown is None:
            raise UsageError(f"--rows {rows}: expected folded, all or cores")
        outputs = _outputs(json, csv, csv_format, output, emit, rows=shown)
        if check and plan_objective == "time":
            raise UsageError("--check has no backend that says what work takes", hint="leave out --plan-objective time")
        opened = open_source(source)
        backends = backend or [backend_for(opened)]
        if backend is None and not quiet:
            print(f"npuc: backend {backends[0]}, the default", file=sys.stderr)
        outputs.check(backends)
        shared = plan_options(
            devices,
            mesh,
            parallel,
            convention,
            plan_objective,
            zero,
            exact_plan=exact_plan,
            passes=pipeline is not None,
        )
        options: CompileOptions = {
            "hardware": hw,
            "overrides": dict(parse_setting(item) for item in setting or []),
            "defines": parse_defines(define),
            "precision": precision,
            "opt_level": opt_level,
            "objective": objective,
            "pipeline": pipeline,
            "inference": inference,
            "only": only,
            "mapping": mapping,
            "load": load or [],
            "max_ops": max_ops,
            "verify_each": verify_each,
            "print_after": print_after,
            **shared,
        }
        result = _compile(opened, backends, options, outputs, quiet=quiet, verbose=verbose)
        for pipeline in dict.fromkeys(report.pipeline for report in result.reports) if check else ():
            _check(source, {**options, "pipeline": pipeline}, quiet=quiet)


def _outputs(
    json: str | None, csv: str | None, csv_format: str, output: str | None, emit: str, *, rows: Rows
) -> Outputs:
    """Where results go. Raises `UsageError` for an unknown format."""
    for option, value, known in (("--csv-format", csv_format, ("npuc", "scalesim")), ("--emit", emit, EMITTED)):
        if value not in known:
            raise UsageError(f"{option} {value}: expected {', '.join(known[:-1])} or {known[-1]}")
    for option, value, target, needed in (("--csv-format", csv_format, csv, "--csv"), ("--emit", emit, output, "-o")):
        if value == "scalesim" and target is None:
            raise UsageError(f"{option} scalesim needs {needed} FOLDER")
    reports = csv if csv_format == "scalesim" else None
    topology = output if emit == "scalesim" else None
    if emit == "trace" and output is None:
        output = "-"
    return Outputs(
        json,
        None if reports is not None else csv,
        None if topology is not None else output,
        rows,
        emit == "trace",
        reports,
        topology,
    )


def _check(source: str, options: CompileOptions, *, quiet: bool) -> None:
    """Compare the program before and after each pass of a compilation, on its hardware."""
    from npuc.compiler.cli.check import compare_passes
    from npuc.compiler.driver.check import MAC_LIMIT

    run: RunOptions = {
        "defines": options.get("defines"),
        "precision": options.get("precision"),
        "pipeline": options.get("pipeline"),
        "inference": options.get("inference"),
        "hardware": options.get("hardware"),
        "overrides": options.get("overrides"),
        "load": options.get("load", []),
        "max_ops": options.get("max_ops", MAX_OPS),
    }
    compare_passes(source, run, only=options.get("only"), limit=MAC_LIMIT, out=False, quiet=quiet)


def _compile(
    source: Program, backends: Sequence[str], options: CompileOptions, outputs: Outputs, *, quiet: bool, verbose: bool
) -> Compilation:
    from npuc.compiler.driver.compile import compile_program

    result = compile_program(source, backends, options, _say(quiet))
    if verbose and not quiet:
        for report in result.reports:
            print(f"npuc: passes: {report.pipeline or '(none)'}", file=sys.stderr)
    _write(result, outputs)
    _write_scalesim(result, options, outputs, _say(quiet))
    return result


def _write_scalesim(result: Compilation, options: CompileOptions, outputs: Outputs, say: Say) -> None:
    """The files of SCALE-Sim that were asked for."""
    from npuc.backends.base import DEFAULT_HARDWARE

    if outputs.reports is not None or outputs.topology is not None:
        from npuc.backends.cycle.export import report_files, topology_files
        from npuc.hardware import load_hardware

        if outputs.reports is not None:
            write_folder(outputs.reports, report_files(result.reports[0]))
        if outputs.topology is not None:
            named = options.get("hardware") or DEFAULT_HARDWARE
            hardware = load_hardware(named, options.get("overrides"), options.get("precision"))
            export = topology_files(result.modules[0], hardware)
            write_folder(outputs.topology, export.files)
            for warning in export.warnings:
                say(f"warning: {warning}")


def _say(quiet: bool) -> Say:
    """Where messages go: standard error; with --quiet only the IR that was asked for."""

    def say(text: str) -> None:
        if text.startswith("//"):
            print(text, file=sys.stderr)
        elif not quiet:
            print(f"npuc: {text}", file=sys.stderr)

    return say


def _write(result: Compilation, outputs: Outputs) -> None:
    from npuc.compiler.report import Comparison, to_csv

    reports = result.reports
    program = None if outputs.program is None else _program(result, outputs)
    if outputs.json is not None:
        document = reports[0] if len(reports) == 1 else Comparison(reports=reports)
        write_result(outputs.json, document.to_json())
    if outputs.csv is not None:
        write_result(outputs.csv, to_csv(reports))
    if outputs.program is not None and program is not None:
        write_result(outputs.program, program)
    if "-" not in (outputs.json, outputs.csv, outputs.program):
        from npuc.compiler.report.text.table import print_report

        console = make_console()
        for report in reports:
            print_report(report, console, rows=outputs.rows)


def _program(result: Compilation, outputs: Outputs) -> str:
    """What `-o` writes: the program that was scored, or the timeline of its step."""
    if outputs.timeline:
        return result.reports[0].to_trace()
    from xdsl.printer import Printer

    text = io.StringIO()
    Printer(text).print_op(result.modules[0])
    return text.getvalue() + "\n"

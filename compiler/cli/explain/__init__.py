"""`npuc explain`: where the time of one layer goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from npuc.compiler.cli.explain.plan import ROWS, check_needless, check_unused, number_of, show_plan
from npuc.compiler.cli.explain.reference import check_alone, show_reference
from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import said, stages
from npuc.compiler.cli.shared import Verb, aside, check_target, terminal_width, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.outputs import write_file

if TYPE_CHECKING:
    from npuc.backends.base import Answer, Backend
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.report import Report
    from npuc.compiler.report.layers import Line
    from npuc.frontends.source import Source as Opened

DEFAULT = "cycle"
_SAID_BY_PASSES = (
    *("opt_level", "objective", "tolerance", "before", "after", "recompute"),
    *("print_after", "print_changed", "time_passes"),
)
"""Options that say nothing of a program that is compiled again by named passes, to be compared."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("explain")(expanded(command))


def command(
    program: Annotated[Program, Takes(default={"source": ""})],
    machine: Annotated[
        Machine,
        Takes(help={"mapping": "Mapping for -b maestro."}, metavar={"mapping": "NAME|FILE"}),
    ],
    optimisation: Optimisation,
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            without=without("explain", Output),
            help={
                "json": "Write a plan, or what a name means, as JSON.",
                "plot": "Draw the layer's time: .svg, .png or .pdf.",
            },
        ),
    ],
    layer: Annotated[str | None, typer.Argument(help="Layer: a name, a glob, or a number (#3 is the fourth).")] = None,
    phase: Annotated[
        str | None, typer.Option("--phase", metavar="forward|dx|dw|dxdw|update", help="Explain only this phase.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE|-", hidden=True, help="The former name of --plot.")
    ] = None,
    backend: Annotated[
        str | None, typer.Option("-b", "--backend", metavar="NAME", help="Cost model: cycle, maestro.")
    ] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="|".join(ROWS), help="Rows of the plan's table.")
    ] = None,
    op: Annotated[
        str | None, typer.Option("--op", metavar="NAME", help="Explain an operation of the IR, like npu.contract.")
    ] = None,
    step: Annotated[str | None, typer.Option("--pass", metavar="NAME", help="Explain a pass, like interleave.")] = None,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="NAME", help="Explain a pattern of passes, like tile.")
    ] = None,
    of_layer: Annotated[
        str | None, typer.Option("--layer", metavar="NAME", help="Explain a layer of the language, like conv2d.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Explain a hardware key, like memory.spm_kib.")
    ] = None,
    report_key: Annotated[
        str | None, typer.Option("--report", metavar="KEY", help="Explain a key of reports, like ops.limit.")
    ] = None,
    term: Annotated[
        str | None, typer.Option("--term", metavar="[WORD]", help="Explain a word of a report, like util; alone: all.")
    ] = None,
) -> None:
    """
    Explain where the time of a layer goes. Shows its schedule, traffic, stalls and a picture; with --devices, what a
    plan moves between devices; with --op, --pass, --pattern, --layer, --key, --report or --term, what a name means.
    """
    source, quiet = program.source, output.quiet
    with Verb(output.debug):
        asked = {"--op": op, "--pass": step, "--pattern": pattern, "--layer": of_layer}
        asked |= {"--key": key, "--report": report_key, "--term": term}
        if any(name is not None for name in asked.values()):
            own = {"SOURCE": source, "LAYER": layer, "--phase": phase, "-b": backend, "--rows": rows}
            own |= {"--plot": output.plot, "--svg": svg}
            check_alone(asked, own, program, machine, optimisation, devices)
            show_reference(asked, optimisation.load or [], output.json)
            return
        if not source:
            raise UsageError("missing argument SOURCE", hint="npuc explain samples:mlp fc1, or --op npu.contract")
        shared = devices.shared()
        if (devices.devices or 1) > 1 or devices.mesh is not None:
            unused = {"--phase": phase, "--plot": output.plot, "--svg": svg}
            unused |= {"-b": backend, "-O": optimisation.opt_level}
            more = {"--only": program.only, "--mapping": machine.mapping}
            passes = {k: v for k, v in optimisation.given().items() if k not in ("--pipeline", "--load")}
            check_unused({**unused, **more, **passes})
            chosen: CompileKeywords = {**collected(machine, program), **shared}
            if optimisation.pipeline is not None:
                chosen["pipeline"] = optimisation.pipeline
            chosen["load"] = optimisation.load or []
            show_plan(source, layer, chosen, output.json, rows, quiet=quiet)
            return
        if layer is None:
            raise UsageError(
                "missing argument LAYER", hint="name a layer, or add --devices N to explain the plan of all layers"
            )
        check_needless({"--json": output.json, "--rows": rows})
        options = collected(machine, program, optimisation)
        target = _target(output.plot, svg, quiet=quiet)
        check_one_on_stdout(plot=None if target is None else target.path, statistics_json=optimisation.statistics_json)
        with watching(optimisation) as watchers:
            shown = _explained(source, layer, phase, target, backend, options, watchers, quiet=quiet)
        if optimisation.statistics_json != "-":
            print(shown, end="")


@dataclass(frozen=True)
class PictureTarget:
    """Where a picture goes (`-`: standard output), of which kind it is, and what it shows (None: the usual view)."""

    path: str
    kind: str
    view: str | None


def _target(plot: str | None, svg: str | None, *, quiet: bool) -> PictureTarget | None:
    """The picture that is asked for. Raises `UsageError` for one of no kind."""
    from npuc.compiler.core.drawing.figure import check_drawing, check_format

    if plot is not None and svg is not None:
        raise UsageError("--svg is the former name of --plot", hint="leave out --svg")
    if svg is not None:
        check_drawing("--svg")
        if not quiet:
            aside("warning: --svg FILE is --plot FILE.svg now; the former name goes with the next release")
        return PictureTarget(svg, "svg", None)
    if plot is not None:
        return PictureTarget(plot, check_format(plot), None)
    return None


def _explained(
    source: str,
    layer: str,
    phase: str | None,
    target: PictureTarget | None,
    backend: str | None,
    options: CompileKeywords,
    watchers: tuple[Watcher, ...],
    *,
    quiet: bool,
) -> str:
    """Where the time of a layer goes; its picture is written where one is asked for."""
    from npuc.compiler.driver.machine import backend_for
    from npuc.compiler.report.rows import Phase
    from npuc.frontends.source import open_source

    if phase is not None and phase not in get_args(Phase):
        raise UsageError(f"--phase {phase}: there is no such phase", hint=did_you_mean(phase, get_args(Phase)))
    opened = open_source(source)
    model = _explaining(backend or backend_for(opened))
    if target is not None:
        _check_view(target, model)
        check_target(target.path)
    answer, machine = _answer(opened, model, layer, phase, options, watchers, quiet=quiet)
    if target is not None and answer.picture is not None:
        drawn = answer.picture(target.kind, target.view or model.views[0])
        if target.path == "-":
            write_result("-", drawn.decode())
            return ""
        write_file(target.path, drawn)
    return f"{opened.shown} on {machine}, backend {model.name}\n{answer.text(terminal_width())}"


def _check_view(target: PictureTarget, model: Backend) -> None:
    """Raise `UsageError` for a picture that a backend does not draw."""
    if not model.views:
        raise UsageError(
            f"the backend '{model.name}' draws no picture of a layer", hint=f"leave out --plot, or -b {DEFAULT}"
        )
    if target.view is not None and target.view not in model.views:
        raise UsageError(
            f"--view {target.view}: there is no such picture of a layer", hint=f"known: {', '.join(model.views)}"
        )


def _explaining(name: str) -> Backend:
    """A backend that explains layers. Raises `UsageError` for any other."""
    from npuc.backends.registry import get_all_backends, get_backend

    if (model := get_backend(name)).explains:
        return model
    known: list[str] = []
    for other, factory in get_all_backends().items():
        with suppress(UsageError):  # one that cannot be loaded
            known += [f"'{other}'"] if factory().explains else []
    raise UsageError(
        f"the backend '{name}' does not explain layers; {', '.join(known[:-1])} and {known[-1]} do",
        hint=f"-b {DEFAULT}",
    )


def _answer(
    source: Opened,
    model: Backend,
    layer: str,
    phase: str | None,
    options: CompileKeywords,
    watchers: tuple[Watcher, ...],
    *,
    quiet: bool,
) -> tuple[Answer, str]:
    """A backend's explanation of a layer that is compiled with the options, and the name of the machine."""
    from npuc.backends.base import Question
    from npuc.compiler.driver.compile import compile_program
    from npuc.compiler.driver.levels.preset import CANONICALIZE
    from npuc.compiler.driver.options import options_of
    from npuc.compiler.report.layers import by_layer

    with stages(quiet=quiet) as say:
        result = compile_program(source, [model.name], options, said(say, quiet=quiet), watchers=watchers)
    report = result.reports[0]
    line = _line(by_layer(model.explained_rows(report)), layer)
    if not any(phase in (None, row.phase) for row in line.rows):
        phases = ", ".join(dict.fromkeys(row.phase for row in line.rows))
        raise UsageError(f"layer '{line.name}' has no operation in phase {phase}", hint=f"it has {phases}")

    def others(passes: str) -> Report:
        first = f"{CANONICALIZE}," if report.pipeline.startswith(CANONICALIZE) else ""
        own: CompileKeywords = {**options, "pipeline": first + passes, "only": line.name}
        for name in _SAID_BY_PASSES:
            own.pop(name, None)
        return compile_program(source, [model.name], own).reports[0]

    answer = model.explain(
        Question(
            layer=line.name,
            phase=phase,
            rows=line.rows,
            module=result.modules[0],
            hardware=result.machines[0],
            report=report,
            objective=options_of(options).objective,
            others=None if source.frontend.is_ir else others,
        )
    )
    if answer is None:
        raise UsageError(f"the backend '{model.name}' does not explain layer '{line.name}'")
    return answer, result.machines[0].name


def _line(lines: Sequence[Line], layer: str) -> Line:
    """The one layer that a name, glob or number means. Raises `UsageError` for none and for several."""
    return lines[number_of([line.name for line in lines], layer)]

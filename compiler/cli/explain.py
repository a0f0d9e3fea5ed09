"""`npuc explain`: how the time of one layer comes about."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from npuc.compiler.cli.explain_plan import ROWS, check_needless, check_unused, number_of, show_plan
from npuc.compiler.cli.shared import (
    Debug,
    Defines,
    Devices,
    ExactPlan,
    Inference,
    Load,
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
    check_target,
    parse_defines,
    plan_options,
    terminal_width,
    write_result,
)
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import MAX_OPS, objective_named

if TYPE_CHECKING:
    from npuc.backends.base import Answer, Backend
    from npuc.compiler.core.options import CompileKeywords, Say
    from npuc.compiler.report import Report
    from npuc.compiler.report.layers import Line
    from npuc.frontends.source import Source as Program

DEFAULT = "cycle"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("explain")(command)


def command(
    source: Source,
    layer: Annotated[
        str | None, typer.Argument(help="A layer by its name, a glob, or a number (#3 is the fourth).")
    ] = None,
    phase: Annotated[
        str | None, typer.Option("--phase", metavar="forward|dx|dw|dxdw|update", help="Only this phase.")
    ] = None,
    svg: Annotated[str | None, typer.Option("--svg", metavar="FILE|-", help="Write the picture as SVG.")] = None,
    backend: Annotated[
        str | None, typer.Option("-b", "--backend", metavar="NAME", help="Cost model: cycle, maestro.")
    ] = None,
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
    mapping: Annotated[
        str | None, typer.Option("--mapping", metavar="NAME|FILE", help="Mapping of the backend maestro.")
    ] = None,
    devices: Devices = None,
    mesh: Mesh = None,
    parallel: Parallel = None,
    convention: MovementBy = None,
    plan_objective: PlanObjective = None,
    exact_plan: ExactPlan = False,
    zero: Zero = False,
    json: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write a plan as JSON.")] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="|".join(ROWS), help="What the table of a plan shows.")
    ] = None,
    load: Load = None,
    max_ops: MaxOps = MAX_OPS,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Explain the time of a layer: schedule, traffic, waits, a picture; with --devices what moves between devices."""
    with Verb(debug):
        from npuc.hardware import parse_setting

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
        if shared.get("devices", 1) > 1 or mesh is not None:
            check_unused(
                {
                    "--phase": phase,
                    "--svg": svg,
                    "-b": backend,
                    "-O": opt_level,
                    "--only": only,
                    "--mapping": mapping,
                    "--load": load,
                }
            )
            chosen: CompileKeywords = {
                "hardware": hw,
                "overrides": dict(parse_setting(item) for item in setting or []),
                "defines": parse_defines(define),
                "precision": precision,
                **shared,
                "inference": inference,
                "pipeline": pipeline,
                "max_ops": max_ops,
            }
            show_plan(source, layer, chosen, json, rows, machine=(hw, setting), quiet=quiet)
            return
        if layer is None:
            raise UsageError("missing argument LAYER", hint="name a layer, or --devices N for a plan of all of them")
        check_needless({"--json": json, "--rows": rows})
        from npuc.compiler.driver.score import backend_for
        from npuc.compiler.report.rows import Phase
        from npuc.frontends.source import open_source

        if phase is not None and phase not in get_args(Phase):
            raise UsageError(f"--phase {phase}: there is no such phase", hint=did_you_mean(phase, get_args(Phase)))
        opened = open_source(source)
        model = _explaining(backend or backend_for(opened))
        if svg is not None and not model.draws_layers:
            raise UsageError(
                f"there is no picture of a layer on the backend '{model.name}'",
                hint=f"leave out --svg, or -b {DEFAULT}",
            )
        check_target(svg)
        options: CompileKeywords = {
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
        }
        answer = _answer(opened, model, layer, phase, options, quiet=quiet)
        if svg is not None and answer.picture is not None:
            write_result(svg, answer.picture())
        if svg != "-":
            print(answer.text(terminal_width()), end="")


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
        f"explain knows the backends {', '.join(known[:-1])} and {known[-1]}, not '{name}'", hint=f"-b {DEFAULT}"
    )


def _answer(
    source: Program, model: Backend, layer: str, phase: str | None, options: CompileKeywords, *, quiet: bool
) -> Answer:
    """What a backend has to say of a layer, compiled as the options have it."""
    from npuc.backends.base import Question
    from npuc.compiler.driver.compile import compile_program
    from npuc.compiler.report.layers import by_layer

    result = compile_program(source, [model.name], options, _teller(quiet))
    report = result.reports[0]
    line = _line(by_layer(model.explained_rows(report)), layer)
    if not any(phase in (None, row.phase) for row in line.rows):
        phases = ", ".join(dict.fromkeys(row.phase for row in line.rows))
        raise UsageError(f"layer '{line.name}' has no operation in phase {phase}", hint=f"it has {phases}")

    def others(passes: str) -> Report:
        own: CompileKeywords = {**options, "pipeline": passes, "opt_level": None, "only": line.name}
        return compile_program(source, [model.name], own).reports[0]

    answer = model.explain(
        Question(
            layer=line.name,
            phase=phase,
            rows=line.rows,
            module=result.modules[0],
            hardware=result.machines[0],
            report=report,
            objective=objective_named(options.get("objective", "time")),
            others=None if source.frontend.is_ir else others,
        )
    )
    if answer is None:
        raise UsageError(f"the backend '{model.name}' has nothing to say of layer '{line.name}'")
    return answer


def _teller(quiet: bool) -> Say:
    """What tells people what is no result."""

    def say(text: str) -> None:
        if not quiet:
            print(f"npuc: {text}", file=sys.stderr)

    return say


def _line(lines: Sequence[Line], layer: str) -> Line:
    """The one layer that a name, glob or number means. Raises `UsageError` for none and for several."""
    return lines[number_of([line.name for line in lines], layer)]

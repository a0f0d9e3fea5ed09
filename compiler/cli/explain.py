"""`npuc explain`: how the time of one layer comes about."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    from npuc.backends.cycle.explain import Explanation
    from npuc.compiler.core.options import CompileKeywords, Say
    from npuc.compiler.report.layers import Line
    from npuc.compiler.report.rows import OpRow

BACKEND, MAPPED = "cycle", "maestro"
PROGRAMS = (
    ("one after another", ""),
    ("in turn", "interleave{mode=zip objective=OBJECTIVE},"),
    ("one nest, published order", "interleave{mode=fused},rearrange{rule=published objective=OBJECTIVE},"),
    ("one nest, best order", "interleave{mode=fused objective=OBJECTIVE},"),
)
"""What the products of a layer's backward pass are compared with: the passes between lowering and schedules."""


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
        from npuc.compiler.driver.mapping_file import is_mapping_file
        from npuc.compiler.report.rows import Phase

        if phase is not None and phase not in get_args(Phase):
            raise UsageError(f"--phase {phase}: there is no such phase", hint=did_you_mean(phase, get_args(Phase)))
        if backend is None:
            backend = MAPPED if is_mapping_file(source) else BACKEND
        if backend not in (BACKEND, MAPPED):
            known = f"'{BACKEND}' and '{MAPPED}'"
            raise UsageError(f"explain knows the backends {known}, not '{backend}'", hint=f"-b {BACKEND}")
        if backend == MAPPED and svg is not None:
            raise UsageError(
                f"there is no picture of a layer on the backend '{MAPPED}'", hint=f"leave out --svg, or -b {BACKEND}"
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
        if backend == MAPPED:
            print("\n".join(_mapped(source, layer, phase, options, quiet=quiet)), end="")
            return
        explanations = _explanations(source, layer, phase, options, quiet=quiet)
        if svg is not None:
            from npuc.backends.cycle.explain import to_svg

            write_result(svg, to_svg(explanations))
        if svg != "-":
            from npuc.backends.cycle.explain import to_text

            print("\n".join(to_text(explanation, terminal_width()) for explanation in explanations), end="")


def _mapped(source: str, layer: str, phase: str | None, options: CompileKeywords, *, quiet: bool) -> list[str]:
    """What the backend maestro has to say of each product of a layer."""
    from npuc.backends.base import get_backend
    from npuc.backends.maestro.explain import explain_text
    from npuc.backends.maestro.machine import mapped_machine
    from npuc.compiler.driver.compile import lowered_module
    from npuc.compiler.report.layers import by_layer
    from npuc.dialects.npu import ContractOp
    from npuc.frontends.source import open_source

    model, warnings = get_backend(MAPPED), list[str]()
    module, hardware = lowered_module(open_source(source), model, options, _teller(quiet), warnings)
    report, machine = model.score(module, hardware), mapped_machine(hardware)
    for warning in warnings:
        _teller(quiet)(f"warning: {warning}")
    statements = [
        (op, number) for op in module.walk() if isinstance(op, ContractOp) for number in range(len(op.nest.statements))
    ]
    priced = [row for row in report.ops if row.kind == "matrix"]
    places = {row.index: place for row, place in zip(priced, statements, strict=True)}
    rows = [row for row in _rows(_line(by_layer(priced), layer), phase) if row.index in places]
    return [explain_text(*places[row.index], row, machine) for row in rows]


def _teller(quiet: bool) -> Say:
    """What tells people what is no result."""

    def say(text: str) -> None:
        if not quiet:
            print(f"npuc: {text}", file=sys.stderr)

    return say


def _explanations(
    source: str, layer: str, phase: str | None, options: CompileKeywords, *, quiet: bool
) -> list[Explanation]:
    from npuc.backends.cycle.backend import priced_operations
    from npuc.backends.cycle.compat import COMPAT
    from npuc.backends.cycle.explain import BACKWARD, Candidate, backward_products, certified_pair, compare, explain
    from npuc.compiler.analysis.machine.facts import machine_of
    from npuc.compiler.driver.compile import compile_program
    from npuc.compiler.report.layers import by_layer
    from npuc.frontends.source import open_source

    result = compile_program(open_source(source), [BACKEND], options, _teller(quiet))
    report, module = result.reports[0], result.modules[0]
    line = _line(by_layer([row for row in report.ops if row.kind != "comm"]), layer)
    rows = _rows(line, phase)
    cycle = report.hardware.get("cycle")
    compat = isinstance(cycle, dict) and cycle.get("compat") == COMPAT
    machine = None if compat else machine_of(module)
    ops = priced_operations(module)
    found = [explain(ops[row.index], row, machine) for row in rows]
    products = backward_products(line.rows)
    if machine is None or source.endswith(".mlir") or not products or phase not in (None, *BACKWARD):
        return found
    taken = Candidate("as compiled", products)
    others = [Candidate(name, _program(source, line.name, passes, options)) for name, passes in PROGRAMS]
    certified = certified_pair(report, products, machine)
    return [compare(line.name, taken, others, options.get("objective", "time"), certified), *found]


def _program(source: str, layer: str, passes: str, options: CompileKeywords) -> tuple[OpRow, ...]:
    """The products of a layer's backward pass, compiled by these passes after the lowering."""
    from npuc.backends.cycle.explain import backward_products
    from npuc.compiler.driver.compile import compile_program
    from npuc.frontends.source import open_source

    objective = objective_named(options.get("objective", "time"))
    text = f"autodiff,lower-to-npu,{passes}schedule{{objective=OBJECTIVE}}"
    pipeline = text.replace("OBJECTIVE", objective)
    own: CompileKeywords = {**options, "pipeline": pipeline, "opt_level": None, "only": layer}
    result = compile_program(open_source(source), [BACKEND], own, lambda _: None)
    return backward_products(result.reports[0].ops)


def _line(lines: Sequence[Line], layer: str) -> Line:
    """The one layer that a name, glob or number means. Raises `UsageError` for none and for several."""
    return lines[number_of([line.name for line in lines], layer)]


def _rows(line: Line, phase: str | None) -> list[OpRow]:
    rows = [row for row in line.rows if phase in (None, row.phase)]
    if not rows:
        phases = ", ".join(dict.fromkeys(row.phase for row in line.rows))
        raise UsageError(f"layer '{line.name}' has no operation in phase {phase}", hint=f"it has {phases}")
    return rows

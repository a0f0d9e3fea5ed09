"""`npuc network`: the bandwidth of each level between devices that makes a step shortest, or time x cost least."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

import typer

from npuc.compiler.cli.groups import Group, Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.target import PictureTarget, picture_target
from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.searching import chosen
from npuc.compiler.cli.shared import Verb, aside, check_target, make_console, real, write_result
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.network.program import SharedStep
    from npuc.compiler.explore.network.result import NetworkResult, NetworkSettings

Word = TypeVar("Word", bound=str)
MOST = 1e12
"""The largest amount that an option takes."""
TAKEN = ("opt_level", "objective")
"""The options about passes that the verb takes."""


@dataclass(frozen=True)
class Bandwidth(Group):
    """What there is to split, and by which model."""

    total_gb_per_s: Annotated[
        float | None,
        typer.Option(
            "--total-gb-per-s", metavar="B", parser=real(), help="Bandwidth of a device over all levels, GB/s."
        ),
    ] = None
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget-usd", metavar="M", parser=real(), help="Most that the network costs, USD."),
    ] = None
    constraint: Annotated[
        list[str] | None,
        typer.Option("--constraint", metavar="'b1>=2b2'", help="Limit of bandwidths, b1 the outermost; repeatable."),
    ] = None
    stages: Annotated[
        str,
        typer.Option(
            "--stages", metavar="serial|pipelined", help="Levels of a collective: one after the other, or all at once."
        ),
    ] = "serial"
    overlap: Annotated[
        str,
        typer.Option("--overlap", metavar="none|gradients", help="What runs beside work: sums of weights' gradients."),
    ] = "none"
    shapes: Annotated[
        bool, typer.Option("--shapes", help="Compare networks of 1 to 4 levels and other sizes, too.")
    ] = False


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("network")(expanded(command))


def command(
    program: Annotated[Program, Takes(without=("only",))],
    asked: Bandwidth,
    machine: Annotated[Machine, Takes(without=("mapping",))],
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=tuple(one.name for one in fields(Optimisation) if one.name not in TAKEN),
            metavar={"objective": "time|time-cost"},
            help={"objective": "What the split minimises: time (default) or time-cost, the product of both."},
        ),
    ],
    devices: Annotated[Devices, Takes(without=("collectives", "chunks", "bucket_mib"))],
    output: Annotated[
        Output,
        Takes(
            without=("html", "table"),
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per split and shape.",
                "plot": "Draw time against cost: .svg, .png or .pdf.",
                "output": "Write the machine with the best bandwidths, as --hw takes it.",
            },
        ),
    ],
    backend: Backends = None,
) -> None:
    """Split bandwidth over the levels of a network, for the shortest step or the least product of time and cost."""
    with Verb(output.debug):
        shows = not check_one_on_stdout(json=output.json, csv=output.csv, o=output.output)
        for target in (output.json, output.csv, output.output):
            check_target(target)
        drawn = picture_target(output.plot, made_for=output.plot_as)
        settings = _settings(asked, optimisation.objective)
        options: CompileKeywords = {**collected(machine, program, optimisation), **devices.shared()}
        options.pop("objective", None)  # that of the split, not of schedules
        step, result = _choose(program.source, backend or [], options, settings, asked.shapes, quiet=output.quiet)
        if output.json is not None or drawn is not None:
            from npuc.compiler.explore.network.choose import with_curve

            result = with_curve(result, step)
        _write(result, step, output, drawn)
        if shows:
            from npuc.compiler.explore.network.table import print_result

            print_result(result, make_console())


def _write(result: NetworkResult, step: SharedStep, output: Output, drawn: PictureTarget | None) -> None:
    """Write the files that were asked for."""
    from npuc.compiler.driver.score import version
    from npuc.compiler.explore.network.machine import machine_text
    from npuc.compiler.explore.network.result import to_csv, to_json

    if output.json is not None:
        write_result(output.json, to_json(result, version()))
    if output.csv is not None:
        write_result(output.csv, to_csv(result))
    if output.output is not None:
        write_result(output.output, machine_text(result, step))
    if drawn is not None:
        from npuc.compiler.explore.network.picture import draw

        drawn.draw(lambda kind: draw(result, kind))


def _settings(asked: Bandwidth, objective: str) -> NetworkSettings:
    """What was asked for. Raises `UsageError`."""
    from npuc.compiler.explore.network.result import OBJECTIVES, OVERLAPS, STAGES, NetworkSettings

    if asked.total_gb_per_s is None and asked.budget_usd is None:
        raise UsageError("there is no bandwidth to split", hint="--total-gb-per-s 500, or --budget-usd 1000000")
    for option, value in (("--total-gb-per-s", asked.total_gb_per_s), ("--budget-usd", asked.budget_usd)):
        if value is not None and not 0 < value <= MOST:
            raise UsageError(f"{option} {value:g}: expected more than 0, at most {MOST:g}")
    if asked.shapes and asked.constraint:
        raise UsageError(
            "--constraint names levels, of which --shapes has several numbers", hint="leave one of them out"
        )
    if objective == "time-cost" and asked.total_gb_per_s is None:
        raise UsageError(
            "time x cost of a budget alone is least for the smallest network", hint="--total-gb-per-s 500, too"
        )
    return NetworkSettings(
        asked.total_gb_per_s,
        asked.budget_usd,
        _one("--objective", objective, OBJECTIVES),
        tuple(asked.constraint or ()),
        _one("--stages", asked.stages, STAGES),
        _one("--overlap", asked.overlap, OVERLAPS),
    )


def _one(option: str, word: str, known: tuple[Word, ...]) -> Word:
    return cast("Word", chosen(option, word, known))


def _choose(
    source: str, backends: list[str], options: CompileKeywords, settings: NetworkSettings, shapes: bool, *, quiet: bool
) -> tuple[SharedStep, NetworkResult]:
    """Lower the source and find the splits. What is to be told goes to standard error."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.driver.machine import backend_for
    from npuc.compiler.explore.network.choose import choose, shapes_of, with_shapes
    from npuc.compiler.explore.network.program import shared_step
    from npuc.frontends.source import open_source

    if len(backends) > 1:
        raise UsageError("a split is of one cost model", hint=f"-b {backends[0]}")

    def say(text: str) -> None:
        if not quiet:
            aside(text)

    name = backends[0] if backends else backend_for(open_source(source))
    step = shared_step(source, get_backend(name), options, say)
    result = choose(step, settings)
    if shapes:
        tried = list(shapes_of(step.levels, step.mesh.devices))
        with progress("network", len(tried), bar=not quiet) as (advance, _):
            result = with_shapes(result, step, tried, lambda: advance(1, "shape"))
    return step, result

"""`npuc training`: what a whole training in phases costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group, Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.target import picture_target
from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.shared import Verb, aside, check_target, make_console, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.training.result import TrainingResult

VERB = "training"


@dataclass(frozen=True)
class Phases(Group):
    """Which trainings there are."""

    title: ClassVar[str] = "Training"

    phases: Annotated[
        list[str] | None,
        typer.Option("--phases", metavar="NAME|FILE.toml", help="Phases of a training (npuc list phases); repeatable."),
    ] = None
    run: Annotated[bool, typer.Option("--run", help="Execute the training in numpy, too.")] = False
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="'loss < X'|'accuracy > X'", help="Execute it until that is reached, and say when."
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="digits", help="Train on images of digits, which come with scikit-learn."),
    ] = None
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", parser=whole(1), help="Executions of each training.")
    ] = 3
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", parser=whole(0), help="Seed of the first one's data and parameters.")
    ] = 0


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(VERB)(expanded(command))


def command(
    program: Annotated[Program, Takes(without=without(VERB, Program))],
    asked: Phases,
    machine: Machine,
    optimisation: Annotated[Optimisation, Takes(without=without(VERB, Optimisation))],
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            without=without(VERB, Output),
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per program of a phase.",
                "plot": "Draw epochs over time: .svg, .png or .pdf.",
            },
        ),
    ],
    backend: Backends = None,
) -> None:
    """Price a whole training: phases of steps, each of a program or of several in turn."""
    with Verb(output.debug):
        json, csv = output.json, output.csv
        if json == "-" and csv == "-":
            raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
        for target in (json, csv):
            check_target(target)
        drawn = picture_target(output.plot, made_for=output.plot_as)
        options: CompileKeywords = {**collected(machine, program, optimisation), **devices.shared()}
        result = _result(program.source, backend or [], options, asked, quiet=output.quiet)
        if json is not None:
            from npuc.compiler.driver.score import version
            from npuc.compiler.explore.training.result import to_json

            write_result(json, to_json(result, version()))
        if csv is not None:
            from npuc.compiler.explore.training.result import to_csv

            write_result(csv, to_csv(result))
        if drawn is not None:
            from npuc.compiler.explore.training.picture import draw

            drawn.draw(lambda kind: draw(result, kind))
        if "-" not in (json, csv):
            from npuc.compiler.explore.training.table import print_result

            print_result(result, make_console())


def _result(
    source: str, backends: list[str], options: CompileKeywords, asked: Phases, *, quiet: bool
) -> TrainingResult:
    """
    Read the phases, price each program once, and execute the trainings where that is asked for. What is to be told goes
    to standard error.
    """
    from npuc.backends.registry import get_backend
    from npuc.compiler.driver.machine import backend_for
    from npuc.compiler.explore.training.asked import AskedRuns
    from npuc.compiler.explore.training.phases_file import read_phases
    from npuc.compiler.explore.training.price import Pricing
    from npuc.frontends.source import open_source

    if len(backends) > 1:
        raise UsageError("a training is priced by one cost model", hint=f"-b {backends[0]}")
    files = asked.phases or []
    if not files:
        raise UsageError("a training has phases", hint="--phases FILE.toml")
    execution = AskedRuns(asked.run, asked.until, asked.dataset, asked.seeds, asked.seed)
    trainings = [read_phases(path) for path in files]
    opened = open_source(source)
    name = backends[0] if backends else backend_for(opened)
    get_backend(name)

    def say(text: str) -> None:
        if not quiet:
            aside(text)

    with progress(VERB, 1 + sum(len(one.programs) for one in trainings), bar=not quiet) as (advance, _):
        result = Pricing(opened, name, options, say, lambda: advance(1, "program")).result(trainings)
    steps = asked.seeds * sum(one.steps for one in result.trainings)
    with progress("executing", steps, bar=execution.executes and not quiet) as (advance, _):
        return execution.executed(opened, options, trainings, result, advance)

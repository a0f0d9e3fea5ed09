"""`npuc run`: execute a training step, or several, in the interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

import typer

from npuc.compiler.cli.groups import Group, Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.target import PictureTarget, picture_target
from npuc.compiler.cli.progress import said, stages, warnings_shown
from npuc.compiler.cli.run.arrays import packed, read_arrays
from npuc.compiler.cli.run.clocks import clocks_of
from npuc.compiler.cli.run.told import clock_lines, remarks, result_lines
from npuc.compiler.cli.shared import Verb, aside, check_target, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.outputs import write_file

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.running.options import RunKeywords, RunOptions
    from npuc.compiler.interpreter.execute import Run
    from npuc.compiler.report.training.document import Clock, Training
    from npuc.frontends.source import Source


@dataclass(frozen=True)
class RunData(Group):
    """What a run computes on, how far, and where its arrays go."""

    title: ClassVar[str] = "Run"

    inputs: Annotated[
        str | None,
        typer.Option("--inputs", metavar="F.npz", help="Read inputs and parameters by name (default: random ones)."),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="digits", help="Train on images of digits, which come with scikit-learn."),
    ] = None
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="F.npz", help="Write losses, outputs, parameters and gradients.")
    ] = None
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="float32|float64", help="Compute every float in this type.")
    ] = None
    steps: Annotated[int, typer.Option("--steps", metavar="N", parser=whole(), help="Training steps to run.")] = 1
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="S", parser=whole(0), help="Seed of data and parameters that are not given."),
    ] = 0
    level: Annotated[str | None, typer.Option("--level", metavar="train|npu|tiles", help="IR level to execute.")] = None


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("run")(expanded(command))


def command(
    program: Annotated[Program, Takes(without=without("run", Program))],
    asked: RunData,
    machine: Annotated[
        Machine,
        Takes(
            without=without("run", Machine),
            help={"hw": "Machine to schedule for; sums are as wide as its accumulators."},
        ),
    ],
    optimisation: Optimisation,
    devices: Devices,
    messages: Annotated[
        Output,
        Takes(
            without=without("run", Output),
            help={"plot": "Draw the loss by step: .svg, .png or .pdf.", "json": "Write the losses as JSON."},
        ),
    ],
    backend: Backends = None,
) -> None:
    """
    Execute the program in numpy. Prints the losses or, without a loss, the shape and mean of each output; with -b how
    long the steps take on a machine, too.
    """
    with Verb(messages.debug):
        from npuc.compiler.driver.run import run_program
        from npuc.compiler.driver.running.options import RunKeywords, is_lowered, run_options
        from npuc.frontends.source import open_source

        check_target(asked.outputs)
        check_target(messages.json)
        printed = not check_one_on_stdout(json=messages.json, statistics_json=optimisation.statistics_json)
        picture = _picture(messages, asked.steps)
        _check_mapping(machine, backend)
        own = _own(asked)
        shared = devices.shared()
        given = collected(program, machine, optimisation, known=RunKeywords.__annotations__)
        options = cast("RunKeywords", {**own, **given, **shared})
        opened = open_source(program.source)
        with (
            watching(optimisation) as watchers,
            stages(quiet=messages.quiet) as line,
            warnings_shown(quiet=messages.quiet),
        ):
            compiled: CompileKeywords = {**collected(program, machine, optimisation), **shared}
            clocks = _clocks(opened, backend or [], options, compiled, quiet=messages.quiet)
            if clocks and not is_lowered(run_options(options)):
                options = _without_goals(options)
            result = run_program(opened, options, said(line, quiet=messages.quiet), watchers=watchers)
        training = _training(opened, result, asked, clocks)
        _write(result, training, asked.outputs, messages.json, picture)
        for text in () if messages.quiet else remarks(result, training):
            aside(text)
        for text in (*result_lines(result), *clock_lines(training)) if printed else ():
            print(text)


def _own(asked: RunData) -> RunKeywords:
    """The keywords of a run itself, with the arrays of `--inputs`. Raises `UsageError`."""
    return {
        "inputs": {} if asked.inputs is None else read_arrays(asked.inputs),
        "dtype": asked.dtype,
        "steps": asked.steps,
        "seed": asked.seed,
        "level": asked.level,
        "dataset": asked.dataset,
    }


def _write(
    result: Run, training: Training, outputs: str | None, json: str | None, picture: PictureTarget | None
) -> None:
    """Write arrays, losses and picture where they are wanted. Raises `UsageError` for a picture without losses."""
    if picture is not None and not result.losses:
        raise UsageError("--plot draws losses, and the program has none", hint="leave out --plot")
    if outputs is not None:
        write_file(outputs, packed(result))
    if picture is not None:
        from npuc.compiler.report.training.picture import draw_training

        picture.draw(lambda kind: draw_training(training, kind))
    if json is not None:
        write_result(json, training.to_json())


def _picture(messages: Output, steps: int) -> PictureTarget | None:
    """The picture that is asked for. Raises `UsageError` where there is no curve to draw."""
    if messages.plot is not None and steps < 2:
        raise UsageError("--plot draws the loss over steps, and there is one", hint="add --steps 50")
    return picture_target(messages.plot, made_for=messages.plot_as)


def _check_mapping(machine: Machine, backends: list[str] | None) -> None:
    """Raise `UsageError` for a mapping where nothing is scored."""
    if machine.mapping is not None and not backends:
        raise UsageError(
            f"--mapping {machine.mapping} changes costs, and nothing that is computed", hint="add -b maestro"
        )


def _clocks(
    source: Source, backends: list[str], options: RunKeywords, keywords: CompileKeywords, *, quiet: bool
) -> list[Clock]:
    """The time of a step by each backend. Warns of hardware keys that neither they nor the execution reads."""
    from npuc.compiler.driver.running.options import is_lowered, run_options
    from npuc.compiler.driver.unread import keys_of, unread_in_run

    asked = run_options(options)
    if not backends:
        warn_of_unread(asked, lowered=is_lowered(asked), quiet=quiet)
        return []
    unread = unread_in_run(asked.overrides, lowered=is_lowered(asked), double=asked.dtype == "float64")
    read = {*keys_of(asked.overrides)} - unread.keys()
    return clocks_of(source, backends, keywords, read, quiet=quiet)


def _without_goals(options: RunKeywords) -> RunKeywords:
    """Without what schedules are for, which are those of the compilation beside the run."""
    return cast("RunKeywords", {k: v for k, v in options.items() if k not in ("objective", "tolerance")})


def _training(source: Source, result: Run, asked: RunData, clocks: list[Clock]) -> Training:
    """The document of a run."""
    from npuc.compiler.report.training.document import SCHEMA, Training, finite

    told, losses = (asked.dataset, result.data, result.held_out), finite(result.losses)
    return Training(SCHEMA, source.shown, asked.steps, asked.seed, *told, losses, result.accuracies, clocks)


def warn_of_unread(options: RunOptions, *, lowered: bool, quiet: bool) -> None:
    """Warn of hardware keys on which nothing in an execution depends; `lowered`: passes may read the machine."""
    from npuc.compiler.driver.unread import unread_in_run, warnings_of

    double = options.dtype == "float64"
    for warning in () if quiet else warnings_of(unread_in_run(options.overrides, lowered=lowered, double=double)):
        aside(f"warning: {warning}")

"""`npuc optimize`: the points of a design space that no other one beats in several goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group, Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.target import PictureTarget, picture_target
from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.searching import all_rows, check_count
from npuc.compiler.cli.shared import Verb, aside, check_rows, check_target, make_console, whole, write_result
from npuc.compiler.cli.sweeping.points import PointMessages
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.core import interrupts
from npuc.compiler.core.errors import CapacityError, UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.optimize.result import OptimizeResult
    from npuc.compiler.explore.optimize.run import Optimized
    from npuc.compiler.explore.sweep.point import SweepPoint
    from npuc.compiler.explore.sweep.sweep import Sweep

ROWS = ("folded", "all")


@dataclass(frozen=True)
class OptimizeOptions(Group):
    """Which points there are, what is good of them, and how they are searched and shown."""

    title: ClassVar[str] = "Search"

    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B,C|LO:HI:STEP", help="Key to vary and its values; repeatable."),
    ] = None
    goals: Annotated[
        str, typer.Option("--goals", metavar="A,B,…", help="Metrics to minimise; max:NAME to maximise.")
    ] = "time,energy,area"
    constraint: Annotated[
        list[str] | None,
        typer.Option("--constraint", metavar='"AREA < 10"', help="Limit of a metric; repeatable."),
    ] = None
    budget: Annotated[int, typer.Option("--budget", metavar="N", parser=whole(), help="Points to price at most.")] = (
        1000
    )
    seed: Annotated[int, typer.Option("--seed", metavar="N", parser=whole(), help="Seed of the random numbers.")] = 0
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="FILE", help="Keep priced points in FILE, and go on from there."),
    ] = None
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="|".join(ROWS), help="Rows of the table: many points folded, or all."),
    ] = None
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes.")
    ] = 1

    def check(self) -> None:
        """Raise `UsageError` for values that no search has, and a record that cannot be written."""
        check_count("--budget", self.budget, 1)
        check_count("--seed", self.seed, 0)
        if self.resume == "-":
            raise UsageError("--resume -: a record needs a file", hint="give it a name")
        check_target(self.resume)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("optimize")(expanded(command))


def command(
    program: Program,
    asked: OptimizeOptions,
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without("optimize", Optimisation),
            help={"objective": "What schedules minimise: time (default), traffic, energy or edp."},
            default={"objective": None},  # what is not said may be varied
        ),
    ],
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            without=without("optimize", Output),
            help={
                "csv": "Write one row per point of the front.",
                "json": "Write the front and all priced points.",
                "plot": "Draw the front: .svg, .png or .pdf.",
            },
        ),
    ],
    backend: Backends = None,
) -> None:
    """Find the points of a design space that no other one beats in several goals: a Pareto front."""
    with Verb(output.debug):
        asked.check()
        check_rows(asked.rows, output.csv, output.json)
        every = all_rows(asked.rows)
        shows = not check_one_on_stdout(json=output.json, csv=output.csv)
        for target in (output.csv, output.json):
            check_target(target)
        picture = picture_target(output.plot, made_for=output.plot_as)
        sweep = _sweep_of(program, machine, optimisation, devices, asked, backend)
        found = _search(sweep, asked, quiet=output.quiet)
        _write(found.result, output.json, output.csv, picture)
        if shows:
            from npuc.compiler.explore.optimize.table import print_optimized

            print_optimized(found.result, make_console(), rows="all" if every else "folded")
        if found.interrupt is not None:
            raise _last(found.interrupt, found.result, asked)
        if not found.result.front:
            raise typer.Exit(CapacityError.exit_code)


def _sweep_of(
    program: Program,
    machine: Machine,
    optimisation: Optimisation,
    devices: Devices,
    asked: OptimizeOptions,
    backend: list[str] | None,
) -> Sweep:
    """The points that are asked for. Raises `NpucError`s."""
    from npuc.compiler.explore.optimize.run import MOST_POINTS
    from npuc.compiler.explore.sweep.axes import read_vary
    from npuc.compiler.explore.sweep.sweep import Sweep
    from npuc.frontends.source import open_source

    varied = read_vary(asked.vary or [])
    options: CompileKeywords = {
        **collected(machine, program, optimisation),
        **devices.shared(varied="devices" in varied),
    }
    return Sweep(open_source(program.source), varied, backend, options, most=MOST_POINTS)


def _search(sweep: Sweep, asked: OptimizeOptions, *, quiet: bool) -> Optimized:
    """Search. What is to be told goes to standard error."""
    from npuc.compiler.driver.unread import Unread, warnings_of
    from npuc.compiler.explore.optimize.run import OptimizeCourse, optimize

    messages, unread = PointMessages(quiet), Unread()
    with progress("optimize", min(asked.budget, sweep.grid.count), bar=not quiet) as (advance, _):

        def told(point: SweepPoint) -> None:
            for message in messages.new(point):
                aside(message)
            if point.unread is not None:
                unread.add(point.unread)
            advance(1)

        course = OptimizeCourse(asked.budget, asked.seed, asked.jobs, asked.resume, told)
        found = optimize(sweep, course, asked.goals.split(","), asked.constraint or ())
    for warning in () if quiet else warnings_of(unread.at_all()):
        aside(f"warning: {warning}")
    if rest := messages.rest():
        aside(rest)
    if found.before and not quiet:
        aside(f"'{asked.resume}' had {found.before:,} of the points and was continued")
    return found


def _write(result: OptimizeResult, json: str | None, csv: str | None, picture: PictureTarget | None) -> None:
    """Write the files that are asked for; a picture that cannot be drawn is a warning."""
    if json is not None:
        from npuc.compiler.driver.score import version

        write_result(json, result.to_json(version()))
    if csv is not None:
        write_result(csv, result.to_csv())
    if picture is not None and not result.front:
        aside("warning: no picture was drawn: no point that was priced fits")
    elif picture is not None:
        from npuc.compiler.explore.optimize.picture import draw

        picture.draw(lambda kind: draw(result, kind))


def _last(interrupt: KeyboardInterrupt, result: OptimizeResult, asked: OptimizeOptions) -> BaseException:
    """What ends an interrupted search whose result has been written."""
    found = interrupts.WithResult(interrupt)
    further = "--resume FILE would go on" if asked.resume is None else "the same command goes on"
    found.add_note(f"the result is the front of {result.counts.priced:,} points; {further}")
    return found

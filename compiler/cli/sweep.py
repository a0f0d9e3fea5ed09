"""`npuc sweep`: the cost of a step at every point of a design space."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group, Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.axes import PictureAxes
from npuc.compiler.cli.plot.target import PictureTarget, picture_target
from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.shared import Verb, aside, check_rows, check_target, make_console, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.core.errors import CapacityError, UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.sweep.partial import Partial
    from npuc.compiler.explore.sweep.point import SweepPoint
    from npuc.compiler.explore.sweep.sweep import Sweep
    from npuc.compiler.explore.sweep.table import SweepRows

ROWS: tuple[SweepRows, ...] = ("folded", "all")
MESSAGES_SHOWN = 20
"""Messages and failed points that are told one by one."""


@dataclass(frozen=True)
class SweepOptions(Group):
    """Which points there are, and how they are run and shown."""

    title: ClassVar[str] = "Points"

    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B,C|LO:HI:STEP", help="Key to vary and its values; repeatable."),
    ] = None
    restart: Annotated[bool, typer.Option("--restart", help="Start over instead of resuming from FILE.partial.")] = (
        False
    )
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="|".join(ROWS), help="Rows of the table: many points folded, or all."),
    ] = None
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes.")
    ] = 1


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("sweep")(expanded(command))


def command(
    program: Program,
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without("sweep", Optimisation),
            help={"objective": "What schedules minimise: time (default), traffic, energy or edp."},
            default={"objective": None},  # what is not said may be varied
        ),
    ],
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            without=without("sweep", Output),
            help={
                "csv": "Write one row per point; resumes an interrupted FILE.",
                "json": "Write all points, for npuc plot.",
                "plot": "Draw the points: .svg, .png or .pdf.",
            },
        ),
    ],
    axes: PictureAxes,
    asked: SweepOptions,
    backend: Backends = None,
) -> None:
    """Score a network at every point of a design space. Points are all combinations of the values of --vary."""
    with Verb(output.debug):
        shown = _check_asked(asked, output, axes)
        picture = picture_target(output.plot)
        sweep = _sweep_of(program, machine, optimisation, devices, asked, backend)
        axes.check([axis.key for axis in sweep.grid.axes])
        points = _run(sweep, output.csv, restart=asked.restart, jobs=asked.jobs, quiet=output.quiet)
        if output.json is not None or picture is not None:
            _write(sweep, points, output.json, picture, axes)
        if "-" not in (output.csv, output.json):
            from npuc.compiler.explore.sweep.table import print_sweep

            print_sweep(sweep.title, sweep.compare(points), make_console(), rows=shown, backend=sweep.backend)
        if any(point.error is not None for point in points):
            raise typer.Exit(CapacityError.exit_code)


def _check_asked(asked: SweepOptions, output: Output, axes: PictureAxes) -> SweepRows:
    """The rows of the table. Raises `UsageError` for options that exclude each other or go unused."""
    shown: SweepRows | None = next((known for known in ROWS if known == (asked.rows or "folded")), None)
    if shown is None:
        raise UsageError(f"--rows {asked.rows}: expected folded or all")
    check_rows(asked.rows, output.csv, output.json)
    if asked.restart and output.csv in (None, "-"):
        raise UsageError("--restart needs a file to start over", hint="add --csv FILE")
    if output.csv == "-" and output.json == "-":
        raise UsageError("--json - and --csv - both want standard output", hint="give one of them a file")
    for target in (output.csv, output.json):
        check_target(target)
    given = axes.asked().given
    if output.plot is None and given:
        option, name = next(iter(given.items()))
        raise UsageError(f"{option} {name} is about a picture, and there is none", hint="add --plot FILE.svg")
    return shown


def _sweep_of(
    program: Program,
    machine: Machine,
    optimisation: Optimisation,
    devices: Devices,
    asked: SweepOptions,
    backend: list[str] | None,
) -> Sweep:
    """The points that are asked for. Raises `NpucError`s."""
    from npuc.compiler.explore.sweep.axes import read_vary
    from npuc.compiler.explore.sweep.sweep import Sweep
    from npuc.frontends.source import open_source

    varied = read_vary(asked.vary or [])
    options: CompileKeywords = {
        **collected(machine, program, optimisation),
        **devices.shared(varied="devices" in varied),
    }
    return Sweep(open_source(program.source), varied, backend, options)


def _write(
    sweep: Sweep, points: list[SweepPoint], json: str | None, picture: PictureTarget | None, axes: PictureAxes
) -> None:
    """Write all points, and draw them; a picture that cannot be drawn is a warning."""
    from npuc.compiler.explore.plot.draw import draw_table
    from npuc.compiler.explore.sweep.drawn import sweep_table

    table = sweep_table(sweep.title, sweep.compare(points))
    if json is not None:
        write_result(json, table.to_json())
    if picture is not None:
        try:
            picture.write(draw_table(table, axes.asked(), picture.kind))
        except UsageError as e:  # the points are worth more than their picture
            aside(f"warning: no picture was drawn: {e.message}")


def _run(sweep: Sweep, csv: str | None, *, restart: bool, jobs: int, quiet: bool) -> list[SweepPoint]:
    """All points, which are written as they come. What is to be told goes to standard error."""
    from npuc.compiler.explore.sweep.partial import Partial, header, line

    special = csv is not None and csv != "-" and os.path.exists(csv) and not os.path.isfile(csv)
    if csv is None or csv == "-" or special:
        with open(csv, "w", encoding="utf-8") if special and csv is not None else nullcontext(sys.stdout) as stream:

            def write(text: str) -> None:
                if csv is not None:
                    stream.write(text)
                    stream.flush()

            def add(point: SweepPoint) -> None:
                write(line(list(point.row().values())))

            write(line(header(sweep.grid)))
            mixed = csv == "-" and sys.stdout.isatty()  # rows and the bar on one terminal
            return _collect(sweep, [], add, jobs=jobs, quiet=quiet, bar=not mixed)
    with Partial(csv, sweep.grid, sweep.digest(), restart=restart) as partial:
        if partial.points and not quiet:
            count = f"{len(partial.points):,} of {sweep.grid.count:,}"
            aside(f"{partial.shown} had {count} points and was continued")
        with _advice(partial, sweep, quiet=quiet):
            points = _collect(sweep, partial.points, partial.add, jobs=jobs, quiet=quiet, bar=True)
        partial.finish()
        return points


@contextmanager
def _advice(partial: Partial, sweep: Sweep, *, quiet: bool) -> Generator[None]:
    """Say where an interrupted sweep continues."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if partial.rows and not quiet:
            count = f"{partial.rows:,} of {sweep.grid.count:,}"
            interrupt.add_note(f"{partial.shown} has {count} points; the same command continues")
        raise


def _collect(
    sweep: Sweep, known: list[SweepPoint], write: Callable[[SweepPoint], None], *, jobs: int, quiet: bool, bar: bool
) -> list[SweepPoint]:
    from npuc.compiler.driver.unread import unread_at_all, warnings_of

    points, told = list(known), _Told(quiet)
    with progress("sweep", sweep.grid.count, len(known), bar=bar and not quiet) as (advance, _):
        for point in sweep.points(len(known), jobs=jobs):
            write(point)
            points.append(point)
            for message in told.new(point):
                aside(message)
            advance(1)
        unread = [point.unread for point in points[len(known) :] if point.unread is not None]
        for warning in () if quiet else warnings_of(unread_at_all(unread)):
            aside(f"warning: {warning}")
    if rest := told.rest():
        aside(rest)
    return points


class _Told:
    """Which messages were told: each once, and a limited number of them."""

    def __init__(self, quiet: bool):
        self._quiet, self._seen, self._failed = quiet, set[str](), 0

    def new(self, point: SweepPoint) -> Iterator[str]:
        """What is to be told of a point, that was not told before."""
        from npuc.compiler.explore.sweep.messages import point_text

        messages = list(point.messages)
        if point.error is not None:
            self._failed += 1
            messages.append(f"warning: {point_text(point.values)}: {point.error}")
        for message in () if self._quiet else messages:
            if message not in self._seen:
                self._seen.add(message)
                if len(self._seen) <= MESSAGES_SHOWN:
                    yield message

    def rest(self) -> str | None:
        """How much was not told."""
        more = len(self._seen) - MESSAGES_SHOWN
        return f"{more:,} more messages; {self._failed:,} points failed" if more > 0 else None

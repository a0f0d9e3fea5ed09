"""`npuc sweep`: the cost of a step at every point of a design space."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group, Takes, collected, expanded
from npuc.compiler.cli.options import Backends, Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.axes import PictureAxes
from npuc.compiler.cli.plot.target import PictureTarget, picture_target
from npuc.compiler.cli.shared import Verb, aside, check_rows, check_target, make_console, whole, write_result
from npuc.compiler.cli.sweeping.points import score_points
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.verbs.tables import TableTarget, on_stdout, table_target
from npuc.compiler.core.errors import CapacityError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.explore.sweep.partial import Partial
    from npuc.compiler.explore.sweep.point import SweepPoint
    from npuc.compiler.explore.sweep.sweep import Sweep
    from npuc.compiler.explore.sweep.table import SweepRows

ROWS: tuple[SweepRows, ...] = ("folded", "all")


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
        int | None, typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes.")
    ] = None
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS|local", help="Score on the workers of a Dask cluster."),
    ] = None


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
    from npuc.compiler.explore.sweep.values import MOST_POINTS, MOST_STREAMED

    with Verb(output.debug):
        shown, table = _check_asked(asked, output, axes)
        most = MOST_POINTS if output.csv is None else MOST_STREAMED
        sweep = _sweep_of(program, machine, optimisation, devices, asked, backend, most)
        axes.check([axis.key for axis in sweep.grid.axes])
        if sweep.grid.count > MOST_POINTS:
            check_streamed(asked.rows, output.json, output.plot, output.html, output.table)
            failed = _streamed(sweep, asked, output)
        else:
            picture = picture_target(output.plot, made_for=output.plot_as)
            failed = _kept(sweep, asked, output, shown, picture, axes, table)
        if failed:
            raise typer.Exit(CapacityError.exit_code)


def check_streamed(
    rows: str | None, json: str | None, plot: str | None, html: str | None = None, table: str | None = None
) -> None:
    """Raise `UsageError` for what needs all points of a sweep that does not keep them."""
    from npuc.compiler.explore.sweep.values import MOST_POINTS

    for option, given in (
        ("--json", json),
        ("--plot", plot),
        ("--html", html),
        ("--table", table),
        ("--rows all", rows if rows == "all" else None),
    ):
        if given is not None:
            raise UsageError(
                f"{option} needs all points, and of more than {MOST_POINTS:,} only the best are kept",
                hint="fewer points; or leave it out: --csv has them all",
            )


def _streamed(sweep: Sweep, asked: SweepOptions, output: Output) -> bool:
    """Score the points of a sweep that does not keep them, and print the best: whether some failed."""
    from npuc.compiler.explore.sweep.front import Front
    from npuc.compiler.explore.sweep.table import print_front

    front = Front(sweep.grid, sweep.objective)
    _run(sweep, output.csv, front.add, asked, quiet=output.quiet)
    if output.csv != "-":
        print_front(sweep.title, front, make_console(), backend=sweep.backend)
    return front.failed > 0


def _kept(
    sweep: Sweep,
    asked: SweepOptions,
    output: Output,
    shown: SweepRows,
    picture: PictureTarget | None,
    axes: PictureAxes,
    table: TableTarget | None,
) -> bool:
    """Score all points, print and draw them: whether some failed."""
    points: list[SweepPoint] = []
    _run(sweep, output.csv, points.append, asked, quiet=output.quiet)
    if output.json is not None or picture is not None:
        _write(sweep, points, output.json, picture, axes)
    if output.html is not None:
        _write_page(sweep, points, output.html)
    from npuc.compiler.explore.sweep.table import print_sweep

    def show(console: Console) -> None:
        print_sweep(sweep.title, sweep.compare(points), console, rows=shown, backend=sweep.backend)

    if table is not None:
        table.write(show)
    if "-" not in (output.csv, output.json, on_stdout(table)):
        show(make_console())
    return any(point.error is not None for point in points)


def _check_asked(asked: SweepOptions, output: Output, axes: PictureAxes) -> tuple[SweepRows, TableTarget | None]:
    """
    The rows of the table, and where tables for papers go.

    Raises `UsageError` for options that exclude each other or go unused.
    """
    shown: SweepRows | None = next((known for known in ROWS if known == (asked.rows or "folded")), None)
    if shown is None:
        raise UsageError(f"--rows {asked.rows}: expected folded or all")
    check_rows(asked.rows, output.csv, output.json)
    if asked.restart and output.csv in (None, "-"):
        raise UsageError("--restart needs a file to start over", hint="add --csv FILE")
    table = table_target(output.table)
    check_one_on_stdout(json=output.json, csv=output.csv, table=on_stdout(table))
    for target in (output.csv, output.json, output.html):
        check_target(target)
    given = axes.asked().given
    if output.plot is None and given:
        option, name = next(iter(given.items()))
        raise UsageError(f"{option} {name} is about a picture, and there is none", hint="add --plot FILE.svg")
    return shown, table


def _sweep_of(
    program: Program,
    machine: Machine,
    optimisation: Optimisation,
    devices: Devices,
    asked: SweepOptions,
    backend: list[str] | None,
    most: int,
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
    return Sweep(open_source(program.source), varied, backend, options, most=most)


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
            picture.draw(lambda kind: draw_table(table, axes.asked(), kind))
        except UsageError as e:  # the points are worth more than their picture
            aside(f"warning: no picture was drawn: {e.message}")


def _write_page(sweep: Sweep, points: list[SweepPoint], path: str) -> None:
    from npuc.compiler.cli.page.result import printed, sweep_html
    from npuc.compiler.explore.sweep.partial import header, line
    from npuc.compiler.explore.sweep.table import print_sweep

    compared = sweep.compare(points)
    told = printed(lambda console: print_sweep(sweep.title, compared, console, rows="folded", backend=sweep.backend))
    rows = "".join(line(list(point.row(sweep.grid.totals).values())) for point in points)
    keys = [axis.key for axis in sweep.grid.axes]
    write_result(path, sweep_html(sweep.title, told, line(header(sweep.grid)) + rows, keys))


def _run(
    sweep: Sweep,
    csv: str | None,
    keep: Callable[[SweepPoint], object],
    asked: SweepOptions,
    *,
    quiet: bool,
) -> None:
    """Score all points, which are written as they come and kept. What is to be told goes to standard error."""
    from npuc.compiler.explore.sweep.partial import Partial, header, line

    special = csv is not None and csv != "-" and os.path.exists(csv) and not os.path.isfile(csv)
    if csv is None or csv == "-" or special:
        with open(csv, "w", encoding="utf-8") if special and csv is not None else nullcontext(sys.stdout) as stream:

            def write(text: str) -> None:
                if csv is not None:
                    stream.write(text)
                    stream.flush()

            def add(point: SweepPoint) -> None:
                write(line(list(point.row(sweep.grid.totals).values())))
                keep(point)

            write(line(header(sweep.grid)))
            mixed = csv == "-" and sys.stdout.isatty()  # rows and the bar on one terminal
            score_points(sweep, 0, add, jobs=asked.jobs, dask=asked.dask, quiet=quiet, bar=not mixed)
            return
    with Partial(csv, sweep.grid, sweep.digest(), keep, restart=asked.restart) as partial:
        if partial.rows and not quiet:
            count = f"{partial.rows:,} of {sweep.grid.count:,}"
            aside(f"{partial.shown} had {count} points and was continued")

        def append(point: SweepPoint) -> None:
            partial.add(point)
            keep(point)

        with _advice(partial, sweep, quiet=quiet):
            score_points(sweep, partial.rows, append, jobs=asked.jobs, dask=asked.dask, quiet=quiet, bar=True)
        partial.finish()


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

"""`npuc design`: a machine for a training step, with its mappings, under a budget of area and power."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import progress, said
from npuc.compiler.cli.shared import Verb, check_target, make_console, real, whole, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import objective_named
from npuc.compiler.core.outputs import write_file

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.explore.design.driver import Designed
    from npuc.compiler.explore.design.result import DesignSettings

TILES = ("divisors", "any")
GOALS = ("time", "energy", "edp", "area")
MOST_LEVELS = 3
BUDGET = 100_000


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("design")(expanded(command))


@dataclass(frozen=True)
class DesignOutputs:
    """Where results go: `-` is standard output, None nowhere."""

    json: str | None
    csv: str | None
    machine: str | None
    program: str | None
    plot: str | None
    picture: str | None
    shows: bool
    """Whether standard output is free for the table."""


def command(
    program: Program,
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without("design", Optimisation),
            help={"objective": "What the machine minimises: time (default), energy or edp."},
            default={"objective": None},  # the first of --goals where it is not said
        ),
    ],
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per machine.",
                "plot": "Draw the machines, or the course of the search.",
                "output": "Write the best machine, as --hw takes it.",
            }
        ),
    ],
    area_mm2: Annotated[
        float | None, typer.Option("--area-mm2", metavar="A", parser=real(), help="Largest area of the machine, mm2.")
    ] = None,
    power_w: Annotated[
        float | None,
        typer.Option("--power-w", metavar="W", parser=real(), help="Largest average power of a step, W."),
    ] = None,
    goals: Annotated[
        str | None,
        typer.Option(
            "--goals", metavar="A,B,…", help="Goals of a Pareto front, the objective first: time, energy, edp, area."
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", metavar="N", parser=whole(), help="Mappings to evaluate in all.")
    ] = BUDGET,
    seed: Annotated[int, typer.Option("--seed", metavar="N", parser=whole(), help="Seed of the random numbers.")] = 0,
    levels: Annotated[
        int, typer.Option("--levels", metavar="N", parser=whole(), help="Levels of clusters, 1 to 3.")
    ] = 2,
    tiles: Annotated[
        str,
        typer.Option("--tiles", metavar="|".join(TILES), help="Tile sizes to try: divisors of a dimension, or any."),
    ] = "divisors",
    mapped: Annotated[
        str | None,
        typer.Option("--mapped", metavar="FILE|-", help="Write the program with its mappings on the best machine."),
    ] = None,
) -> None:
    """Design a machine for a network: its elements, clusters and buffers, with a mapping of every contraction."""
    with Verb(output.debug):
        named = _goals(goals, optimisation.objective)
        settings = _settings(named, area_mm2, power_w, budget, seed, levels, tiles)
        outputs = _outputs(output, mapped, optimisation.statistics_json)
        options: CompileKeywords = {
            **machine.keywords(),
            **collected(program, optimisation),
            **devices.shared(),
        }
        options.pop("objective", None)  # that of the search, not of schedules
        with watching(optimisation) as watchers:
            found = _search(program.source, options, settings, watchers, quiet=output.quiet)
        _write(found, outputs)


def _goals(goals: str | None, objective: str | None) -> tuple[str, ...]:
    """The goals, the objective first. Raises `UsageError`."""
    first = None if objective is None else _chosen("--objective", objective_named(objective), GOALS[:-1])
    if goals is None:
        return (first or GOALS[0],)
    named = tuple(dict.fromkeys(one.strip() for one in goals.split(",")))
    for one in named:
        _chosen("--goals", one, GOALS)
    if all(one == "area" for one in named):
        raise UsageError("--goals area: the smallest machine is one element", hint="--goals time,area")
    rest = [one for one in named if one != "area"]
    if first not in (None, rest[0]):
        raise UsageError(
            f"--objective {objective} and --goals {goals}: the first goal is the objective",
            hint="leave out --objective",
        )
    return (*rest, *(one for one in named if one == "area"))


def _chosen(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        text = f"{option} {value}: expected {', '.join(known[:-1])} or {known[-1]}"
        raise UsageError(text, hint=did_you_mean(value, known))
    return value


def _settings(
    goals: tuple[str, ...],
    area_mm2: float | None,
    power_w: float | None,
    budget: int,
    seed: int,
    levels: int,
    tiles: str,
) -> DesignSettings:
    """What was asked for. Raises `UsageError`."""
    from npuc.compiler.explore.design.budget import RETICLE_MM2
    from npuc.compiler.explore.design.result import DesignSettings

    if area_mm2 is None and power_w is None:
        raise UsageError("a design needs a budget", hint="--area-mm2 0.2, or --power-w 1")
    for option, value in (("--area-mm2", area_mm2), ("--power-w", power_w)):
        if value is not None and value <= 0:
            raise UsageError(f"{option} {value:g}: expected more than 0")
    _chosen("--tiles", tiles, TILES)
    for option, count, least, most in (
        ("--budget", budget, 1, None),
        ("--seed", seed, 0, None),
        ("--levels", levels, 1, MOST_LEVELS),
    ):
        if count < least or (most is not None and count > most):
            raise UsageError(f"{option} {count}: expected {least} {'or more' if most is None else f'to {most}'}")
    limit = RETICLE_MM2 if area_mm2 is None else area_mm2
    return DesignSettings(goals, "", limit, power_w, budget, seed, levels, tiles)


def _outputs(asked: Output, mapped: str | None, statistics: str | None) -> DesignOutputs:
    """Where results go. Raises `UsageError` before any work is done."""
    json, csv, machine, plot = asked.json, asked.csv, asked.output, asked.plot
    shows = not check_one_on_stdout(json=json, csv=csv, o=machine, mapped=mapped, statistics_json=statistics)
    for path in (json, csv, machine, mapped, plot):
        check_target(path)
    picture = None
    if plot is not None:
        from npuc.compiler.core.drawing.figure import check_format

        picture = check_format(plot)
    return DesignOutputs(json, csv, machine, mapped, plot, picture, shows)


def _search(
    source: str, options: CompileKeywords, settings: DesignSettings, watchers: tuple[Watcher, ...], *, quiet: bool
) -> Designed:
    """Lower the source and search. What is to be told goes to standard error."""
    from npuc.compiler.explore.design.driver import design

    say = said(lambda text: print(text, file=sys.stderr), quiet=quiet)
    start = time.monotonic()
    with progress("design", settings.budget, bar=not quiet) as (advance, _):
        found = design(source, options, settings, say, advance, watchers)
    seconds, count = time.monotonic() - start, found.result.evaluations
    say(f"{count:,} mappings in {seconds:.1f} s, {count / max(seconds, 1e-9):,.0f} a second")
    return found


def _write(found: Designed, outputs: DesignOutputs) -> None:
    from npuc.compiler.driver.score import version
    from npuc.compiler.explore.design.result import to_csv, to_json

    if outputs.json is not None:
        write_result(outputs.json, to_json(found.result, version()))
    if outputs.csv is not None:
        write_result(outputs.csv, to_csv(found.result))
    if outputs.machine is not None:
        write_result(outputs.machine, found.machine)
    if outputs.program is not None:
        from xdsl.printer import Printer

        text = io.StringIO()
        Printer(text).print_op(found.module)
        write_result(outputs.program, text.getvalue() + "\n")
    if outputs.plot is not None and outputs.picture is not None:
        from npuc.compiler.explore.design.picture import draw

        write_file(outputs.plot, draw(found.result, outputs.picture))
    if outputs.shows:
        from npuc.compiler.explore.design.table import print_result

        print_result(found.result, make_console())

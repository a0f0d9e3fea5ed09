"""`npuc design`: a machine for a training step, with its mappings, under a budget of area and power."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import progress, said
from npuc.compiler.cli.searching import LongSearching, SearchTargets, check_area, chosen, search_targets, write_program
from npuc.compiler.cli.shared import Verb, make_console, real, write_result
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import objective_named

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.explore.design.driver import Designed
    from npuc.compiler.explore.design.result import DesignSettings

GOALS = ("time", "energy", "edp", "area")


@dataclass(frozen=True)
class DesignBudget(LongSearching):
    """What the machine may take, what it is good at, and how it is searched."""

    area_mm2: Annotated[
        float | None, typer.Option("--area-mm2", metavar="A", parser=real(), help="Largest area of the machine, mm2.")
    ] = None
    power_w: Annotated[
        float | None,
        typer.Option("--power-w", metavar="W", parser=real(), help="Largest average power of a step, W."),
    ] = None
    goals: Annotated[
        str | None,
        typer.Option(
            "--goals", metavar="A,B,…", help="Goals of a Pareto front, the objective first: time, energy, edp, area."
        ),
    ] = None
    flexible: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="BITS,…|any",
            help="Classes of flexibility, TOPS, 1110 by default: the best machine of each. any: all sixteen.",
        ),
    ] = None
    mapped: Annotated[
        str | None,
        typer.Option("--mapped", metavar="FILE|-", help="Write the program with its mappings on the best machine."),
    ] = None


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("design")(expanded(command))


def command(
    program: Program,
    asked: Annotated[
        DesignBudget,
        Takes(
            help={"budget": "Mappings to evaluate in all.", "levels": "Levels of clusters, 1 to 3."},
            default={"budget": 100_000},
        ),
    ],
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without("design", Optimisation),
            help={"objective": "What the machine minimises: time (default), energy or edp."},
            default={"objective": None},  # the first of --goals where it is not said
        ),
    ],
    devices: Annotated[Devices, Takes(without=without("design", Devices))],
    output: Annotated[
        Output,
        Takes(
            without=without("design", Output),
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per machine.",
                "plot": "Draw the machines, or the course of the search.",
                "output": "Write the best machine, as --hw takes it.",
            },
        ),
    ],
) -> None:
    """Design a machine for a network: its elements, clusters and buffers, with a mapping of every contraction."""
    with Verb(output.debug):
        settings = _settings(_goals(asked.goals, optimisation.objective), asked)
        targets = search_targets(output, optimisation.statistics_json, o=output.output, mapped=asked.mapped)
        options: CompileKeywords = {**machine.keywords(), **collected(program, optimisation), **devices.shared()}
        options.pop("objective", None)  # that of the search, not of schedules
        with watching(optimisation) as watchers:
            found = _search(program.source, options, settings, asked, watchers, quiet=output.quiet)
        _write(found, targets, asked.mapped)
        if found.interrupt is not None:
            raise asked.last(found.interrupt, found.result.evaluations)


def _goals(goals: str | None, objective: str | None) -> tuple[str, ...]:
    """The goals, the objective first. Raises `UsageError`."""
    first = None if objective is None else chosen("--objective", objective_named(objective), GOALS[:-1])
    if goals is None:
        return (first or GOALS[0],)
    named = tuple(dict.fromkeys(one.strip() for one in goals.split(",")))
    for one in named:
        chosen("--goals", one, GOALS)
    if all(one == "area" for one in named):
        raise UsageError("--goals area: the smallest machine is one element", hint="--goals time,area")
    rest = [one for one in named if one != "area"]
    if first not in (None, rest[0]):
        raise UsageError(
            f"--objective {objective} and --goals {goals}: the first goal is the objective",
            hint="leave out --objective",
        )
    return (*rest, *(one for one in named if one == "area"))


def _settings(goals: tuple[str, ...], asked: DesignBudget) -> DesignSettings:
    """What was asked for. Raises `UsageError`."""
    from npuc.compiler.analysis.mapping.flexibility.axes import class_of
    from npuc.compiler.explore.design.budget import RETICLE_MM2
    from npuc.compiler.explore.design.classes import DEFAULT_CLASS, check_levels, classes_named
    from npuc.compiler.explore.design.result import DesignSettings

    if asked.area_mm2 is None and asked.power_w is None:
        raise UsageError("a design needs a budget", hint="--area-mm2 0.2, or --power-w 1")
    check_area(asked.area_mm2)
    if asked.power_w is not None and asked.power_w <= 0:
        raise UsageError(f"--power-w {asked.power_w:g}: expected more than 0")
    asked.check()
    classes = classes_named(class_of(DEFAULT_CLASS) if asked.flexible is None else asked.flexible)
    check_levels(classes, asked.levels)
    if len(classes) > 1 and len(goals) > 1:
        raise UsageError(
            f"--class {asked.flexible} compares classes by one goal, and --goals {asked.goals} has {len(goals)}",
            hint="one of the classes, or --objective in place of --goals",
        )
    names = tuple(map(class_of, classes))
    limit = RETICLE_MM2 if asked.area_mm2 is None else asked.area_mm2
    return DesignSettings(goals, "", limit, asked.power_w, asked.budget, asked.seed, asked.levels, asked.tiles, names)


def _search(
    source: str,
    options: CompileKeywords,
    settings: DesignSettings,
    asked: DesignBudget,
    watchers: tuple[Watcher, ...],
    *,
    quiet: bool,
) -> Designed:
    """Lower the source and search. What is to be told goes to standard error."""
    from npuc.compiler.explore.design.driver import design
    from npuc.compiler.explore.design.explore import Course

    say, rules = said(lambda text: print(text, file=sys.stderr), quiet=quiet), asked.rules()
    start = time.monotonic()
    with progress("design", settings.budget, bar=not quiet) as (advance, _):
        course = Course(asked.budget, asked.seed, advance, asked.jobs, asked.resume)
        found = design(source, options, settings, course, say, watchers, rules)
    asked.tell(say, found.result.evaluations, found.before, time.monotonic() - start)
    return found


def _write(found: Designed, targets: SearchTargets, mapped: str | None) -> None:
    from npuc.compiler.driver.score import version
    from npuc.compiler.explore.design.result import to_csv, to_json

    if targets.json is not None:
        write_result(targets.json, to_json(found.result, version()))
    if targets.csv is not None:
        write_result(targets.csv, to_csv(found.result))
    if targets.output is not None:
        write_result(targets.output, found.machine)
    write_program(mapped, found.module)
    if targets.picture is not None:
        from npuc.compiler.explore.design.picture import draw

        targets.picture.draw(lambda kind: draw(found.result, kind))
    if targets.shows:
        from npuc.compiler.explore.design.table import print_result

        print_result(found.result, make_console())

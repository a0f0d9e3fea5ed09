"""`npuc map`: the best mapping of every contraction of a training step."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import progress, said
from npuc.compiler.cli.shared import (
    Verb,
    aside,
    check_rows,
    check_target,
    make_console,
    whole,
    write_result,
)
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.watching import watching
from npuc.compiler.core import interrupts
from npuc.compiler.core.errors import SourceError, UsageError, did_you_mean
from npuc.compiler.core.numbers import integer_of
from npuc.compiler.core.options import objective_named
from npuc.compiler.core.outputs import write_file

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.explore.mapping.best import Objective
    from npuc.compiler.explore.mapping.result import SearchResult, Settings
    from npuc.compiler.explore.mapping.search import Ended, Search

BACKEND = "maestro"
TILES = ("divisors", "any")
MODES = ("exact", "parity")
MOST_LEVELS = 3
BUDGET = 10_000


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("map")(expanded(command))


@dataclass(frozen=True)
class MapOutputs:
    """Where results go: `-` is standard output, None nowhere."""

    json: str | None
    csv: str | None
    program: str | None
    plot: str | None
    picture: str | None
    all_rows: bool
    shows: bool
    """Whether standard output is free for the table."""


def command(
    program: Program,
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without("map", Optimisation),
            help={"objective": "What mappings minimise: time, energy or edp."},
        ),
    ],
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per contraction.",
                "plot": "Plot the best cost over the number of mappings tried.",
                "output": "Write the program with its mappings.",
            }
        ),
    ],
    budget: Annotated[
        int, typer.Option("--budget", metavar="N", parser=whole(), help="Mappings to try for each contraction.")
    ] = BUDGET,
    seed: Annotated[int, typer.Option("--seed", metavar="N", parser=whole(), help="Seed of the random numbers.")] = 0,
    mapper: Annotated[
        str, typer.Option("--mapper", metavar="NAME", help="Search algorithm (npuc list mappers).")
    ] = "genetic",
    levels: Annotated[
        int, typer.Option("--levels", metavar="N", parser=whole(), help="Levels of a mapping, 1 to 3.")
    ] = 2,
    spread: Annotated[
        int | None,
        typer.Option(
            "--spread", metavar="N", parser=whole(), help="Most dimensions that a level spreads, 1 to 3 (default: 1)."
        ),
    ] = None,
    tiles: Annotated[
        str,
        typer.Option("--tiles", metavar="|".join(TILES), help="Tile sizes to try: divisors of a dimension, or any."),
    ] = "divisors",
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="|".join(MODES), help="Exact costs, or MAESTRO's own numbers.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="FILE", help="Keep the search's progress in FILE, and go on from there."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", metavar="N", parser=whole(1), help="Number of worker processes.")
    ] = 1,
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="folded|all", help="Rows of the table: layers folded by block, or all."),
    ] = None,
) -> None:
    """Search for the best mapping of every contraction. Mappings place its loops on processing elements."""
    quiet = output.quiet
    with Verb(output.debug):
        spread, devices = _spread(spread, devices, quiet=quiet)
        settings = _settings(optimisation.objective, mapper, budget, seed, levels, spread, tiles)
        if rows not in (None, "folded", "all"):
            raise UsageError(f"--rows {rows}: expected folded or all")
        check_rows(rows, output.json, output.csv, output.output)
        outputs = _outputs(output, optimisation.statistics_json, all_rows=rows == "all")
        if resume == "-":
            raise UsageError("--resume -: a record needs a file", hint="give it a name")
        check_target(resume)
        keys = machine.keywords()
        if mode is not None:
            keys["overrides"] = _with_mode(keys.get("overrides") or {}, _chosen("--mode", mode, MODES))
        options: CompileKeywords = {**keys, **collected(program, optimisation), **devices.shared()}
        options.pop("objective", None)  # that of the search, not of schedules
        with watching(optimisation) as watchers:
            course = _Course(jobs, resume, watchers)
            search, ended = _search(program.source, options, settings, course, quiet=quiet)
        _write(search, ended.result, outputs)
        if outputs.program is not None and ended.result.mode == "parity" and not quiet:
            aside("the program does not record its mode: compile it with --set maestro.mode=parity")
        if ended.interrupt is not None:
            count = f"{ended.result.evaluations:,} mappings"
            further = "--resume FILE would go on" if resume is None else "the same command goes on"
            last = interrupts.WithResult(ended.interrupt)
            last.add_note(f"the result is the best of {count}; {further}")
            raise last


def _with_mode(overrides: Mapping[str, object], mode: str) -> dict[str, object]:
    """Hardware keys with the mode. Raises `UsageError` where they have one."""
    if "maestro.mode" in overrides:
        raise UsageError("--mode and --set maestro.mode say the same", hint="leave out one of them")
    return {**overrides, "maestro.mode": mode}


def _spread(spread: int | None, devices: Devices, *, quiet: bool) -> tuple[int, Devices]:
    """
    How many dimensions a level may spread, and how devices share the step: `--parallel N`, an integer, was the former.
    """
    former = None if devices.parallel is None else integer_of(devices.parallel, 10)
    if former is None:
        return 1 if spread is None else spread, devices
    if spread is not None:
        raise UsageError("--spread and --parallel say the same", hint="leave out --parallel, its former name")
    if not quiet:
        aside(
            f"warning: --parallel {former} of map is --spread {former} now; the former name goes with the next release"
        )
    return former, replace(devices, parallel=None)


def _chosen(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        text = f"{option} {value}: expected {', '.join(known[:-1])} or {known[-1]}"
        raise UsageError(text, hint=did_you_mean(value, known))
    return value


def _settings(objective: str, mapper: str, budget: int, seed: int, levels: int, spread: int, tiles: str) -> Settings:
    """What was asked for. Raises `UsageError`."""
    from npuc.compiler.explore.mapping.best import OBJECTIVES
    from npuc.compiler.explore.mapping.mapper import ALGORITHMS
    from npuc.compiler.explore.mapping.result import Settings

    wanted = objective_named(objective)
    _chosen("--objective", wanted, OBJECTIVES)
    _chosen("--mapper", mapper, ALGORITHMS.names())
    _chosen("--tiles", tiles, TILES)
    for option, value, least, most in (
        ("--budget", budget, 1, None),
        ("--seed", seed, 0, None),
        ("--levels", levels, 1, MOST_LEVELS),
        ("--spread", spread, 1, MOST_LEVELS),
    ):
        if value < least or (most is not None and value > most):
            raise UsageError(f"{option} {value}: expected {least} {'or more' if most is None else f'to {most}'}")
    chosen: Objective = next(known for known in OBJECTIVES if known == wanted)
    return Settings(chosen, mapper, budget, seed, levels, spread, tiles)


def _outputs(asked: Output, statistics: str | None, *, all_rows: bool) -> MapOutputs:
    """Where results go. Raises `UsageError` before any work is done."""
    json, csv, program, plot = asked.json, asked.csv, asked.output, asked.plot
    shows = not check_one_on_stdout(json=json, csv=csv, o=program, statistics_json=statistics)
    for path in (json, csv, program, plot):
        check_target(path)
    picture = None
    if plot is not None:
        from npuc.compiler.core.drawing.figure import check_format

        picture = check_format(plot)
    return MapOutputs(json, csv, program, plot, picture, all_rows, shows)


@dataclass(frozen=True)
class _Course:
    """How a search is run: the number of processes, and the file of its record; who watches the passes."""

    jobs: int
    resume: str | None
    watchers: tuple[Watcher, ...]


def _search(
    source: str, options: CompileKeywords, settings: Settings, course: _Course, *, quiet: bool
) -> tuple[Search, Ended]:
    """Lower the source and search. What is to be told goes to standard error."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.core.gc_pause import without_cycle_collection
    from npuc.compiler.driver.compile import lowered_module
    from npuc.compiler.driver.options import options_of
    from npuc.compiler.driver.score import network_name
    from npuc.compiler.driver.unread import unread_warnings
    from npuc.compiler.explore.mapping.search import Search
    from npuc.frontends.source import open_source

    say = said(lambda text: print(text, file=sys.stderr), quiet=quiet)
    opened, warnings = open_source(source), list[str]()
    with without_cycle_collection():
        module, hardware = lowered_module(
            opened, get_backend(BACKEND), options, say, warnings, watchers=course.watchers
        )
        for warning in warnings:
            say(f"warning: {warning}")
        found = Search(module, hardware, settings)
        if not found.contracts:
            raise SourceError(f"{opened.shown} has no contraction to map")
        start = time.monotonic()
        with progress("map", len(found.distinct) * settings.budget, bar=not quiet) as (advance, _):
            name = network_name(module)
            ended = found.run(name, opened.shown, advance, course.jobs, course.resume)
        scored = [(get_backend(BACKEND), hardware)]
        unread = unread_warnings(options_of(options).overrides, scored)
        for warning in (*ended.result.warnings, *unread):
            say(f"warning: {warning}")
        seconds, count = time.monotonic() - start, ended.result.evaluations - ended.before
        if ended.before:
            say(f"'{course.resume}' had {ended.before:,} mappings and was continued")
        say(
            f"{count:,} mappings of {len(ended.result.found):,} distinct contractions in {seconds:.1f} s, "
            f"{count / max(seconds, 1e-9):,.0f} a second"
        )
    return found, ended


def _write(search: Search, result: SearchResult, outputs: MapOutputs) -> None:
    from npuc.compiler.driver.score import version
    from npuc.compiler.explore.mapping.result import to_csv, to_json

    if outputs.json is not None:
        write_result(outputs.json, to_json(result, version()))
    if outputs.csv is not None:
        write_result(outputs.csv, to_csv(result))
    if outputs.program is not None:
        from xdsl.printer import Printer

        text = io.StringIO()
        Printer(text).print_op(search.module)
        write_result(outputs.program, text.getvalue() + "\n")
    if outputs.plot is not None and outputs.picture is not None:
        from npuc.compiler.explore.mapping.picture import draw

        write_file(outputs.plot, draw(result, outputs.picture))
    if outputs.shows:
        from npuc.compiler.explore.mapping.table import print_result

        print_result(result, make_console(), all_rows=outputs.all_rows)

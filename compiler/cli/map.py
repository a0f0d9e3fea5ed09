"""`npuc map`: the best mapping of every contraction of a training step."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import progress, said
from npuc.compiler.cli.searching import (
    BACKEND,
    MOST_LEVELS,
    LongSearching,
    SearchTargets,
    all_rows,
    check_count,
    chosen,
    search_targets,
    write_program,
)
from npuc.compiler.cli.shared import (
    Verb,
    aside,
    check_rows,
    make_console,
    whole,
    write_result,
)
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.core.numbers import integer_of
from npuc.compiler.core.options import objective_named

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.explore.mapping.best import Objective
    from npuc.compiler.explore.mapping.result import SearchResult, Settings
    from npuc.compiler.explore.mapping.search import Ended, Search

MODES = ("exact", "parity")


@dataclass(frozen=True)
class MapSearch(LongSearching):
    """How mappings are searched, and by which algorithm."""

    mapper: Annotated[str, typer.Option("--mapper", metavar="NAME", help="Search algorithm (npuc list mappers).")] = (
        "genetic"
    )
    spread: Annotated[
        int | None,
        typer.Option(
            "--spread", metavar="N", parser=whole(), help="Most dimensions that a level spreads, 1 to 3 (default: 1)."
        ),
    ] = None
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="|".join(MODES), help="Exact costs, or MAESTRO's own numbers.")
    ] = None
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="folded|all", help="Rows of the table: layers folded by block, or all."),
    ] = None


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("map")(expanded(command))


def command(
    program: Program,
    asked: Annotated[MapSearch, Takes(help={"budget": "Mappings to try for each contraction."})],
    machine: Machine,
    optimisation: Annotated[
        Optimisation,
        Takes(
            without=without("map", Optimisation),
            help={"objective": "What mappings minimise: time, energy or edp."},
        ),
    ],
    devices: Annotated[Devices, Takes(without=without("map", Devices))],
    output: Annotated[
        Output,
        Takes(
            without=without("map", Output),
            help={
                "json": "Write the result as JSON.",
                "csv": "Write one row per contraction.",
                "plot": "Plot the best cost over the number of mappings tried.",
                "output": "Write the program with its mappings.",
            },
        ),
    ],
) -> None:
    """Search for the best mapping of every contraction. Mappings place its loops on processing elements."""
    quiet = output.quiet
    with Verb(output.debug):
        spread, devices = _spread(asked.spread, devices, quiet=quiet)
        settings = _settings(optimisation.objective, asked, spread)
        every = all_rows(asked.rows)
        check_rows(asked.rows, output.json, output.csv, output.output)
        targets = search_targets(output, optimisation.statistics_json, takes_table=True, o=output.output)
        keys = machine.keywords()
        if asked.mode is not None:
            keys["overrides"] = _with_mode(keys.get("overrides") or {}, chosen("--mode", asked.mode, MODES))
        options: CompileKeywords = {**keys, **collected(program, optimisation), **devices.shared()}
        options.pop("objective", None)  # that of the search, not of schedules
        with watching(optimisation) as watchers:
            search, ended = _search(program.source, options, settings, asked, watchers, quiet=quiet)
        _write(search, ended.result, targets, every=every)
        if targets.output is not None and ended.result.mode == "parity" and not quiet:
            aside("the program does not record its mode: compile it with --set maestro.mode=parity")
        if ended.interrupt is not None:
            raise asked.last(ended.interrupt, ended.result.evaluations)


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


def _settings(objective: str, asked: MapSearch, spread: int) -> Settings:
    """What was asked for. Raises `UsageError`."""
    from npuc.compiler.explore.mapping.best import OBJECTIVES
    from npuc.compiler.explore.mapping.mapper import ALGORITHMS
    from npuc.compiler.explore.mapping.result import Settings

    wanted = chosen("--objective", objective_named(objective), OBJECTIVES)
    chosen("--mapper", asked.mapper, ALGORITHMS.names())
    asked.check()
    check_count("--spread", spread, 1, MOST_LEVELS)
    known: Objective = next(one for one in OBJECTIVES if one == wanted)
    return Settings(known, asked.mapper, asked.budget, asked.seed, asked.levels, spread, asked.tiles)


def _search(
    source: str,
    options: CompileKeywords,
    settings: Settings,
    asked: MapSearch,
    watchers: tuple[Watcher, ...],
    *,
    quiet: bool,
) -> tuple[Search, Ended]:
    """Lower the source and search. What is to be told goes to standard error."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.core.gc_pause import without_cycle_collection
    from npuc.compiler.driver.compile import lowered_module
    from npuc.compiler.driver.options import options_of
    from npuc.compiler.driver.score import network_name
    from npuc.compiler.driver.unread import unread_warnings
    from npuc.compiler.explore.mapping.constrained.demands import machine_rules
    from npuc.compiler.explore.mapping.search import Search
    from npuc.frontends.source import open_source

    say, rules = said(lambda text: print(text, file=sys.stderr), quiet=quiet), asked.rules()
    opened, warnings = open_source(source), list[str]()
    with without_cycle_collection():
        module, hardware = lowered_module(opened, get_backend(BACKEND), options, say, warnings, watchers=watchers)
        for warning in warnings:
            say(f"warning: {warning}")
        found = Search(module, hardware, settings, machine_rules(hardware, options_of(options)).joined(rules))
        if not found.contracts:
            raise SourceError(f"{opened.shown} has no contraction to map")
        start = time.monotonic()
        with progress("map", len(found.distinct) * settings.budget, bar=not quiet) as (advance, _):
            name = network_name(module)
            ended = found.run(name, opened.shown, advance, asked.jobs, asked.resume)
        scored = [(get_backend(BACKEND), hardware)]
        unread = unread_warnings(options_of(options).overrides, scored)
        for warning in (*found.demands.warnings(list(found.distinct.values())), *ended.result.warnings, *unread):
            say(f"warning: {warning}")
        what = f" of {len(ended.result.found):,} distinct contractions"
        asked.tell(say, ended.result.evaluations, ended.before, time.monotonic() - start, what)
    return found, ended


def _write(search: Search, result: SearchResult, targets: SearchTargets, *, every: bool) -> None:
    from npuc.compiler.driver.score import version
    from npuc.compiler.explore.mapping.result import to_csv, to_json

    if targets.json is not None:
        write_result(targets.json, to_json(result, version()))
    if targets.csv is not None:
        write_result(targets.csv, to_csv(result))
    write_program(targets.output, search.module)
    if targets.picture is not None:
        from npuc.compiler.explore.mapping.picture import draw

        targets.picture.draw(lambda kind: draw(result, kind))
    from npuc.compiler.explore.mapping.table import print_result

    if targets.html is not None:
        from npuc.compiler.cli.page.result import map_html, printed

        told = printed(lambda console: print_result(result, console, all_rows=every))
        write_result(targets.html, map_html(f"Mappings of {result.title}", told, to_csv(result)))
    if targets.table is not None:
        targets.table.write(lambda console: print_result(result, console, all_rows=every))
    if targets.shows:
        print_result(result, make_console(), all_rows=every)

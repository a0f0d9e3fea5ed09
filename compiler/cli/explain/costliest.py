"""`npuc explain NET`: the costliest layers, what limits each, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from npuc.compiler.cli.progress import progress, said, stages
from npuc.compiler.cli.shared import check_target, make_console, write_result
from npuc.compiler.core.cache.reads import own_processes
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.cli.explain.asked import OfNetwork
    from npuc.compiler.core.display.progress import Advance
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.explain.costliest import Costliest
    from npuc.compiler.report.costliest import Change


def check_costs_alone(given: Mapping[str, object]) -> None:
    """Raise `UsageError` for an option that says something of costs where a plan is asked for."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} applies only to costs, a plan has all layers", hint="add -b cycle")


def check_only_of_a_layer(given: Mapping[str, object]) -> None:
    """Raise `UsageError` for an option that says something of one layer alone."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} is about one layer", hint=f"name the LAYER, or leave out {name}")


def check_only_of_networks(given: Mapping[str, object]) -> None:
    """Raise `UsageError` for an option that says something of all layers."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} is about the layers of a network", hint=f"leave out LAYER, or {name}")


def _changes(found: Costliest, jobs: int, advance: Advance) -> Iterator[Change]:
    """The changes that are tried, in their order, by so many processes; they have what the first compilation found."""
    if jobs > 1:
        from npuc.compiler.explore.workers import answers

        with own_processes():
            yield from answers(found.trials, found.attempt, jobs)
        return
    for trial in found.trials:
        advance(0, trial.option)
        yield found.attempt(trial)


def explain_network(
    source: str,
    backend: str | None,
    options: CompileKeywords,
    watchers: tuple[Watcher, ...],
    json: str | None,
    asked: OfNetwork,
    *,
    quiet: bool,
) -> Callable[[], None]:
    """
    What prints the costliest layers of a network and the gains of changes; JSON is written where it is asked for.

    Raises `NpucError`s.
    """
    from npuc.compiler.driver.machine import backend_for
    from npuc.compiler.explain.costliest import CHANGES, LAYERS, Costliest
    from npuc.frontends.source import open_source

    check_target(json)
    opened = open_source(source)
    with stages(quiet=quiet) as say:
        found = Costliest(
            opened,
            options,
            backend or backend_for(opened),
            layers=LAYERS if asked.top is None else asked.top,
            changes=CHANGES if asked.changes is None else asked.changes,
            say=said(say, quiet=quiet),
            watchers=watchers,
        )
    tried: list[Change] = []
    with progress("changes", len(found.trials), bar=not quiet) as (advance, _):
        for change in _changes(found, asked.processes(len(found.trials)), advance):
            tried.append(change)
            advance(1, change.option)
    report = found.report(tried)
    if json is not None:
        import msgspec

        write_result(json, msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")

    def show() -> None:
        from npuc.compiler.report.text.costliest import print_costliest

        if json != "-":
            print_costliest(report, make_console())

    return show

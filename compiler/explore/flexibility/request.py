"""From a source to the flexibility of a machine for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import SourceError, UsageError, did_you_mean
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import CompileKeywords, Say, objective_named
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.score import network_name
from npuc.compiler.driver.unread import unread_warnings
from npuc.compiler.explore.flexibility.find import HINTS, Advance, FlexSearch
from npuc.compiler.explore.flexibility.machine import flexible_machine
from npuc.compiler.explore.flexibility.result import Flexibility, FlexSettings
from npuc.compiler.explore.mapping.best import OBJECTIVES
from npuc.compiler.explore.mapping.constrained.demands import Demands, machine_rules
from npuc.frontends.source import Source
from npuc.hardware import load_constraints

if TYPE_CHECKING:
    from npuc.compiler.driver.watch.watcher import Watcher

BACKEND = "maestro"
BUDGET = 500
"""The mappings of a distinct contraction that are tried for each class where nobody says."""
Progress = Callable[[int], AbstractContextManager[Advance]]
"""The progress of so many evaluations."""


@dataclass(frozen=True)
class Answer:
    """A result and what is to be told beside it."""

    result: Flexibility
    warnings: tuple[str, ...]


def find_flexibility(
    source: Source,
    options: CompileKeywords,
    budget: int = BUDGET,
    seed: int = 0,
    samples: int | None = None,
    *,
    rules: MapRules = NO_RULES,
    say: Say | None = None,
    watchers: tuple[Watcher, ...] = (),
    progress: Progress = lambda count: nullcontext(lambda done: None),
) -> Answer:
    """
    The flexibility of a machine for a source, whose mappings meet rules and those of the machine.

    Raises `NpucError`s: for wrong options, for a machine that has no processing elements, for a contraction that it
    cannot run, and for rules that cannot be met.
    """
    settings = _settings(options, budget, seed, samples)
    backend, warnings = get_backend(BACKEND), list[str]()
    keywords: CompileKeywords = options.copy()
    keywords.pop("objective", None)  # that of mappings, not of schedules
    with without_cycle_collection():
        module, hardware = lowered_module(source, backend, keywords, say, warnings, watchers=watchers)
        machine = flexible_machine(hardware, options_of(keywords).mapping)
        demands = Demands(machine_rules(hardware, options_of(keywords)).joined(rules), hints=HINTS)
        search = FlexSearch(module, hardware, machine, settings, demands=demands)
        if not search.contracts:
            raise SourceError(f"{source.shown} has no contraction to map")
        if demands.rules:
            warnings.extend(demands.warnings([(one.task, one.op) for one in search.prepared]))
        with progress(search.evaluations) as advance:
            result = search.run(network_name(module), source.shown, advance)
        unread = unread_warnings(options_of(keywords).overrides, [(backend, hardware)])
    return Answer(result, (*warnings, *unread))


def named_constraints(name: str | None) -> MapRules:
    """The constraints of a name or file; none for None. Raises `UsageError`."""
    known = argument("constraints", name, str | None)
    return NO_RULES if known is None else load_constraints(known)


def _settings(options: CompileKeywords, budget: int, seed: int, samples: int | None) -> FlexSettings:
    """What was asked for. Raises `UsageError`, and `TypeError` for a value of another type."""
    for name, value, least in (("budget", budget, 1), ("seed", seed, 0), ("samples", samples, 2)):
        number = argument(name, value, int | None if name == "samples" else int)
        if number is not None and number < least:
            raise UsageError(f"--{name} {number}: expected {least} or more")
    wanted = objective_named(str(argument("objective", {"objective": "time", **options}["objective"], str)))
    for known in OBJECTIVES:
        if known == wanted:
            return FlexSettings(known, budget, seed, samples)
    raise UsageError(f"--objective {wanted}: expected time, energy or edp", hint=did_you_mean(wanted, OBJECTIVES))

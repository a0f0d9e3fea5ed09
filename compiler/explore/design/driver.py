"""From a source and budgets to machines: lower, search, score, describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.analysis.mapping.flexibility.axes import Supports, class_of
from npuc.compiler.analysis.mapping.named.templates import DEFAULT
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.score import network_name
from npuc.compiler.driver.unread import unread_warnings
from npuc.compiler.explore.design.budget import Budget, area_model
from npuc.compiler.explore.design.classes import classes_named, is_free
from npuc.compiler.explore.design.constrained import check_classes, constrained_task
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Course, explore
from npuc.compiler.explore.design.goal import Goal, GoalName
from npuc.compiler.explore.design.machine_file import designed
from npuc.compiler.explore.design.result import DesignResult, DesignSettings
from npuc.compiler.explore.design.scored import designed_machines, given_machine
from npuc.compiler.explore.design.task import task_of
from npuc.compiler.explore.mapping.constrained.demands import Demands, Hints, machine_rules
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware
from npuc.hardware.area import MODEL
from npuc.hardware.as_toml import as_toml
from npuc.hardware.level_keys import NODE

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords, Say
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.hardware import Hardware

BACKEND = "maestro"
MAPPING = "maestro.mapping"
HINTS = Hints(spread="a level of a design spreads one dimension")
PUBLISHED = "gamma-int8"
"""The area formula of machines without a technology node: DiGamma's."""


@dataclass(frozen=True)
class Designed:
    """
    A result, with the module under the best design's mappings, and that machine as TOML.

    `interrupt` is what ended the search early, `before` how many mappings a record had.
    """

    result: DesignResult
    module: ModuleOp
    machine: str
    interrupt: KeyboardInterrupt | None
    before: int


def design(
    source: str,
    options: CompileKeywords,
    settings: DesignSettings,
    course: Course,
    say: Say,
    watchers: tuple[Watcher, ...] = (),
    rules: MapRules = NO_RULES,
) -> Designed:
    """
    Machines within a budget for a source, whose mappings meet rules and those of the machine. `say` gets warnings.

    Raises `UsageError`, `SourceError`, and `CapacityError` for a budget that no machine meets.
    """
    opened, warnings = open_source(source), list[str]()
    model = get_backend(BACKEND)
    with without_cycle_collection():
        module, machine = lowered_module(opened, model, options, say, warnings, watchers=watchers)
        for warning in warnings:
            say(f"warning: {warning}")
        demands = Demands(machine_rules(machine, options_of(options)).joined(rules), open=True, hints=HINTS)
        machine = _with_area(machine, say)
        classes = tuple(found for name in settings.classes for found in classes_named(name))
        check_classes(demands, classes)
        machine, dataflow = _with_dataflow(machine, options, classes)
        divisors = settings.tiles == "divisors"
        task = task_of(module, machine, settings.levels, divisors=divisors, dataflow=dataflow, demands=demands)
        area = area_model(machine, float(task.width))
        settings = replace(settings, area_model=area.name)
        budget = Budget(area, settings.area_mm2, settings.power_w)
        if demands.rules:
            own = constrained_task(task, machine, demands, budget, reshaped=all(one[-1] == "any" for one in classes))
            task = own.restricted()
            for warning in demands.warnings(own.firsts):
                say(f"warning: {warning}")
        given = given_machine(task, machine, model)
        goals = [_goal(cast("GoalName", one), machine, settings) for one in settings.goals if one != "area"]
        area_too = "area" in settings.goals
        searched = explore(task, budget, access_energy(machine), goals, course, area=area_too, classes=classes)
        scored = designed_machines(task, machine, searched)
        for one in classes if len(classes) > 1 else ():
            if one not in {best.supports for best in searched.designs}:
                say(f"no machine of class {class_of(one)} was found within the budgets")
        for warning in unread_warnings(options_of(options).overrides, [(model, machine)]):
            say(f"warning: {warning}")
    result = DesignResult(
        network_name(module),
        opened.shown,
        settings,
        given,
        searched.evaluations,
        searched.bound,
        searched.curve,
        tuple(scored),
        searched.interrupt is not None,
        demands.rules,
    )
    best = searched.designs[0]
    text = as_toml(designed(machine, best.design.size, best.supports), _remark(result))
    return Designed(result, module, text, searched.interrupt, searched.before)


def _with_dataflow(
    machine: Hardware, options: CompileKeywords, classes: tuple[Supports, ...]
) -> tuple[Hardware, str | None]:
    """The machine with the dataflow that classes with fixed axes have, and its name; None where none of them has."""
    if all(map(is_free, classes)):
        return machine, None
    dataflow = options_of(options).mapping or machine.get(MAPPING, str) or DEFAULT
    if is_mapping_file(dataflow):
        return machine, dataflow
    return _like(machine, MAPPING, dataflow), dataflow


def _like(machine: Hardware, key: str, value: str) -> Hardware:
    """The machine with another value of a key; what lowering has read of it is not without effect."""
    found = load_hardware({**machine.values, key: value})
    found.reads.update(machine.reads)
    return found


def _with_area(machine: Hardware, say: Say) -> Hardware:
    """The machine, with a published formula for areas where it has no technology node for npuc's own."""
    if machine.get(NODE, float) is not None or machine.written(MODEL):
        return machine
    say(f"{machine.name} has no technology node: areas by {PUBLISHED} (--set technology.node_nm=28 for npuc's own)")
    return _like(machine, MODEL, PUBLISHED)


def _goal(name: GoalName, machine: Hardware, settings: DesignSettings) -> Goal:
    """A goal with the limit of power. Raises `UsageError` where the machine does not say what power is."""
    mac, clock = machine.known("energy.mac_pj", float), machine.known("clock_mhz", float)
    joules, hertz = None if mac is None else 1e-12 * mac, None if clock is None else 1e6 * clock
    if settings.power_w is not None and (joules is None or hertz is None):
        raise UsageError(
            "a limit of power needs the energy of a MAC and the clock",
            hint="--set energy.mac_pj=0.3 --set clock_mhz=1000, or --set technology.node_nm=28",
        )
    return Goal(name, settings.power_w, joules, hertz)


def _remark(result: DesignResult) -> str:
    """What the first lines of a machine's file say of it."""
    settings, best = result.settings, result.designs[0]
    power = "" if settings.power_w is None else f" and {settings.power_w:g} W"
    return (
        f"Designed by npuc for a step of {result.title} ({result.source}) within {settings.area_mm2:g} mm2{power}: "
        f"{best.cycles:,} cycles\nunder the mappings that --mapped writes. Area by the model {settings.area_model}; "
        f"bandwidths, clock and energies are those of {result.given.name}."
    )

"""Lowering a program that is to be executed: the passes that options ask for, on the machine that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.backends.base import DEFAULT
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.machine.facts import TARGET
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import Options, Say
from npuc.compiler.core.plugins import PassFactory
from npuc.compiler.driver.devices import check_homogeneous, check_network, parallel_passes, tell_network, tell_units
from npuc.compiler.driver.levels.asked import (
    ASKED,
    asks_passes,
    check_backward,
    products_pass,
    stating_densities,
    with_asked,
    with_backward,
    with_plan,
)
from npuc.compiler.driver.levels.canonical import canonical_passes
from npuc.compiler.driver.levels.fused import asks_groups, check_machine
from npuc.compiler.driver.levels.placement import placed
from npuc.compiler.driver.levels.preset import AUTODIFF, preset, state_of
from npuc.compiler.driver.machine import stamp_target
from npuc.compiler.driver.passes import (
    available_passes,
    own_passes,
    passes_by_hand,
    read_pipeline,
    run_pipeline,
    write_pipeline,
)
from npuc.compiler.driver.precision import check_tables, precision_passes
from npuc.compiler.driver.read import read_program, refuse_opaque, texts_of
from npuc.compiler.driver.running.options import RunOptions
from npuc.compiler.driver.watch.asked import asked_watchers, check_shown
from npuc.compiler.driver.watch.watcher import Watcher, Watchers
from npuc.frontends.layout import ArgumentLayout
from npuc.frontends.mlir import make_context
from npuc.frontends.source import Source
from npuc.hardware import Hardware, load_hardware

NOTHING_ASKED = Options()


def lowered_source(
    source: Source,
    options: RunOptions,
    values: dict[str, Callable[[], npt.NDArray[Any]]] | None = None,
    unneeded: set[str] | None = None,
    layouts: dict[str, ArgumentLayout] | None = None,
    *,
    read: Callable[[ModuleOp], object] | None = None,
    say: Say | None = None,
    watchers: tuple[Watcher, ...] = (),
) -> ModuleOp:
    """
    The program of a source after the passes that `pipeline`, `level` and `opt_level` ask for.

    It is lowered to be executed, at any level; `lower_program` lowers to what a backend scores. `values` gets the
    values that the source has for arguments, `unneeded` the names of inputs that it does without, `layouts` those of
    arguments that lie in another order than in the source. `read` looks at the
    program before any pass. `say` and `watchers` are as in `run_program`.
    """
    pipeline = options.pipeline
    sources = texts_of(source)
    module = read_program(source, options, sources, values=values, unneeded=unneeded, layouts=layouts)
    with sources.quoted():
        refuse_opaque(module)
    if read is not None:
        read(module)
    available = available_passes(options.load)
    machine = stamp_default_target(module, options)
    check_shared(options, machine)
    check_machine(module, options)
    options = stating_densities(options, module)
    lowest = _lowest(options)
    check_backward(module, options)
    asked, later = _steps_of(options, available, machine)
    first = canonical_passes(module, options, options.level or lowest)
    asked = [*first, *types_of_run(source, module, asked, options), *asked]
    leveled = pipeline is None or options.level is not None
    watch = Watchers([*asked_watchers(options, module, say), *watchers])

    def run(passes: Sequence[ModulePass]) -> None:
        watch.plan(list(passes))
        told_of, each = {*passes_by_hand(options), *ASKED}, options.verify_each
        tell_network(module, passes, machine)
        tell_units(module, passes, machine)
        run_pipeline(module, passes, make_context(), sources, verify_each=each, watch=watch, told_of=told_of)

    if asked:
        if not leveled:
            check_shown(options.print_after, asked)
        run(asked)
    if leveled:
        rest = read_pipeline(",".join(passes_to(module, options.level or lowest, options, machine, later)), available)
        check_shown(options.print_after, [*asked, *rest])
        run(rest)
        asked = [*asked, *rest]
    if say is not None and pipeline is not None and asks_passes(options):
        say(f"passes: {write_pipeline(asked)}")
    watch.finish()
    return module


def _lowest(options: RunOptions) -> str:
    """The level to which a program is taken that is run without a word on it."""
    lowered = options.opt_level is not None or products_pass(options) is not None or asks_groups(options)
    return "npu" if lowered else "train"


def _steps_of(
    options: RunOptions, available: Mapping[str, PassFactory], machine: Hardware
) -> tuple[list[ModulePass], bool]:
    """
    The passes of -p with those that options ask for; whether those that work on the whole step come later, among the
    passes of a level.
    """
    if options.pipeline is None:
        return [], True
    passes = read_pipeline(options.pipeline, available)
    if not asks_passes(options):
        return passes, False
    steps = with_plan([str(one) for one in passes], options, machine)
    later = options.level is not None and all(one.name != AUTODIFF for one in passes)
    return read_pipeline(",".join(steps if later else with_backward(steps, options)), available), later


def passes_for(source: Source | None, module: ModuleOp, options: Options, level: str) -> list[ModulePass]:
    """
    All passes that options ask for: those of -p, else those that take a program to a level, with those of other
    options among them. Writes the machine into the module, whose `source` may be unknown.
    """
    machine, available = stamp_default_target(module, options), available_passes(options.load)
    check_shared(options, machine)
    check_machine(module, options)
    options = stating_densities(options, module)
    check_backward(module, options)
    if options.pipeline is None:
        steps = passes_to(module, level, options, machine)
    elif asks_passes(options):
        steps = with_asked([str(one) for one in read_pipeline(options.pipeline, available)], options, machine)
    else:
        steps = [options.pipeline]
    passes = read_pipeline(",".join(steps), available)
    tell_network(module, passes, machine)
    tell_units(module, passes, machine)
    first = canonical_passes(module, options, level)
    return [*first, *types_of_run(source, module, passes, options), *passes]


def check_shared(options: Options, machine: Hardware) -> None:
    """Raise `CapacityError` for devices that the machine does not have, or unequal ones."""
    if options.devices > 1:
        check_homogeneous(machine)
        check_network(read_pipeline(",".join(parallel_passes(options, machine)), own_passes()), machine)


def types_of_run(
    source: Source | None, module: ModuleOp, passes: Sequence[ModulePass], options: Options
) -> list[ModulePass]:
    """The pass that gives a program that is run its float types: those asked for, else those of a named machine."""
    asked, named = options.precision, None
    if options.hardware is not None or options.overrides:
        named = load_hardware(options.hardware or {}, options.overrides, asked)
    found = asked if named is None else named.get("precision", str)
    if source is not None:
        check_tables(source, found)
    return precision_passes(module, passes, found, asked, [])


def stamp_default_target(module: ModuleOp, options: Options = NOTHING_ASKED) -> Hardware:
    """
    Write the machine of the options into a module, for passes that schedule and for the accumulators of a run; returns
    it.

    Without one that of the default backend, if the module names none. One that lacks facts for schedules is left out;
    raises `UsageError` if it says what its accumulators are.
    """
    model = get_backend(DEFAULT)
    hardware = model.default_hardware if options.hardware is None else options.hardware
    machine = load_hardware(hardware, options.overrides, options.precision)
    if TARGET in module.attributes and options.hardware is None and not options.overrides:
        return machine
    with nullcontext() if machine.written("array.accumulator_bits") else suppress(UsageError):
        stamp_target(module, machine, model.name)
    return machine


def passes_to(module: ModuleOp, level: str, options: Options, machine: Hardware, asked: bool = True) -> list[str]:
    """
    The passes that take a program to a level: those of `opt_level` that it still needs, those that other options ask
    for (`asked`, unless they have run: then those of the backward pass alone where -p left it to the level), and those
    placed there.
    """
    state = state_of(module)
    training = not options.inference and state.has_loss
    above = "train" if level == "train" else "npu"
    names = preset(
        state,
        above,
        training=training,
        opt_level=options.opt_level,
        objective=options.objective,
        tolerance=options.tolerance,
    )
    if asked:
        names = with_asked(names, options, machine) if options.pipeline is None else with_backward(names, options)
    return placed([*names, "lower-tiles"] if level == "tiles" else names, options)

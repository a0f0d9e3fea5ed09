"""
From a module and a machine to a report: lower as far as the backend needs, check, score, complete.

`npuc.compiler.driver.compile` is the way from a user's call to here, `npuc.compiler.explore.sweep` that of many calls
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from npuc.backends.base import DEFAULT
from npuc.compiler.core.errors import NpucError, SourceError, UsageError
from npuc.compiler.core.options import Options, Say
from npuc.compiler.driver.session import Session
from npuc.compiler.report import Report, StepMemory, Totals
from npuc.frontends.source import Source
from npuc.hardware import Hardware, load_hardware, machine_target, mapping_target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.analysis.memory.peak import Peak
    from npuc.compiler.core.verify import SourceTexts
    from npuc.compiler.driver.lower import Lowered

UNSUPPORTED_SHOWN = 20


def backend_for(source: Source) -> str:
    """The backend of a source when nobody names one."""
    return source.frontend.backend or DEFAULT


def machine_for(model: Backend, options: Options, say: Say, format: str) -> Hardware:
    """
    The hardware to score a source of a format on: what was asked for, else the backend's default, which is then said.
    """
    hardware = options.hardware
    if hardware is None:
        hardware = model.default_hardware
        say(f"backend {model.name} on its default hardware, {hardware}")
    machine = load_hardware(hardware, options.overrides, options.precision)
    own = {key: value for key, value in model.settings_for(format).items() if not machine.written(key)}
    return load_hardware(machine.values, own) if own else machine


def score_program(module: ModuleOp, session: Session) -> Report:
    """Lower `module` to what the backend scores, in place, and score it; the report has the session's warnings."""
    model, machine = session.model, session.machine
    lowered = lower_program(module, session)
    if (remark := model.forecast(module, machine)) is not None:
        session.say(remark)
    with session.sources.quoted():
        scored = _selected(score_lowered(module, model, machine), session)
    report = complete(scored, module, session, lowered)
    for warning in report.warnings:
        session.say(f"warning: {warning}")
    return report


def score_lowered(module: ModuleOp, model: Backend, machine: Hardware) -> Report:
    """The report of a program that is lowered as far as `model` needs, with what its devices exchange."""
    from npuc.backends.communication import with_communication

    return with_communication(model.score(module, machine), _whole_step(module, model), machine)


def score_on_many(module: ModuleOp, model: Backend, machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
    """The reports of a lowered program on many machines, or for one of them what `score_lowered` raises."""
    from npuc.dialects.distributed import mesh_of
    from npuc.dialects.train.signature import training_functions

    if all(mesh_of(func) is None for func in training_functions(module)):
        yield from model.score_many(module, machines)
        return
    for machine in machines:
        try:
            yield score_lowered(module, model, machine)
        except NpucError as error:
            yield error


def _whole_step(module: ModuleOp, model: Backend) -> ModuleOp:
    """The program with the backward pass that a backend derives by itself, to see what devices exchange in it."""
    from npuc.compiler.transforms.autodiff import whole_step
    from npuc.dialects.distributed import mesh_of
    from npuc.dialects.train.signature import training_functions

    shared = any(mesh_of(func) is not None for func in training_functions(module))
    return whole_step(module) if shared and model.derives_backward else module


def _selected(report: Report, session: Session) -> Report:
    """
    The rows of the layers that were asked for, where a backend takes the iteration as a whole.

    The other layers are scored with them, since they share the cache; that is said.
    """
    from npuc.compiler.core.selection import patterns_of, select
    from npuc.compiler.report import total

    patterns = patterns_of(session.options.only)
    if not patterns or not session.model.derives_backward:
        return report
    import msgspec

    names = list(dict.fromkeys(row.name for row in report.ops if row.phase != "update"))
    chosen = {names[number] for number in select(names, patterns)}
    rows = [row for row in report.ops if row.name in chosen or row.name.rpartition(".")[0] in chosen]
    session.warnings.append(
        "--only selects rows; the whole iteration is modelled, and the report's `native` describes all of it"
    )
    return msgspec.structs.replace(report, ops=rows, totals=total(rows))


def lower_program(module: ModuleOp, session: Session) -> Lowered:
    """
    Lower `module` to what the backend scores on the machine, in place, and check that it can.

    Adds to the session's warnings. What is lowered for a backend of level `train` is the same for every machine.
    """
    from npuc.compiler.core.verify import require_function, verify_module
    from npuc.compiler.driver.lower import check_budgets, lower
    from npuc.compiler.driver.precision import check_tables

    model, machine, frontend = session.model, session.machine, session.source.frontend
    check_tables(session.source, machine.get("precision", str))
    if model.level == "npu":
        # A machine on which nothing is scheduled need not say what schedules depend on.
        stamp_target(module, machine, model.name, scheduled=model.needs_schedules(machine))
    lowered = lower(module, session)
    # npuc's own passes leave no operation wrong that was right.
    trusted = frontend.trusted and session.options.pipeline is None
    if not session.options.verify_each and not trusted:
        verify_module(module, session.sources)
    require_function(module)
    check_budgets(module, machine, session.sources)
    check_supported(module, model, session.sources)
    return replace(lowered, peak=None) if frontend.lists_layers else lowered


def stamp_target(module: ModuleOp, machine: Hardware, backend: str, *, scheduled: bool = True) -> None:
    """
    Write the facts of `machine` that schedules and mappings depend on into the module.

    Raises `UsageError` for a missing one that schedules need, unless nothing is `scheduled`: then the facts that
    mappings need are enough.
    """
    from npuc.compiler.analysis.machine.facts import TARGET, target_attr

    facts = mapping_target(machine)
    with nullcontext() if scheduled else suppress(UsageError):
        facts = machine_target(machine, backend=backend) | facts
    if facts:
        module.attributes[TARGET] = target_attr(facts)


def check_supported(module: ModuleOp, model: Backend, sources: SourceTexts) -> None:
    """Raise `SourceErrors` for the operations that `model` cannot score."""
    from npuc.compiler.core.verify import error_at, raise_all

    errors: list[SourceError] = []
    for op in module.walk():
        if op.name in ("builtin.module", "func.func", "func.return") or op.name.startswith("dist."):
            continue  # what moves between devices is priced beside the backend
        reason = model.supports(op)
        if reason is not None and model.level == "npu" and op.name.startswith(("train.", "scf.")):
            above = op.name.startswith("train.")
            hint = "end the pipeline with lower-to-npu,schedule" if above else "leave out lower-tiles"
            place = "above" if above else "below"
            raise error_at(op, f"backend '{model.name}' scores the npu level, {op.name} is {place} it", sources, hint)
        if reason is not None:
            errors.append(error_at(op, f"backend '{model.name}' cannot score {op.name}: {reason}", sources))
            if len(errors) == UNSUPPORTED_SHOWN:
                break
    raise_all(errors)


def complete(report: Report, module: ModuleOp, session: Session, lowered: Lowered) -> Report:
    """A backend's report with what only the driver knows."""
    import msgspec

    from npuc.compiler.distributed.plan import plan_of_program
    from npuc.compiler.driver.passes import write_pipeline

    source = session.source
    rows = [msgspec.structs.replace(row, loc=source.report_location(row.loc)) for row in report.ops]
    return msgspec.structs.replace(
        report,
        npuc=version(),
        source=source.shown,
        network=report.network or network_name(module),
        precision=lowered.precision,
        pipeline=write_pipeline(lowered.passes),
        totals=full_totals(report, lowered),
        memory=_step_memory(lowered.peak),
        defines=_literals(session.options),
        warnings=[*session.warnings, *report.warnings],
        ops=rows,
        parallel=plan_of_program(module),
    )


def full_totals(report: Report, lowered: Lowered) -> Totals:
    """The totals of a backend's report with those that the program alone says."""
    from msgspec.structs import replace as with_fields

    if lowered.peak is None:
        return report.totals
    kinds: dict[str, int | None] = {**lowered.peak.kinds}
    return with_fields(report.totals, peak_bytes=lowered.peak.memory.peak_bytes, memory=kinds)


def _step_memory(peak: Peak | None) -> StepMemory | None:
    """What is in memory, as the report says it."""
    if peak is None:
        return None
    return StepMemory(
        peak_bytes=peak.memory.peak_bytes,
        peak_layer=peak.memory.layer,
        activation_bytes=peak.memory.kept_bytes,
        argument_bytes=peak.memory.resident_bytes,
        gradient_bytes=peak.gradient_bytes,
    )


def _literals(options: Options) -> dict[str, Any]:
    """The network parameters that were set, as values: the command line gives texts."""
    from npuc.frontends.dsl.defines import literal

    return {name: literal(value) for name, value in sorted(options.defines.items())}


def network_name(module: ModuleOp) -> str:
    """The name of the program's first function; empty without one."""
    from xdsl.dialects.func import FuncOp

    return next((op.sym_name.data for op in module.ops if isinstance(op, FuncOp)), "")


@cache
def version() -> str:
    """The version of npuc that is installed; `unknown` when it runs from a folder."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("npuc")
    except PackageNotFoundError:
        return "unknown"

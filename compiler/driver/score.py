"""
From a lowered program and a machine to a report: score, complete.

`npuc.compiler.driver.compile` is the way from a user's call to here, `npuc.compiler.explore.sweep` that of many calls
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import tell
from npuc.compiler.driver.costing.whole import whole_step_for
from npuc.compiler.driver.session import Session
from npuc.compiler.report import Parallel, Report, StepMemory, Totals
from npuc.dialects.distributed.base import PLAN
from npuc.hardware import Hardware

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.analysis.memory.peak import Peak
    from npuc.compiler.driver.lower import Lowered


def score_program(module: ModuleOp, session: Session, lowered: Lowered, *, costs_alone: bool = False) -> Report:
    """Score a program that was `lowered` to what the backend scores; the report has the session's warnings."""
    model, machine = session.model, session.machine
    if (remark := model.forecast(module, machine)) is not None:
        tell(remark)
    else:
        tell("scoring")
    with session.sources.quoted():
        scored = _selected(score_lowered(module, model, machine, costs_alone=costs_alone), session)
    return complete(scored, module, session, lowered)


def score_lowered(module: ModuleOp, model: Backend, machine: Hardware, *, costs_alone: bool = False) -> Report:
    """
    The report of a program that is lowered as far as `model` needs, with what its devices exchange and its energy by
    component; `costs_alone`, without what a backend says besides.
    """
    from xdsl.dialects.func import FuncOp

    from npuc.backends.energy import with_energy
    from npuc.dialects.distributed.mesh import mesh_of

    report = model.costs(module, machine) if costs_alone else model.score(module, machine)
    if any(isinstance(func, FuncOp) and mesh_of(func) is not None for func in module.ops):
        from npuc.backends.communication import with_communication

        report = with_communication(report, whole_step_for(module, model, machine), machine)
    return with_energy(report, machine, model.energy_parts)


def scorer_of(module: ModuleOp, model: Backend) -> Callable[[Sequence[Hardware]], Iterator[Report | NpucError]]:
    """
    What gives the reports of a lowered program on many machines, or for one of them what `score_lowered` raises; what
    machines share is kept from call to call.
    """
    from npuc.dialects.distributed import mesh_of
    from npuc.dialects.train.signature import training_functions

    if all(mesh_of(func) is None for func in training_functions(module)):
        return model.scorer(module)

    def alone(machines: Sequence[Hardware]) -> Iterator[Report | NpucError]:
        for machine in machines:
            try:
                yield score_lowered(module, model, machine)
            except NpucError as error:
                yield error

    return alone


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


def complete(report: Report, module: ModuleOp, session: Session, lowered: Lowered) -> Report:
    """A backend's report with what only the driver knows."""
    import msgspec

    from npuc.compiler.driver.passes import tolerance_of, write_pipeline

    source = session.source
    rows = [msgspec.structs.replace(row, loc=source.report_location(row.loc)) for row in report.ops]
    return msgspec.structs.replace(
        report,
        npuc=version(),
        source=source.shown,
        network=report.network or network_name(module),
        derived={key: found.how for key, found in session.machine.derived.items()},
        precision=lowered.precision,
        products=lowered.products,
        pipeline=write_pipeline(lowered.passes),
        tolerance=tolerance_of(lowered.passes),
        totals=full_totals(report, lowered),
        memory=_step_memory(lowered.peak),
        defines=_literals(session.options),
        warnings=[*session.warnings, *report.warnings],
        ops=rows,
        parallel=_plan_of(module),
    )


def _plan_of(module: ModuleOp) -> Parallel | None:
    """The plan that the program was parallelized by; None for one device, for which nothing of plans is imported."""
    if not any(PLAN in op.attributes for op in module.ops):
        return None
    from npuc.compiler.distributed.plan import plan_of_program

    return plan_of_program(module)


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

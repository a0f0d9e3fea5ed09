"""From a module and a machine to what a backend scores: lower as far as it needs, and check that it can."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from npuc.compiler.analysis.machine.table import TABLE
from npuc.compiler.core.errors import SourceError
from npuc.compiler.driver.machine import extend_target, stamp_target
from npuc.compiler.driver.session import Session

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.backends.base import Backend
    from npuc.compiler.core.verify import SourceTexts
    from npuc.compiler.driver.lower import Lowered

UNSUPPORTED_SHOWN = 20


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
        mapped = not model.needs_schedules(machine) and model.mapping_pass(machine, None) is not None
        stamp_target(module, machine, model.name, scheduled=model.needs_schedules(machine), mapped=mapped)
        if session.options.names_passes:  # they may read the target
            machine.reads.update(row.key.path for row in TABLE)
    _check_mapped(module, session)
    lowered = lower(module, session)
    # npuc's own passes leave no operation wrong that was right.
    trusted = frontend.trusted and not session.options.names_passes
    if not session.options.verify_each and not trusted:
        verify_module(module, session.sources)
    require_function(module)
    check_budgets(module, machine, session.sources)
    check_supported(module, model, session.sources)
    return replace(lowered, peak=None) if frontend.lists_layers else lowered


def follow_program(module: ModuleOp, session: Session, lowered: Lowered) -> Lowered:
    """
    Complete a copy of a program that was `lowered` for another backend: what this one scores besides are its mappings.

    Adds to the session's warnings, the program's among them.
    """
    from npuc.compiler.driver.lower import map_contractions

    session.warnings.extend(lowered.remarks)
    if session.model.mapping_pass(session.machine, None) is not None:
        extend_target(module, session.machine)
    mappers = map_contractions(module, session)
    check_supported(module, session.model, session.sources)
    return replace(lowered, passes=[*lowered.passes, *mappers])


def _check_mapped(module: ModuleOp, session: Session) -> None:
    """
    Raise `SourceError` for a contraction of the source whose mapping the backend does not follow, before a pass may
    replace it. Layers of a mapping file lose theirs, with a warning: the backend schedules their contractions.
    """
    from npuc.dialects.npu import ContractOp
    from npuc.dialects.provenance import MAPPING, mapping_of

    mapped = [op for op in module.walk() if mapping_of(op) is not None]
    for op in mapped:
        if isinstance(op, ContractOp) and (reason := session.model.supports(op)) is not None:
            raise _unsupported(op, reason, session.model, session.sources)
    layers = [op for op in mapped if MAPPING in op.attributes]
    if layers and session.model.mapping_pass(session.machine, None) is None:
        for op in layers:
            del op.attributes[MAPPING]
        session.warnings.append(
            f"the backend '{session.model.name}' follows no mappings: those of {len(layers):,} layers have no effect"
        )


def _unsupported(op: Operation, reason: str, model: Backend, sources: SourceTexts) -> SourceError:
    """The error of an operation that a backend cannot score."""
    from npuc.compiler.core.verify import error_at
    from npuc.dialects.provenance import mapping_of

    hint = None if mapping_of(op) is None else "-b maestro, or compile the program as it was before npuc map"
    return error_at(op, f"backend '{model.name}' cannot score {op.name}: {reason}", sources, hint)


def check_supported(module: ModuleOp, model: Backend, sources: SourceTexts) -> None:
    """Raise `SourceErrors` for the operations that `model` cannot score."""
    from npuc.compiler.core.verify import error_at, raise_all

    errors: list[SourceError] = []
    for op in module.walk():
        if op.name in ("builtin.module", "func.func", "func.return") or op.name.startswith("dist."):
            continue  # what moves between devices is costed beside the backend
        reason = model.supports(op)
        if reason is not None and model.level == "npu" and op.name.startswith(("train.", "scf.")):
            above = op.name.startswith("train.")
            hint = "end the pipeline with lower-to-npu,schedule" if above else "leave out lower-tiles"
            place = "above" if above else "below"
            raise error_at(op, f"backend '{model.name}' scores the npu level, {op.name} is {place} it", sources, hint)
        if reason is not None:
            errors.append(_unsupported(op, reason, model, sources))
            if len(errors) == UNSUPPORTED_SHOWN:
                break
    raise_all(errors)

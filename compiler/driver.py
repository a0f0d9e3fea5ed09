"""
From a source to reports: read, verify, lower as far as each backend needs, score.

    report = compile_file("net.dsl", backend="cycle", hardware="igo-large", defines={"batch": 8})

`compile_program` is the whole job; `compile_file` and `compile_source` are the public functions around it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import Unpack

from npuc.backends.base import DEFAULT, default_hardware, forecast, get_backend, needs_schedules
from npuc.backends.hardware import Hardware, load_hardware, machine_target
from npuc.compiler.errors import SourceError, UsageError, did_you_mean
from npuc.compiler.memory import without_cycle_collection
from npuc.compiler.options import LEVELS, OBJECTIVES, CompileOptions, Say
from npuc.compiler.reading import plain_defines, read_program
from npuc.compiler.report import Report, StepMemory
from npuc.compiler.source import Source, open_source, text_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.analysis.liveness import Memory
    from npuc.compiler.verify import SourceTexts

UNSUPPORTED_SHOWN = 20

# The choices that exist, the default first: keyword, what it is, values.
CHOICES: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("opt_level", "optimisation level", (None, *LEVELS)),
    ("objective", "objective", OBJECTIVES),
    ("mapping", "mapping", (None,)),
    ("devices", "number of devices", (1,)),
    ("parallel", "strategy of parallelism", (None,)),
    ("convention", "convention", ("table2", "published", "physical")),
)


@dataclass
class Compilation:
    """What one run made: a report and the final module for each backend."""

    reports: list[Report] = field(default_factory=list[Report])
    modules: list[ModuleOp] = field(default_factory=list["ModuleOp"])


@overload
def compile_file(
    path: str | os.PathLike[str], *, backend: str | None = None, **options: Unpack[CompileOptions]
) -> Report: ...
@overload
def compile_file(
    path: str | os.PathLike[str], *, backend: list[str] | tuple[str, ...], **options: Unpack[CompileOptions]
) -> list[Report]: ...
def compile_file(
    path: str | os.PathLike[str],
    *,
    backend: str | list[str] | tuple[str, ...] | None = None,
    **options: Unpack[CompileOptions],
) -> Report | list[Report]:
    """
    Score the program in a file (`.dsl`, `.mlir`, `.csv`, `samples:NAME`); with a list of backends, a list of reports.

    `hardware` is a preset's name, a `.toml` file or a mapping, `overrides` replace keys of it (`{"memory.spm_kib":
    4096}`), `defines` set the network's parameters, `opt_level` is 0 to 3, `objective` what schedules minimise (time,
    traffic, energy, edp), `pipeline` replaces the passes of `opt_level`, `inference` compiles the forward pass only,
    `only` keeps the layers that match. Raises `NpucError`s.
    """
    return _reports(open_source(path), backend, options)


@overload
def compile_source(
    text: str,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: str | None = None,
    **options: Unpack[CompileOptions],
) -> Report: ...
@overload
def compile_source(
    text: str,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: list[str] | tuple[str, ...],
    **options: Unpack[CompileOptions],
) -> list[Report]: ...
def compile_source(
    text: str,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: str | list[str] | tuple[str, ...] | None = None,
    **options: Unpack[CompileOptions],
) -> Report | list[Report]:
    """Score the program that a text holds; everything else as `compile_file`."""
    return _reports(text_source(text, format, filename), backend, options)


def _reports(
    source: Source, backend: str | list[str] | tuple[str, ...] | None, options: CompileOptions
) -> Report | list[Report]:
    names = [backend] if isinstance(backend, str) else list(backend or [DEFAULT])
    result = compile_program(source, names, options)
    return result.reports[0] if backend is None or isinstance(backend, str) else result.reports


def _silent(_: str) -> None:
    return None


def compile_program(
    source: Source, backends: Sequence[str], options: CompileOptions, say: Say = _silent
) -> Compilation:
    """
    Score a source on each backend.

    `say` gets the lines that are for people and no result: IR after passes, defaults that were taken.
    """
    with without_cycle_collection():
        return _compile_program(source, backends, options, say)


def _compile_program(source: Source, backends: Sequence[str], options: CompileOptions, say: Say) -> Compilation:
    _check_options(options)
    from npuc.compiler.verify import SourceTexts

    models = [get_backend(name) for name in backends]
    machines = [_machine(model, options, say) for model in models]
    sources = SourceTexts({source.filename: source.text})
    remarks: list[str] = []
    channels = any(machine.get("cycle.compat", str) == "scalesim3" for machine in machines)
    module = read_program(source, options, sources, remarks, channels=channels)
    if source.format == "csv":
        # The table's reader has kept the layers that were asked for, with all products of theirs.
        options = {**options, "only": None, "inference": True}
    result = Compilation()
    for model, machine in zip(models, machines, strict=True):
        copy = module.clone() if len(models) > 1 else module
        result.reports.append(_score(copy, model, machine, source, options, sources, list(remarks), say))
        result.modules.append(copy)
    return result


def _check_options(options: CompileOptions) -> None:
    """Raise `TypeError` for a keyword that does not exist, `UsageError` for a choice that does not."""
    for name in options:
        if name not in CompileOptions.__annotations__:
            hint = did_you_mean(name, list(CompileOptions.__annotations__))
            raise TypeError(f"unexpected keyword argument '{name}'; {hint}")
    for name, label, known in CHOICES:
        value = options.get(name, known[0])
        if value not in known:
            shown = ", ".join(str(choice) for choice in known if choice is not None) or "none"
            raise UsageError(f"unknown {label} {value!r}", hint=f"known: {shown}")


def _machine(model: Backend, options: CompileOptions, say: Say) -> Hardware:
    """The hardware to score on: what was asked for, else the backend's default, which is then said."""
    hardware = options.get("hardware")
    if hardware is None:
        hardware = default_hardware(model)
        say(f"backend {model.name} on its default hardware, {hardware}")
    return load_hardware(hardware, options.get("overrides"))


def _score(
    module: ModuleOp,
    model: Backend,
    machine: Hardware,
    source: Source,
    options: CompileOptions,
    sources: SourceTexts,
    warnings: list[str],
    say: Say,
) -> Report:
    """Lower `module` to what `model` scores, in place, and score it; the report has `warnings` and those found."""
    from npuc.compiler.lowering import check_budgets, lower
    from npuc.compiler.pipeline import write_pipeline
    from npuc.compiler.verify import require_function, verify_module

    if model.level == "npu":
        # A machine on which nothing is scheduled need not say what schedules depend on.
        with nullcontext() if needs_schedules(model, machine) else suppress(UsageError):
            stamp_target(module, machine, model.name)
    lowered = lower(module, model, machine, options, sources, warnings, say)
    # A layer table has very many operations, and npuc's own passes leave none of them wrong.
    trusted = source.format == "csv" and options.get("pipeline") is None
    if not options.get("verify_each") and not trusted:
        verify_module(module, sources)
    require_function(module)
    check_budgets(module, machine, sources)
    check_supported(module, model, sources)
    if (remark := forecast(model, module, machine)) is not None:
        say(remark)
    scored = model.score(module, machine)
    memory = None if source.format == "csv" else lowered.memory
    report = _complete(scored, module, source, write_pipeline(lowered.passes), memory, options, warnings)
    for warning in report.warnings:
        say(f"warning: {warning}")
    return report


def stamp_target(module: ModuleOp, machine: Hardware, backend: str) -> None:
    """Write the facts of `machine` that schedules depend on into the module."""
    from npuc.compiler.analysis.machine import TARGET, target_attr

    module.attributes[TARGET] = target_attr(machine_target(machine, backend=backend))


def check_supported(module: ModuleOp, model: Backend, sources: SourceTexts) -> None:
    """Raise `SourceErrors` for the operations that `model` cannot score."""
    from npuc.compiler.verify import error_at, raise_all

    errors: list[SourceError] = []
    for op in module.walk():
        if op.name in ("builtin.module", "func.func", "func.return"):
            continue
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


def _complete(
    report: Report,
    module: ModuleOp,
    source: Source,
    pipeline: str,
    memory: Memory | None,
    options: CompileOptions,
    warnings: list[str],
) -> Report:
    """A backend's report with what only the driver knows."""
    import msgspec

    rows = [msgspec.structs.replace(row, loc=source.report_location(row.loc)) for row in report.ops]
    return msgspec.structs.replace(
        report,
        npuc=version(),
        source=source.shown,
        network=report.network or network_name(module),
        pipeline=pipeline,
        totals=msgspec.structs.replace(report.totals, peak_bytes=None if memory is None else memory.peak_bytes),
        memory=_step_memory(memory),
        defines=_literals(options),
        warnings=[*warnings, *report.warnings],
        ops=rows,
    )


def _step_memory(memory: Memory | None) -> StepMemory | None:
    """What is in memory, as the report says it."""
    if memory is None:
        return None
    return StepMemory(
        peak_bytes=memory.peak_bytes,
        peak_layer=memory.layer,
        activation_bytes=memory.kept_bytes,
        argument_bytes=memory.resident_bytes,
    )


def _literals(options: CompileOptions) -> dict[str, Any]:
    """The network parameters that were set, as values: the command line gives texts."""
    from npuc.frontends.dsl.defines import literal

    return {name: literal(value) for name, value in sorted(plain_defines(options.get("defines")).items())}


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

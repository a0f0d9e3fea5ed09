"""
From a source to reports: read, verify, lower as far as each backend needs, score.

    report = compile_file("net.dsl", backend="cycle", hardware="igo-large", defines={"batch": 8})

`compile_program` is the whole job; `compile_file` and `compile_source` are the public functions around it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, overload

from typing_extensions import Unpack

from npuc.backends.base import get_backend
from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import (
    CONVENTIONS,
    LEVELS,
    MAX_DEVICES,
    OBJECTIVES,
    PLAN_OBJECTIVES,
    PRECISIONS,
    STRATEGIES,
    CompileOptions,
    Say,
    mesh_sizes,
)
from npuc.compiler.driver.mapping_file import asked_mapping, is_mapping_file
from npuc.compiler.driver.read import read_program
from npuc.compiler.driver.score import Request, backend_for, lower_program, machine_for, score_program
from npuc.compiler.report import Report
from npuc.frontends.source import Source, open_source, text_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.core.verify import SourceTexts
    from npuc.hardware import Hardware

# The choices that exist, the default first: keyword, what it is, values.
CHOICES: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("opt_level", "optimisation level", (None, *LEVELS)),
    ("precision", "precision", (None, *PRECISIONS)),
    ("objective", "objective", OBJECTIVES),
    ("parallel", "strategy of parallelism", (None, *STRATEGIES)),
    ("convention", "convention", CONVENTIONS),
    ("plan_objective", "objective of a plan", PLAN_OBJECTIVES),
)


# How a step is shared, which says nothing of one device: keyword and default.
PLAN_OPTIONS: Mapping[str, object] = {
    "parallel": None,
    "convention": CONVENTIONS[0],
    "plan_objective": PLAN_OBJECTIVES[0],
    "exact_plan": False,
    "zero": False,
}


@dataclass
class Compilation:
    """What one run made: a report, the machine and the final module for each backend."""

    reports: list[Report] = field(default_factory=list[Report])
    machines: list[Hardware] = field(default_factory=list["Hardware"])
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
    Score the program in a file (`.dsl`, `.mlir`, `.csv`, `.m`, `samples:NAME`); with a list of backends, a list of
    reports.

    `hardware` is a preset's name, a `.toml` file or a mapping, `overrides` replace keys of it (`{"memory.spm_kib":
    4096}`), `precision` sets the program's float types (as-written, f32, f16, bf16, mixed; by default the hardware's),
    `defines` set the network's parameters, `opt_level` is 0 to 3, `objective` what schedules minimise (time,
    traffic, energy, edp), `pipeline` replaces the passes of `opt_level`, `inference` compiles the forward pass only,
    `only` keeps the layers that match, `mapping` is a dataflow's name or a mapping file. With `devices` above 1 the
    step is shared among them by the strategy `parallel` under a `convention`, which a joint one plans for the least
    `plan_objective` (bytes, time, memory). Raises `NpucError`s.
    """
    return _reports(open_source(path), backend, options)


@overload
def compile_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: str | None = None,
    **options: Unpack[CompileOptions],
) -> Report: ...
@overload
def compile_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: list[str] | tuple[str, ...],
    **options: Unpack[CompileOptions],
) -> list[Report]: ...
def compile_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: str | list[str] | tuple[str, ...] | None = None,
    **options: Unpack[CompileOptions],
) -> Report | list[Report]:
    """Score the program that a text holds, or the bytes of a binary format; everything else as `compile_file`."""
    return _reports(text_source(text, format, filename), backend, options)


def _reports(
    source: Source, backend: str | list[str] | tuple[str, ...] | None, options: CompileOptions
) -> Report | list[Report]:
    names = [backend] if isinstance(backend, str) else list(backend or [backend_for(source)])
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
    check_options(options)
    from npuc.compiler.core.verify import SourceTexts

    models = [get_backend(name) for name in backends]
    machines = [machine_for(model, options, say, source.format) for model in models]
    sources = SourceTexts({source.filename: source.text})
    remarks: list[str] = []
    module = read_for(machines, source, options, sources, remarks)
    options = lowering_options(source, options)
    result = Compilation(machines=machines)
    for model, machine in zip(models, machines, strict=True):
        copy = module.clone() if len(models) > 1 else module
        request = Request(source, options, sources, say)
        result.reports.append(score_program(copy, model, machine, request, list(remarks)))
        result.modules.append(copy)
    return result


def lowered_module(
    source: Source, model: Backend, options: CompileOptions, say: Say, warnings: list[str]
) -> tuple[ModuleOp, Hardware]:
    """The module that a backend would score, and the machine; adds to `warnings`."""
    from npuc.compiler.core.verify import SourceTexts

    with without_cycle_collection():
        check_options(options)
        machine = machine_for(model, options, say, source.format)
        sources = SourceTexts({source.filename: source.text})
        module = read_for([machine], source, options, sources, warnings)
        lower_program(
            module, model, machine, Request(source, lowering_options(source, options), sources, say), warnings
        )
        return module, machine


def read_for(
    machines: Sequence[Hardware], source: Source, options: CompileOptions, sources: SourceTexts, remarks: list[str]
) -> ModuleOp:
    """The module that a source holds for `machines`. Adds what its reader has to say to `remarks`."""
    split_depthwise = any(machine.get("cycle.compat", str) == "scalesim3" for machine in machines)
    return read_program(source, options, sources, remarks, split_depthwise=split_depthwise)


def lowering_options(source: Source, options: CompileOptions) -> CompileOptions:
    """The options that are left once a source was read."""
    if source.frontend.lists_layers:
        # The reader has kept the layers that were asked for, with all products of theirs.
        return {**options, "only": None, "inference": True}
    return options


def check_options(options: CompileOptions) -> None:
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
    _check_devices(options)
    mapping = asked_mapping(options)
    if mapping is not None and not is_mapping_file(mapping):
        template_named(mapping)


def _check_devices(options: CompileOptions) -> None:
    """Raise `UsageError` for devices that no tree or mesh has, or for what goes unused."""
    devices, mesh = options.get("devices", 1), options.get("mesh")
    if mesh is not None:
        try:
            count = prod(mesh_sizes(mesh))
        except ValueError as error:
            raise UsageError(f"--mesh: {error}", hint="--mesh 4x2: four groups of two devices") from None
        if devices not in (1, count):
            raise UsageError(f"--devices {devices}: a mesh of {mesh} has {count:,}", hint="leave out --devices")
        devices = count
    elif isinstance(devices, bool) or devices < 1 or devices & (devices - 1):
        hint = "halves of halves: 2, 4, 8, 16 …; others by their levels, as --mesh 3x2"
        raise UsageError(f"--devices {devices}: expected a power of two", hint=hint)
    if devices > MAX_DEVICES:
        raise UsageError(f"--devices {devices:,}: expected up to {MAX_DEVICES:,}")
    for name, default in PLAN_OPTIONS.items() if devices == 1 else ():
        value = options.get(name, default)
        if value != default:
            raise needs_devices(name, value, passes=options.get("pipeline") is not None)
    if devices > 1 and options.get("pipeline") is not None:
        size = f"devices={devices}" if mesh is None else f'mesh="{mesh}"'
        hint = f"parallelize{{strategy=hypar {size}}} in front of autodiff"
        raise UsageError("--devices has no meaning beside -p, which says all passes", hint=hint)


def needs_devices(name: str, value: object, *, passes: bool) -> UsageError:
    """The error of an option of `PLAN_OPTIONS` where there is one device; `passes`: -p says all passes."""
    shown = f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
    hint = "the pass parallelize{…} among those of -p" if passes else "--devices 16"
    return UsageError(f"{shown} needs --devices N", hint=hint)

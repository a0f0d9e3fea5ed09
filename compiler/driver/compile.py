"""
From a source to reports: read, verify, lower as far as each backend needs, score.

    report = compile_file("net.dsl", backend="cycle", hardware="igo-large", defines={"batch": 8})

`compile_program` is the whole job; `compile_file` and `compile_source` are the public functions around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, overload

from typing_extensions import Unpack

from npuc.backends.registry import get_backend
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import BACKENDS, CompileKeywords, Options, Say
from npuc.compiler.core.stages import tell
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.machine import backend_for, machine_for
from npuc.compiler.driver.meaning import check_meaning
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.score import score_program
from npuc.compiler.driver.session import Session
from npuc.compiler.driver.together import Together, lowering, scoring, scoring_together
from npuc.compiler.driver.unread import unread_warnings, with_warnings
from npuc.compiler.report import Report
from npuc.frontends.source import Source, SourceLike, open_source, text_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.compiler.core.verify import SourceTexts
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.hardware import Hardware


@dataclass
class Compilation:
    """What one run made: a report, the machine and the final module for each backend."""

    reports: list[Report] = field(default_factory=list[Report])
    machines: list[Hardware] = field(default_factory=list["Hardware"])
    modules: list[ModuleOp] = field(default_factory=list["ModuleOp"])


@overload
def compile_file(path: SourceLike, *, backend: str | None = None, **keywords: Unpack[CompileKeywords]) -> Report: ...
@overload
def compile_file(
    path: SourceLike, *, backend: list[str] | tuple[str, ...], **keywords: Unpack[CompileKeywords]
) -> list[Report]: ...
def compile_file(
    path: SourceLike,
    *,
    backend: str | list[str] | tuple[str, ...] | None = None,
    **keywords: Unpack[CompileKeywords],
) -> Report | list[Report]:
    """
    Score the program in a file (`.dsl`, `.mlir`, `.csv`, `.m`, `samples:NAME`); with a list of backends, a list of
    reports.

    `hardware` is a preset's name, a `.toml` file or a mapping, `overrides` replace keys of it (`{"memory.spm_kib":
    4096}`), `precision` sets the program's float types (as-written, f32, f16, bf16, mixed; by default the hardware's),
    `defines` set the network's parameters, `opt_level` is 0 to 3, `objective` what schedules minimise (time,
    traffic, energy, edp), `tolerance` how much more than the least they may cost for less by the next measure (a
    fraction, 0.005), `pipeline` replaces the passes of `opt_level`, `before` and `after` place passes of `load` among
    them (`["schedule=own-pass"]`), `inference` compiles the forward pass only,
    `only` keeps the layers that match, `mapping` is a dataflow's name or a mapping file. With `devices` above 1 the
    step is shared among them by the strategy `parallel` under a `convention`, which a joint one plans for the least
    `plan_objective` (bytes, time, memory), and keeps parts of what all have by the stage `zero` of ZeRO (0 to 3, True
    is 3); `collectives` (baseline, themis-fifo, themis-scf, exact) orders the `chunks` in which collectives move.
    `recompute` (full, every=K, optimal=GIB) runs activations again in the backward pass; `quantize` (bfp-low, fp8, …)
    converts operands of products; `fuse_layers` (dp, genetic, learned, dp=KIB) runs groups of layers by micro-batches;
    `method` (bp, gp, gp-ideal) makes a step of a training with predicted gradients. `pipeline` leaves these to their
    options, unless it names their passes. Raises `NpucError`s.
    """
    return _reports(open_source(path), backend, keywords)


@overload
def compile_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: str | None = None,
    **keywords: Unpack[CompileKeywords],
) -> Report: ...
@overload
def compile_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: list[str] | tuple[str, ...],
    **keywords: Unpack[CompileKeywords],
) -> list[Report]: ...
def compile_source(
    text: str | bytes,
    format: str = "dsl",
    filename: str = "<string>",
    *,
    backend: str | list[str] | tuple[str, ...] | None = None,
    **keywords: Unpack[CompileKeywords],
) -> Report | list[Report]:
    """Score the program that a text holds, or the bytes of a binary format; everything else as `compile_file`."""
    return _reports(text_source(text, format, filename), backend, keywords)


def _reports(
    source: Source, backend: str | list[str] | tuple[str, ...] | None, keywords: CompileKeywords
) -> Report | list[Report]:
    argument("backend", backend, BACKENDS)
    names = [backend] if isinstance(backend, str) else list(backend or [backend_for(source)])
    result = compile_program(source, names, keywords)
    return result.reports[0] if backend is None or isinstance(backend, str) else result.reports


def compile_program(
    source: Source,
    backends: Sequence[str],
    keywords: CompileKeywords,
    say: Say | None = None,
    *,
    watchers: tuple[Watcher, ...] = (),
    costs_alone: bool = False,
) -> Compilation:
    """
    Score a source on each backend.

    `say` gets the lines that are for people and no result: IR after passes, defaults that were taken. `watchers` look
    at the program around each pass. `costs_alone`: of reports nothing is read but costs.
    """
    with without_cycle_collection():
        options = options_of(keywords)
        models = [get_backend(name) for name in backends]
        result = Compilation(machines=[machine_for(model, options, source.format) for model in models])
        asked = [scoring(model, lowering(options.pipeline, options.quantize, options.density)) for model in models]
        check_meaning(options, list(zip(asked, result.machines, strict=True)))
        sources = texts_of(source)
        remarks: list[str] = []
        tell("reading")
        module = read_for(result.machines, source, options, sources, remarks)
        options = lowering_options(source, options)
        sessions = [
            Session(source, options, model, machine, sources, say, list(remarks), watchers)
            for model, machine in zip(
                scoring_together(models, lowering(options.pipeline, options.quantize, options.density), module),
                result.machines,
                strict=True,
            )
        ]
        together = Together(module, sessions)
        together.check()
        for number, session in enumerate(sessions):
            program, lowered = together.lowered(number)
            report = score_program(program, session, lowered, costs_alone=costs_alone)
            result.reports.append(report)
            result.modules.append(program)
        unread = unread_warnings(options.overrides, [(session.model, session.machine) for session in sessions])
        result.reports = [with_warnings(report, unread) for report in result.reports]
        if say is not None:
            for warning in _warnings(result.reports):
                say(f"warning: {warning}")
        return result


def _warnings(reports: Sequence[Report]) -> Iterator[str]:
    """The warnings of reports, each once, with the backends that it is of where it is not of all."""
    for warning in dict.fromkeys(text for report in reports for text in report.warnings):
        whose = [report.backend for report in reports if warning in report.warnings]
        yield warning if len(whose) == len(reports) else f"{', '.join(whose)}: {warning}"


def lowered_module(
    source: Source,
    model: Backend,
    keywords: CompileKeywords,
    say: Say | None,
    warnings: list[str],
    *,
    watchers: tuple[Watcher, ...] = (),
) -> tuple[ModuleOp, Hardware]:
    """The module that a backend would score, and the machine; adds to `warnings`. `watchers` look at each pass."""
    with without_cycle_collection():
        options, sources = options_of(keywords), texts_of(source)
        tell("reading")
        machine = machine_for(model, options, source.format)
        pipeline = lowering(options.pipeline, options.quantize, options.density)
        check_meaning(options, [(scoring(model, pipeline), machine)])
        module = read_for([machine], source, options, sources, warnings)
        options = lowering_options(source, options)
        lower_program(module, Session(source, options, model, machine, sources, say, warnings, watchers))
        return module, machine


def read_for(
    machines: Sequence[Hardware], source: Source, options: Options, sources: SourceTexts, remarks: list[str]
) -> ModuleOp:
    """The module that a source holds for `machines`. Adds what its reader has to say to `remarks`."""
    split_depthwise = source.frontend.lists_layers and any(
        machine.get("cycle.compat", str) == "scalesim3" for machine in machines
    )
    return read_program(source, options, sources, remarks, split_depthwise=split_depthwise)


def lowering_options(source: Source, options: Options) -> Options:
    """The options that are left once a source was read."""
    if source.frontend.lists_layers:
        # The reader has kept the layers that were asked for, with all products of theirs.
        return replace(options, only=None, inference=True)
    return options

"""From a source to a verified module: what compiling, running and checking a program begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remark
from npuc.frontends.base import Request

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from npuc.compiler.core.verify import SourceTexts
    from npuc.frontends.base import Array, Frontend, Source
    from npuc.frontends.layout import ArgumentLayout


def read_program(
    source: Source,
    options: Options,
    sources: SourceTexts,
    remarks: list[str] | None = None,
    *,
    split_depthwise: bool = False,
    values: dict[str, Callable[[], Array]] | None = None,
    unneeded: set[str] | None = None,
    layouts: dict[str, ArgumentLayout] | None = None,
) -> ModuleOp:
    """
    The module that a source holds, verified, whatever its level, in which each argument and result has a name.

    Of a source that lists layers only those that `only` names are read; `remarks` gets what its reader has to say
    (None: who listens to remarks), `values` the values that it has for arguments, by name, `unneeded` the inputs of the
    source that it lacks, `layouts` those of arguments that lie in another order than in the source. `split_depthwise`
    takes the depthwise convolutions of a table apart as SCALE-Sim does.
    """
    from npuc.compiler.core.verify import name_signatures, require_function, verify_module

    frontend = source.frontend
    program = frontend.read(source, request_for(source, options, split_depthwise=split_depthwise))
    for name in () if frontend.parametric else options.defines:
        raise UsageError(f"-D {name}: {frontend.title} has no parameters")
    if remarks is None:
        for warning in program.warnings:
            remark(warning)
    else:
        remarks += program.warnings
    if values is not None:
        if program.unchecked:
            hint = "it can be compiled; a run would not tell data of another size"
            raise UsageError(f"{source.shown} cannot be run: {program.unchecked[0]}", hint=hint)
        values.update(program.values)
    if unneeded is not None:
        unneeded |= program.unneeded
    if layouts is not None:
        layouts.update(program.layouts)
    if not frontend.trusted:
        verify_module(program.module, sources)
        require_function(program.module)
        name_signatures(program.module, sources)
    return program.module


def refuse_opaque(module: ModuleOp) -> None:
    """Raise `SourceError` for a program with operators of which only the cost is known, which names all of them."""
    from npuc.compiler.core.errors import SourceError
    from npuc.compiler.core.verify import location_of
    from npuc.dialects.npu import VectorOp
    from npuc.dialects.train.opaque import OpaqueBase

    found: dict[str, Operation] = {}
    for op in module.walk():
        name = op.operator_name if isinstance(op, OpaqueBase) else op.operator if isinstance(op, VectorOp) else None
        if name is not None:
            found.setdefault(name, op)
    if found:
        names = ", ".join(f"'{name}'" for name in found)
        message = f"the program cannot run: only the cost of {names} is known, not the meaning"
        raise SourceError(message, location=location_of(next(iter(found.values()))), hint="npuc compile prices it")


def request_for(source: Source, options: Options, *, split_depthwise: bool = False) -> Request:
    """What options ask of the reader of a source. Raises `UsageError` for those that do not apply to it."""
    check_step(source.frontend, options)
    return Request(
        defines=options.defines,
        inference=options.inference,
        max_ops=options.max_ops,
        choose=_chooser(options) if source.frontend.lists_layers else None,
        split_depthwise=split_depthwise,
        results=options.result,
        losses=options.loss,
        optimizer=options.optimizer,
        freeze=options.freeze,
        opaque=options.opaque,
        opaque_costs=options.opaque_costs,
    )


def check_step(frontend: Frontend, options: Options) -> None:
    """Raise `UsageError` for options that make a training step of a graph, beside a source that is none."""
    given = {"loss": options.loss, "optimizer": options.optimizer, "freeze": options.freeze, "result": options.result}
    for name in (name for name, value in given.items() if value and not frontend.lacks_step):
        hint = "it is for graphs of other tools, which hold no training step"
        raise UsageError(f"--{name} does not apply: {frontend.title} says itself what is trained", hint=hint)
    if options.opaque_costs is not None and not options.opaque:
        raise UsageError("--opaque-costs does not apply without --opaque", hint="--opaque prices unknown operators")
    if options.opaque and not frontend.prices_unknown:
        hint = "it is for graphs of other tools; the language has opaque(…) for such an operator"
        raise UsageError(f"--opaque does not apply: {frontend.title} has no unknown operators", hint=hint)
    for name in ("loss", "optimizer", "freeze"):
        if given[name] and options.inference:
            raise UsageError(f"--{name} does not apply with --inference, which trains nothing")


def texts_of(source: Source) -> SourceTexts:
    """The text of a source, for the lines that errors quote."""
    from npuc.compiler.core.verify import SourceTexts

    return SourceTexts({source.filename: source.text})


def _chooser(options: Options) -> Callable[[Sequence[str]], set[int]] | None:
    """Which layers of a list of names are asked for; None for all."""
    from npuc.compiler.core.selection import patterns_of, select

    patterns = patterns_of(options.only)
    return (lambda names: select(names, patterns)) if patterns else None

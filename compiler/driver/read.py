"""From a source to a verified module: what compiling, running and checking a program begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import MAX_OPS, CompileOptions
from npuc.frontends.base import Request

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.verify import SourceTexts
    from npuc.frontends.base import Source


def read_program(
    source: Source,
    options: CompileOptions,
    sources: SourceTexts,
    remarks: list[str] | None = None,
    *,
    split_depthwise: bool = False,
) -> ModuleOp:
    """
    The module that a source holds, verified, whatever its level.

    Of a source that lists layers only those that `only` names are read; `remarks` gets what its reader has to say,
    `split_depthwise` takes the depthwise convolutions of a table apart as SCALE-Sim does.
    """
    from npuc.compiler.core.verify import require_function, verify_module

    frontend, defines = source.frontend, plain_defines(options.get("defines"))
    request = Request(
        defines=defines,
        inference=options.get("inference"),
        max_ops=options.get("max_ops", MAX_OPS),
        choose=_chooser(options) if frontend.lists_layers else None,
        split_depthwise=split_depthwise,
    )
    program = frontend.read(source, request)
    for name in () if frontend.parametric else defines:
        raise UsageError(f"-D {name}: {frontend.title} has no parameters")
    if remarks is not None:
        remarks += program.warnings
    if not frontend.trusted:
        verify_module(program.module, sources)
        require_function(program.module)
    return program.module


def _chooser(options: CompileOptions) -> Callable[[Sequence[str]], set[int]] | None:
    """Which layers of a list of names are asked for; None for all."""
    from npuc.compiler.core.selection import patterns_of, select

    patterns = patterns_of(options.get("only"))
    return (lambda names: select(names, patterns)) if patterns else None


def plain_defines(defines: Mapping[str, Any] | None) -> dict[str, Any]:
    """Network parameters with numpy's numbers as Python's."""
    return {name: value.item() if hasattr(value, "item") else value for name, value in (defines or {}).items()}

"""From a source to a verified module: what compiling, running and checking a program begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import MAX_OPS, CompileOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.verify import SourceTexts
    from npuc.frontends.source import Source


def read_program(
    source: Source,
    options: CompileOptions,
    sources: SourceTexts,
    remarks: list[str] | None = None,
    *,
    channels: bool = False,
) -> ModuleOp:
    """
    The module that a source holds, verified, whatever its level.

    Of a file that lists layers only those that `only` names are read; `remarks` gets what its reader has to say,
    `channels` takes the depthwise convolutions of a table apart as SCALE-Sim does.
    """
    from npuc.compiler.core.verify import require_function, verify_module

    if source.format == "csv":  # its reader makes no wrong operation, and very many
        return _read_table(source, options, [] if remarks is None else remarks, channels=channels)
    if source.format == "m":
        module = _read_mapping_file(source, options, [] if remarks is None else remarks)
    else:
        module = _read_network(source, options)
    verify_module(module, sources)
    require_function(module)
    return module


def _chooser(options: CompileOptions) -> Callable[[Sequence[str]], set[int]] | None:
    """Which layers of a list of names are asked for; None for all."""
    from npuc.compiler.core.selection import patterns_of, select

    patterns = patterns_of(options.get("only"))
    return (lambda names: select(names, patterns)) if patterns else None


def _no_parameters(options: CompileOptions, what: str) -> None:
    for name in options.get("defines") or {}:
        raise UsageError(f"-D {name}: {what} has no parameters")


def _read_table(source: Source, options: CompileOptions, remarks: list[str], *, channels: bool) -> ModuleOp:
    from npuc.frontends.tables import read_table_program

    inference = options.get("inference")
    program = read_table_program(
        source.text,
        source.filename,
        training=None if inference is None else not inference,
        max_ops=options.get("max_ops", MAX_OPS),
        channels=channels,
        choose=_chooser(options),
    )
    _no_parameters(options, "a layer table")
    remarks += program.table.warnings
    return program.module


def _read_mapping_file(source: Source, options: CompileOptions, remarks: list[str]) -> ModuleOp:
    from npuc.compiler.driver.mapping_file import is_legal
    from npuc.frontends.maestro import read_mapping_program

    program = read_mapping_program(
        source.text,
        source.filename,
        training=options.get("inference") is False,
        max_ops=options.get("max_ops", MAX_OPS),
        choose=_chooser(options),
        is_legal=is_legal,
    )
    _no_parameters(options, "a mapping file")
    remarks += program.warnings
    return program.module


def _read_network(source: Source, options: CompileOptions) -> ModuleOp:
    from npuc.frontends import read_source

    return read_source(
        source.text,
        format=source.format,
        filename=source.filename,
        defines=plain_defines(options.get("defines")),
        training=not options.get("inference"),
        max_ops=options.get("max_ops", MAX_OPS),
    )


def plain_defines(defines: Mapping[str, Any] | None) -> dict[str, Any]:
    """Network parameters with numpy's numbers as Python's."""
    return {name: value.item() if hasattr(value, "item") else value for name, value in (defines or {}).items()}

"""From a graph of another tool to the text of the same network in the language."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remark
from npuc.compiler.driver.options import fields_of, keywords_of
from npuc.compiler.driver.read import request_for
from npuc.frontends.source import open_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.frontends.base import Source
    from npuc.frontends.source import SourceLike


class ImportKeywords(TypedDict, total=False):
    """The keywords of `import_file`; what is left out has the default of `Options`."""

    defines: Mapping[str, Any] | None
    inference: bool | None
    loss: str | Sequence[str] | None
    optimizer: str | None
    freeze: str | Sequence[str] | None
    result: str | Sequence[str] | None
    opaque: bool
    opaque_costs: str | os.PathLike[str] | None
    max_ops: int


def import_file(path: SourceLike, **keywords: Unpack[ImportKeywords]) -> str:
    """
    The network of a `.pt2`, `.onnx`, `.json` or `.cfg` file in the network language.

    Modules become blocks, repeated ones loops.

    The text compiles to the program that the file is, with the same layers and parameters; it holds no values of them.
    Raises `UsageError` for a source that is no graph of another tool and for wrong keywords, else as its reader does.
    """
    return import_program(open_source(path), Options(**fields_of(keywords_of(keywords, ImportKeywords))))


def import_program(source: Source, options: Options) -> str:
    """The network of a source as text; see `import_file`."""
    from npuc.frontends.dsl.elaborate import read_dsl
    from npuc.frontends.script.text.equal import difference

    frontend = source.frontend
    if not frontend.lacks_step:
        hint = "import takes graphs of other tools: .pt2, .onnx, .json and .cfg files"
        raise UsageError(f"cannot import '{source.shown}': {frontend.title} is npuc's own", hint=hint)
    program = frontend.read(source, request_for(source, options))
    for warning in program.warnings:
        remark(warning)
    if program.text is None:
        raise UsageError(f"cannot import '{source.shown}': its reader writes no text")
    text = program.text()
    again = read_dsl(text, f"{source.shown} as text", training=not options.inference, max_ops=options.max_ops)
    found = difference(program.module, again)
    if found is not None:
        raise AssertionError(f"the text of '{source.shown}' is another program: {found}")
    return f"{_head(source, program.module)}\n\n{text}"


def _head(source: Source, module: ModuleOp) -> str:
    """What the text says of itself above the first block."""
    from npuc.compiler.interpreter.execute import argument_type, the_function
    from npuc.dialects.train.signature import ArgumentKind, arguments_of

    function = the_function(module)
    counts = {ArgumentKind.PARAM: 0, ArgumentKind.STAT: 0}
    for one in arguments_of(function):
        if one.kind in counts:
            counts[one.kind] += prod(argument_type(function, one).get_shape())
    name = os.path.basename(source.shown).replace("\n", " ")
    stats = f" and {counts[ArgumentKind.STAT]:,} running statistics" if counts[ArgumentKind.STAT] else ""
    return f"# Imported from {name}: {counts[ArgumentKind.PARAM]:,} parameters{stats}."

"""
Readers of source files: the network language, npuc's own IR as text, layer tables, and mapping files of MAESTRO.

Every reader turns text into a module and raises `NpucError`s that name the place. A reader is loaded when it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import Location, SourceError, UsageError, did_you_mean
from npuc.compiler.core.options import MAX_OPS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.frontends.dsl.values import Value

FORMATS = ("dsl", "mlir", "csv", "m")
SAMPLES = "samples:"


def sample_names() -> list[str]:
    """The networks that ship with npuc; files that begin with `_` hold blocks for them."""
    return [name for name in _sample_files() if not name.startswith("_")]


def _sample_files() -> list[str]:
    names = (entry.name for entry in files("npuc.samples").iterdir())
    return sorted(name.removesuffix(".dsl") for name in names if name.endswith(".dsl"))


def read_text(path: str) -> str:
    """
    The text of a file; `-` is the standard input, `samples:NAME` a network that ships with npuc.

    Raises UsageError if it cannot be read and SourceError, with the place, if it is not UTF-8.
    """
    if path == "-":
        return _decode(sys.stdin.buffer.read(), "<stdin>")
    if path.startswith(SAMPLES):
        name = path.removeprefix(SAMPLES).removesuffix(".dsl")
        if name not in _sample_files():
            raise UsageError(f"unknown sample '{name}'", hint=did_you_mean(name, sample_names()))
        return _decode((files("npuc.samples") / f"{name}.dsl").read_bytes(), path)
    try:
        return _decode(Path(path).read_bytes(), path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot read '{path}': {reason}", hint=_near_file(path)) from None


def _near_file(path: str) -> str | None:
    try:
        beside = sorted(os.listdir(os.path.dirname(path) or "."))
    except (OSError, ValueError):
        return None
    if os.path.basename(path) in beside:
        return None
    hint = did_you_mean(os.path.basename(path), beside)
    return hint if hint.startswith("did you mean") else None


def _decode(data: bytes, filename: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        line, col = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"found the byte 0x{data[error.start]:02x}, which is not UTF-8"
        hint = "source files are UTF-8 text"
        raise SourceError(message, location=Location(filename, line, col), hint=hint) from None


def read_source(
    text: str,
    *,
    format: str = "dsl",
    filename: str = "<string>",
    defines: Mapping[str, Value] | None = None,
    training: bool = True,
    max_ops: int = MAX_OPS,
) -> ModuleOp:
    """
    The module that a source text stands for.

    For `dsl`, `defines` replace defaults of network parameters, `training` says whether losses count, and `max_ops`
    limits the operations. A layer table (`csv`) or mapping file (`m`) is read with its gradients where `training` is
    set; `npuc.frontends.tables` and `npuc.frontends.maestro` can do more with them. Raises SourceError for a wrong
    program, UsageError for an unknown format or wrong defines.
    """
    if format == "dsl":
        from npuc.frontends.dsl.elaborate import read_dsl

        return read_dsl(text, filename, defines=defines, training=training, max_ops=max_ops)
    if format == "mlir":
        from npuc.frontends.mlir import read_mlir

        return read_mlir(text, filename)
    if format == "csv":
        from npuc.frontends.tables import read_table_program

        return read_table_program(text, filename, training=training, max_ops=max_ops).module
    if format == "m":
        from npuc.frontends.maestro import read_mapping_program

        return read_mapping_program(text, filename, training=training, max_ops=max_ops).module
    raise UsageError(f"unknown source format '{format}'", hint=did_you_mean(format, FORMATS))

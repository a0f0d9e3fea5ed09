"""
Readers of sources: the network language, npuc's own IR as text, layer tables, and mapping files of MAESTRO.

    module = read_source(text, format="dsl")

    base.py       what a frontend is: a source and a request in, a program out
    registry.py   how frontends are found: a folder each, or from outside
    source.py     sources by path, or at hand
    files.py      the content of files, and the networks that ship with npuc

A reader is loaded when it is used. Every reader raises `NpucError`s that name the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from npuc.compiler.core.options import MAX_OPS
from npuc.frontends.base import Request
from npuc.frontends.files import SAMPLES, read_bytes, read_text, sample_names
from npuc.frontends.source import text_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["SAMPLES", "read_bytes", "read_source", "read_text", "sample_names"]


def read_source(
    content: str | bytes,
    *,
    format: str = "dsl",
    filename: str = "<string>",
    defines: Mapping[str, Any] | None = None,
    training: bool = True,
    max_ops: int = MAX_OPS,
) -> ModuleOp:
    """
    The module that a source stands for, which is not verified.

    For `dsl`, `defines` replace defaults of network parameters, `training` says whether losses count, and `max_ops`
    limits the operations. A layer table (`csv`) or mapping file (`m`) is read with its gradients where `training` is
    set; `npuc.frontends.tables` and `npuc.frontends.maestro` can do more with them. Raises `SourceError` for a wrong
    program, `UsageError` for an unknown format or wrong defines.
    """
    source = text_source(content, format, filename)
    request = Request(defines=defines or {}, inference=not training, max_ops=max_ops)
    return source.frontend.read(source, request).module

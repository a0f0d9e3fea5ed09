"""Where programs come from: files by suffix, networks that ship with npuc (`samples:NAME`), text or bytes at hand."""

from __future__ import annotations

import mmap
import os
from typing import TypeAlias

from npuc.compiler.core.arguments import PATH, argument
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.texts import decoded
from npuc.frontends.base import Frontend, Source
from npuc.frontends.files import SAMPLES, map_bytes, read_text
from npuc.frontends.registry import all_frontends, frontend_for, get_frontend, own_frontends, suffixes_of

__all__ = ["Source", "SourceLike", "open_source", "text_source"]
SourceLike: TypeAlias = str | os.PathLike[str] | Source
"""What the Python functions take as a source: a path, `samples:NAME`, or one at hand, as a frontend makes it."""
LANGUAGE = "dsl"
"""The format of samples and of standard input."""


def text_source(content: str | bytes, format: str, filename: str) -> Source:
    """
    A source in memory: a text, or the bytes of a binary format.

    Raises `UsageError` for an unknown format and for a text where the format wants bytes, `SourceError` for bytes that
    are not UTF-8.
    """
    content, filename = argument("text", content, str | bytes), argument("filename", filename, str)
    frontend = get_frontend(argument("format", format, str))
    if frontend.binary and isinstance(content, str):
        raise UsageError(f"found a text, expected bytes: {frontend.title} is no text")
    if isinstance(content, bytes) and not frontend.binary:
        content = decoded(content, filename)
    return _named(content, frontend, filename)


def _named(content: str | bytes | mmap.mmap, frontend: Frontend, filename: str) -> Source:
    shown = os.path.basename(filename) if os.path.isabs(filename) else filename
    return Source(content, frontend, filename, shown)


def open_source(path: SourceLike) -> Source:
    """
    The source at a path; `samples:NAME` is a network that ships with npuc, `-` the language from standard input. A
    source at hand is returned as it is.

    A large file of a binary format is mapped, not read. Raises `UsageError` for a suffix nobody reads and a file that
    cannot be read, `SourceError` for text that is not UTF-8.
    """
    if isinstance(path, Source):
        return path
    checked: str | os.PathLike[str] = argument("path", path, PATH)
    name = os.fspath(checked)
    if name == "-":
        return text_source(read_text(name), LANGUAGE, "<stdin>")
    frontend = get_frontend(LANGUAGE) if name.startswith(SAMPLES) else _by_suffix(name)
    if frontend.binary:
        return _named(map_bytes(name), frontend, name)
    if not frontend.is_ir:
        return text_source(read_text(name), frontend.name, name)
    data = map_bytes(name)
    suffix = os.path.splitext(name)[1].removeprefix(".")
    claimed = next((one for one in own_frontends().values() if one.claims(suffix, data)), None)
    return text_source(bytes(data), frontend.name, name) if claimed is None else _named(data, claimed, name)


def _by_suffix(name: str) -> Frontend:
    """The frontend that the suffix of a file's name means. Raises `UsageError`."""
    frontend = frontend_for(os.path.splitext(name)[1].removeprefix("."))
    if frontend is None:
        known = [suffix for each in all_frontends() for suffix in suffixes_of(each)]
        hint = f"sources end in {' or '.join(f'.{suffix}' for suffix in known)}, or are called {SAMPLES}NAME"
        raise UsageError(f"cannot tell the format of '{name}' from its suffix", hint=hint)
    return frontend

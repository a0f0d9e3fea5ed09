"""Where programs come from: files by suffix, networks that ship with npuc (`samples:NAME`), text."""

from __future__ import annotations

import os
from dataclasses import dataclass

from npuc.compiler.core.errors import UsageError, did_you_mean

LISTS = ("csv", "m")
"""Formats that list layers which do not feed each other: layer tables, mapping files."""


@dataclass(frozen=True)
class Source:
    """A program's text, its format, the name that places in it carry, and the name that reports carry."""

    text: str
    format: str
    filename: str
    shown: str

    def report_location(self, loc: str | None) -> str | None:
        """A place as reports show it: without the folder of the source, when that is an absolute one."""
        folder = os.path.dirname(self.filename)
        if loc is None or not os.path.isabs(self.filename):
            return loc
        return loc.removeprefix(folder.rstrip(os.sep) + os.sep)


def text_source(text: str, format: str, filename: str) -> Source:
    """A source that is a text. Raises `UsageError` for an unknown format."""
    from npuc.frontends import FORMATS

    if format not in FORMATS:
        raise UsageError(f"unknown source format '{format}'", hint=did_you_mean(format, FORMATS))
    return Source(text, format, filename, os.path.basename(filename) if os.path.isabs(filename) else filename)


def open_source(path: str | os.PathLike[str]) -> Source:
    """
    The source at a path; `samples:NAME` is a network that ships with npuc, `-` the language from standard input.

    Raises `UsageError` for a suffix nobody reads and a file that cannot be read, `SourceError` for text that is not
    UTF-8.
    """
    from npuc.frontends import SAMPLES, read_text

    name = os.fspath(path)
    if name == "-":
        return text_source(read_text(name), "dsl", "<stdin>")
    suffix = "dsl" if name.startswith(SAMPLES) else os.path.splitext(name)[1].removeprefix(".")
    known = _format(name, suffix)
    return text_source(read_text(name), known, name)


def _format(name: str, suffix: str) -> str:
    """The format that a suffix means."""
    from npuc.frontends import FORMATS, SAMPLES

    if suffix not in FORMATS:
        hint = f"sources end in {' or '.join(f'.{f}' for f in FORMATS)}, or are called {SAMPLES}NAME"
        raise UsageError(f"cannot tell what '{name}' is by its suffix", hint=hint)
    return suffix

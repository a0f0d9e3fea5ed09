"""The content of source files: a path, the standard input, or a network that ships with npuc (`samples:NAME`)."""

from __future__ import annotations

import mmap
import os
import sys
from importlib.resources import files
from pathlib import Path

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.files.texts import decoded

SAMPLES = "samples:"
MAPPED_FROM = 1 << 20
"""The bytes from which on a file is mapped into memory, where it may be: its pages are read when they are used."""


def sample_names() -> list[str]:
    """The networks that ship with npuc; files that begin with `_` hold blocks for them."""
    return [name for name in _sample_files() if not name.startswith("_")]


def _sample_files() -> list[str]:
    names = (entry.name for entry in files("npuc.samples").iterdir())
    return sorted(name.removesuffix(".dsl") for name in names if name.endswith(".dsl"))


def read_text(path: str) -> str:
    """
    The text of a file; `-` is the standard input, `samples:NAME` a network that ships with npuc.

    Raises `UsageError` if it cannot be read and `SourceError`, with the place, if it is not UTF-8.
    """
    return decoded(read_bytes(path), "<stdin>" if path == "-" else path)


def read_bytes(path: str) -> bytes:
    """The bytes of a file, named as for `read_text`. Raises `UsageError` if it cannot be read."""
    if path == "-":
        return sys.stdin.buffer.read()
    if path.startswith(SAMPLES):
        name = path.removeprefix(SAMPLES).removesuffix(".dsl")
        if name not in _sample_files():
            raise UsageError(f"unknown sample '{name}'", hint=did_you_mean(name, sample_names()))
        return (files("npuc.samples") / f"{name}.dsl").read_bytes()
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def map_bytes(path: str) -> bytes | mmap.mmap:
    """
    The bytes of a file, named as for `read_text`; a large one is mapped, and costs no memory until it is used.

    Raises `UsageError` if it cannot be read.
    """
    try:
        if path != "-" and not path.startswith(SAMPLES) and os.path.getsize(path) >= MAPPED_FROM:
            with open(path, "rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return read_bytes(path)


def _unreadable(path: str, error: OSError | ValueError) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UsageError(f"cannot read '{path}': {reason}", hint=_near_file(path))


def _near_file(path: str) -> str | None:
    try:
        beside = sorted(os.listdir(os.path.dirname(path) or "."))
    except (OSError, ValueError):
        return None
    if os.path.basename(path) in beside:
        return None
    hint = did_you_mean(os.path.basename(path), beside)
    return hint if hint.startswith("did you mean") else None

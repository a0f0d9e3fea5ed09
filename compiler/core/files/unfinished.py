"""Temporary files of outputs that are not finished, so that a process which has to leave can remove them."""

from __future__ import annotations

import os

_paths: set[str] = set()


def add(path: str) -> None:
    """A temporary file is there."""
    _paths.add(path)


def remove(path: str) -> None:
    """Remove a temporary file, if it has not got another name by now."""
    try:
        os.unlink(path)
    except OSError:
        pass
    _paths.discard(path)


def remove_all() -> None:
    """Remove all temporary files."""
    for path in list(_paths):
        remove(path)

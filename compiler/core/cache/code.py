"""
The code that made a row of the store, as a digest: npuc's files, the packages that are installed, and Python.

Of files it takes names, sizes and times of the last change, which an edit or another installation changes; reading them
all would take longer than many a command.
"""

from __future__ import annotations

import os
import sys
from hashlib import blake2b

PARTS = ("compiler", "dialects", "hardware", "backends", "frontends", "samples", "studies")
"""The folders of npuc's packages."""
DISTRIBUTIONS = (".dist-info", ".egg-info", ".egg-link", ".pth")
"""How the names of what is installed end."""


def own_folders() -> list[str]:
    """The folders of npuc's packages, wherever they are installed."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return [os.path.join(root, part) for part in PARTS]


def code_digest() -> bytes:
    """The digest of the code that runs here."""
    found = [sys.version, sys.platform, sys.byteorder, *_packages()]
    for folder in own_folders():
        _files(folder, found)
    return blake2b("\n".join(found).encode("utf-8", "surrogateescape"), digest_size=16).digest()


def _files(folder: str, found: list[str]) -> None:
    """Add a line for each file below a folder, in the order of their names."""
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name == "__pycache__":
                continue
            if entry.is_dir():
                folders.append(entry.path)
                continue
            known = entry.stat()
            found.append(f"{entry.path} {known.st_size} {known.st_mtime_ns}")
    for one in folders:
        _files(one, found)


def _packages() -> list[str]:
    """A line for each distribution on the path of imports, by folder; a folder without any counts for nothing."""
    found: list[str] = []
    for folder in sys.path:
        try:
            with os.scandir(folder or ".") as entries:
                named = [entry for entry in entries if entry.name.endswith(DISTRIBUTIONS)]
                if named:
                    found += [folder, *sorted(f"{entry.name} {entry.stat().st_mtime_ns}" for entry in named)]
        except OSError:
            continue
    return found

"""
What a result depends on: npuc's version and its own files, Python's version, and those of libraries; nothing of a
machine, a place or a time.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, requires
from importlib.metadata import version as installed

from npuc.compiler.core.cache.code import own_folders
from npuc.compiler.core.frozen import frozen
from npuc.compiler.driver.score import version

SCHEMA = "npuc.environment/1"
DRAWS = "matplotlib"


@frozen
class Environment:
    """
    Versions: of npuc, of Python, and of each library that npuc needs, by its name; None of one that is lacking.

    `sources` is a digest of npuc's own files, as one version has many commits.
    """

    npuc: str
    sources: str
    python: str
    libraries: Mapping[str, str | None]


def environment(*, drawn: bool) -> Environment:
    """The versions here; with those of what draws, where figures were `drawn`."""
    names = [*required(), *((DRAWS,) if drawn else ())]
    libraries = {name: _version(name) for name in sorted(set(names))}
    return Environment(version(), sources(own_folders()), platform.python_version(), libraries)


def sources(folders: Sequence[str]) -> str:
    """
    A digest of the names and contents of all files below folders of npuc, the same wherever these are.

    That of `core.cache.code`, which takes times in place of contents, differs between two copies. What Python compiled
    and files with a leading point do not count. Raises `OSError`.
    """
    found = blake2b(digest_size=16)
    for folder in folders:
        for path in _files(folder):
            with open(path, "rb") as file:
                data = file.read()
            name = os.path.relpath(path, os.path.dirname(folder)).replace(os.sep, "/")
            for part in (name.encode("utf-8", "surrogateescape"), data):
                found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def _files(folder: str) -> Iterator[str]:
    """All files below a folder, in the order of their names."""
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        yield from (os.path.join(above, name) for name in sorted(names) if not name.startswith("."))


def required() -> list[str]:
    """The libraries that npuc always needs, by what its distribution says; none where it runs from a folder."""
    try:
        lines = requires("npuc") or []
    except PackageNotFoundError:
        return []
    found = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines if "extra ==" not in line)
    return [match.group().lower() for match in found if match is not None]


def environment_json(found: Environment) -> str:
    """The versions as JSON (schema `npuc.environment/1`)."""
    data = {
        "schema": SCHEMA,
        "npuc": found.npuc,
        "sources": found.sources,
        "python": found.python,
        "libraries": dict(found.libraries),
    }
    return json.dumps(data, indent=2) + "\n"


def _version(name: str) -> str | None:
    try:
        return installed(name)
    except PackageNotFoundError:
        return None

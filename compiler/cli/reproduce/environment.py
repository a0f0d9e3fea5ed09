"""The versions that a result depends on: npuc's, Python's, and those of libraries; nothing of a machine or a time."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires
from importlib.metadata import version as installed

from npuc.compiler.core.frozen import frozen
from npuc.compiler.driver.score import version

SCHEMA = "npuc.environment/1"
DRAWS = "matplotlib"


@frozen
class Environment:
    """Versions: of npuc, of Python, and of each library that npuc needs, by its name; None of one that is lacking."""

    npuc: str
    python: str
    libraries: Mapping[str, str | None]


def environment(*, drawn: bool) -> Environment:
    """The versions here; with those of what draws, where figures were `drawn`."""
    names = [*required(), *((DRAWS,) if drawn else ())]
    return Environment(version(), platform.python_version(), {name: _version(name) for name in sorted(set(names))})


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
    data = {"schema": SCHEMA, "npuc": found.npuc, "python": found.python, "libraries": dict(found.libraries)}
    return json.dumps(data, indent=2) + "\n"


def _version(name: str) -> str | None:
    try:
        return installed(name)
    except PackageNotFoundError:
        return None

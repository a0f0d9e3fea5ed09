"""Files of entries: npuc's own, and that of `--opaque-costs`, whose entries win."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

from npuc.compiler.core.errors import Location, UsageError, did_you_mean
from npuc.compiler.core.kinds import show
from npuc.compiler.core.texts import decoded
from npuc.frontends.files import read_bytes
from npuc.frontends.script.opaque.entries import Entry, Text, read_entry

SIZE_LIMIT = 1 << 20
"""The most bytes of a file."""
OPTION = "--opaque-costs"


@cache
def known_entries() -> Mapping[str, Entry]:
    """The entries that ship with npuc, by operator."""
    name = "known.toml"
    return _entries(Text(name, (files(__package__ or "") / name).read_text(encoding="utf-8")), given=False)


def entries_of(path: str | None) -> Mapping[str, Entry]:
    """npuc's own entries, and those of a file (None: no file). Raises `UsageError` with places in the file."""
    if path is None:
        return known_entries()
    try:
        size = os.path.getsize(path)
    except (OSError, ValueError):
        size = 0  # it cannot be read, which reading tells of
    if size > SIZE_LIMIT:
        raise UsageError(f"{path}: found {size:,} bytes, expected at most {SIZE_LIMIT >> 20} MiB of formulas")
    text = decoded(read_bytes(path), path, UsageError).replace("\r\n", "\n")
    return {**known_entries(), **_entries(Text(path, text), given=True)}


def _entries(source: Text, *, given: bool) -> dict[str, Entry]:
    data = _table(source)
    for key in data:
        if key != "ops":
            raise UsageError(f"{source.name}: unknown key '{show_key(key)}'", hint=did_you_mean(key, ("ops",)))
    ops = data.get("ops", {})
    if not isinstance(ops, dict):
        raise UsageError(f'{source.name}: ops: expected tables [ops."NAME"], found {show(ops)}')
    table = cast("dict[str, object]", ops)
    for name in table:
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise UsageError(f"{source.name}: found an operator '{show_key(name)}', expected the name of one")
    return {name: read_entry(name, one, source, given=given) for name, one in table.items()}


MAX_NAME = 256
"""The most characters of an operator's name."""


def show_key(key: str) -> str:
    """A key in a message."""
    return key[:60]


def _table(source: Text) -> Mapping[str, Any]:
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
        lines = source.text.split("\n")
        line, col = (int(place[1]), int(place[2])) if place and place[1] else (len(lines), len(lines[-1]) + 1)
        said = message[: place.start()] if place else message
        shown = lines[line - 1] if line <= len(lines) else ""
        raise UsageError(said, location=Location(source.name, line, col), source_line=shown) from None
    except ValueError:  # Python reads integers of a few thousand digits at most
        raise UsageError(f"{source.name}: found a number of too many digits") from None
    except RecursionError:
        raise UsageError(f"{source.name}: values are nested too deeply") from None

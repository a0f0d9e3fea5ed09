"""Files of entries: npuc's own, and that of `--opaque-costs`, whose entries win."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.files.texts import text_of_file
from npuc.compiler.core.files.toml import read_toml
from npuc.compiler.core.kinds import show
from npuc.frontends.script.opaque.entries import Entry, Text, read_entry

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
    text = text_of_file(Path(path), path, "file of formulas")
    return {**known_entries(), **_entries(Text(path, text), given=True)}


def _entries(source: Text, *, given: bool) -> dict[str, Entry]:
    data = read_toml(source.text, source.name)
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

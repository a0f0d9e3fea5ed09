"""
The blocks that ship with npuc: the files of `library/`, one a family, in the network language.

A program calls them like layers. A file is parsed when a program calls one of its blocks; blocks whose names begin
with `_` are for the library itself.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from npuc.compiler.core.frozen import frozen
from npuc.frontends.dsl.program import Routine
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.source_text import Diagnostics, SourceText

_HEAD = re.compile(r"^block (\w+)\(", re.MULTILINE)


@frozen
class Described:
    """A block for the reference: its signature and the comment above it."""

    name: str
    signature: str
    comment: str


@cache
def _texts() -> Mapping[str, str]:
    """The files of the library by family."""
    entries = sorted((files("npuc.frontends.dsl") / "library").iterdir(), key=lambda entry: entry.name)
    return {
        entry.name.removesuffix(".dsl"): entry.read_text(encoding="utf-8")
        for entry in entries
        if entry.name.endswith(".dsl")
    }


@cache
def _families() -> Mapping[str, str]:
    """The family of each block."""
    return {name: family for family, text in _texts().items() for name in _HEAD.findall(text)}


@cache
def _routines(family: str) -> Mapping[str, Routine]:
    """The blocks of one file."""
    diagnostics = Diagnostics()
    source = SourceText(_texts()[family], f"library:{family}")
    definitions = parse(source, diagnostics).definitions
    diagnostics.raise_if_any()
    return {one.name.text: Routine(one, source, shipped=True) for one in definitions}


def library_names() -> Sequence[str]:
    """The blocks that programs may call."""
    return sorted(name for name in _families() if not name.startswith("_"))


def library_block(name: str, *, inside: bool = False) -> Routine | None:
    """The block of a name, or None; `inside` says that the library itself calls it."""
    family = _families().get(name)
    if family is None or (name.startswith("_") and not inside):
        return None
    return _routines(family)[name]


def library_routines() -> Mapping[str, Routine]:
    """All blocks of the library."""
    return {name: routine for family in _texts() for name, routine in _routines(family).items()}


def described() -> Mapping[str, Sequence[Described]]:
    """The blocks that programs may call, by family."""
    return {
        family: [
            Described(name, routine.signature.text, _comment(routine))
            for name, routine in _routines(family).items()
            if not name.startswith("_")
        ]
        for family in _texts()
    }


def _comment(routine: Routine) -> str:
    """The comment above a block, in one line."""
    lines: list[str] = []
    for line in reversed(routine.source.lines[: routine.definition.at.line - 1]):
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(reversed(lines))

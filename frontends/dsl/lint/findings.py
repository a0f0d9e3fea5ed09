"""The data of lint: findings, the program that rules look at, and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.func import FuncOp

from npuc.compiler.core.errors import Location, SourceError
from npuc.frontends.dsl.program import LoadedProgram
from npuc.frontends.dsl.syntax import Definition, File
from npuc.frontends.dsl.syntax.parser import lex
from npuc.frontends.dsl.syntax.tokens import END, prepare
from npuc.frontends.source_text import Diagnostics, Place, SourceText

_ERROR = ": error: "
_IGNORE = re.compile(r'"[^"\n]*"|(#.*)')
_WORDS = re.compile(r"#\s*lint:\s*ignore\b(?:\s*\[([^\]]*)\])?")


@dataclass(frozen=True)
class Remark:
    """A rule's message about a place of the source."""

    at: Place
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Finding:
    """A remark with the name of its rule and the place as messages show it."""

    rule: str
    location: Location
    message: str
    hint: str | None
    source_line: str

    def render(self) -> str:
        """The finding as the command line prints it: like an error, but a warning, the rule's name behind it."""
        text = f"{self.message} [{self.rule}]"
        error = SourceError(text, location=self.location, hint=self.hint, source_line=self.source_line).render()
        return f"{self.location}: warning: {error.removeprefix(f'{self.location}{_ERROR}')}"


@dataclass(frozen=True)
class Subject:
    """
    The subject of rules: a file, and if it holds a network the whole program and its forward graph.

    Rules speak of what the file itself says, not of what it imports.
    """

    source: SourceText
    file: File
    program: LoadedProgram | None = None
    graph: FuncOp | None = None

    @property
    def definitions(self) -> Sequence[Definition]:
        """The networks and blocks of the file."""
        return self.file.definitions

    def place(self, location: Location | None) -> Place | None:
        """A location as a place of the file, or None if it is elsewhere."""
        if location is None or location.file != self.source.filename:
            return None
        return Place(location.line, location.col)


Check: TypeAlias = Callable[[Subject], Iterator[Remark]]


@dataclass(frozen=True)
class Rule:
    """A kind of finding: its name, what it reports in one line, and how it is found."""

    name: str
    about: str
    check: Check


def ignored(source: SourceText) -> Mapping[int, frozenset[str] | None]:
    """
    The rules that comments `# lint: ignore[rule, …]` silence, by line; None stands for all of them.

    A comment on the last line of a statement counts for all its lines.
    """
    found: dict[int, frozenset[str] | None] = {}
    starts = _first_lines(source)
    for number, line in enumerate(source.lines, 1):
        comment = next((m[1] for m in _IGNORE.finditer(line) if m[1]), "")
        words = _WORDS.search(comment)
        if words is not None:
            names: str | None = words[1]
            silenced = None if names is None else frozenset(re.findall(r"[\w-]+", names))
            for covered in range(starts.get(number, number), number + 1):
                before = found.get(covered, frozenset[str]())
                found[covered] = None if before is None or silenced is None else before | silenced
    return found


def _first_lines(source: SourceText) -> Mapping[int, int]:
    """For the last line of each statement, or of its head, the first one."""
    starts: dict[int, int] = {}
    first = last = 0
    for token in prepare(source, lex(source), Diagnostics()).tokens:
        line = token.line or 1
        first = first or line
        if token.type in (END, "LBRACE", "RBRACE"):
            last = last if token.type == END else line
            starts.setdefault(last, first)
            first = 0
        last = line
    return starts

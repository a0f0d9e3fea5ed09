"""
The errors a user of npuc can meet, and how one is shown.

Each carries the exit status of the command line (`docs/cli.md`), where it happened and a hint. Nothing here imports
the rest of npuc, so that every layer of the house can raise them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

MOST_LISTED = 24
"""Of more names a hint shows patterns."""


@dataclass(frozen=True, order=True)
class Location:
    """A place in a source file. `line` and `col` count from 1, `col` in characters."""

    file: str
    line: int
    col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


class NpucError(Exception):
    """
    Base of all expected failures.

    `message` says what was found and what was expected, `hint` the likely fix; `source_line` is the text of the line
    that `location` names, if it is known.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, *, location: Location | None = None, hint: str | None = None, source_line: str | None = None
    ):
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint
        self.source_line = source_line

    def render(self) -> str:
        """The error as the command line prints it: position, message, source line with caret, hint."""
        where = "npuc" if self.location is None else str(self.location)
        lines = [f"{where}: error: {_readable(self.message)}"]
        if self.location is not None and self.source_line is not None:
            shown, before = _window(self.source_line, self.location.col - 1)
            margin = "".join("\t" if c == "\t" else " " for c in before)
            lines += [f"    {shown}", f"    {margin}^"]
        if self.hint is not None:
            lines.append(f"  hint: {_readable(self.hint)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows of it: the message, and not the calls in npuc that led to it."""
        return [f"{type(self).__name__}: {self.render()}"]


def _readable(text: str) -> str:
    """A message that a person can read: very long words cut short, characters that a terminal obeys as escapes."""
    text = _LONG_WORD.sub(lambda found: f"{found.group()[:KEPT]}…{found.group()[-KEPT:]}", text)
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


_LONG_WORD = re.compile(r"[^\s/\\]{200,}")
KEPT = 20
"""Of a long word as many characters are shown from its beginning and its end."""


def _window(line: str, col: int) -> tuple[str, str]:
    """The part of a line around a column that a person can read, and what of it stands before the column."""
    line = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)
    start = max(0, col - 60) if len(line) > LONGEST_LINE else 0
    shown = line[start : start + LONGEST_LINE]
    return shown, line[start:col]


LONGEST_LINE = 160
"""Longer source lines are cut to so many characters around the place of an error."""


class SourceError(NpucError):
    """The program is wrong: syntax, names, shapes, an operation that breaks its invariant."""


class SourceErrors(SourceError):
    """Several independent mistakes of one source, in the order of their places."""

    def __init__(self, errors: Sequence[NpucError]):
        super().__init__(errors[0].message, location=errors[0].location, hint=errors[0].hint)
        self.errors = tuple(errors)

    def __reduce__(self) -> tuple[type[SourceErrors], tuple[tuple[NpucError, ...]]]:
        return type(self), (self.errors,)

    def render(self) -> str:
        return "\n".join(e.render() for e in self.errors)


class CheckError(NpucError):
    """A check failed: a pass changed what the program computes."""


class UsageError(NpucError):
    """npuc was called wrongly: an unknown option, preset, pass or key; a malformed hardware file."""

    exit_code: ClassVar[int] = 2


class CapacityError(NpucError):
    """The program is right but does not fit the hardware."""

    exit_code: ClassVar[int] = 3


class InternalError(NpucError):
    """A defect in npuc itself."""

    exit_code: ClassVar[int] = 70

    def _render_traceback_(self) -> list[str]:
        raise NotImplementedError("a notebook shows the calls that led to a defect")


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name a misspelled one most likely means, or None."""
    from difflib import get_close_matches

    same = next((k for k in known if k.lower() == name.lower()), None)
    return same or next(iter(get_close_matches(name, known, n=1, cutoff=0.6)), None)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A hint: the nearest known name, or all of them when none is near."""
    match = nearest(name, known)
    return f"did you mean '{match}'?" if match else f"known: {', '.join(_listed(known)) or 'none'}"


def _listed(names: Sequence[str]) -> list[str]:
    """Names in order; of many, those that differ in the number of a part alone are one, as a pattern (`h.*.fc1`)."""
    if len(names) <= MOST_LISTED:
        return sorted(names)
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(re.sub(r"(?<![^.])\d+(?![^.])", "*", name), []).append(name)
    return sorted(same[0] if len(same) == 1 else pattern for pattern, same in alike.items())


def either(words: Sequence[str], between: str = "or") -> str:
    """Words as what is expected: `a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {between} {words[-1]}"

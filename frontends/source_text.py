"""A source text with its name: turns places into locations and located errors."""

from functools import cached_property
from typing import NamedTuple

from npuc.compiler.core.errors import Location, SourceError, SourceErrors

MAX_ERRORS = 20


class Place(NamedTuple):
    """A position in a source text; both count from 1, `col` in characters."""

    line: int
    col: int


class SourceText:
    """The text of one file, without byte order mark and with plain line feeds."""

    def __init__(self, text: str, filename: str):
        self.text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self.filename = filename

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, split at line feeds only."""
        return self.text.split("\n")

    def location(self, at: Place) -> Location:
        """The location of a place in this file."""
        return Location(self.filename, at.line, at.col)

    def error(self, at: Place, message: str, hint: str | None = None) -> SourceError:
        """An error at a place, with its source line."""
        line = self.lines[at.line - 1] if at.line <= len(self.lines) else ""
        return SourceError(message, location=self.location(at), hint=hint, source_line=line)


class ArgumentMistake(SourceError):
    """An error about one argument of a call; `reason` is its message without the names of argument and function."""

    def __init__(self, reason: str, error: SourceError):
        super().__init__(error.message, location=error.location, hint=error.hint, source_line=error.source_line)
        self.reason = reason


def argument_mistake(
    source: SourceText, at: Place, argument: str, function: str, layer: str | None, reason: str, hint: str
) -> ArgumentMistake:
    """The error that an argument of a call at `at` is wrong; `layer` is the name of what the call builds, if known."""
    where = f" (layer '{layer}')" if layer else ""
    return ArgumentMistake(reason, source.error(at, f"argument '{argument}' of {function}{where}: {reason}", hint))


class Diagnostics:
    """
    The mistakes found so far, one per place.

    A place is reported once: a statement in a loop, or in a block that is used often, is one mistake of the author.
    """

    def __init__(self) -> None:
        self._errors: dict[Location | None, SourceError] = {}

    def __len__(self) -> int:
        return len(self._errors)

    @property
    def full(self) -> bool:
        """True when the number of mistakes reaches the limit of one run."""
        return len(self._errors) >= MAX_ERRORS

    def add(self, error: SourceError) -> None:
        """Note a mistake, unless its place already has one."""
        for single in error.errors if isinstance(error, SourceErrors) else (error,):
            assert isinstance(single, SourceError)
            if not self.full:
                self._errors.setdefault(single.location, single)

    @property
    def found(self) -> tuple[SourceError, ...]:
        """The mistakes noted, in the order of the source."""
        return tuple(sorted(self._errors.values(), key=_position))

    def raise_if_any(self) -> None:
        """Raise the mistakes found, in the order of the source."""
        found = self.found if self._errors else ()
        if len(found) == 1:
            raise found[0]
        if found:
            raise SourceErrors(found)


def _position(error: SourceError) -> tuple[str, int, int]:
    at = error.location
    return (at.file, at.line, at.col) if at is not None else ("", 0, 0)

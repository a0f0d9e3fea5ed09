"""Texts in TOML, as tables."""

from __future__ import annotations

import re
import tomllib

from npuc.compiler.core.errors import Location, UsageError

MAX_PARTS = 64
"""The most names that a dotted key has: Python's reader takes time that is their square."""
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_DIGITS = re.compile("[0-9_]{1000,}")
_STRING_OR_COMMENT = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\Z)'
    r"|'''(?:[^']|'(?!''))*(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MAX_PARTS}}}")


def read_toml(text: str, name: str) -> dict[str, object]:
    """The tables of a text in TOML; `name` is that of its file. Raises `UsageError` at the place of what is wrong."""
    _check_keys(text, name)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise _error(*_said(str(e), text), text, name) from e
    except ValueError as e:  # Python reads integers of a few thousand digits at most
        found = _DIGITS.search(text)
        line, col = _place(text, 0 if found is None else found.start())
        raise _error("found a number of too many digits, expected one of 64 bits", line, col, text, name) from e
    except RecursionError as e:
        raise UsageError(f"{name}: values are nested too deeply") from e


def _check_keys(text: str, name: str) -> None:
    """Raise for a dotted key of more than `MAX_PARTS` names."""
    if text.count(".") < MAX_PARTS:
        return
    found = _LONG_KEY.search(without_strings(text))
    if found is not None:
        line, col = _place(text, found.start())
        raise _error(f"found a key of more than {MAX_PARTS} names, expected at most as many", line, col, text, name)


def without_strings(text: str) -> str:
    """A text with a word for each string and blanks for each comment, of the same length: places stay."""
    return _STRING_OR_COMMENT.sub(lambda m: (" " if m[0].startswith("#") else "s") * len(m[0]), text)


def _said(message: str, text: str) -> tuple[str, int, int]:
    """The message of Python's reader without its position, and that position."""
    found = _PLACE.search(message)
    if found is None:
        return message, 1, 1
    message = message[: found.start()]
    if message == "Cannot overwrite a value":
        message = "this key has a value already"
    if found[1] is None:
        lines = text.removesuffix("\n").split("\n")
        return f"{message} at the end of the file", len(lines), len(lines[-1]) + 1
    return message, int(found[1]), int(found[2])


def _place(text: str, start: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def _error(message: str, line: int, col: int, text: str, name: str) -> UsageError:
    lines = text.split("\n")
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    return UsageError(message, location=Location(name, line, col), source_line=shown)

"""Where a call comes from, as files tell it: the modules around it, and the lines of the model's source."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the model's source that a call comes from."""

    file: str
    line: int


_FRAME = re.compile(r'File "([^"\n]*)", line (\d{1,9}), in ')
_SEPARATOR = r"[/\\]"
_MODULES = r"[/\\]torch[/\\]nn[/\\]|^(?:module|functional|container)\.py$|^<"
_LIBRARY = re.compile(rf"[/\\](?:site|dist)-packages[/\\]|{_MODULES}")
_PYTORCH = re.compile(rf"[/\\](?:site|dist)-packages[/\\]torch[/\\]|{_MODULES}")


def modules_of(stack: str) -> tuple[tuple[str, str], ...]:
    """Path and class of the modules around a call, from the model ("") inwards, by the text that a file has of them."""
    entries = (entry.split(",") for entry in stack.split(";") if entry)
    return tuple((parts[1], parts[-1]) for parts in entries if len(parts) >= 3)


def line_of(trace: str) -> str | None:
    """The line of source that a trace ends in, as reports show it, `model.py:41`; None for a trace without any."""
    found = _line([SourceLine(file, int(line)) for file, line in _FRAME.findall(trace)])
    return None if found is None else f"{re.split(_SEPARATOR, found.file)[-1]}:{found.line}"


def _line(frames: list[SourceLine]) -> SourceLine | None:
    """
    The line of source that a reader looks for: the innermost one of the user's own files.

    Without any, that of a library which is not PyTorch itself, or the innermost line; none of generated code.
    """
    for foreign in (_LIBRARY, _PYTORCH):
        own = [frame for frame in frames if not foreign.search(frame.file)]
        if own:
            return own[-1]
    return next((frame for frame in reversed(frames) if not frame.file.startswith("<")), None)

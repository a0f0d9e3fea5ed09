"""
What is under way, on standard error where that is a terminal, for work that takes a while: a bar where the number of
steps is known, the stage of a compilation otherwise. Both are erased at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Protocol

from npuc.compiler.cli.shared import aside
from npuc.compiler.core.cache.streams import note_text, unnoted
from npuc.compiler.core.stages import remarks_to, told_to

if TYPE_CHECKING:
    from rich.progress import Progress

    from npuc.compiler.core.display.progress import Advance
    from npuc.compiler.core.options import Say

SHOWN_AFTER_SECONDS = 2.0
"""A compilation that ends earlier shows no stage."""


@contextmanager
def progress(name: str, count: int, done: int = 0, *, bar: bool) -> Generator[tuple[Advance, Callable[[str], None]]]:
    """What advances a bar on standard error, where that is a terminal, and what writes a line there."""
    if not bar or not sys.stderr.isatty():
        yield lambda number, what=None: None, lambda text: print(f"npuc: {text}", file=sys.stderr)
        return
    from npuc.compiler.core.display.progress import terminal_bar

    with terminal_bar(name, count, done) as both:
        yield both


class Line(Protocol):
    """Writes a line on standard error, or on standard output as a part of the result (`out`)."""

    def __call__(self, text: str, *, out: bool = False) -> None: ...


@contextmanager
def stages(*, quiet: bool) -> Generator[Line]:
    """
    What writes a line while a compilation runs, whose stage is shown on standard error if it takes long.

    Nothing but such lines is written with `quiet`, and where standard error is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda text, *, out=False: print(text, file=sys.stdout if out else sys.stderr)
        return
    shown = _Stages()
    try:
        with told_to(shown.at):
            yield shown.line
    finally:
        shown.end()


def said(line: Callable[[str], None], *, quiet: bool) -> Say:
    """Where messages go: IR that was asked for at once, by `line`; the others, unless `quiet`, behind the result."""

    def say(text: str) -> None:
        if text.startswith("//"):
            line(text)
        elif not quiet:
            aside(text)

    return say


@contextmanager
def warnings_shown(*, quiet: bool = False) -> Generator[None]:
    """What passes remark in this block is said as warnings beside the result, unless `quiet`."""
    with remarks_to(None if quiet else lambda text: aside(f"warning: {text}")):
        yield


class _Stages:
    """The stage of a compilation, from `SHOWN_AFTER_SECONDS` on; a thread shows it, as a stage may itself take long."""

    def __init__(self) -> None:
        self._stage, self._lock, self._ended = "", Lock(), False
        self._bar: Progress | None = None
        self._timer = Timer(SHOWN_AFTER_SECONDS, self._show)
        self._timer.daemon = True
        self._timer.start()

    def at(self, stage: str) -> None:
        """A stage begins."""
        self._stage = stage
        bar = self._bar
        if bar is not None:
            bar.update(bar.task_ids[0], description=_text(stage))

    def line(self, text: str, *, out: bool = False) -> None:
        """Write a line, above the stage if that is shown."""
        with self._lock:
            if self._bar is None:
                print(text, file=sys.stdout if out else sys.stderr)
            elif out:
                # Standard output may be the same terminal: the stage is erased while the line is written.
                self._bar.stop()
                print(text, flush=True)
                self._bar.start()
            else:
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
                note_text(f"{text}\n")

    def end(self) -> None:
        """Erase the stage."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._ended:
                return
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            console = Console(file=unnoted(sys.stderr))
            bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
            bar.add_task(_text(self._stage), total=None)
            bar.start()
            self._bar = bar


def _text(stage: str) -> str:
    from rich.markup import escape

    return escape(f"npuc: {stage}")

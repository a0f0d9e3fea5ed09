"""
Progress of a long call from Python: a bar in a terminal or in a notebook, which is erased at the end.

    with watched("sweep", 1200, asked=None) as advance:
        for point in points: advance(1)

Nothing is shown in a program that nobody looks at, unless it asks. rich draws the bar of a terminal; in a notebook it
would need ipywidgets, so that there it is a line of HTML, which the notebook's own display renews.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from npuc.compiler.core.display.words import cut

REFRESH_SECONDS = 0.1
NOTEBOOK_SECONDS = 0.3
"""Each renewal is a message to the browser."""
SHOWN_AFTER_SECONDS = 0.5
"""A call in a notebook that ends earlier shows nothing."""


class Advance(Protocol):
    """Moves a bar on by a number of steps, and says what they were."""

    def __call__(self, number: int, what: str | None = None) -> None: ...


@contextmanager
def watched(name: str, count: int, asked: bool | None) -> Generator[Advance]:
    """
    What advances a bar, where one is shown: if it is `asked` for, by default in a notebook and in an interactive
    session whose standard error is a terminal.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    shell = _notebook() if asked is not False else None
    if shell is not None:
        with _in_notebook(name, count) as advance:
            yield advance
    elif asked or (asked is None and is_terminal and hasattr(sys, "ps1")):
        with terminal_bar(name, count) as (advance, _):
            yield advance
    else:
        yield lambda number, what=None: None


def _notebook() -> object | None:
    """The shell of the notebook that runs this; None anywhere else. It imports nothing that is not there."""
    known = sys.modules.get("IPython")
    shell: Any = None if known is None else getattr(known, "get_ipython", lambda: None)()
    return shell if getattr(shell, "kernel", None) is not None else None


@contextmanager
def terminal_bar(name: str, count: int, done: int = 0) -> Generator[tuple[Advance, Callable[[str], None]]]:
    """What advances a bar on standard error, and what writes a line there."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    named = TextColumn("{task.description}")
    columns = (named, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # Without a thread of its own: one would be copied into processes that work beside it.
    shown = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    with shown:
        task = shown.add_task(escape(name), total=count, completed=done)
        shown.refresh()
        last = time.monotonic()

        def advance(number: int, what: str | None = None) -> None:
            nonlocal last
            shown.update(task, advance=number, description=escape(what or name))
            if shown.finished or time.monotonic() - last > REFRESH_SECONDS:
                shown.refresh()
                last = time.monotonic()

        yield advance, lambda text: shown.console.print(escape(f"npuc: {text}"), highlight=False, soft_wrap=True)


@contextmanager
def _in_notebook(name: str, count: int) -> Generator[Advance]:
    """A line that is renewed while a call in a notebook runs, and empty after it."""
    display: Any = import_module("IPython.display")
    begin = last = time.monotonic()
    handle: Any = None
    done = 0

    def advance(number: int, what: str | None = None) -> None:
        nonlocal done, last, handle
        done += number
        now = time.monotonic()
        if now - begin < SHOWN_AFTER_SECONDS or now - last < NOTEBOOK_SECONDS:
            return
        last = now
        line = display.HTML(bar_html(what or name, done, count, now - begin))
        if handle is None:
            handle = display.display(line, display_id=True)
        else:
            handle.update(line)

    try:
        yield advance
    finally:
        if handle is not None:
            handle.update(display.HTML(""))


def bar_html(name: str, done: int, count: int, seconds: float) -> str:
    """A bar with what is done of how much, how long that took, and about how long the rest takes."""
    from html import escape

    rest = f", about {_time(seconds / done * (count - done))} left" if 0 < done < count else ""
    return (
        f'<div style="font-size:13px">{escape(cut(name))} <progress value="{min(done, count)}" max="{max(count, 1)}">'
        f"</progress> {done:,} of {count:,} in {_time(seconds)}{rest}</div>"
    )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"

"""A bar on standard error for work that takes a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

REFRESH_SECONDS = 0.1


@contextmanager
def progress(
    name: str, count: int, done: int = 0, *, bar: bool
) -> Generator[tuple[Callable[[int], None], Callable[[str], None]]]:
    """What advances a bar on standard error, where that is a terminal, and what writes a line there."""
    if not bar or not sys.stderr.isatty():
        yield lambda _: None, lambda text: print(f"npuc: {text}", file=sys.stderr)
        return
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

    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # Without a thread of its own: one would be copied into processes that work beside it.
    shown = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    with shown:
        task = shown.add_task(name, total=count, completed=done)
        shown.refresh()
        last = time.monotonic()

        def advance(number: int) -> None:
            nonlocal last
            shown.advance(task, number)
            if time.monotonic() - last > REFRESH_SECONDS:
                shown.refresh()
                last = time.monotonic()

        yield advance, lambda text: shown.console.print(escape(f"npuc: {text}"), highlight=False, soft_wrap=True)

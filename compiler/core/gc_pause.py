"""Garbage collection while programs are built and compiled."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_cycle_collection() -> Generator[None]:
    """
    Pause Python's search for reference cycles.

    A program is many objects that all live until the end, which the search walks again and again: it took half of the
    time of large networks, and made it grow faster than their size.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_cycles(*, full: bool = False) -> None:
    """
    Free the reference cycles among the objects allocated since the last collection, or with `full` among all.

    The time of a full collection grows with everything that the process holds. An object that is alive now is left to
    the next one.
    """
    gc.collect(2 if full else 1)

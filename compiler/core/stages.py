"""
What a long computation is at, told to whoever listens.

    with told_to(print):
        for op in each("schedule", "contractions", ops): …

Where nobody listens, telling costs nothing and shows nothing.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[str], None]
T = TypeVar("T")
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Listener) -> Generator[None]:
    """The text of each stage that begins in this block goes to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(stage: str) -> None:
    """A stage begins."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)


def each(stage: str, what: str, items: Sequence[T]) -> Iterator[T]:
    """The items, where each one is told before it is worked on: "schedule 3 of 13 contractions"."""
    for number, item in enumerate(items, 1):
        tell(f"{stage} {number:,} of {len(items):,} {what}")
        yield item

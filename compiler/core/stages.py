"""
What a computation tells whoever listens: the stage that it is at, and remarks for the user.

    with told_to(print), remarks_to(warnings.append):
        for op in each("schedule", "contractions", ops): …

A remark, such as that an option has no effect, becomes a line of a report's `warnings`, or a warning on standard error.
Where nobody listens, telling costs nothing and shows nothing.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[str], None]
T = TypeVar("T")
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_remarks: ContextVar[Listener | None] = ContextVar("remarks", default=None)
_made: ContextVar[int] = ContextVar("made", default=0)


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


@contextmanager
def remarks_to(listener: Listener | None) -> Generator[None]:
    """The remarks that are made in this block go to a listener; None: to nobody."""
    token = _remarks.set(listener)
    try:
        yield
    finally:
        _remarks.reset(token)


def is_listened_to() -> bool:
    """Whether somebody gets the remarks that are made here."""
    return _remarks.get() is not None


def remarks_made() -> int:
    """How many remarks somebody got so far."""
    return _made.get()


def remark(text: str) -> None:
    """Tell the user something that is no error."""
    listener = _remarks.get()
    if listener is not None:
        _made.set(_made.get() + 1)
        listener(text)

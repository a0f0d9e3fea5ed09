"""
A guard around code that is not npuc's: whatever it raises becomes one error that names its owner.

    with Foreign(lambda error: UsageError(f"{path}: {error}")):
        exec(user_code)
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.frozen import frozen


@frozen
class Foreign:
    """
    A context in which any `Exception` but npuc's own, and an exit, is replaced by what `translate` makes of it.

    An interrupt passes.
    """

    translate: Callable[[BaseException], NpucError]

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, NpucError):
            raise self.translate(error) from error


MOST_LETTERS = 240
"""The most letters that are repeated of what another program says, which may quote whole files."""


def summary(error: BaseException) -> str:
    """An exception in one line: its class and the first line of its text."""
    text = first_line(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def first_line(error: BaseException) -> str:
    """The first line of an exception's text, as far as it is short."""
    text = str(error).strip().partition("\n")[0]
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"

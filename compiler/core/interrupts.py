"""
Signals that end a command, SIGINT (Ctrl-C) and SIGTERM: one line on standard error, and an exit status each.

While a verb works, a signal raises `KeyboardInterrupt`, or its subclass `Terminated`, so that the verb can close what
it has open. At any other time, and where Python would drop the exception, the process leaves at once: modules that are
loading, and an interpreter that ends, would answer an exception with a traceback. So does a second signal.

Imports the standard library alone, and little of it: this is loaded before anything else.
"""

from __future__ import annotations

import os
import signal
import sys

from npuc.compiler.core.files import unfinished

TYPE_CHECKING = False  # the modules of what is named in types alone take longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType
    from typing import NoReturn

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
SHOW_CURSOR = b"\x1b[?25h"
"""What a bar of progress hides while it runs."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, where a verb works."""


class WithResult(KeyboardInterrupt):
    """The end of a verb that has written what it had when `interrupt` came; files get their names."""

    def __init__(self, interrupt: KeyboardInterrupt):
        super().__init__()
        self.interrupt = interrupt


class _State:
    """Whether a signal raises an exception."""

    raising = False


def install() -> None:
    """Take over both signals of this process, unless whoever started it has them ignored."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _heard)
    sys.unraisablehook = _dropped


def begin_raising() -> None:
    """From now on a signal raises an exception."""
    _State.raising = True


def end_raising() -> None:
    """From now on a signal ends the process."""
    _State.raising = False


class Held:
    """Signals wait until the block is over. Windows, which has no mask of signals, does not hold them."""

    def __enter__(self) -> None:
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, WORDS) if hasattr(signal, "pthread_sigmask") else None

    def __exit__(self, *raised: object) -> None:
        if self._before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def leave_to_parent() -> None:
    """In a worker process: Ctrl-C is for its parent, which ends it by SIGTERM without a word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WORDS)


def say(error: KeyboardInterrupt) -> int:
    """Print the line of a verb that was ended, with the notes of its exception; returns the exit status."""
    number = signal_of(error)
    print(_line(number, getattr(error, "__notes__", ())), file=sys.stderr)
    return status_of(number)


def signal_of(error: KeyboardInterrupt) -> signal.Signals:
    """The signal that an exception stands for."""
    error = error.interrupt if isinstance(error, WithResult) else error
    return signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT


def status_of(number: int) -> int:
    """The exit status of a process that a signal ended, as shells count."""
    return 128 + number


def _line(number: signal.Signals, notes: Iterable[str] = ()) -> str:
    return "; ".join((f"npuc: {WORDS[number]}", *notes))


def _heard(number: int, frame: FrameType | None) -> None:
    if not _State.raising:
        _leave(signal.Signals(number))
    _State.raising = False
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _dropped(args: sys.UnraisableHookArgs) -> None:
    """An exception that nobody can catch, for instance in a destructor."""
    if isinstance(args.exc_value, KeyboardInterrupt):
        _leave(signal_of(args.exc_value))
    sys.__unraisablehook__(args)


def _leave(number: signal.Signals) -> NoReturn:
    """End the process, with a line and without half-written files."""
    unfinished.remove_all()
    try:
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + f"{_line(number)}\n".encode())
    except OSError:
        pass
    os._exit(status_of(number))

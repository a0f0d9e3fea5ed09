"""A result from the store is written again: the same text on the same streams, and the same files."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from zlib import decompress, error

from npuc.compiler.core.cache.frames import unframed
from npuc.compiler.core.cache.streams import (
    ERR,
    FILE,
    FLUSHED,
    FOLDER,
    NAMED,
    OUT,
    events_of,
    prepare_streams,
    text_of,
)

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from npuc.compiler.core.errors import NpucError

Event = tuple[bytes, list[bytes]]


def replay(packed: bytes) -> int | None:
    """
    Write a result; returns the exit status, None where it cannot be written, so that the command has to say why.

    Files are written first and get their names last, as in a command that runs.
    """
    try:
        events = events_of(unframed(decompress(packed)))
    except (error, ValueError):
        return None
    prepare_streams()
    if all(event != NAMED for event, _ in events):
        return _printed(events)
    from npuc.compiler.core.errors import NpucError
    from npuc.compiler.core.files.outputs import Outputs

    outputs = Outputs()
    begun, status = False, 0
    place = [event for event, _ in events].index(NAMED)
    try:
        with outputs:
            _write(events)
            begun = True
            status = _printed(events[:place])
            if status:
                raise _Failed
    except NpucError as problem:
        return _told(problem) if begun else None
    except _Failed:
        return status
    return _printed(events[place + 1 :])


class _Failed(Exception):
    """What was to be printed could not be, so that files get no names."""


def _write(events: list[Event]) -> None:
    """Write the files, under temporary names. Raises `UsageError`."""
    from npuc.compiler.core.files.outputs import make_folder, write_file

    for event, data in events:
        if event == FOLDER:
            make_folder(text_of(data[0]))
        elif event == FILE:
            write_file(text_of(data[0]), data[1])


def _printed(events: list[Event]) -> int:
    """Print what was printed; returns the exit status. A reader that went away is no error, a full disk is."""
    try:
        for event, data in events:
            if event == OUT:
                sys.stdout.write(text_of(data[0]))
            elif event == FLUSHED:
                sys.stdout.flush()
            elif event == ERR:
                with suppress(OSError):  # whoever does not read it has the result
                    print(text_of(data[0]), end="", file=sys.stderr)
        sys.stdout.flush()
    except OSError as problem:
        from npuc.compiler.core.errors import UsageError

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if problem.errno == errno.EPIPE:
            return 0
        return _told(UsageError(f"cannot write to standard output: {problem.strerror}"))
    return 0


def _told(problem: NpucError) -> int:
    """Print an error; returns its exit status."""
    try:
        print(problem.render(), file=sys.stderr, flush=True)
    except OSError:
        pass
    return problem.exit_code

"""What all verbs share: errors and exit statuses, options beside the groups of `options`, writing results."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from math import inf
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.core import interrupts
from npuc.compiler.core.errors import InternalError, NpucError, UsageError
from npuc.compiler.core.files.outputs import Outputs, make_folder, reserve, write_file
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.numbers import BLANKS, integer_of, real_of

if TYPE_CHECKING:
    from rich.console import Console

Defines = Annotated[list[str] | None, typer.Option("-D", metavar="NAME=VALUE", help="Set a network parameter.")]
Load = Annotated[
    list[str] | None, typer.Option("--load", metavar="FILE.py", help="Load your own passes from a Python file.")
]


def whole(least: int | None = None) -> Callable[[str | int], int]:
    """A reader of the integers that an option takes, of at least so much."""

    def read(text: str | int) -> int:
        value = text if isinstance(text, int) else integer_of(text, MOST_DIGITS)
        if value is None or (least is not None and value < least):
            raise typer.BadParameter(f"found '{text}', expected an integer{'' if least is None else f' from {least}'}")
        return value

    return read


def real(least: float = -inf, most: float = inf) -> Callable[[str | float], float]:
    """A reader of the numbers that an option takes, in a range if it has one."""
    wanted = "a number" if least == -inf else f"a number from {least:g} to {most:g}"

    def read(text: str | float) -> float:
        value = text if isinstance(text, int | float) else real_of(text)
        if value is None or not least <= value <= most:
            raise typer.BadParameter(f"found '{text}', expected {wanted}")
        return value

    return read


MOST_DIGITS = 100
"""The integer of an option may be larger than 64 bits: a seed is any integer."""
MaxOps = Annotated[
    int, typer.Option("--max-ops", metavar="N", parser=whole(1), help="Refuse a network of more operations.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the Python traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Suppress messages and warnings.")]


def report_error(error: NpucError) -> int:
    """Print an error on standard error; returns its exit status."""
    with suppress(OSError):  # whoever does not read the message gets the status
        print(error.render(), file=sys.stderr, flush=True)
    return error.exit_code


_asides: list[str] = []
"""What a verb has to say beside its result."""


def aside(text: str) -> None:
    """Say something beside the result, such as a warning: on standard error, once the result is there."""
    _asides.append(text)


@frozen
class Verb:
    """
    The body of a verb: whatever ends it becomes an exit status. What it says `aside` comes behind its result, and not
    at all where an error takes the result's place.

    Errors are printed as one message each. Anything that is not npuc's own error is a defect of npuc (70), of which
    only `--debug` shows the traceback. Files that the body writes get their names when it has succeeded, after standard
    output has taken all that was printed.
    """

    debug: bool = False
    _outputs: Outputs = field(default_factory=Outputs)

    def __enter__(self) -> None:
        self._outputs.__enter__()
        interrupts.begin_raising()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupts.end_raising()
        try:
            if error is None or isinstance(error, interrupts.WithResult):
                sys.stdout.flush()
        except OSError as e:
            error = e
        try:
            failed = None if _has_succeeded(error) else error
            with interrupts.Held():
                self._outputs.__exit__(failed and type(failed), failed, trace)
        except UsageError as e:
            error = e
        if error is None or isinstance(error, typer.Exit | interrupts.WithResult):
            _say_asides()
        if error is None or isinstance(error, typer.Exit):
            return
        if self.debug and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
            import traceback

            traceback.print_exception(error)
        raise typer.Exit(self._status(error)) from None

    def _status(self, error: BaseException) -> int:
        match error:
            case NpucError():
                return report_error(error)
            case OSError() if error.errno == errno.EPIPE:
                return 0
            case OSError() if error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO):
                return report_error(UsageError(f"cannot write to standard output: {error.strerror}"))
            case KeyboardInterrupt():
                return interrupts.say(error)
            case SystemExit():
                return error.code if isinstance(error.code, int) else 2
            case MemoryError():
                return report_error(UsageError("out of memory", hint="make the network or its data smaller"))
            case _:
                return report_error(_defect(error))


def forget_asides() -> None:
    """Begin anew: what an earlier command had to say, and did not, is nobody's."""
    _asides.clear()


def _say_asides() -> None:
    with suppress(OSError):  # whoever does not read them has the result
        for text in dict.fromkeys(_asides):
            print(f"npuc: {text}", file=sys.stderr)
    _asides.clear()


def _has_succeeded(error: BaseException | None) -> bool:
    """Whether a verb has a result, so that its files may have their names; a reader that went away is no error."""
    if isinstance(error, OSError):
        return error.errno == errno.EPIPE
    return error is None or isinstance(error, typer.Exit | interrupts.WithResult)


def _defect(error: BaseException) -> InternalError:
    text = " ".join(str(error).split())
    message = f"a defect in npuc: {type(error).__name__}: {text[:200]}"
    kept = getattr(error, "__notes__", None)
    if kept:
        return InternalError(message, hint=f"please report it; {kept[-1]}")
    return InternalError(message, hint="please report it with the source and the output of --debug")


def is_defect(error: BaseException) -> bool:
    """Whether an error is a defect of npuc rather than a message of its own or a failure of the system."""
    return not isinstance(error, NpucError | OSError | MemoryError) or isinstance(error, InternalError)


def flush(status: int) -> int:
    """Flush standard output; a reader that went away is no error, a full disk is."""
    try:
        sys.stdout.flush()
    except OSError as e:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if e.errno != errno.EPIPE:
            return report_error(UsageError(f"cannot write to standard output: {e.strerror}"))
    return status


def parse_defines(items: list[str] | None) -> dict[str, int | str]:
    """
    `NAME=VALUE` items as a dictionary; a value that is an integer becomes one.

    Raises `UsageError` for another form and for a name given twice.
    """
    result: dict[str, int | str] = {}
    for item in items or []:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"-D {item}: expected NAME=VALUE", hint="for example -D batch=8")
        if name.strip() in result:
            raise UsageError(
                f"-D {name.strip()} is given twice", hint=f"npuc sweep --vary {name.strip()}=A,B compares both"
            )
        number = None if value.strip(BLANKS).startswith("+") else integer_of(value, 19)
        result[name.strip()] = value if number is None else number
    return result


PIPED_WIDTH = 100
"""How wide text is drawn where there is no terminal to ask."""
UNLIMITED = 10_000
"""The width of tables where nobody says one."""


def terminal_width() -> int:
    """The width of the terminal on standard output, else one that fits most pages."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else asked_width() or PIPED_WIDTH


def asked_width() -> int | None:
    """The width that COLUMNS asks for, which counts where there is no terminal as well."""
    asked = integer_of(os.environ.get("COLUMNS", ""), 5)
    return asked if asked is not None and asked > 0 else None


def make_console() -> Console:
    """A console on standard output: as wide as a terminal or COLUMNS, as wide as needed when piped without it."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "broken pipe")

    terminal = sys.stdout.isatty()
    colour = terminal and not os.environ.get("NO_COLOR")
    return Quiet(
        file=sys.stdout,
        highlight=False,
        width=None if terminal else asked_width() or UNLIMITED,
        force_terminal=colour,
        no_color=not colour,
        color_system="auto" if colour else None,
    )


def check_rows(rows: str | None, *targets: str | None) -> None:
    """Raise `UsageError` for rows of a table that is not printed, since a result goes to standard output."""
    if rows is not None and "-" in targets:
        raise UsageError(
            f"--rows {rows} is about the table, which is not printed where a result goes to standard output",
            hint="leave it out, or give the result a file",
        )


def check_target(path: str | None) -> None:
    """
    Raise `UsageError` when a result cannot be written to `path` since it has no folder, or since another result goes
    there; before work is done for it.
    """
    if path is None or path == "-":
        return
    try:
        file = Path(path)
        folder, home = bool(path) and file.is_dir(), file.absolute().parent.is_dir()
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot write '{path}': {e}") from e
    if not path or folder or not home:
        reason = "the name is empty" if not path else "it is a folder" if folder else "its folder does not exist"
        raise UsageError(f"cannot write '{path}': {reason}")
    reserve(path)


def check_folder(path: str) -> None:
    """Raise `UsageError` when several files cannot be written to the folder `path`, which need not exist yet."""
    if path == "-":
        raise UsageError("several files cannot go to standard output", hint="name a folder")
    try:
        folder = Path(path)
        fits = bool(path) and (folder.is_dir() or (not folder.exists() and folder.absolute().parent.is_dir()))
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot write '{path}': {e}") from e
    if not fits:
        raise UsageError(f"cannot write '{path}': it is not a folder, nor can it be made one")


def write_folder(path: str, files: Mapping[str, str | bytes]) -> None:
    """Write files into a folder, which is made if it does not exist. Raises `UsageError` when it cannot."""
    make_folder(path)
    for name, data in files.items():
        write_file(os.path.join(path, name), data.encode() if isinstance(data, str) else data)


def write_result(path: str, text: str) -> None:
    """Write a result to a file, or to standard output for `-`. Raises `UsageError` when it cannot."""
    if path == "-":
        sys.stdout.write(text)
    else:
        write_file(path, text.encode())

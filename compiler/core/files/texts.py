"""Texts of files, in UTF-8."""

from codecs import BOM_UTF8
from pathlib import Path

from npuc.compiler.core.errors import Location, NpucError, SourceError, UsageError

SIZE_LIMIT = 1 << 20
"""The most bytes of a text that describes a machine, its limits or a training."""


def decoded(data: bytes, filename: str, error: type[NpucError] = SourceError) -> str:
    """The text that bytes hold, without a byte order mark. Raises `error`, with the place, if they are not UTF-8."""
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        before = data[: e.start].decode()
        line, col = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"found the byte 0x{data[e.start]:02x}, which is not UTF-8"
        raise error(message, location=Location(filename, line, col), hint="expected a text in UTF-8") from None


def text_of_file(path: Path, name: str, what: str = "hardware file") -> str:
    """The text of a file of at most 1 MiB, lines ended by LF; `what` is the word for it. Raises `UsageError`."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise UsageError(f"{what} '{name}' is no regular file")
        if size > SIZE_LIMIT:
            raise UsageError(f"{name}: a {what} is at most {SIZE_LIMIT >> 20} MiB")
        data = path.read_bytes()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise UsageError(f"cannot read {what} '{name}': {reason}") from e
    return decoded(data, name, UsageError).replace("\r\n", "\n")

"""Texts of files that hardware descriptions are read from."""

from pathlib import Path

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.texts import decoded

SIZE_LIMIT = 1 << 20


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

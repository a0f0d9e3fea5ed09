"""The standard streams of a command: made ready, and taken down so that what it wrote can be written again."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self, TextIO

OUT, ERR, FLUSHED, FOLDER, FILE, NAMED = b"o", b"e", b"f", b"d", b"w", b"n"
"""
What happens while a command runs: text on standard output or error, standard output flushed, a folder made and a file
written (each with its path), and the files get their names.
"""
MOST_BYTES = 64 << 20
"""The longest result that is kept."""


def prepare_streams() -> None:
    """Streams that were closed lead nowhere, and a character that one cannot show becomes a question mark."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream: object = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
        elif name != "stdin" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


class Transcript:
    """What a command writes, in its order: events with their data. None is kept of one that writes too much."""

    def __init__(self) -> None:
        self.events: list[tuple[bytes, list[str | bytes]]] = []
        self.refusal: str | None = None
        self._size = 0

    def __enter__(self) -> Self:
        global _current
        self._streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Tee(sys.stdout, OUT, self), Tee(sys.stderr, ERR, self)  # type: ignore
        _current = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current
        _current = None
        sys.stdout, sys.stderr = self._streams

    def add(self, event: bytes, *data: str | bytes) -> None:
        """Note an event; text behind text of the same stream is one."""
        self._size += sum(map(len, data))
        if self._size > MOST_BYTES:
            self.refusal = "the result is too long"
            self.events.clear()
        if self.refusal is not None:
            return
        if self.events and self.events[-1][0] == event and event in (OUT, ERR, FLUSHED):
            self.events[-1][1].extend(data)
        else:
            self.events.append((event, list(data)))

    def parts(self) -> list[bytes]:
        """The events, as `framed` takes them: each with the number of its data before them."""
        found: list[bytes] = []
        for event, data in self.events:
            texts = [_bytes("".join(map(str, data)))] if event in (OUT, ERR) else [_bytes(one) for one in data]
            found += [event + len(texts).to_bytes(2, "little"), *texts]
        return found


def events_of(parts: list[bytes]) -> list[tuple[bytes, list[bytes]]]:
    """The events of `Transcript.parts`. Raises `ValueError` for what is none of it."""
    found: list[tuple[bytes, list[bytes]]] = []
    place = 0
    while place < len(parts):
        count = int.from_bytes(parts[place][1:], "little")
        if place + count >= len(parts):
            raise ValueError("an event without its data")
        found.append((parts[place][:1], parts[place + 1 : place + 1 + count]))
        place += 1 + count
    return found


def text_of(data: bytes) -> str:
    """The text that an event holds."""
    return data.decode("utf-8", "surrogatepass")


def _bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data


class Tee:
    """A stream whose text is noted as well."""

    def __init__(self, stream: TextIO, event: bytes, transcript: Transcript):
        self.stream, self._event, self._transcript = stream, event, transcript

    def write(self, text: str) -> int:
        """Write, and note it."""
        count = self.stream.write(text)
        self._transcript.add(self._event, text)
        return count

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all, and note it."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush; of standard output that is noted, as its order beside standard error depends on it."""
        self.stream.flush()
        if self._event == OUT:
            self._transcript.add(FLUSHED)

    def __getattr__(self, name: str) -> object:
        if name == "buffer":
            self._transcript.refusal = "bytes were written"
        return getattr(self.stream, name)


def unnoted(stream: TextIO) -> TextIO:
    """The stream itself, for what is erased again, such as the progress of a command."""
    return stream.stream if isinstance(stream, Tee) else stream


def note_text(text: str) -> None:
    """Note a line of standard error that was written beside its stream."""
    if _current is not None:
        _current.add(ERR, text)


def note_files(folders: Iterable[str], files: Iterable[tuple[str, bytes]]) -> None:
    """Note folders and files that get their names now."""
    if _current is not None:
        if any(event == NAMED for event, _ in _current.events):
            _current.refusal = "files were written twice"
        for folder in folders:
            _current.add(FOLDER, folder)
        for path, data in files:
            _current.add(FILE, path, data)
        _current.add(NAMED)


def is_noted() -> bool:
    """Whether what is written is noted."""
    return _current is not None


_current: Transcript | None = None

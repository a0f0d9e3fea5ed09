"""
The wire format of protocol buffers, as far as ONNX files use it: https://protobuf.dev/programming-guides/encoding.

A message is a row of fields; each is a number, a wire type and a value. Reading one message notes where its fields are
and leaves their content unread, so that large content costs nothing until somebody asks for it. What a file says of
itself is not believed: every length is checked against the end of the message around it, groups are refused, nesting
is bounded, and the fields of all messages together are counted.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.errors import SourceError

Buffer = bytes | mmap.mmap
Span = tuple[int, int]
"""Where content lies in a file: its first byte, and the byte behind its last."""

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
MAX_FIELDS = 2_000_000
"""The most fields of all messages of a file that are read; large models have a tenth of them."""
MAX_DEPTH = 64
"""How deep messages may be nested; protocol buffers' own readers stop at 100."""
MAX_NUMBERS = 1 << 20
"""The most numbers in a list that is no tensor."""
MAX_TEXT = 1 << 20
"""The most bytes in a name."""
_WORD = 1 << 64


@dataclass(slots=True)
class WireFile:
    """The bytes of a file, its name in messages, and how many fields of it may still be read."""

    data: Buffer
    filename: str
    left: int = MAX_FIELDS

    def corrupt(self, message: str) -> SourceError:
        """The error of a file that is no right message."""
        return SourceError(f"{self.filename}: {message}", hint="the file is damaged, or is no ONNX model")

    def message(self) -> Message:
        """The message that the whole file is."""
        return Message(self, "the model", 0, len(self.data), 0)


class Message:
    """
    One message: its fields by number, unread.

    `title` names it in errors. Raises `SourceError` for content that is no message.
    """

    __slots__ = ("_depth", "_fields", "_file", "title")

    def __init__(self, file: WireFile, title: str, start: int, end: int, depth: int):
        if depth > MAX_DEPTH:
            raise file.corrupt(f"{title} is nested deeper than {MAX_DEPTH} messages")
        self.title = title
        self._file = file
        self._depth = depth
        try:
            self._fields = self._scan(start, end)
        except IndexError:
            raise file.corrupt(f"{title} ends early, at byte {len(file.data)}") from None

    def _scan(self, at: int, end: int) -> dict[int, list[tuple[int, int, int]]]:
        """The fields by number: wire type, and the value or where the content begins, and where it ends."""
        file, data = self._file, self._file.data
        found: dict[int, list[tuple[int, int, int]]] = {}
        left = file.left
        while at < end:
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = self._varint(at - 1)
            wire = tag & 7
            if wire == LENGTH:
                first = data[at]
                at += 1
                if first >= 0x80:
                    first, at = self._varint(at - 1)
                entry = (wire, at, at + first)
                at += first
            elif wire == VARINT:
                first = data[at]
                at += 1
                if first >= 0x80:
                    first, at = self._varint(at - 1)
                entry = (wire, first, at)
            elif wire in (FIXED32, FIXED64):
                size = 4 if wire == FIXED32 else 8
                entry = (wire, at, at + size)
                at += size
            else:
                raise file.corrupt(f"{self.title} has a field of wire type {wire} at byte {at}, expected 0, 1, 2 or 5")
            left -= 1
            if left < 0:
                raise SourceError(f"{file.filename}: found more than {MAX_FIELDS} fields, expected a smaller model")
            if tag < 8:
                raise file.corrupt(f"{self.title} has a field of number 0 at byte {at}")
            found.setdefault(tag >> 3, []).append(entry)
        if at > end:
            raise file.corrupt(f"{self.title} ends at byte {end}, within a field of it")
        file.left = left
        return found

    def _varint(self, at: int) -> tuple[int, int]:
        """The number that begins at a byte, and the byte behind it."""
        data, value, shift = self._file.data, 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value % _WORD, at
            shift += 7
            if shift > 63:
                raise self._file.corrupt(f"{self.title} has a number of more than 10 bytes at byte {at}")

    def _of(self, number: int, name: str, *wires: int) -> list[tuple[int, int, int]]:
        """The fields of a number. Raises `SourceError` if one has another wire type."""
        entries = self._fields.get(number, [])
        for entry in entries:
            if entry[0] not in wires:
                raise self._file.corrupt(f"{self.title}: '{name}' has wire type {entry[0]}, expected {wires[0]}")
        return entries

    def has(self, number: int) -> bool:
        """Whether there is a field of a number."""
        return number in self._fields

    def count(self, number: int) -> int:
        """How many fields have a number."""
        return len(self._fields.get(number, ()))

    def spans(self, number: int, name: str) -> list[Span]:
        """Where the contents of repeated bytes lie."""
        return [(start, end) for _, start, end in self._of(number, name, LENGTH)]

    def messages(self, number: int, name: str) -> list[Message]:
        """The messages in repeated fields."""
        file, depth = self._file, self._depth + 1
        return [Message(file, name, start, end, depth) for _, start, end in self._of(number, name, LENGTH)]

    def message(self, number: int, name: str) -> Message | None:
        """The message in a field that is there at most once; None where it is not."""
        found = self._of(number, name, LENGTH)
        if len(found) > 1:
            raise self._file.corrupt(f"{self.title} has {len(found)} times '{name}', expected it once")
        return Message(self._file, name, found[-1][1], found[-1][2], self._depth + 1) if found else None

    def strings(self, number: int, name: str) -> tuple[str, ...]:
        """Repeated texts."""
        return tuple(self._text(start, end, name) for _, start, end in self._of(number, name, LENGTH))

    def string(self, number: int, name: str) -> str:
        """A text, "" where there is none."""
        found = self._of(number, name, LENGTH)
        return self._text(found[-1][1], found[-1][2], name) if found else ""

    def contents(self, number: int, name: str) -> tuple[bytes, ...]:
        """Repeated bytes that are no tensor."""
        spans = self.spans(number, name)
        if sum(end - start for start, end in spans) > MAX_TEXT:
            raise SourceError(f"{self._file.filename}: {self.title}: '{name}' has more than {MAX_TEXT} bytes")
        return tuple(self._file.data[start:end] for start, end in spans)

    def _text(self, start: int, end: int, name: str) -> str:
        if end - start > MAX_TEXT:
            raise SourceError(f"{self._file.filename}: {self.title}: '{name}' has more than {MAX_TEXT} bytes")
        try:
            return self._file.data[start:end].decode()
        except UnicodeDecodeError:
            raise self._file.corrupt(f"{self.title}: '{name}' is not UTF-8") from None

    def integer(self, number: int, name: str, default: int = 0) -> int:
        """A signed integer, the last of several."""
        found = self._of(number, name, VARINT)
        return signed(found[-1][1]) if found else default

    def integers(self, number: int, name: str) -> tuple[int, ...]:
        """Repeated signed integers, packed or not."""
        if number not in self._fields:
            return ()
        found: list[int] = []
        for wire, start, end in self._of(number, name, LENGTH, VARINT):
            if wire == VARINT:
                found.append(signed(start))
            else:
                self._check_count(end - start, name)
                found += [int(i) for i in unpacked_varints(self._file, (start, end), self.title)]
        self._check_count(len(found), name)
        return tuple(found)

    def real(self, number: int, name: str, default: float = 0.0) -> float:
        """A float of 32 bits, the last of several."""
        found = self._of(number, name, FIXED32)
        return struct.unpack("<f", self._file.data[found[-1][1] : found[-1][2]])[0] if found else default

    def reals(self, number: int, name: str) -> tuple[float, ...]:
        """Repeated floats of 32 bits, packed or not."""
        pieces = self._of(number, name, LENGTH, FIXED32)
        self._check_count(sum(end - start for _, start, end in pieces) // 4, name)
        data = b"".join(self._file.data[start:end] for _, start, end in pieces)
        if len(data) % 4:
            raise self._file.corrupt(f"{self.title}: '{name}' has {len(data)} bytes, expected floats of 4 bytes")
        return struct.unpack(f"<{len(data) // 4}f", data)

    def packed(self, number: int, name: str) -> list[tuple[int, int, int]]:
        """The pieces of repeated numbers, each packed or a single one, to be read later."""
        return self._of(number, name, VARINT, LENGTH, FIXED32, FIXED64) if number in self._fields else []

    def _check_count(self, count: int, name: str) -> None:
        if count > MAX_NUMBERS:
            raise SourceError(f"{self._file.filename}: {self.title}: '{name}' has more than {MAX_NUMBERS} numbers")


def signed(value: int) -> int:
    """A number of 64 bits as two's complement."""
    return value - _WORD if value >= _WORD >> 1 else value


def unpacked_varints(file: WireFile, span: Span, title: str) -> npt.NDArray[np.int64]:
    """The integers in packed varints, as two's complement of 64 bits."""
    start, end = span
    coded = np.frombuffer(file.data, np.uint8, end - start, start)
    if len(coded) and coded[-1] >= 0x80:
        raise file.corrupt(f"{title}: a number at byte {end} ends early")
    found = np.empty(np.count_nonzero(coded < 0x80), np.int64)
    at, filled = 0, 0
    while at < len(coded):  # in pieces: what is written meanwhile has many times their size
        piece = coded[at : at + _PIECE]
        last = np.flatnonzero(piece < 0x80)
        if not len(last):
            raise file.corrupt(f"{title} has a number of more than 10 bytes")
        found[filled : filled + len(last)] = _numbers(file, piece[: last[-1] + 1], last, title)
        at, filled = at + int(last[-1]) + 1, filled + len(last)
    return found


def _numbers(
    file: WireFile, coded: npt.NDArray[np.uint8], last: npt.NDArray[np.int64], title: str
) -> npt.NDArray[np.int64]:
    """The integers in whole varints, which end at some places."""
    first = np.concatenate([[0], last[:-1] + 1])
    if np.any(last - first >= 10):
        raise file.corrupt(f"{title} has a number of more than 10 bytes")
    place = (np.arange(len(coded)) - np.repeat(first, last - first + 1)).astype(np.uint64)
    parts: npt.NDArray[Any] = (coded & 0x7F).astype(np.uint64) << (place * np.uint64(7))
    return np.add.reduceat(parts, first).view(np.int64)


_PIECE = 1 << 20
"""How many bytes of packed numbers are read at a time."""

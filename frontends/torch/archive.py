"""
The zip archive that a `.pt2` file is, read where it lies.

PyTorch stores its files uncompressed, so that tensors can be mapped; archives that were packed again may be deflated.
What an archive says of itself is not believed: counts and lengths are checked against the bytes that are there, and
a file is inflated up to the length that it claims, within the limit of who asks. Format: PKWARE, APPNOTE.TXT 6.3.10.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from npuc.compiler.core.errors import SourceError

ArchiveBytes = bytes | mmap.mmap

MAX_FILES = 200_000
"""The most files in an archive; large models have some thousands."""
MAX_NAME = 4096
"""The most bytes in the name of a file."""
MAX_INFLATED = 1 << 30
"""The most bytes that a deflated file may have; PyTorch stores, so that larger ones are not met."""
_STORED, _DEFLATED, _ENCRYPTED = 0, 8, 1
_END, _END64, _LOCATOR64, _ENTRY, _HEADER = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x01\x02", b"PK\x03\x04"
_END_SIZE, _LOCATOR_SIZE, _END64_SIZE, _ENTRY_SIZE, _HEADER_SIZE = 22, 20, 56, 46, 30
_MAX_COMMENT = 0xFFFF
_WIDE, _ZIP64 = 0xFFFFFFFF, 1


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A file in an archive: its name without the archive's root, how it is packed, and where its header stands."""

    name: str
    method: int
    checksum: int
    packed: int
    size: int
    header: int


class Archive:
    """The files of a zip archive by name, below the one folder that holds them all."""

    def __init__(self, data: ArchiveBytes, filename: str):
        self.data = data
        self.filename = filename
        if not len(data):
            raise SourceError(f"{filename}: the file is empty", hint="expected a file that torch.export.save wrote")
        self.root, self.entries = _without_root(self, self._directory())

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error of the whole file."""
        return SourceError(f"{self.filename}: {message}", hint=hint)

    def corrupt(self, message: str) -> SourceError:
        """The error of a damaged file."""
        return self.error(message, hint="the file is damaged or incomplete; export the model again")

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def names(self, folder: str, suffix: str) -> list[str]:
        """The names of files directly in a folder that end in a suffix, without both."""
        found = (name for name in self.entries if name.startswith(folder) and name.endswith(suffix))
        names = (name.removeprefix(folder).removesuffix(suffix) for name in found)
        return sorted(name for name in names if name and "/" not in name)

    def read(self, name: str, limit: int) -> bytes | memoryview:
        """
        The content of a file of at most `limit` bytes; where it is stored, without a copy.

        Raises `SourceError` for a file that is not there, is too large, or whose checksum is wrong.
        """
        entry = self._entry(name)
        if entry.size > limit:
            raise self.error(f"'{name}' has {entry.size:,} bytes, expected at most {limit:,}")
        content = self._packed(entry)
        if entry.method == _DEFLATED:
            if entry.size > MAX_INFLATED:
                message = f"'{name}' is deflated from {entry.size:,} bytes, expected at most {MAX_INFLATED:,}"
                raise self.error(message, hint="pack the archive without compression, as PyTorch does")
            content = self._inflated(entry, content)
        if zlib.crc32(content) != entry.checksum:
            raise self.corrupt(f"the checksum of '{name}' is wrong")
        return content

    def size(self, name: str) -> int:
        """The length of a file in bytes, as the archive tells it. Raises `SourceError` where it is not there."""
        return self._entry(name).size

    def _entry(self, name: str) -> ArchiveEntry:
        found = self.entries.get(name)
        if found is None:
            raise self.corrupt(f"the archive has no file '{name}'")
        return found

    def _packed(self, entry: ArchiveEntry) -> memoryview:
        """The bytes of a file as they lie in the archive."""
        header = self.data[entry.header : entry.header + _HEADER_SIZE]
        if len(header) < _HEADER_SIZE or header[:4] != _HEADER:
            raise self.corrupt(f"found no file where '{entry.name}' should begin")
        name, extra = struct.unpack_from("<HH", header, 26)
        start = entry.header + _HEADER_SIZE + name + extra
        if start + entry.packed > len(self.data):
            raise self.corrupt(f"'{entry.name}' ends behind the end of the archive")
        return memoryview(self.data)[start : start + entry.packed]

    def _inflated(self, entry: ArchiveEntry, content: memoryview) -> bytes:
        """A deflated file; stops at the length that the archive tells."""
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            found = stream.decompress(content, entry.size + 1)
        except zlib.error as error:
            raise self.corrupt(f"'{entry.name}' cannot be inflated ({error})") from None
        if len(found) != entry.size:
            raise self.corrupt(f"'{entry.name}' does not inflate to the {entry.size:,} bytes that the archive tells")
        return found

    def _directory(self) -> Iterator[ArchiveEntry]:
        """The entries of the central directory."""
        count, size, start = self._end()
        if count > MAX_FILES:
            raise self.error(f"the archive lists {count:,} files, expected at most {MAX_FILES:,}")
        if start + size > len(self.data) or size < count * _ENTRY_SIZE:
            raise self.corrupt("the directory of the archive does not fit into the file")
        directory, position = bytes(self.data[start : start + size]), 0
        for _ in range(count):
            entry, position = self._directory_entry(directory, position)
            yield entry

    def _end(self) -> tuple[int, int, int]:
        """How many files the archive lists; length and place of the list."""
        data, tail = self.data, max(0, len(self.data) - _END_SIZE - _MAX_COMMENT)
        at = data.rfind(_END, tail)
        if at < 0 or at + _END_SIZE > len(data):
            raise _no_archive(self)
        count, size, start = struct.unpack_from("<HII", data, at + 10)
        if at < _LOCATOR_SIZE or data[at - _LOCATOR_SIZE : at - _LOCATOR_SIZE + 4] != _LOCATOR64:
            return count, size, start
        (end,) = struct.unpack_from("<Q", data, at - _LOCATOR_SIZE + 8)
        if end + _END64_SIZE > len(data) or data[end : end + 4] != _END64:
            raise self.corrupt("the end record of the archive is not where the archive tells")
        return struct.unpack_from("<QQQ", data, end + 32)

    def _directory_entry(self, directory: bytes, at: int) -> tuple[ArchiveEntry, int]:
        """The entry at a position of the directory, and the position behind it."""
        if directory[at : at + 4] != _ENTRY or at + _ENTRY_SIZE > len(directory):
            raise self.corrupt("the directory of the archive is not as long as the archive tells")
        flags, method = struct.unpack_from("<HH", directory, at + 8)
        checksum, packed, size, name_size, extra_size, comment = struct.unpack_from("<IIIHHH", directory, at + 16)
        (header,) = struct.unpack_from("<I", directory, at + 42)
        start, end = at + _ENTRY_SIZE, at + _ENTRY_SIZE + name_size
        if name_size > MAX_NAME or end + extra_size + comment > len(directory):
            raise self.corrupt("the directory of the archive is not as long as the archive tells")
        try:
            name = directory[start:end].decode()
        except UnicodeDecodeError:
            raise self.corrupt("the name of a file in the archive is not UTF-8") from None
        if method not in (_STORED, _DEFLATED) or flags & _ENCRYPTED:
            raise self.error(f"'{name}' is packed or encrypted in a way that npuc does not read (method {method})")
        size, packed, header = self._wide(directory[end : end + extra_size], name, (size, packed, header))
        if method == _STORED and packed != size:
            raise self.corrupt(f"'{name}' is stored, but its two lengths differ")
        return ArchiveEntry(name, method, checksum, packed, size, header), end + extra_size + comment

    def _wide(self, extra: bytes, name: str, numbers: tuple[int, int, int]) -> tuple[int, int, int]:
        """Size, packed size and place of a file, of which those that need 64 bits stand in the extra fields."""
        if _WIDE not in numbers:
            return numbers
        position = 0
        while position + 4 <= len(extra):
            kind, length = struct.unpack_from("<HH", extra, position)
            position += 4
            if kind == _ZIP64:
                found = list(struct.unpack_from(f"<{min(length, len(extra) - position) // 8}Q", extra, position))
                if len(found) >= numbers.count(_WIDE):
                    size, packed, header = (found.pop(0) if number == _WIDE else number for number in numbers)
                    return size, packed, header
                break
            position += length
        raise self.corrupt(f"the archive does not tell the length of '{name}'")


def _without_root(archive: Archive, entries: Iterator[ArchiveEntry]) -> tuple[str, dict[str, ArchiveEntry]]:
    """The folder that all files are in, and the files by their names below it."""
    root, found = None, dict[str, ArchiveEntry]()
    for entry in entries:
        first, slash, name = entry.name.partition("/")
        if root is None:
            root = first
        if not slash or first != root:
            raise archive.error(f"found the file '{entry.name}', expected all files in one folder", hint=_HINT)
        if name in found:
            raise archive.corrupt(f"the archive has two files '{entry.name}'")
        found[name] = ArchiveEntry(name, entry.method, entry.checksum, entry.packed, entry.size, entry.header)
    return root or "", found


def _no_archive(archive: Archive) -> SourceError:
    """The error of a file that has no list of files at its end."""
    if archive.data[:4] == _HEADER:
        return archive.corrupt("the end of the archive is missing")
    if archive.data[:2] in (b"\x80\x02", b"\x80\x04"):
        return archive.error("found a pickle, which npuc does not open", hint=_HINT)
    if archive.data[:20].startswith(b"version https://git-"):
        return archive.error("found a pointer of Git LFS, expected the model", hint="git lfs pull")
    return archive.error("found no zip archive", hint=_HINT)


_HINT = "expected a file that torch.export.save wrote"

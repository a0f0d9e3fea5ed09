"""
Content of tensors that lies in files beside the model.

Such a file must lie in the model's folder or below it: absolute paths, `..` and links that lead out are refused before
anything is opened. A file that is missing is an error only when its content is read, so that a network can be priced
without its weights.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath

from npuc.compiler.core.cache import reads
from npuc.compiler.core.errors import SourceError

_KEYS = ("location", "offset", "length")


@dataclass(frozen=True)
class Stretch:
    """Bytes of an external file: its path, the first byte, and how many there are; None: up to its end."""

    path: str
    offset: int
    length: int | None


@dataclass
class ExternalFiles:
    """
    The files beside a model, in the folder that the model lies in; None where the model is no file.

    Raises `SourceError` for a place outside the folder, and for content that its file is too short for.
    """

    filename: str
    folder: str | None
    _paths: dict[str, tuple[str, int | None]] = field(default_factory=dict[str, tuple[str, int | None]])
    _maps: dict[str, mmap.mmap] = field(default_factory=dict[str, mmap.mmap])

    def stretch(self, tensor: str, entries: Mapping[str, str], expected: int) -> Stretch:
        """Where the bytes of a tensor lie, by what the model says of them; `expected` is how many there must be."""
        location = entries.get("location", "")
        path, size = self._path(tensor, location)
        offset, length = (self._number(tensor, key, entries.get(key)) for key in _KEYS[1:])
        first = offset or 0
        if length is not None and length != expected:
            raise self._error(tensor, f"has {length} external bytes, expected {expected}")
        if size is not None and first + expected > size:
            message = f"lies at bytes {first} to {first + expected} of '{location}', which has {size}"
            raise self._error(tensor, message)
        return Stretch(path, first, expected)

    def is_there(self, stretch: Stretch) -> bool:
        """Whether the file of a stretch is there."""
        return os.path.isfile(stretch.path)

    def read(self, tensor: str, stretch: Stretch) -> tuple[bytes | mmap.mmap, int, int]:
        """The mapped file of a stretch, and where its bytes begin and end there."""
        if stretch.length == 0:
            return b"", 0, 0
        if stretch.path not in self._maps:
            try:
                with open(stretch.path, "rb") as file:
                    self._maps[stretch.path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "it is empty"
                message = f"its external file '{os.path.basename(stretch.path)}' cannot be read: {reason}"
                raise self._error(tensor, message) from None
        mapped = self._maps[stretch.path]
        end = stretch.offset + (stretch.length or 0)
        if end > len(mapped):
            raise self._error(tensor, f"lies beyond the end of '{os.path.basename(stretch.path)}'")
        return mapped, stretch.offset, end

    def _path(self, tensor: str, location: str) -> tuple[str, int | None]:
        """The path of an external file and its size, None where it is missing."""
        if location not in self._paths:
            self._paths[location] = self._checked(tensor, location)
        return self._paths[location]

    def _checked(self, tensor: str, location: str) -> tuple[str, int | None]:
        if self.folder is None:
            raise self._error(tensor, "lies in an external file, but the model was not read from a file")
        parts = PurePosixPath(location.replace("\\", "/")).parts
        absolute = location.startswith(("/", "\\")) or PureWindowsPath(location).drive != ""
        if not parts or absolute or ".." in parts or "\0" in location:
            raise self._error(tensor, f"lies in '{location}', expected a file in the model's folder")
        root = os.path.realpath(self.folder)
        path = os.path.realpath(os.path.join(root, *parts))
        if os.path.commonpath([root, path]) != root:
            raise self._error(tensor, f"lies in '{location}', a link out of the model's folder")
        reads.note(path)
        try:
            found = os.stat(path)
        except OSError:
            return path, None
        if not stat.S_ISREG(found.st_mode):
            raise self._error(tensor, f"lies in '{location}', which is no file")
        return path, found.st_size

    def _number(self, tensor: str, key: str, text: str | None) -> int | None:
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise self._error(tensor, f"has the external {key} '{text}', expected a number")
        return int(text)

    def _error(self, tensor: str, message: str) -> SourceError:
        hint = "external content lies in the model's folder; export the model anew, or keep its files together"
        return SourceError(f"{self.filename}: tensor '{tensor}' {message}", hint=hint)

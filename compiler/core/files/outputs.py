"""
Files that a command writes: all of them, whole, when it has succeeded, or none.

    with Outputs():
        write_file("step.mlir", data)    # beside its place, under a temporary name
        raise UsageError(...)            # it is removed, and what was at its place is untouched

Outside of an `Outputs` a file gets its name at once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from npuc.compiler.core.cache import streams
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files import unfinished

COPIED = 1 << 20
"""The bytes that are copied at a time."""


@dataclass
class Outputs:
    """What is written within, which gets its names at the end of the block; nothing where the block raises."""

    _files: list[_File] = field(default_factory=list["_File"])
    _made: list[Path] = field(default_factory=list[Path])
    _reserved: set[Path] = field(default_factory=set[Path])

    def __enter__(self) -> Self:
        self._before = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._before)
        try:
            if error is None:
                for file in sorted(self._files, key=lambda file: file.temporary is not None):
                    file.finish()
                if self._files or self._made:
                    streams.note_files(map(str, self._made), ((file.shown, file.data) for file in self._files))
                self._made.clear()
        finally:
            self.discard()

    def add(self, path: str, data: bytes) -> None:
        """Write a file, under a temporary name. Raises `UsageError` for one that is written already."""
        file = _begin(path, data)
        others = [one.target for one in self._files if one.temporary is not None]
        self._files.append(file)
        if file.temporary is not None and file.target in others:
            raise _wanted_twice(path)

    def reserve(self, path: str) -> None:
        """Note that a result goes to a file. Raises `UsageError` where another does; devices and pipes take several."""
        try:
            target = Path(os.path.realpath(path))
            if target.exists() and not target.is_file():
                return
        except (OSError, ValueError) as e:
            raise cannot_write(path, e) from e
        if target in self._reserved:
            raise _wanted_twice(path)
        self._reserved.add(target)

    def make_folder(self, path: str) -> None:
        """Make a folder if it does not exist."""
        folder = Path(path)
        if not folder.is_dir():
            folder.mkdir()
            self._made.append(folder)

    def discard(self) -> None:
        """Remove what has no name yet, and folders that were made for it."""
        for file in self._files:
            if file.temporary is not None:
                unfinished.remove(file.temporary)
        for folder in reversed(self._made):
            folder.rmdir()
        self._made.clear()


@dataclass
class _File:
    """
    A file under a temporary name, or data for what is no regular file (a device, a pipe), which has none; with a name
    it has its data only where they are noted.
    """

    shown: str
    target: Path
    data: bytes
    temporary: str | None

    def finish(self) -> None:
        """Give the file its name. Raises `UsageError` when that cannot be."""
        try:
            if self.temporary is None:
                self.target.write_bytes(self.data)
            else:
                os.replace(self.temporary, self.target)
        except (OSError, ValueError) as e:
            raise cannot_write(self.shown, e) from e


_current: ContextVar[Outputs | None] = ContextVar("outputs", default=None)


def write_file(path: str, data: bytes, *, now: bool = False) -> None:
    """
    Write a file, whole or not at all: at the end of the `Outputs` around it, or `now`.

    Raises `UsageError` when it cannot be written.
    """
    outputs = _current.get()
    if outputs is not None and not now:
        outputs.add(path, data)
        return
    file = _begin(path, data)
    try:
        file.finish()
    finally:
        if file.temporary is not None:
            unfinished.remove(file.temporary)


def write_rest(path: str, stream: BinaryIO) -> None:
    """Write what is left of a stream to a file at once, whole or not at all. Raises `UsageError`."""
    file = _begin(path, iter(lambda: stream.read(COPIED), b""))
    try:
        file.finish()
    finally:
        if file.temporary is not None:
            unfinished.remove(file.temporary)


def reserve(path: str) -> None:
    """Note in the `Outputs` around it that a result goes to a file. Raises `UsageError` where another does."""
    outputs = _current.get()
    if outputs is not None:
        outputs.reserve(path)


def _wanted_twice(path: str) -> UsageError:
    return UsageError(f"two results would be written to '{path}'", hint="give each a file of its own")


def make_folder(path: str) -> None:
    """Make a folder if it does not exist; it goes again where the `Outputs` around it fail. Raises `UsageError`."""
    try:
        outputs = _current.get()
        if outputs is not None:
            outputs.make_folder(path)
        else:
            Path(path).mkdir(exist_ok=True)
    except OSError as e:
        raise cannot_write(path, e) from e


def cannot_write(path: str, error: OSError | ValueError) -> UsageError:
    """The error of a file that cannot be written, or of a name that no file has."""
    return UsageError(f"cannot write '{path}': {getattr(error, 'strerror', None) or error}")


def _begin(path: str, data: bytes | Iterable[bytes]) -> _File:
    """Write data beside `path`. Raises `UsageError` when that cannot be."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            return _File(path, target, data if isinstance(data, bytes) else b"".join(data), None)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        unfinished.add(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.writelines([data] if isinstance(data, bytes) else data)
            os.chmod(name, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        except BaseException:
            unfinished.remove(name)
            raise
    except (OSError, ValueError) as e:
        raise cannot_write(path, e) from e
    return _File(path, target, data if streams.is_noted() and isinstance(data, bytes) else b"", name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""
What the result of a command depends on beside its arguments: the files that it reads, by Python's audit events.

    with recorded() as reads:
        ...
    reads.refusal       # why the result may be another one next time, if it may
    reads.files         # of each file that was looked for the digest of what was there

An event comes before its file is opened, also where there is none, and whoever opens it. What lies in npuc's own
packages and in those that are installed is the code's (`code.py`). Code of users may read clocks and the environment,
and so it is no part of what can be known.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import contextmanager
from hashlib import blake2b

from npuc.compiler.core.cache.code import own_folders

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import TracebackType
    from typing import Any, Self

LARGE = 16 << 20
"""From so many bytes on a file is known by its size and its times: to read weights takes longer than to compile."""
YOUNG_SECONDS = 2.0
"""A large file that changed so recently may change again within a tick of its clock."""
ABSENT, OTHER = b"absent", b"other"
OUTSIDE = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "socket.connect")
"""Events of work that is done elsewhere."""
LISTINGS = ("os.listdir", "os.scandir")


def state_of(path: str) -> bytes:
    """A digest of what is at a path; `OTHER` for what is neither file nor folder, of which nothing can be said."""
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            return blake2b("\0".join(sorted(os.listdir(path))).encode("utf-8", "surrogateescape")).digest()
        if not stat.S_ISREG(found.st_mode):
            return OTHER
        if found.st_size >= LARGE:
            return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}".encode()
        with open(path, "rb") as file:
            return blake2b(file.read()).digest()
    except (OSError, ValueError):
        return ABSENT


class Reads:
    """The files that were read, each with its state before; `refusal` says why the result cannot be kept."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.refusal: str | None = None
        self.has_own_processes = self._quiet = False
        self._known = (*own_folders(), *_installed())
        self._searched = {*sys.path, *map(os.path.abspath, sys.path)}  # imports look into these

    def __enter__(self) -> Self:
        global _current
        self._modules = {*sys.modules}
        _current = self
        _listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current
        _current = None

    def are_settled(self) -> bool:
        """Whether everything still is what it was when it was read, so that another time it can be known by that."""
        if self.refusal is None and any(not self._is_known(path) for path in self._loaded()):
            self.refusal = "code of users ran"
        now = time.time()
        return self.refusal is None and all(
            state_of(path) == state and not _is_young(path, now) for path, state in self.files.items()
        )

    def heard(self, event: str, values: tuple[object, ...]) -> None:
        """Note what an event says."""
        if self._quiet:
            return
        if event in OUTSIDE:
            if not self.has_own_processes:
                self.refusal = self.refusal or f"{event} ran"
        elif event == "open":
            self._opened(*values[:3])
        elif event in LISTINGS:
            folder = "." if values[0] is None else values[0]
            if not isinstance(folder, str) or os.path.abspath(folder) not in self._searched:
                self._read(folder)

    def _opened(self, path: object, mode: object = None, flags: object = 0) -> None:
        taken = flags if isinstance(flags, int) else 0
        access = taken & (os.O_WRONLY | os.O_RDWR)
        if isinstance(path, int):
            return  # that was opened already
        if access and (taken & os.O_EXCL or path == os.devnull):
            return  # a new file, which gets its name when it is finished (`compiler/core/files/outputs.py`)
        if access:
            self.refusal = self.refusal or "a file was changed in place"
        self._read(path)

    def _read(self, path: object) -> None:
        """Note a file or folder with its state, once."""
        found: Any = path
        if not isinstance(path, str | bytes | os.PathLike):
            return
        name = os.fsdecode(found)
        if name in self.files or self._is_known(name) or name in self._searched:
            return
        self._quiet = True  # to look at it is no read of the command
        try:
            self.files[name] = state = state_of(name)
        finally:
            self._quiet = False
        if state == OTHER:
            self.refusal = self.refusal or f"{name} is no file"

    def _is_known(self, path: str) -> bool:
        """Whether a file is part of what is installed."""
        full = os.path.abspath(path)
        return (
            full.endswith(".pyc")
            or any(full.startswith(folder + os.sep) for folder in self._known)
            or full in self._known
        )

    def _loaded(self) -> Iterator[str]:
        """The files of modules that were loaded meanwhile."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name not in self._modules and isinstance(file, str):
                yield file


def refuse(reason: str) -> None:
    """Say that the result of the command may be another one next time: it is not kept."""
    if _current is not None:
        _current.refusal = _current.refusal or reason


def note(path: str) -> None:
    """Say that the result depends on a file, or on the names in a folder, that is looked at without being opened."""
    if _current is not None:
        _current.heard("open", (path,))


@contextmanager
def own_processes() -> Generator[None]:
    """Processes that are started in this block read nothing that this one has not read before."""
    if _current is None:
        yield
        return
    reads = _current
    reads.has_own_processes = True
    try:
        yield
    finally:
        reads.has_own_processes = False


_current: Reads | None = None
_listening = False


def _listen() -> None:
    """Hear events from now on: for the rest of the process, as Python has it."""
    global _listening
    if not _listening:
        sys.addaudithook(_heard)
        _listening = True


def _heard(event: str, values: tuple[object, ...]) -> None:
    if _current is not None:
        _current.heard(event, values)


def _is_young(path: str, now: float) -> bool:
    """Whether a large file changed so recently that its times say nothing of it."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return found.st_size >= LARGE and abs(now - found.st_ctime) < YOUNG_SECONDS


def _installed() -> list[str]:
    """The folders of the standard library, of installed distributions, and of programs: where imports look."""
    import sysconfig

    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")}
    found |= {folder for folder in sys.path if os.path.basename(folder) in ("site-packages", "dist-packages")}
    return sorted(os.path.abspath(folder) for folder in found | {os.path.dirname(os.__file__)})

"""
Rows by key in one sqlite database, in a file that several processes read and write.

A row is the bytes of a result under the digest of all that it depends on; it carries a digest of itself, so that no
damage to the file can make another result of it. The file may become `bound` bytes large: the rows that were used least
recently go first, before them those of other code that nobody used for a day.

Nothing of this may stop a command. A file that is damaged is replaced; one that is locked for long, that cannot be
written, or has no room on its disk, is left alone for the rest of the command (`problem` says why). The journal is one
that sqlite rolls back, so that a process may be killed at any time, and that network file systems bear; nothing waits
for the disk, since a row that is lost with the machine's power is computed again, and a half-written one shows.
"""

from __future__ import annotations

import os
import sqlite3
import time
from hashlib import blake2b

from npuc.compiler.core.cache.database import connect, mistrusted, number, remove, within

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

FILE = "results.sqlite"
DAY = 86_400
DIGEST = 16
FLUSHED_AFTER_SECONDS = 0.5
"""How long rows wait to be written together."""
FULL_TO = 0.9
"""How full the file is, as a part of its bound, once rows had to go."""
MOST_WAITS = 2
"""How often a command may have waited in vain and still uses the file."""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Tally:
    """Of one kind of rows how many there are, their bytes, and how often a command found one, or none."""

    def __init__(self, rows: int, size: int, hits: int, misses: int):
        self.rows, self.size, self.hits, self.misses = rows, size, hits, misses


def digest(*parts: bytes) -> bytes:
    """A digest of several texts of bytes, each with its length."""
    found = blake2b(digest_size=DIGEST)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


class Store:
    """The rows in a folder, of the code with a digest. `problem` says why it is not used, if it is not."""

    def __init__(self, folder: str, bound: int, code: bytes):
        self.folder, self.bound, self.code = folder, bound, code
        self.problem: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._new: dict[bytes, tuple[str, bytes]] = {}
        self._used: list[bytes] = []
        self._counts: dict[str, list[int]] = {}
        self._flushed = time.monotonic()
        self._waits = 0

    @property
    def path(self) -> str:
        """The database's file."""
        return os.path.join(self.folder, FILE)

    def get(self, kind: str, key: bytes, *, counted: bool = True) -> bytes | None:
        """The data of a row, None where there is none, or it is damaged; `counted` among those asked for."""
        self._own_process()
        key = digest(self.code, key)
        known = self._new.get(key)
        if known is not None:
            return known[1]
        row = self._run(lambda one: _row(one, key), create=False)
        data = None if row is None else _checked(kind, key, row[0])
        if counted:
            self.count(kind, hit=data is not None)
        if data is not None:
            self._used.append(key)
        elif row is not None:
            self._run(lambda one: one.execute("DELETE FROM rows WHERE key = ?", (key,)), create=False)
        return data

    def count(self, kind: str, *, hit: bool) -> None:
        """Count a row that was asked for."""
        self._counts.setdefault(kind, [0, 0])[not hit] += 1

    def put(self, kind: str, key: bytes, data: bytes) -> None:
        """Keep a row; it is written with the next ones, or by `flush`."""
        self._own_process()
        if len(data) > self.bound // 8:
            return  # the others would have to go for it
        self._new[digest(self.code, key)] = kind, data
        if time.monotonic() - self._flushed > FLUSHED_AFTER_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait, and which ones were used."""
        self._own_process()
        new, used, counts = self._new, self._used, self._counts
        self._new, self._used, self._counts, self._flushed = {}, [], {}, time.monotonic()
        if not (new or used) and (self.problem is not None or not any(map(sum, counts.values()))):
            return
        now = int(time.time())
        rows = [
            (key, kind, self.code, now, 0, digest(key, kind.encode(), data) + data) for key, (kind, data) in new.items()
        ]

        def write(connection: sqlite3.Connection) -> None:
            for kind, (hits, misses) in counts.items():
                connection.execute("INSERT OR IGNORE INTO counts VALUES (?, 0, 0)", (kind,))
                connection.execute(
                    "UPDATE counts SET hits = hits + ?, misses = misses + ? WHERE kind = ?", (hits, misses, kind)
                )
            connection.executemany("UPDATE rows SET used = ?, hits = hits + 1 WHERE key = ?", [(now, k) for k in used])
            connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?)", rows)

        if self._run(lambda one: within(one, write), create=bool(rows)) is None and self.problem is not None:
            return
        if rows:
            self._run(lambda one: within(one, self._make_room), create=False)

    def settle(self) -> None:
        """Write new rows, if there are any."""
        if self._new:
            self.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.flush()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def tally(self) -> dict[str, Tally]:
        """What is in the file, by kind."""
        found: dict[str, Tally] = {}
        rows = self._run(
            lambda one: one.execute("SELECT kind, count(*), sum(length(data)) FROM rows GROUP BY kind").fetchall(),
            create=False,
        )
        counts = self._run(lambda one: one.execute("SELECT kind, hits, misses FROM counts").fetchall(), create=False)
        for kind, count, size in rows or ():
            found[str(kind)] = Tally(int(count), int(size or 0), 0, 0)
        for kind, hits, misses in counts or ():
            tally = found.setdefault(str(kind), Tally(0, 0, 0, 0))
            tally.hits, tally.misses = int(hits), int(misses)
        return dict(sorted(found.items()))

    def clear(self) -> bool:
        """Remove all rows; whether that could be done."""

        def empty(connection: sqlite3.Connection) -> bool:
            within(connection, lambda one: one.execute("DELETE FROM rows") and one.execute("DELETE FROM counts"))
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            return True

        self._new, self._used, self._counts = {}, [], {}
        return not os.path.lexists(self.path) or self._run(empty, create=False) is True

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Remove rows until the file is within its bound again, and those of other code that nobody used for a day."""
        day = int(time.time()) - DAY
        connection.execute("DELETE FROM rows WHERE used < ? AND code <> ?", (day, self.code))
        page = number(connection, "page_size")
        taken = (number(connection, "page_count") - number(connection, "freelist_count")) * page
        if taken <= self.bound:
            return
        excess = taken - int(self.bound * FULL_TO)
        oldest = connection.execute("SELECT key, length(data) FROM rows ORDER BY code = ?, used", (self.code,))
        gone: list[tuple[bytes]] = []
        for key, size in oldest:
            if excess <= 0:
                break
            gone.append((key,))
            excess -= int(size)
        connection.executemany("DELETE FROM rows WHERE key = ?", gone)

    def _own_process(self) -> None:
        """A copy of the process has no use of this one's connection, nor of what it is about to write."""
        if os.getpid() != self._process:
            self._process, self._connection = os.getpid(), None
            self._new, self._used, self._counts = {}, [], {}

    def _run(self, work: Callable[[sqlite3.Connection], T], *, create: bool) -> T | None:
        """What `work` finds in the database; None where that cannot be. A damaged file is replaced."""
        for _ in range(2):
            try:
                connection = self._open(create=create)
                return None if connection is None else work(connection)
            except (sqlite3.Error, OSError, ValueError, OverflowError, MemoryError) as error:
                self._drop()
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED and remove(self.path):
                    continue  # once more, with a new one
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY and self._waits < MOST_WAITS:
                    self._waits += 1
                    return None  # this time
                self.problem = str(error) or type(error).__name__
                return None
        return None

    def _open(self, *, create: bool) -> sqlite3.Connection | None:
        """The connection; None where the file is not used, or not there and nothing is written."""
        if self._connection is not None or self.problem is not None:
            return self._connection
        if not os.path.isfile(self.path):
            if not create and not os.path.lexists(self.path):
                return None
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.problem = mistrusted(self.path)
        if self.problem is not None:
            return None
        self._connection = connect(self.path)
        return self._connection

    def _drop(self) -> None:
        """Close the connection, whatever state it is in."""
        if self._connection is not None:
            try:
                self._connection.close()
            except sqlite3.Error:
                pass
            self._connection = None


def _row(connection: sqlite3.Connection, key: bytes) -> tuple[object] | None:
    found: tuple[object] | None = connection.execute("SELECT data FROM rows WHERE key = ?", (key,)).fetchone()
    return found


def _checked(kind: str, key: bytes, stored: object) -> bytes | None:
    """The data of a row if they are what was written under this key."""
    if not isinstance(stored, bytes):
        return None
    data = stored[DIGEST:]
    return data if stored[:DIGEST] == digest(key, kind.encode(), data) else None

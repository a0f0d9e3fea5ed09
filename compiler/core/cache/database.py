"""The database of a store: its file and tables, and why one is not used."""

from __future__ import annotations

import os
import sqlite3

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = 1
"""The number of the tables' form."""
WAIT_SECONDS = 0.25
"""How long a command waits for another one that writes."""
_TABLES = """
CREATE TABLE rows (key BLOB PRIMARY KEY, kind TEXT, code BLOB, used INTEGER, hits INTEGER, data BLOB);
CREATE INDEX by_use ON rows (used);
CREATE TABLE counts (kind TEXT PRIMARY KEY, hits INTEGER, misses INTEGER);
"""


def connect(path: str) -> sqlite3.Connection:
    """A connection to the file, with its tables. Raises `sqlite3.Error`."""
    mask = os.umask(0o077)  # others are to read no results, and write none
    try:
        connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    finally:
        os.umask(mask)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA trusted_schema = OFF")
        found = number(connection, "user_version")
        if found != FORMAT:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            within(connection, _make_tables)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    """The tables, in place of those of another form."""
    if number(connection, "user_version") == FORMAT:
        return  # another process was first
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        connection.execute('DROP TABLE "{}"'.format(str(name).replace('"', '""')))
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def within(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], object]) -> bool:
    """Write in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return True


def number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


def mistrusted(path: str) -> str | None:
    """Why the file is not read: others may have written what is in it. None where it is the user's own."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return "it is no file"
    if os.name == "posix" and (found.st_uid not in (os.getuid(), 0) or found.st_mode & 0o002):
        return "other users may write it"
    return None


def remove(path: str) -> bool:
    """Remove a damaged database."""
    try:
        os.unlink(path)
    except OSError:
        return False
    for suffix in ("-journal", "-wal", "-shm"):
        try:
            os.unlink(path + suffix)
        except OSError:
            pass
    return True

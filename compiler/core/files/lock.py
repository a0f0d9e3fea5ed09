"""A lock on a file that one process at a time may write."""

from __future__ import annotations


def lock(handle: int, error: Exception) -> None:
    """Lock others out while the file is open, or raise `error`; without locks on the system, trust the user."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise error from None

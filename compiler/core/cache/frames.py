"""Several texts of bytes in one, each behind its length: what rows of the store are made of."""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH = 8
"""The bytes of a length."""


def framed(parts: Iterable[bytes]) -> bytes:
    """The parts in one."""
    return b"".join(len(part).to_bytes(WIDTH, "little") + part for part in parts)


def unframed(data: bytes) -> list[bytes]:
    """The parts again. Raises `ValueError` for what is none of `framed`."""
    found: list[bytes] = []
    place = 0
    while place < len(data):
        end = place + WIDTH + int.from_bytes(data[place : place + WIDTH], "little")
        if place + WIDTH > len(data) or end > len(data):
            raise ValueError("a length beyond the end")
        found.append(data[place + WIDTH : end])
        place = end
    return found

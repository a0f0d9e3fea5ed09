"""Random numbers of searches: each purpose has its own, from one seed."""

from __future__ import annotations

import hashlib

from numpy.random import PCG64, Generator, SeedSequence


def generator(seed: int, *content: object) -> Generator:
    """Random numbers that depend only on a seed and the text of their purpose."""
    digest = hashlib.sha256("\n".join(map(repr, content)).encode()).digest()
    return Generator(PCG64(SeedSequence([seed, int.from_bytes(digest[:16], "big")])))

"""How arguments of a program start: a value everywhere, or random numbers that depend on a seed and a name."""

from zlib import crc32

import numpy as np

from npuc.compiler.layers.base import Array


def drawn(name: str, bound: float, shape: tuple[int, ...], seed: int) -> Array:
    """Numbers uniform in [-bound, bound): the same for the same seed, name and shape."""
    return np.random.default_rng([seed, crc32(name.encode())]).uniform(-bound, bound, shape)

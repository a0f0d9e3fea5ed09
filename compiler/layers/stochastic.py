"""
Rounding of magnitudes to integers: to the nearest, ties to even, or stochastic with a random number by position.

Stochastic rounding takes t to floor(t + u), u uniform in [0, 1), so that its mean is t. It is done on magnitudes, as
sign and mantissa are stored, and exactly: with frac(t) = t - floor(t), which is a float, t is rounded up if and only if
frac(t) >= 1 - u, which is one, too. No sum is rounded first.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.draws import LANES, Positions, Words, flat_places, philox

Rounding: TypeAlias = Literal["nearest", "stochastic"]
Draws: TypeAlias = npt.NDArray[np.float32]

STREAM = int.from_bytes(b"rounding", "big")
"""The second word of the key: the numbers are of another stream than those of dropout."""
DEAR = 20
"""How many times as long a number takes that is drawn alone: a larger part of a tensor is drawn as the whole."""
CHUNK = 1 << 15
"""Elements that are worked on together, so that what is between two passes over them stays in cache."""
_DRAWS = np.uint64(2) * LANES
_WORD = 1 << 64


def rounding_draws(seed: int, of: Sequence[int], index: Sequence[Positions] | None = None) -> Draws:
    """
    The u of the elements of a tensor of shape `of`, or of those at the positions `index[axis]` of each axis.

    They are multiples of 2^-24 in [0, 1): of the word p // 2 of the generator the lower half for an even place p, else
    the upper half, without its last eight bits. An element has the same u in whatever part it is drawn: it depends on
    the seed (modulo 2^64) and on the element's place in the tensor, row by row, alone.
    """
    key, count = (seed % _WORD, STREAM), prod(of)
    if index is not None and prod(map(len, index)) * DEAR < count:
        places = flat_places(of, index)
        blocks, which = np.unique(places // _DRAWS, return_inverse=True)
        # numpy's generator counts before it draws, so that its first block has counter 1
        words = philox(blocks + np.uint64(1), key)
        return _uniform(words.T)[which.reshape(places.shape), places % _DRAWS].reshape(tuple(map(len, index)))
    generator, drawn = np.random.Philox(key=np.array(key, np.uint64)), np.empty(count, np.float32)
    for start in range(0, count, CHUNK):
        run = drawn[start : start + CHUNK]
        run[:] = _uniform(generator.random_raw((run.size + 1) // 2))[: run.size]
    return drawn.reshape(of) if index is None else drawn.reshape(of)[np.ix_(*index)]


def _uniform(words: Words) -> Draws:
    """Two numbers in [0, 1) of each word along the last axis."""
    halves = np.ascontiguousarray(words, "<u8").view("<u4") >> np.uint32(8)
    return halves.astype(np.float32) * np.float32(2.0**-24)


def draws_of(x: Array, rounding: Rounding, seed: int, draws: Draws | None) -> Draws | None:
    """What rounding a whole tensor needs: nothing to the nearest, else the given numbers or those of its places."""
    if rounding not in get_args(Rounding):
        raise UsageError(f"unknown rounding '{rounding}'", hint=did_you_mean(rounding, get_args(Rounding)))
    if rounding == "nearest":
        return None
    if draws is not None and draws.shape != x.shape:
        raise UsageError(f"the random numbers of a tensor have its shape {x.shape}, got {draws.shape}")
    return rounding_draws(seed, x.shape) if draws is None else draws


def round_in_place(magnitudes: Array, draws: Draws | None) -> None:
    """Round non-negative floats to integers, stochastically if there are draws; NaN stays NaN."""
    if draws is None:
        np.rint(magnitudes, out=magnitudes)
        return
    down = np.floor(magnitudes)
    magnitudes -= down
    up = magnitudes >= 1 - draws
    np.add(down, up, out=magnitudes)


def give_sign(magnitudes: Array, x: Array) -> None:
    """Give non-negative floats the signs of x, zeros too: by bits, three times as fast as `copysign`."""
    word = np.uint32 if magnitudes.dtype == np.float32 else np.uint64
    sign = word(1 << (8 * magnitudes.itemsize - 1))
    bits = magnitudes.view(word)
    bits |= np.ascontiguousarray(x).view(word).reshape(bits.shape) & sign


def as_floats(x: Array) -> Array:
    """A tensor in the type that it is rounded in: float64 stays, all others are float32."""
    return np.asarray(x, np.float64 if x.dtype == np.float64 else np.float32)


def in_chunks(work: Callable[[Array, Draws | None], Array], x: Array, draws: Draws | None, to: npt.DTypeLike) -> Array:
    """Element-wise work on a tensor and its random numbers, a run at a time; the result is of type `to`."""
    flat, result = x.reshape(-1), np.empty(x.size, to)
    numbers = None if draws is None else draws.reshape(-1)
    for start in range(0, x.size, CHUNK):
        run = slice(start, start + CHUNK)
        result[run] = work(flat[run], None if numbers is None else numbers[run])
    return result.reshape(x.shape)

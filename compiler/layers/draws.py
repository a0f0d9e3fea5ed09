"""
Counter-based random numbers: the n-th number of a stream without those before it.

The numbers are those of numpy's `Generator(Philox(key=key)).random`, to the bit: a block of four is a function of the
key and the number of the block alone, so that each part of a tensor draws its own. Source: Philox4x64-10 of Salmon,
Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

LANES = np.uint64(4)
"""The numbers of a block."""
UNUSED = np.uint64(11)
"""The lower bits of a word that a number in [0, 1) of 53 bits does without."""
LONG_RUN = 128
"""For runs of at least so many numbers numpy's generator is faster, although it has to be set up."""
ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_WORD = 1 << 64


def draws_at(key: tuple[int, int], of: Sequence[int], index: Sequence[Positions]) -> npt.NDArray[np.float64]:
    """
    Of the uniform numbers in [0, 1) that fill a tensor of shape `of`, row by row, those at some positions of each axis.
    """
    whole = [len(own) == size and bool((own == np.arange(size)).all()) for own, size in zip(index, of, strict=True)]
    outer = next((axis for axis in reversed(range(len(of))) if not whole[axis]), -1) + 1
    run, shape = prod(of[outer:]), tuple(map(len, index))
    starts = flat_places(of[:outer], index[:outer]).reshape(-1) * np.uint64(run)
    if run >= LONG_RUN or not outer:
        return np.concatenate([_run(key, int(start), run) for start in starts]).reshape(shape)
    places = (starts[:, np.newaxis] + np.arange(run, dtype=np.uint64)).reshape(shape)
    blocks, which = np.unique(places // LANES, return_inverse=True)
    # the generator counts before it draws, so that its first block has counter 1
    words = philox(blocks + np.uint64(1), key)
    drawn = words[places % LANES, which.reshape(places.shape)]
    return (drawn >> UNUSED).astype(np.float64) * 2.0**-53


def flat_places(of: Sequence[int], index: Sequence[Positions]) -> Words:
    """The place of each element at these positions in a tensor of that shape, counted row by row."""
    flat = np.zeros((1,) * len(of), np.uint64)
    for axis, own in enumerate(index):
        stride = np.uint64(prod(of[axis + 1 :]))
        flat = flat + (own.astype(np.uint64) * stride).reshape(-1, *(1,) * (len(of) - 1 - axis))
    return flat


def _run(key: tuple[int, int], start: int, count: int) -> npt.NDArray[np.float64]:
    """A run of numbers of the stream from a place on."""
    bits = np.random.Philox(key=np.array(key, np.uint64))
    bits.advance(start // int(LANES))
    skipped = start % int(LANES)
    return np.random.Generator(bits).random(skipped + count)[skipped:]


def philox(counters: Words, key: tuple[int, int]) -> Words:
    """The four words of each counter (its other words are 0) under a key of two words: an array [4, counters]."""
    return np.stack(philox_words(counters, *(np.uint64(word % _WORD) for word in key)))


def philox_words(counters: Words, first: Any, second: Any) -> list[Words]:
    """The four words of each counter under a key of two words, which need not be known yet."""
    zero = np.zeros_like(counters)
    c0, c1, c2, c3 = counters, zero, zero, zero
    with np.errstate(over="ignore"):  # words wrap around
        for number in range(ROUNDS):
            k0, k1 = (k + np.uint64(number * step % _WORD) for k, step in zip((first, second), _STEPS, strict=True))
            (high0, low0), (high1, low1) = _product(_MULTIPLIERS[0], c0), _product(_MULTIPLIERS[1], c2)
            c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return [c0, c1, c2, c3]


def _product(factor: int, words: Words) -> tuple[Words, Words]:
    """The upper and the lower word of products of two words, by halves."""
    f_low, f_high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    low, high = words & _LOW, words >> _HALF
    middle = f_high * low + (f_low * low >> _HALF)
    rest = f_low * high + (middle & _LOW)
    return f_high * high + (middle >> _HALF) + (rest >> _HALF), words * np.uint64(factor)

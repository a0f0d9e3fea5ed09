"""
Longest common and longest increasing subsequences, exactly.

The longest common subsequence is computed for all positions of one sequence at once, as bits of one integer: H. Hyyrö,
"Bit-parallel LCS-length computation revisited", 2004. For n and m elements that takes m operations on n bits. All m
integers are kept for the way back; where that is too much, the problem is halved: D. S. Hirschberg, "A linear space
algorithm for computing maximal common subsequences", CACM 18 (6), 1975.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence

MOST_BITS = 1 << 31
"""So many bits, 256 MiB, are kept for the way back."""


def common_subsequence(
    a: Sequence[Hashable], b: Sequence[Hashable], most_bits: int = MOST_BITS
) -> list[tuple[int, int]]:
    """Positions in both of a longest common subsequence, ascending; in O(n m / w) time for words of w bits."""
    start, end = 0, 0
    shorter = min(len(a), len(b))
    while start < shorter and a[start] == b[start]:
        start += 1
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    head = [(n, n) for n in range(start)]
    tail = [(len(a) - n, len(b) - n) for n in range(end, 0, -1)]
    middle = _divided(a[start : len(a) - end], b[start : len(b) - end], most_bits)
    return [*head, *((start + i, start + j) for i, j in middle), *tail]


def _divided(a: Sequence[Hashable], b: Sequence[Hashable], most_bits: int) -> list[tuple[int, int]]:
    if len(b) < 2 or len(a) * len(b) <= most_bits:
        return _traced(a, b)
    half = len(b) // 2
    before = _lengths(a, b[:half])
    behind = _lengths(a[::-1], b[: half - 1 : -1] if half else b[::-1])[::-1]
    cut = max(range(len(a) + 1), key=lambda i: before[i] + behind[i])
    first, second = _divided(a[:cut], b[:half], most_bits), _divided(a[cut:], b[half:], most_bits)
    return [*first, *((cut + i, half + j) for i, j in second)]


def _steps(a: Sequence[Hashable], b: Iterable[Hashable]) -> Iterable[int]:
    """After each element of b an integer, whose bit i is 0 where a[: i + 1] has one more in common than a[:i]."""
    places: dict[Hashable, int] = {}
    for position, element in enumerate(a):
        places[element] = places.get(element, 0) | 1 << position
    every = (1 << len(a)) - 1
    bits = every
    for element in b:
        matching = bits & places.get(element, 0)
        bits = ((bits + matching) | (bits - matching)) & every
        yield bits


def _traced(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The subsequence from all steps, from the end: an element of b is in it where a bit becomes 0."""
    if not a or not b:
        return []
    steps = [*_steps(a, b)]
    found: list[tuple[int, int]] = []
    i, j = len(a), len(b)
    while i and j:
        if steps[j - 1] >> (i - 1) & 1:
            i -= 1
            continue
        j -= 1
        if not j or steps[j - 1] >> (i - 1) & 1:
            i -= 1
            found.append((i, j))
    return found[::-1]


def _lengths(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[int]:
    """The lengths of the longest common subsequences of b and each beginning of a, the empty one first."""
    last = (1 << len(a)) - 1
    for last in _steps(a, b):
        pass
    lengths = [0]
    for bit in reversed(f"{last:0{len(a)}b}" if a else ""):
        lengths.append(lengths[-1] + (bit == "0"))
    return lengths


def increasing_subsequence(values: Sequence[int]) -> list[int]:
    """The positions of a longest increasing subsequence of different numbers; in O(n log n) time."""
    ends: list[int] = []  # the least last value of a subsequence of each length
    last: list[int] = []  # its position
    before: list[int | None] = []
    for position, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [value]
        last[length : length + 1] = [position]
    found: list[int] = []
    at = last[-1] if last else None
    while at is not None:
        found.append(at)
        at = before[at]
    return found[::-1]

"""
Work that never changes, to which times are compared: Python's own (calls, tuples, dictionaries) and numpy's on arrays.

Shared machines are faster and slower from one minute to the next; a ratio to the same work, before and after in the
same run, is not. Never edit what it computes: all of the history is in its unit.
"""

import numpy as np

ROUNDS = 6


def interpreted(count: int) -> int:
    """Keys of tuples, calls and integer arithmetic, as passes and searches do them."""
    found: dict[tuple[int, int, int], int] = {}
    for n in range(count):
        key = (n % 97, n % 89, n % 11)
        found[key] = max(found.get(key, 0), _step(n, key[0]))
    return sum(found.values()) + sum(sorted(found.values())[::7])


def _step(n: int, k: int) -> int:
    return -(-n // (k + 1)) * k + n % (k + 1)


def vectorised(count: int) -> float:
    """Many short arrays and some long ones, as tables of candidates are priced."""
    short = np.arange(64, dtype=np.int64)
    total = 0.0
    for n in range(count):
        rows = -(-(short + n) // 7) * 7
        total += float(np.minimum(rows, 200).sum())
    long = np.arange(200_000, dtype=np.float64) % 1013
    for _ in range(count // 400):
        total += float(np.maximum(long * 1.5, long[::-1]).min())
        long = np.sort(long)[::-1] + 1.0
    return total


def main() -> None:
    for _ in range(ROUNDS):
        interpreted(60_000)
        vectorised(6_000)


if __name__ == "__main__":
    main()

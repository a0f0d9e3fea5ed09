"""
Whether two runs computed the same: the one place that defines equality and tolerances.

Where every value of both runs is an integer that float64 holds exactly, they must be equal to the bit. Otherwise
rounding depends on the order of summation, and they must agree to 1e-9 of the larger value, or to 1e-12 of the
largest value of the run, below which cancelling sums leave only noise. A program may amplify rounding beyond that, as
batch normalisation over two values does: the caller then passes the change of its results when the last digits of its
data change, and differences up to that are tolerated and reported. What says how near it stays (`within`) is compared
by that and the noise alone, relative to the largest magnitude of each value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from npuc.compiler.layers.base import Array

RELATIVE = 1e-9
NOISE = 1e-12
AMPLIFIED = 10.0
_EXACT_INTEGERS = 2.0**53
_BLOCK = 1 << 16
"""How many elements are looked at together: what is computed from them stays in the cache."""


@dataclass(frozen=True)
class Comparison:
    """
    The outcome: `equal`; the criterion (`exact` to the bit, or within rounding); and if unequal, the difference.

    `name` is the first value that differs, `error` its largest difference over the tolerated one (infinite in exact
    mode). `amplified` is the largest relative difference tolerated because the data's last digits cause as much;
    `relative` what was tolerated where it is neither. `changed` says why a pass is meant to change numbers; then
    `error` is the largest difference over the largest value.
    """

    equal: bool
    exact: bool
    name: str | None = None
    error: float = 0.0
    amplified: float = 0.0
    changed: str | None = None
    relative: float = RELATIVE

    def __str__(self) -> str:
        if not self.equal:
            return f"'{self.name}' differs"
        if self.changed is not None:
            return f"other numbers, by up to {self.error:.2g} of the largest ('{self.name}'), as {self.changed}"
        if self.amplified:
            return f"equal within rounding, which this program amplifies to {self.amplified:.1g} on this data"
        return "bit-equal" if self.exact else f"equal to {self.relative:g}"


def _blocks(array: Array) -> Iterator[Array]:
    """The elements of an array, `_BLOCK` at a time."""
    flat = array.reshape(-1)
    return (flat[start : start + _BLOCK] for start in range(0, flat.size, _BLOCK))


def _is_integral(array: Array) -> bool:
    if array.dtype.kind in "iub":
        return True
    with np.errstate(invalid="ignore", over="ignore"):  # a float16 is below the limit, which it cannot hold
        return all(
            bool(np.all(np.isfinite(a)) and np.all(np.abs(a) < _EXACT_INTEGERS) and np.all(a == np.trunc(a)))
            for a in _blocks(array)
        )


def compare(
    before: Mapping[str, Array], after: Mapping[str, Array], moved: Mapping[str, Array] | None = None
) -> Comparison:
    """
    Compare the values that two runs have in common by name; a name of `before` that `after` lacks differs.

    `moved` are the values of `before` for data that differ in their last digits.
    """
    if moved is not None:
        return _compare_amplified(before, after, moved)
    common = {name: (np.asarray(before[name]), np.asarray(after[name])) for name in before if name in after}
    exact = all(_is_integral(array) for pair in common.values() for array in pair)
    scale = max((_largest(array) for pair in common.values() for array in pair), default=0.0)
    for name in before:
        if name not in common:
            return Comparison(equal=False, exact=exact, name=name, error=float("inf"))
        error = _difference(*common[name], exact=exact, scale=scale)
        if error > 1.0:
            return Comparison(equal=False, exact=exact, name=name, error=error)
    return Comparison(equal=True, exact=exact)


def compare_changed(before: Mapping[str, Array], after: Mapping[str, Array], why: str) -> Comparison:
    """
    How far the values of two runs are from each other, where a pass changes them on purpose; only names must agree.

    Values that are not finite on either side do not count.
    """
    worst, name = 0.0, None
    for key, value in before.items():
        if key not in after or np.shape(after[key]) != np.shape(value):
            return Comparison(equal=False, exact=False, name=key, error=float("inf"))
        old, new = (np.asarray(one, np.float64) for one in (value, after[key]))
        with np.errstate(invalid="ignore"):
            differences = np.abs(new - old)
        largest = float(np.max(np.abs(old), initial=0.0, where=np.isfinite(old)))
        error = float(np.max(differences, initial=0.0, where=np.isfinite(differences))) / (largest or 1.0)
        if name is None or error > worst:
            worst, name = error, key
    return Comparison(equal=True, exact=False, name=name, error=worst, changed=why)


def compare_within(before: Mapping[str, Array], after: Mapping[str, Array], within: float) -> Comparison:
    """
    Compare the values of two runs by name: none differs by more than `within` of its largest magnitude, or than what
    cancelling sums leave as noise.
    """
    noise = NOISE * max((_largest(np.asarray(array)) for array in before.values()), default=0.0)
    for name, a in before.items():
        error = float("inf")
        if name in after and np.asarray(after[name]).shape == np.asarray(a).shape:
            value, other = (np.asarray(one, np.float64) for one in (a, after[name]))
            finite = np.isfinite(value)
            if np.array_equal(value[~finite], other[~finite], equal_nan=True):
                difference = float(np.abs(other[finite] - value[finite]).max(initial=0.0))
                error = difference / max(within * _largest(value), noise, np.finfo(np.float64).tiny)
        if not error <= 1.0:
            return Comparison(equal=False, exact=False, name=name, error=error, relative=within)
    return Comparison(equal=True, exact=False, relative=within)


def _compare_amplified(
    before: Mapping[str, Array], after: Mapping[str, Array], moved: Mapping[str, Array]
) -> Comparison:
    """Compare within `AMPLIFIED` times the movement of each value."""
    largest = 0.0
    for name, a in before.items():
        if name not in after or np.shape(a) != np.shape(after[name]):
            return Comparison(equal=False, exact=False, name=name, error=float("inf"))
        size = max(_largest(np.asarray(a)), np.finfo(np.float64).tiny)
        value, other, near = (np.asarray(one[name], np.float64) for one in (before, after, moved))
        finite = np.isfinite(value)
        if not np.array_equal(value[~finite], other[~finite], equal_nan=True):
            return Comparison(equal=False, exact=False, name=name, error=float("inf"))
        movement = float(np.abs(near[finite] - value[finite]).max(initial=0.0)) / size
        difference = float(np.abs(other[finite] - value[finite]).max(initial=0.0)) / size
        if not difference <= AMPLIFIED * movement + RELATIVE:
            return Comparison(equal=False, exact=False, name=name, error=difference / (AMPLIFIED * movement + RELATIVE))
        largest = max(largest, movement)
    return Comparison(equal=True, exact=False, amplified=largest)


def _largest(array: Array) -> float:
    """The largest magnitude of the finite values."""
    found = 0.0
    for block in _blocks(array):
        sizes = np.abs(block[np.isfinite(block)] if block.dtype.kind == "f" else block.astype(np.float64))
        found = max(found, float(sizes.max(initial=0.0)))
    return found


def _difference(a: Array, b: Array, *, exact: bool, scale: float) -> float:
    """The largest difference of two arrays over the tolerated one."""
    if a.shape != b.shape:
        return float("inf")
    if exact:
        return 0.0 if np.array_equal(a, b) else float("inf")
    return max((_of_block(x, y, scale) for x, y in zip(_blocks(a), _blocks(b), strict=True)), default=0.0)


def _of_block(a: Array, b: Array, scale: float) -> float:
    """The largest difference of two blocks of elements over the tolerated one."""
    if np.array_equal(a, b):
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    a, b = a[finite], b[finite]
    if not a.size:
        return 0.0
    tolerance = RELATIVE * np.maximum(np.abs(a), np.abs(b)) + NOISE * scale
    return float(np.max(np.abs(a - b) / np.where(tolerance > 0.0, tolerance, np.finfo(np.float64).tiny)))

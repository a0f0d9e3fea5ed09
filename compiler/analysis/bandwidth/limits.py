"""
Linear limits of the bandwidths of levels, and the small language in which they are written. `<` counts as `<=`.

    b1 >= 2 b2          b1 = 500          b3 + b4 <= 200          b1 >= b2 >= b3

b1 is the first level of a list. Numbers are GB/s; a number before a level, with or without `*`, is a factor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from npuc.compiler.analysis.bandwidth.traffic import Floats
from npuc.compiler.core.errors import UsageError

CLOSE = 1e-7
"""How far, as a share of its terms, bandwidths may leave a limit."""


@dataclass(frozen=True)
class LinearLimit:
    """low <= sum over levels of factor x bandwidth <= high, and how it is called in messages."""

    factors: tuple[float, ...]
    low: float
    high: float
    name: str

    def holds(self, bandwidths: Floats) -> bool:
        """Whether bandwidths meet it, but for rounding."""
        terms = np.array(self.factors) * bandwidths
        value, room = float(terms.sum()), CLOSE * max(float(np.abs(terms).sum()), *map(abs, self._sides))
        return self.low - room <= value <= self.high + room

    @property
    def _sides(self) -> tuple[float, ...]:
        return tuple(side for side in (self.low, self.high) if np.isfinite(side)) or (0.0,)


def total_limit(levels: int, total: float, name: str) -> LinearLimit:
    """The bandwidths of all levels are so much together."""
    return LinearLimit((1.0,) * levels, total, total, name)


def cost_limit(prices: Sequence[float], most: float, name: str) -> LinearLimit:
    """Bandwidths at these prices cost at most so much."""
    return LinearLimit(tuple(prices), -inf, most, name)


MOST = 1e12
"""The largest number of a limit."""
_RELATION = re.compile(r"(<=|>=|==|=|<|>)")
_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)\s*\*?\s*)?(?:[bB](\d+))?")
_HINT = "write it as 'b1 >= 2 b2', 'b1 = 500' or 'b2 + b3 <= 200', where b1 is the first level"


def parse_limits(text: str, levels: int, unit: float, *, option: str = "--constraint") -> list[LinearLimit]:
    """
    The limits that a text says, one for each relation in it; a number in it counts as so many `unit`.

    Raises `UsageError` for what is none, is about no level, or about one that there is not.
    """
    parts = _RELATION.split(text)
    if len(parts) < 3:
        raise UsageError(f"{option} '{text}': expected a relation", hint=_HINT)
    sides = [_side(part, text, levels, option) for part in parts[::2]]
    for number, (left, right) in enumerate(pairwise(sides)):
        if not (left[0].any() or right[0].any()):
            relation = "".join(parts[2 * number : 2 * number + 3]).strip()
            raise UsageError(f"{option} '{text}': '{relation}' is about no level", hint=_HINT)
    return [
        _limit(left, right, relation, f"{option} '{text.strip()}'", unit)
        for (left, right), relation in zip(pairwise(sides), parts[1::2], strict=True)
    ]


def _limit(
    left: tuple[Floats, float], right: tuple[Floats, float], relation: str, name: str, unit: float
) -> LinearLimit:
    factors, number = left[0] - right[0], (right[1] - left[1]) * unit
    low = number if relation in ("=", "==", ">=", ">") else -inf
    high = number if relation in ("=", "==", "<=", "<") else inf
    return LinearLimit(tuple(factors.tolist()), low, high, name)


def _side(part: str, text: str, levels: int, option: str) -> tuple[Floats, float]:
    """One side of a relation: the factors of the levels, and the number beside them."""
    factors, number, at = np.zeros(levels), 0.0, 0
    while at < len(part.rstrip()):
        found = _TERM.match(part, at)
        sign, amount, level = found.groups() if found is not None else ("", None, None)
        if found is None or (amount is None and level is None) or (at > 0 and not sign):
            raise UsageError(f"{option} '{text}': cannot read '{part[at:].strip()}'", hint=_HINT)
        if float(amount or 1) > MOST:
            raise UsageError(f"{option} '{text}': found {amount}, expected a number of at most {MOST:g}", hint=_HINT)
        value = float(amount or 1) * (-1 if sign == "-" else 1)
        if level is None:
            number += value
        elif not 1 <= int(level) <= levels:
            known = "b1" if levels == 1 else f"b1 to b{levels}"
            raise UsageError(f"{option} '{text}': there is no level b{level}", hint=f"the levels are {known}")
        else:
            factors[int(level) - 1] += value
        at = found.end()
    if at == 0:
        raise UsageError(f"{option} '{text}': a side of it is empty", hint=_HINT)
    return factors, number

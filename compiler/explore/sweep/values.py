"""
Parses the values of one key of a sweep: `1,2,4`, `1024:8192:1024`, `1:4:1,8,16`.

A range `LO:HI:STEP` counts in exact decimals, so that 0.5:2:0.1 ends with 2.0 and has no 0.7999999999999999; HI is
among its values where the steps reach it. It gives integers where all three numbers are integers, else floats.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.numbers import BLANKS

MOST_POINTS = 100_000
"""The most points of a sweep whose points are all kept, and the most values of a key."""
MOST_STREAMED = 1_000_000_000
"""The most points of a sweep whose rows go to a file, and are not kept."""
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?", re.ASCII)


def read_values(key: str, text: str, *, words: bool = False) -> list[int | float | str]:
    """
    The values of a text: ranges as numbers, everything else as it is written. With `words` there are no ranges.

    Raises `UsageError` for empty items, a range that is none, and more values than a sweep may have.
    """
    result: list[int | float | str] = []
    for item in _items(text):
        written = item.strip(BLANKS)
        if not written:
            raise UsageError(f"--vary {key}={text}: found an empty value", hint=_example(key))
        result += _range(key, written) if ":" in written and not words and not _is_quoted(written) else [written]
        if len(result) > MOST_POINTS:
            raise too_many(len(result))
    return result


def too_many(count: int, most: int = MOST_POINTS) -> UsageError:
    """The error of a sweep that has too many points."""
    return UsageError(
        f"the sweep has {count:,} points, the most is {most:,}", hint="fewer values, or larger steps of ranges"
    )


def _items(text: str) -> list[str]:
    """The parts between commas outside of brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for char in text:
        quoted ^= char == '"'
        depth += 0 if quoted else (char in "[{") - (char in "]}")
        if char == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _is_quoted(text: str) -> bool:
    return len(text) >= 2 and text[0] == text[-1] == '"'


def _example(key: str) -> str:
    return f"for example --vary {key}=1,2,4 or --vary {key}=1:8:1"


def _range(key: str, text: str) -> list[int | float]:
    parts = [part.strip(BLANKS) for part in text.split(":")]
    place = f"--vary {key}: range {text}"
    if len(parts) != 3:
        raise UsageError(f"{place}: expected LO:HI:STEP", hint=_example(key))
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise UsageError(f"{place}: '{part}' is no number", hint=_example(key))
    low, high, step = (Fraction(Decimal(part)) for part in parts)
    if step == 0:
        raise UsageError(f"{place}: the step is 0", hint=_example(key))
    if (high - low) * step < 0:
        way = "up" if high > low else "down"
        sign = "above" if high > low else "below"
        raise UsageError(f"{place}: from {parts[0]} {way} to {parts[1]} the step must be {sign} 0")
    count = int((high - low) / step) + 1
    if count > MOST_POINTS:
        raise too_many(count)
    if all(_INTEGER.fullmatch(part) for part in parts):
        return [int(low + number * step) for number in range(count)]
    return [float(low + number * step) for number in range(count)]

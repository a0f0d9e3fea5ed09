"""Numbers in mapping files."""

from __future__ import annotations

import re

from npuc.frontends.maestro.words import Reader, Word
from npuc.frontends.source_text import Diagnostics

LARGEST = 2**31 - 1
"""The largest number that a file may hold: MAESTRO's are 32 bits wide."""
_DIGITS = re.compile("[0-9]+")


def is_number(word: Word) -> bool:
    """Whether a word is an integer."""
    return _DIGITS.fullmatch(word.text) is not None


def in_range(word: Word, least: int) -> int | None:
    """The integer that a word is, if it is from `least` to the largest that is allowed."""
    digits = word.text.lstrip("0") or "0"
    if word.negative or len(digits) > len(str(LARGEST)) or not least <= int(digits) <= LARGEST:
        return None
    return int(digits)


def integer(reader: Reader, word: Word, what: str, least: int, diagnostics: Diagnostics, hint: str | None) -> int:
    """
    The integer that a word is, from `least` on.

    One out of range is noted, and `least` (1 for 0) taken for it. Raises `SourceError` for any other word.
    """
    expected = f"{what} from {least} to {LARGEST:,}"
    if not is_number(word):
        raise reader.wrong(word, expected, _number_hint(word) or hint)
    value = in_range(word, least)
    if value is None:
        diagnostics.add(reader.wrong(word, expected))
        return max(least, 1)
    return value


def _number_hint(word: Word) -> str | None:
    return "a blank stands before //" if "//" in word.text else None

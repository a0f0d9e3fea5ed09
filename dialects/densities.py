"""Densities as users write them: a number above 0 and at most 1, a fraction, or N:M."""

import re
from fractions import Fraction

from npuc.dialects.sparse_formats import GROUP


def read_density(text: str) -> tuple[Fraction, tuple[int, int] | None]:
    """The density that a text says, and its N and M where it says these. Raises `ValueError` for another text."""
    if found := re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", text):
        kept, of = int(found[1]), int(found[2])
        if not 1 <= kept <= of or not GROUP[0] <= of <= GROUP[1]:
            raise ValueError(f"'{text}' is no N:M: expected 1 to M of M, which is {GROUP[0]} to {GROUP[1]}")
        return Fraction(kept, of), (kept, of)
    if not re.fullmatch(r"[0-9]{0,9}(\.[0-9]{1,9})?(e-?[0-9]{1,2})?|[0-9]{1,9}/0*[1-9][0-9]{0,8}", text) or not text:
        raise ValueError(f"the density is '{text}', expected a number above 0 and at most 1, or N:M")
    try:
        density = Fraction(text)
    except ValueError:
        raise ValueError(f"the density is '{text}', expected a number above 0 and at most 1, or N:M") from None
    if not 0 < density <= 1:
        raise ValueError(f"the density is {text}, expected above 0 and at most 1")
    return density, None

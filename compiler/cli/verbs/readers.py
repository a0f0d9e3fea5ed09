"""Readers of the values of options that are of more than one kind."""

from __future__ import annotations

import typer

from npuc.compiler.core.numbers import real_of
from npuc.compiler.core.options import BEST_BUCKETS


def bucket_size(text: str | float) -> float | str:
    """A reader of the size of buckets: MiB, or the word for the best ones."""
    value = text if isinstance(text, int | float) or text == BEST_BUCKETS else real_of(text)
    if value is None:
        raise typer.BadParameter(f"found '{text}', expected a number of MiB, or {BEST_BUCKETS}")
    return value

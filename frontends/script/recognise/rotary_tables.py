"""What the numbers of rotary positions say: the base of frequencies, how they are scaled, or themselves."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from npuc.compiler.layers.base import Array

Order = Literal["halves", "pairs"]
"""Which elements of a row are a pair: i and i + size / 2, or neighbours."""
Options = dict[str, Any]
"""The options of `rotary_embedding`, those with defaults left out."""
DEFAULT_BASE = 10000.0
_CLOSE = 1e-5
"""Up to which relative difference frequencies of a file are those of a formula: files hold single precision."""


def options_of_tables(cosine: Array, sine: Array, shape: Sequence[int], order: Order, *, tiled: bool) -> Options | None:
    """
    The options that give cosines and sines which broadcast to x of a shape; None where none do.

    `tiled` tables have a number for each element of a row, others one for each pair.
    """
    tables = [_rows(table, shape, order, tiled=tiled) for table in (cosine, sine)]
    if tables[0] is None or tables[1] is None or tables[0][0] != tables[1][0]:
        return None
    axis = tables[0][0]
    frequencies = _frequencies(tables[0][1].astype(np.float64), tables[1][1].astype(np.float64))
    if frequencies is None:
        return None
    return {**options_of_frequencies(frequencies), **({} if axis == -2 else {"axis": axis})}


def axis_of(table: Sequence[int], shape: Sequence[int], *, tiled: bool) -> int | None:
    """The axis of positions, -2 or -3, by the shape of a table that broadcasts to x of a shape; None for no table."""
    if not 2 <= len(table) <= len(shape) or table[-1] * (1 if tiled else 2) != shape[-1]:
        return None
    return next((axis for axis in (-2, -3) if len(table) >= -axis and table[axis] == shape[axis] > 1), None)


def _rows(table: Array, shape: Sequence[int], order: Order, *, tiled: bool) -> tuple[int, Array] | None:
    """The axis of positions of a table, and its rows [length, size / 2]."""
    axis = axis_of(table.shape, shape, tiled=tiled)
    if axis is None:
        return None
    if tiled:
        first, second = (table[..., ::2], table[..., 1::2]) if order == "pairs" else np.split(table, 2, -1)
        if not np.array_equal(first, second):
            return None
        table = first
    rows = table
    for other in (one for one in range(-table.ndim, -1) if one != axis):
        rows = rows.take([0], other)
    if not np.array_equal(np.broadcast_to(rows, table.shape), table):
        return None
    return axis, rows.reshape(shape[axis], -1)


def _frequencies(cosine: Array, sine: Array) -> Array | None:
    """The angles between neighbouring rows, from 0 on; None where rows are not turned so."""
    found: Array = np.arctan2(sine[1], cosine[1])
    place = 2
    while place < len(cosine):  # a later row tells the angle more exactly, up to whole turns
        angle: Array = np.arctan2(sine[place], cosine[place])
        found = (angle + 2 * pi * np.round((place * found - angle) / (2 * pi))) / place
        place *= 2
    places: Array = np.arange(len(cosine))[:, None]
    allowed = 1e-6 + 5e-7 * places  # angles in single precision
    angles: Array = places * found
    right = (abs(np.cos(angles) - cosine) <= allowed) & (abs(np.sin(angles) - sine) <= allowed)
    return found if right.all() else None


def options_of_frequencies(frequencies: Array) -> Options:
    """The options by the frequencies of all pairs: a base, one that is scaled as Llama 3.1's, or a list."""
    pairs = np.arange(len(frequencies))
    if len(frequencies) == 1 and abs(frequencies[0] - 1) <= _CLOSE:
        return {}
    if len(frequencies) > 1 and 0 < frequencies[1] < 1:
        base = _rounded(float(frequencies[1]) ** -len(frequencies))
        plain = base ** (-pairs / len(frequencies))
        chosen = {} if base == DEFAULT_BASE else {"base": base}
        if np.allclose(frequencies, plain, rtol=_CLOSE, atol=0):
            return chosen
        scaling = _scaling(frequencies, plain)
        if scaling is not None:
            return {**chosen, "scaling": scaling}
    return {"frequency": [float(one) for one in frequencies]}


def _scaling(frequencies: Array, plain: Array) -> list[float] | None:
    """
    The factor, bounds and length of Llama 3.1's scaling; None where the frequencies are scaled in another way.

    They determine the bounds up to a common factor: the lower one is 1, as in all published models.
    """
    ratio = frequencies / plain
    factor = _rounded(1 / float(ratio[-1]))
    between = np.nonzero((ratio < 1 - _CLOSE) & (ratio > 1 / factor + _CLOSE))[0]
    if len(between) < 2 or factor <= 1:
        return None
    kept = (ratio - 1 / factor) / (1 - 1 / factor)
    first, last = between[0], between[-1]
    slope = (kept[first] - kept[last]) / (plain[first] - plain[last])
    start = kept[first] - slope * plain[first]
    if not (np.isfinite(slope) and start < 0 < slope):
        return None
    high = _rounded(1 - 1 / float(start), 4)
    length = _rounded(float(slope) * 2 * pi * (high - 1), 4)
    turns = plain * length / (2 * pi)
    wanted = plain * (np.clip((turns - 1) / (high - 1), 0, 1) * (1 - 1 / factor) + 1 / factor)
    return [factor, 1.0, high, length] if np.allclose(frequencies, wanted, rtol=_CLOSE, atol=0) else None


def _rounded(value: float, digits: int = 5) -> float:
    return float(f"{value:.{digits}g}")

"""Which angles rotary positions turn by: as the calls say that make their tables, or as the numbers in these do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.recognise.matching import (
    either_way,
    is_number,
    joined,
    made_by,
    operands,
    same,
    uncast,
    unshaped,
)
from npuc.frontends.script.recognise.rotary_tables import (
    Options,
    Order,
    axis_of,
    options_of_frequencies,
    options_of_tables,
)
from npuc.frontends.script.weights import Weight

if TYPE_CHECKING:
    from npuc.frontends.script.writer import CallWriter

_MOVES = frozenset(
    "reshape unsqueeze squeeze flatten expand cast index index_select slice split unbind repeat_interleave".split()
)


def by_tables(c: CallWriter, cosine: Any, sine: Any, x: Any, order: Order, *, tiled: bool) -> Options | None:
    """The options by the tables; None where they are not known, or belong to no rotary positions."""
    if len(c.shape(x)) < 2:
        return None
    if all(_is_unread(c, table) for table in (cosine, sine)):
        axes = [axis_of(c.shape(table), c.shape(x), tiled=tiled) for table in (cosine, sine)]
        known = axes[0] is not None and axes[0] == axes[1]
        return ({} if axes[0] == -2 else {"axis": axes[0]}) if known else None
    names = tuple(value.text if isinstance(value, Name) else getattr(value, "name", "") for value in (cosine, sine))
    key = ("rotary", *names, c.shape(x), order, tiled)
    if key not in c.script.facts:
        cosines, sines = (c.known(value) if isinstance(value, Name | Weight) else None for value in (cosine, sine))
        found = None
        if cosines is not None and sines is not None:
            found = options_of_tables(cosines, sines, c.shape(x), order, tiled=tiled)
        c.script.facts[key] = found
    return c.script.facts[key]


def _is_unread(c: CallWriter, table: Any) -> bool:
    """Whether a table is some of the numbers of a buffer that the file has no values of."""
    for _ in range(20):
        weight = table if isinstance(table, Weight) else c.script.weights.get(getattr(table, "text", ""))
        if weight is not None:
            return not weight.trained and weight.read is None
        origin = c.script.origin(table) if isinstance(table, Name) else None
        call = origin[0] if origin is not None else c.script.written(table) if isinstance(table, Name) else None
        if not isinstance(call, Call) or call.function not in _MOVES or not call.arguments:
            return False
        table = c.script.constant(call.arguments[0].value)
    return False


def by_structure(c: CallWriter, cosine: Any, sine: Any, x: Any) -> Options | None:
    """The options by the calls that make the tables, whose frequencies may be unknown."""
    axes = [_axis_of(c.shape(table), c.shape(x)) for table in (cosine, sine)]
    angles = [_angle(c, table, name) for table, name in ((cosine, "cos"), (sine, "sin"))]
    if None in angles or not same(angles[0], angles[1]) or axes[0] is None or axes[0] != axes[1]:
        return None
    doubled = joined(c, angles[0])
    size = c.shape(x)[-1]
    if len(doubled) != 2 or not same(*doubled) or c.shape(doubled[0])[-1] != size // 2:
        return None
    half, turned = unshaped(c, doubled[0]), False
    if transposed := operands(c, half, "transpose"):
        rank = len(c.shape(half))
        if transposed[1] != [*range(rank - 2), rank - 1, rank - 2]:
            return None
        half, turned = transposed[0], True
    for function in ("mul", "matmul"):
        for positions, frequencies in either_way(operands(c, half, function)):
            if _counts(c, positions, c.shape(x)[axes[0]], columns=turned):
                found = _of_frequencies(c, unshaped(c, uncast(c, unshaped(c, frequencies))), size)
                return None if found is None else {**found, **({} if axes[0] == -2 else {"axis": axes[0]})}
    return None


def _axis_of(table: Sequence[int], shape: Sequence[int]) -> int | None:
    """The axis of positions of a table; that of one row is the last but one."""
    alone = len(shape) > 1 and shape[-2] == 1 and list(table) == [1] * (len(table) - 1) + [shape[-1]]
    return -2 if alone else axis_of(table, shape, tiled=True)


def _counts(c: CallWriter, positions: Any, length: int, *, columns: bool) -> bool:
    """Whether a factor of a table's angles holds 0, 1, … to a length, a number a row, or a column."""
    if isinstance(unshaped(c, uncast(c, positions)), Weight):
        return False
    shape = c.shape(positions) if isinstance(positions, Name) else ()
    if len(shape) < (1 if columns else 2) or (1, *shape)[-2 if columns else -1] != 1:
        return False
    numbers = c.numbers(positions)
    return numbers is not None and bool((numbers.reshape(-1, length) == np.arange(length)).all())


def _angle(c: CallWriter, table: Any, function: str) -> Any:
    """The angle whose cosine or sine a table holds, scaled by 1 or not at all."""
    table = unshaped(c, uncast(c, unshaped(c, table)))
    for inner, scale in either_way(operands(c, table, "mul")):
        if is_number(scale, 1.0):
            table = inner
    found = operands(c, table, function)
    return found[0] if found else None


def _of_frequencies(c: CallWriter, frequencies: Any, size: int) -> Options | None:
    """The options by frequencies; the usual base where their values are not known."""
    weight = frequencies if isinstance(frequencies, Weight) else None
    if isinstance(frequencies, Name) and made_by(c, frequencies, "param") is not None:
        weight = c.script.weights.get(frequencies.text)
    if weight is not None and weight.read is None:
        return {}
    values = weight.read() if weight is not None and weight.read is not None else c.numbers(frequencies)
    if values is None or values.size != size // 2:
        return None
    return options_of_frequencies(values.ravel().astype(np.float64))

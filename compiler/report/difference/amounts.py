"""What rows cost together, and by how much that differs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from npuc.compiler.report.causes import Parts, added
from npuc.compiler.report.difference.document import Amounts, DiffSide
from npuc.compiler.report.layers import Line
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.totals import Totals, summed

NAMES = Amounts.__struct_fields__
PartsOf = Callable[[OpRow], Parts]
"""The seconds of one of a row's repetitions by cause, as a backend says."""


def said_by(totals: Totals) -> frozenset[str]:
    """The amounts that a report says."""
    return frozenset(name for name in NAMES if totals[name] is not None)


def side_of(rows: Sequence[OpRow], parts: PartsOf) -> DiffSide:
    """What rows cost together."""
    if len(rows) == 1:
        return _side_of_row(rows[0], parts)
    line = Line("", rows=list(rows))
    found: dict[str, Any] = {name: summed((row.repeat, getattr(row, name)) for row in rows) for name in NAMES}
    return DiffSide(
        **found,
        rows=[row.index for row in rows],
        utilization=line.utilization,
        limit=line.limit,
        spent=added((row.repeat, parts(row)) for row in rows),
        shape=_shape(rows),
    )


def _side_of_row(row: OpRow, parts: PartsOf) -> DiffSide:
    """The same of one row, of which there are many."""
    count = row.repeat
    spent = parts(row)
    found: dict[str, Any] = {name: None if (value := getattr(row, name)) is None else count * value for name in NAMES}
    busy = row.utilization is not None and row.macs and row.seconds
    return DiffSide(
        **found,
        rows=[row.index],
        utilization=row.utilization if busy else None,
        limit=None if row.seconds is None else row.limit,
        spent={cause: count * spent[cause] for cause in sorted(spent, key=lambda cause: -spent[cause])},
        shape=_shape((row,)),
    )


def _shape(rows: Sequence[OpRow]) -> dict[str, int] | None:
    """The sizes of the first product, which are those of the forward one in all phases."""
    for row in rows:
        if row.m is None and row.batch is None and row.n is None and row.k is None:
            continue
        sizes = {"batch": row.batch, "m": row.m, "n": row.n, "k": row.k}
        known = {name: size for name, size in sizes.items() if size is not None}
        if known:
            return known
    return None


def difference_of(a: Amounts | None, b: Amounts | None, said: Collection[str]) -> Amounts:
    """
    B less A of the amounts that both reports say.

    What is in one report alone counts as 0 in the other; an amount that a report does not give to what it has is not
    compared: null.
    """
    found: dict[str, Any] = {}
    for name in NAMES:
        values = [0 if side is None else getattr(side, name) for side in (a, b)]
        if name in said and None not in values and (a is not None or b is not None):
            found[name] = values[1] - values[0]
    return Amounts(**found)


def spent_difference(a: DiffSide | None, b: DiffSide | None) -> Mapping[str, float]:
    """By how much the seconds by cause differ, the most first."""
    before, after = ({} if side is None else side.spent for side in (a, b))
    found = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in {**before, **after}}
    return dict(sorted(found.items(), key=lambda one: (-abs(one[1]), one[0])))

"""Where operations of one function go among those of another: as early as what they read is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation


def placed(
    host: Sequence[Operation], guests: Sequence[Operation], after: Callable[[Operation], Sequence[Operation]]
) -> list[Operation]:
    """
    The operations of both, each in their order, every guest as early as its operands are there and those operations
    that `after` names for it have run; guests that read arguments alone stand in front of their first reader,
    at the end where nothing but the function's return reads them.
    """
    number = {op: n for n, op in enumerate(host)}
    place: dict[Operation, int] = {}
    for op in guests:
        before = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
        known = [place.get(one, number.get(one, -1)) for one in (*before, *after(op))]
        place[op] = max(known, default=-1)
    last = len(host) - 1
    for op in reversed(guests):
        if place[op] < 0:
            readers = [use.operation for result in op.results for use in result.uses]
            place[op] = min((place.get(one, number.get(one, last)) for one in readers), default=last)
    behind: dict[int, list[Operation]] = {}
    for op in guests:
        behind.setdefault(place[op], []).append(op)
    merged = list(behind.get(-1, ()))
    for n, op in enumerate(host):
        merged += [op, *behind.get(n, ())]
    return merged

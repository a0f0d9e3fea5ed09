"""
The rows that each operation of a group computes in each band, and the rows that stay from one band to the next.

A band is some rows of the group's results. Backwards from these, each operation computes the rows that its readers
need. Where halos are kept, rows that a band before has computed are there: only those behind them are computed, and all
that a later band needs stays. Otherwise each band computes all that it needs, so that rows may be computed repeatedly.

A result with other rows than the bands', such as an activation that is stored, has its new rows of each band; the last
band computes all that are left.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.fusion.rows.maps import RowStep, Span
from npuc.dialects.npu.groups.walk import RowWalk


class RowError(Exception):
    """A group that cannot walk rows by these bands; the text says why, perhaps of an operation."""

    def __init__(self, text: str, op: Operation | None = None):
        super().__init__(text)
        self.op = op


@dataclass(frozen=True)
class Band:
    """
    The rows of a band. `made`: what each operation computes; one that computes nothing is not there. `read`: what it
    reads of each operand by number, of those that have rows. `window`: all rows of a value that the band reads.
    `fresh`: the rows of a value that are new in the band. `old` and `left`: rows that are there from bands before, and
    that stay for bands after.
    """

    made: Mapping[Operation, Span]
    read: Mapping[tuple[Operation, int], Span]
    window: Mapping[SSAValue, Span]
    fresh: Mapping[SSAValue, Span]
    old: Mapping[SSAValue, Span]
    left: Mapping[SSAValue, Span]


@dataclass(frozen=True)
class RowProgram:
    """The operations of a group with their rows, and its results."""

    steps: Mapping[Operation, RowStep]
    results: tuple[SSAValue, ...]

    def height(self, value: SSAValue) -> int:
        """The rows of a value that an operation computes."""
        assert isinstance(value.owner, Operation)
        return self.steps[value.owner].height


def bands_of(program: RowProgram, walk: RowWalk) -> list[Band]:
    """
    All bands in their order.

    Raises `RowError` for a value that has rows along two axes, rows that only padding is read for, and, where halos are
    recomputed, results that two bands would compute.
    """
    check_axes(program)
    done: dict[SSAValue, int] = {}
    found: list[Band] = []
    for number, rows in enumerate(walk.bands()):
        found.append(_band(program, walk, rows, done, last=number == walk.count - 1))
    for op in program.steps:
        if not any(op in band.made for band in found):
            raise RowError(f"nothing reads a row that '{op.name}' computes", op)
    return _with_halos(found) if walk.keep else found


def check_axes(program: RowProgram) -> None:
    """Raise `RowError` for a value whose rows are along two axes, or that is read whole as well."""
    axes: dict[SSAValue, int | None] = {v: one.axis for op, one in program.steps.items() for v in op.results}
    for op, step in program.steps.items():
        for value, one in zip(op.operands, step.reads, strict=True):
            axis = None if one is None else one.axis
            if axes.setdefault(value, axis) != axis:
                raise RowError(f"'{op.name}' does not read the rows of a value as others do", op)


def _band(program: RowProgram, walk: RowWalk, rows: Span, done: dict[SSAValue, int], *, last: bool) -> Band:
    """A band, given how many rows of each value are done, which is brought up to date."""
    window: dict[SSAValue, Span] = {}
    for value in program.results:
        if program.height(value) == walk.height:
            window[value] = rows
    made: dict[Operation, Span] = {}
    fresh: dict[SSAValue, Span] = {}
    read: dict[tuple[Operation, int], Span] = {}
    for op, step in reversed(list(program.steps.items())):
        leaves = any(value in program.results for value in op.results)
        wanted = [window[value] for value in op.results if value in window]
        if leaves and last:
            wanted.append((step.height - 1, step.height))
        if not wanted:
            continue
        own = _new_rows(_hull(wanted), op.results[0], walk, done, leaves=leaves)
        if own is None:
            continue
        made[op] = own
        for value in op.results:
            fresh[value] = own
            done[value] = own[1]
        for number, one in enumerate(step.reads):
            if one is None:
                continue
            needed = one.needed(own)
            if needed[0] >= needed[1]:
                raise RowError(f"rows {own[0]} to {own[1]} of '{op.name}' are of padding only", op)
            value = op.operands[number]
            read[op, number] = needed
            window[value] = _hull([needed, window.get(value, needed)])
    for value, span in window.items():
        if value not in fresh and value.owner not in program.steps:
            new = _new_rows(span, value, walk, done, leaves=False)
            if new is not None:
                fresh[value] = new
                done[value] = new[1]
    return Band(dict(reversed(made.items())), read, window, fresh, {}, {})


def _new_rows(span: Span, value: SSAValue, walk: RowWalk, done: dict[SSAValue, int], *, leaves: bool) -> Span | None:
    """The rows of those that are needed which are computed in this band; None where all are there already."""
    before = done.get(value, 0 if leaves else span[0])
    if walk.keep:
        start = before if leaves else max(before, span[0])
        return (start, span[1]) if start < span[1] else None
    if leaves and span[0] != before:
        raise RowError("a result has rows that two bands compute, or none: only with halos that are kept it may")
    return span


def _hull(spans: Collection[Span]) -> Span:
    return min(start for start, _ in spans), max(stop for _, stop in spans)


def _with_halos(bands: Sequence[Band]) -> list[Band]:
    """The bands with what stays from one to the next: from the first row that a later band reads up to what is done."""
    later: dict[SSAValue, int] = {}
    needed: list[dict[SSAValue, int]] = []
    for band in reversed(bands):
        needed.append(dict(later))
        for value, (start, _) in band.window.items():
            later[value] = min(start, later.get(value, start))
    found: list[Band] = []
    done: dict[SSAValue, int] = {}
    old: dict[SSAValue, Span] = {}
    for band, first in zip(bands, reversed(needed), strict=True):
        done |= {value: stop for value, (_, stop) in band.fresh.items()}
        left = {v: (first[v], stop) for v, stop in done.items() if v in first and first[v] < stop}
        found.append(Band(band.made, band.read, band.window, band.fresh, old, left))
        old = left
    return found

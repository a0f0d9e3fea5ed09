"""
Totals from rows: the one place where they are computed.

A count's total is the sum of `repeat` x row over the rows that have a value. It is None only when there are rows and
none of them has one: then the backend does not model that quantity. Ratios are taken of sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import msgspec

from npuc.compiler.core.options import MEMORY_KINDS
from npuc.compiler.report.energy import COMPONENTS
from npuc.compiler.report.rows import ByName, DisplayedData, Kind, OpRow, Phase
from npuc.compiler.report.sections import Section

if TYPE_CHECKING:
    from npuc.compiler.core.display.shown import Shown

Number = int | float


class OpaqueFacts(Section, frozen=True):
    """The `operator` that work stands for whose cost alone is known, by formulas."""

    operator: str


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """
    The shares of totals, 0 to 1, that rows have which are `assumed`: what formulas say of operators without a meaning.

    Each is null where the total is 0 or not known.
    """

    macs: float | None
    """of the multiply-accumulates"""
    vector_ops: float | None
    """of the elementary operations"""
    seconds: float | None
    """of the time"""
    dram_bytes: float | None
    """of the bytes between DRAM and the chip"""
    energy_j: float | None
    """of the energy"""


class Totals(ByName, DisplayedData, frozen=True, kw_only=True):
    """
    Sums of `repeat` x row over all rows, and ratios of those sums. `totals["cycles"]` reads a field by its name.

    `peak_bytes` is that of the report's `memory`; the parts of `memory` add up to it: `weights`,
    `gradients` of parameters, `optimizer` states, `activations` with inputs and their gradients, `buffers` (results of
    collectives, parameters in another form, constants, running statistics).
    """

    cycles: int | float | None
    """cycles"""
    seconds: float | None
    """s"""
    macs: int | None
    """multiply-accumulates"""
    vector_ops: int | None
    """elementary operations outside of products"""
    dram_read_bytes: int | None
    """bytes read from DRAM"""
    dram_write_bytes: int | None
    """bytes written to DRAM"""
    energy_j: float | None
    """J"""
    utilization: float | None
    """MACs over what the array could have done in the time, 0 to 1"""
    lower_bound_seconds: float | None
    """s; sum of the rows' bounds: with no more resident between operations than in this program"""
    lower_bound_bytes: int | None
    """bytes; sum of the rows' bounds"""
    seconds_by_phase: dict[str, float | None]
    """s by phase, every phase present"""
    seconds_by_kind: dict[str, float | None]
    """s by kind, every kind present"""
    peak_bytes: int | None = None
    """bytes; that of `memory` of the report, or null"""
    memory: dict[str, int | None] = msgspec.field(default_factory=lambda: dict.fromkeys(MEMORY_KINDS))
    """bytes by kind at the peak, which add up to `peak_bytes`; each null where that is"""
    energy: dict[str, float | None] = msgspec.field(default_factory=lambda: dict.fromkeys((*COMPONENTS, "static")))
    """J by component, which add up to `energy_j`, and `static`, of a machine that does nothing; null where not known"""
    tops_per_w: float | None = None
    """10^12 operations a joule, dynamic and static, that were reached"""
    tops_per_mm2: float | None = None
    """10^12 operations a second and mm2 of the chip that were reached"""
    assumed: Assumed | msgspec.UnsetType = msgspec.UNSET
    """the shares that are assumed; left out where nothing is"""

    def shown(self) -> Shown:
        from npuc.compiler.report.shown.amounts import shown_totals

        return shown_totals(msgspec.to_builtins(self))


def summed(values: Iterable[tuple[int, Number | None]]) -> Number | None:
    """The sum of repeat x value: exact for integers, correctly rounded for floats, None when nothing has a value."""
    pairs = list(values)
    known = [repeat * value for repeat, value in pairs if value is not None]
    if pairs and not known:
        return None
    if all(isinstance(v, int) for v in known):
        return sum(known)
    return math.fsum(known)


def _count(rows: Sequence[OpRow], field: str) -> int | None:
    value = summed((row.repeat, getattr(row, field)) for row in rows)
    return None if value is None else int(value)


def _real(rows: Sequence[OpRow], field: str) -> float | None:
    value = summed((row.repeat, getattr(row, field)) for row in rows)
    return None if value is None else float(value)


def _utilization(rows: Sequence[OpRow]) -> float | None:
    """
    MACs done over MACs the array could have done: rows weighted by their time.

    A row without MACs counts as idle time, and not at all where the backend does not model its time; a row with MACs
    must have a time and a utilisation, else the backend does not model it.
    """
    rows = [row for row in rows if row.macs or row.seconds is not None]
    if any(row.macs and row.utilization is None for row in rows):
        return None
    if all(row.utilization is None for row in rows) or any(row.seconds is None for row in rows):
        return None
    time = math.fsum(row.repeat * (row.seconds or 0.0) for row in rows)
    busy = math.fsum(row.repeat * (row.seconds or 0.0) * (row.utilization or 0.0) for row in rows)
    return busy / time if time > 0 else None


def _seconds_by(rows: Sequence[OpRow], field: str, keys: Sequence[str]) -> dict[str, float | None]:
    """
    Time by the value of `field`; every key is present, None where there are rows and none has a time.

    It is None everywhere when no row of any has one.
    """
    if rows and all(row.seconds is None for row in rows):
        return dict.fromkeys(keys)
    return {key: _real([row for row in rows if getattr(row, field) == key], "seconds") for key in keys}


def assumed_of(rows: Sequence[OpRow]) -> Assumed | msgspec.UnsetType:
    """The shares of the rows that are assumed; unset where none is."""
    own = [row for row in rows if row.assumed is True]
    return shares_of(measures_of(own), measures_of(rows)) if own else msgspec.UNSET


def measures_of(rows: Sequence[OpRow]) -> dict[str, float | None]:
    """The totals of which shares are assumed, by the names of the shares."""
    found = {name: summed((row.repeat, getattr(row, name)) for row in rows) for name in _SHARED}
    moved = [_count(rows, "dram_read_bytes"), _count(rows, "dram_write_bytes")]
    return {**found, "dram_bytes": sum(m or 0 for m in moved) if None not in moved else None}


def shares_of(own: Mapping[str, float | None], whole: Mapping[str, float | None]) -> Assumed:
    """The shares of totals that parts of them are."""

    def share(name: str) -> float | None:
        part, all_of_it = own[name], whole[name]
        return part / all_of_it if part is not None and all_of_it else None

    return Assumed(**{name: share(name) for name in Assumed.__struct_fields__})


_SHARED = ("macs", "vector_ops", "seconds", "energy_j")


def total(rows: Sequence[OpRow]) -> Totals:
    """The totals of rows."""
    return Totals(
        cycles=summed((row.repeat, row.cycles) for row in rows),
        seconds=_real(rows, "seconds"),
        macs=_count(rows, "macs"),
        vector_ops=_count(rows, "vector_ops"),
        dram_read_bytes=_count(rows, "dram_read_bytes"),
        dram_write_bytes=_count(rows, "dram_write_bytes"),
        energy_j=_real(rows, "energy_j"),
        utilization=_utilization(rows),
        lower_bound_seconds=_real(rows, "lower_bound_seconds"),
        lower_bound_bytes=_count(rows, "lower_bound_bytes"),
        seconds_by_phase=_seconds_by(rows, "phase", get_args(Phase)),
        seconds_by_kind=_seconds_by(rows, "kind", get_args(Kind)),
        assumed=assumed_of(rows),
    )

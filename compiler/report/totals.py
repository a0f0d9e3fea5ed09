"""
Totals from rows: the one place where they are computed.

A count's total is the sum of `repeat` x row over the rows that have a value. It is None only when there are rows and
none of them has one: then the backend does not model that quantity. Ratios are taken of sums.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from msgspec.structs import astuple

from npuc.compiler.core.errors import InternalError
from npuc.compiler.report.model import (
    HardwareDict,
    Kind,
    LayerCertificate,
    OpRow,
    Parallel,
    Phase,
    Report,
    Scalar,
    Totals,
)

Number = int | float


def _sum(values: Iterable[tuple[int, Number | None]]) -> Number | None:
    """The sum of repeat x value: exact for integers, correctly rounded for floats, None when nothing has a value."""
    pairs = list(values)
    known = [repeat * value for repeat, value in pairs if value is not None]
    if pairs and not known:
        return None
    if all(isinstance(v, int) for v in known):
        return sum(known)
    return math.fsum(known)


def _count(rows: Sequence[OpRow], field: str) -> int | None:
    value = _sum((row.repeat, getattr(row, field)) for row in rows)
    return None if value is None else int(value)


def _real(rows: Sequence[OpRow], field: str) -> float | None:
    value = _sum((row.repeat, getattr(row, field)) for row in rows)
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


def total(rows: Sequence[OpRow]) -> Totals:
    """The totals of rows."""
    return Totals(
        cycles=_sum((row.repeat, row.cycles) for row in rows),
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
    )


def _check_finite(row: OpRow) -> None:
    """A number that is not finite is a defect of the backend: JSON cannot say it and no total could use it."""
    values = (*astuple(row), *row.native.values())
    wrong = [n for n, value in enumerate(values) if isinstance(value, float) and not math.isfinite(value)]
    if wrong:
        name = (*row.__struct_fields__, *row.native)[wrong[0]]
        raise InternalError(f"row {row.index} ({row.name}, {row.phase}) has {name} = {values[wrong[0]]}")


def make_report(
    backend: str,
    hardware: HardwareDict,
    rows: Sequence[OpRow],
    *,
    network: str = "",
    warnings: Sequence[str] = (),
    native: Mapping[str, Scalar] | None = None,
    certificates: Sequence[LayerCertificate] | None = None,
    parallel: Parallel | None = None,
) -> Report:
    """
    The report of a backend's rows, with totals.

    The driver fills in what a backend does not know: version, source, pipeline, defines. Raises `InternalError` for a
    number that is NaN or infinite.
    """
    for row in rows:
        _check_finite(row)
    return Report(
        network=network,
        backend=backend,
        hardware=hardware,
        warnings=list(warnings),
        totals=total(rows),
        ops=list(rows),
        native=dict(native or {}),
        certificates=None if certificates is None else list(certificates),
        parallel=parallel,
    )

"""
Times, energies and amounts as text, each with its unit: three significant digits in tables, four in sentences.

Times and energies are in s and J with decimal prefixes, data in KiB, MiB and GiB of powers of 1,024.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Units: TypeAlias = Sequence[tuple[float, str]]
"""Sizes of units and their names, the largest first."""
TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
ENERGY_UNITS = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"))
BYTE_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
"""Of sums and sentences, which are in MiB from there on."""
MAC_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_CELL_TIMES = (*TIME_UNITS, (1e-12, "ps"))
_CELL_BYTES = ((1 << 40, "TiB"), (1 << 30, "GiB"), *BYTE_UNITS)
_CELL_COUNTS = ((1e15, "P"), (1e12, "T"), *MAC_UNITS)


def time_unit(seconds: float) -> tuple[float, str]:
    """The unit in which a time is at least 1, and its size in seconds."""
    return next((unit for unit in TIME_UNITS if seconds >= unit[0]), TIME_UNITS[-1])


def bytes_unit(moved: int) -> tuple[float, str]:
    """The unit in which an amount of data is at least 1, and its size in bytes: MiB from there on."""
    return next((unit for unit in BYTE_UNITS if moved >= unit[0]), BYTE_UNITS[-1])


def energy_text(joules: float) -> str:
    """An energy with its unit, four digits."""
    scale, name = next((unit for unit in ENERGY_UNITS if joules >= unit[0]), ENERGY_UNITS[-1])
    return f"{joules / scale:,.4g} {name}"


def time_text(seconds: float) -> str:
    """A time with its unit, four digits."""
    scale, name = time_unit(seconds)
    return f"{seconds / scale:,.4g} {name}" if seconds else "0 s"


def three_digits(value: float) -> str:
    """A number with three significant digits, and all digits before its point: 0.00512, 5.30, 31.0, 1,234."""
    decimals = max(0, 2 - int(f"{value:.2e}".partition("e")[2]))
    return f"{value:,.{decimals}f}" if value else "0"


def _unit(value: float, units: Units) -> tuple[float, str]:
    """The largest unit in which a value is at least 1 when rounded to three digits, else the smallest."""
    return next((u for u in units if float(f"{abs(value) / u[0]:.2e}") >= 1), units[-1])


def _cells(values: Sequence[float | None], units: Units) -> list[str]:
    """Values in one unit, that of the largest; empty for None."""
    scale, name = _unit(max((abs(value) for value in values if value is not None), default=0.0), units)
    return ["" if v is None else "0" if not v else f"{three_digits(v / scale)} {name}".rstrip() for v in values]


def _cell(value: float | None, units: Units) -> str:
    return _cells([value], units)[0]


def time_cells(seconds: Sequence[float | None]) -> list[str]:
    """Times side by side, in one unit."""
    return _cells(seconds, _CELL_TIMES)


def bytes_cells(sizes: Sequence[float | None]) -> list[str]:
    """Amounts of data side by side, in one unit."""
    return _cells(sizes, _CELL_BYTES)


def time_cell(seconds: float | None) -> str:
    """A time in a table: 5.30 ms."""
    return _cell(seconds, _CELL_TIMES)


def energy_cell(joules: float | None) -> str:
    """An energy in a table: 235 mJ."""
    return _cell(joules, ENERGY_UNITS)


def bytes_cell(size: float | None) -> str:
    """An amount of data in a table: 116 MiB."""
    return _cell(size, _CELL_BYTES)


def count_cell(count: float | None) -> str:
    """A count of operations or elements in a table: 7.55 G."""
    return _cell(count, _CELL_COUNTS)


def percent_cell(share: float | None) -> str:
    """A share in a table whose heading says %: 36.2."""
    return "" if share is None else f"{100 * share:.1f}"

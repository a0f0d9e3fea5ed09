"""Values that fit a machine for keys that it lacks, for the hints of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npuc.compiler.core.kinds import Value
from npuc.hardware.derive import rule_value
from npuc.hardware.schema import KEYS

USUAL: Mapping[str, int] = {
    "clock_mhz": 1000,
    "memory.spm_kib": 8192,
    "memory.cache_mib": 8,
    "dram.gb_per_s": 100,
    "compute.tflops": 10,
}
"""Values of a machine of middle size."""
SIDE = 128
"""The rows and columns of its array."""
SLOWEST = 500
"""MHz; an array that reaches a peak at a lower clock is taken to be smaller."""
FIRST = ("array.rows", "array.cols", "maestro.num_pes", "compute.tflops", "clock_mhz")
"""The order in which values are chosen: others may follow from them."""


def fitting(missing: Sequence[str], written: Mapping[str, Value]) -> dict[str, object]:
    """
    Values for `missing` keys of a machine with `written` ones, without those that follow from the others.

    A key that nothing is known of (an installed backend's) gets the word VALUE.
    """
    values, found = dict(written), dict[str, object]()

    def look(key: str) -> Value | None:
        return values.get(key, KEYS[key].default)

    for key in sorted(missing, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST)):
        if rule_value(key, look) is not None:
            continue
        value = _value(key, look)
        found[key] = "VALUE" if value is None else value
        if value is not None:
            values[key] = value
    return {key: found[key] for key in missing if key in found}


def _value(key: str, look: Callable[[str], Value | None]) -> int | None:
    if key in ("array.rows", "array.cols"):
        other = look("array.cols" if key == "array.rows" else "array.rows")
        return other if isinstance(other, int) else _side(look)
    if key == "maestro.num_pes":
        return _side(look) ** 2
    if key == "vector.lanes":
        columns = look("array.cols")
        return columns if isinstance(columns, int) else SIDE
    if key.startswith("scalesim.") and key.endswith("_sram_kb"):
        spm = look("memory.spm_kib")
        return max(1, int(spm / 3)) if isinstance(spm, float) else 64
    return USUAL.get(key)


def _side(look: Callable[[str], Value | None]) -> int:
    """Rows of a square array: a power of two that reaches the machine's peak at its clock, or at one that there is."""
    peak, clock, operations = (look(key) for key in ("compute.tflops", "clock_mhz", "compute.ops_per_mac"))
    if not isinstance(peak, float):
        return SIDE
    least = clock if isinstance(clock, float) else SLOWEST
    elements = peak * 1e6 / (operations if isinstance(operations, int) else 2) / least
    side = 1
    while (2 * side) ** 2 <= elements * 1.001 and side < 1 << 10:
        side *= 2
    return side

"""What is shown of totals, which are here plain values by name, nested ones in mappings of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from npuc.compiler.core.display.shown import Shown, ShownTable
from npuc.compiler.core.display.svg import share_bar
from npuc.compiler.core.drawing.palette import PHASE_NAMES, PHASES
from npuc.compiler.report.text.quantities import bytes_cell, count_cell, energy_text, time_cell

Amounts = Mapping[str, Any]


def totals_text(totals: Amounts) -> str:
    """The totals that are known, in a few words: `102 ms, 367 GMAC, 12.7 GiB DRAM, 792.5 mJ`."""
    moved, macs, joules = moved_bytes(totals), totals["macs"], totals["energy_j"]
    count = count_cell(macs) if macs else ""
    known = (
        time_cell(totals["seconds"]) if totals["seconds"] else "",
        f"{count}{'' if count[-1].isalpha() else ' '}MAC" if count else "",
        f"{bytes_cell(moved)} DRAM" if moved else "",
        energy_text(joules) if joules else "",
    )
    return ", ".join(text for text in known if text) or "no totals"


def moved_bytes(totals: Amounts) -> int | None:
    """The bytes that are read from DRAM and written to it; None where one of them is not known."""
    parts = totals["dram_read_bytes"], totals["dram_write_bytes"]
    return None if None in parts else sum(parts)


def phase_bar(seconds_by_phase: Mapping[str, float | None]) -> str:
    """The shares of phases in the time as a picture; empty where it is not known."""
    parts = [(PHASE_NAMES[name], seconds_by_phase.get(name) or 0.0, colour) for name, colour in PHASES.items()]
    return share_bar(parts, "shares of the time by phase")


def shown_totals(totals: Amounts) -> Shown:
    """What is shown of totals: each that is known, nested ones by dotted names."""
    rows = [(name, f"{value:,}") for name, value in _known(totals)]
    table = ShownTable(("total", "value"), rows, len(rows), what="totals")
    return Shown("Totals", "", totals_text(totals), picture=phase_bar(totals["seconds_by_phase"]), table=table)


def _known(totals: Amounts, prefix: str = "") -> Iterator[tuple[str, int | float]]:
    for name, value in totals.items():
        if isinstance(value, Mapping):
            yield from _known(cast("Amounts", value), f"{prefix}{name}.")
        elif isinstance(value, int | float):
            yield prefix + name, value

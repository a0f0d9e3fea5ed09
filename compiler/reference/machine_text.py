"""A machine as each backend sees it, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from npuc.compiler.reference.machine import (
    DEFAULT,
    DERIVED,
    OVERRIDDEN,
    BackendSees,
    KeySource,
    LevelSees,
    MachinePage,
    value_text,
)
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import bytes_cell, count_cell, three_digits
from npuc.hardware.schema import MODELS

if TYPE_CHECKING:
    from rich.console import Console

HEADS = ("backend", "peak\nOP/s", "ridge\nOP/B", "memory\nGB/s", "memory\nB/cycle", "MACs\n/cycle", "on chip", "as")
LEVEL_HEADS = ("level", "memories", "each", "GB/s\neach", "pJ/B", "mm2", "is")
PARTS = {
    "local": "in each element: L1 of maestro",
    "scratchpad": "feeds the array: L2 of maestro",
    "kept": "keeps blocks of schedules of cycle",
    "dram": "off chip",
}
RANKS = {4: 1, 5: 2, 6: 3, 7: 4}
ORIGINS = {OVERRIDDEN: "given: ", DEFAULT: "default: ", DERIVED: "follows: "}


def print_machine(page: MachinePage, console: Console) -> None:
    """Print the machine: its name, a line a backend, and a line a number with its source."""
    print_note(page.name, console, style="bold")
    if page.about:
        print_note(page.about, console, indent=0)
    console.print()
    columns = columns_of([HEADS, *map(_cells, page.backends)], left=(0, 7), ranks=RANKS)
    columns[-1] = replace(columns[-1], called="what that memory is")
    print_grid(columns, console, gap=2)
    for one in page.backends:
        if one.missing is not None:
            print_line(one.backend, one.missing, console)
    if any(one.missing is not None for one in page.backends):
        console.print()
    if page.levels:
        print_grid(
            columns_of([LEVEL_HEADS, *map(_level_cells, page.levels)], left=(0, 6), ranks={4: 1, 5: 2}), console, gap=2
        )
    area = _area(page)
    if area:
        print_line("area", area, console)
        console.print()
    keys = [key for key in page.keys if key.key not in ("name", "memory.levels")]
    width = 2 + max((len(_label(key)) for key in keys), default=0)
    for key in keys:
        print_line(_label(key), "".join(_said(key, page.about)), console, min(width, console.width // 2))


def _cells(one: BackendSees) -> list[str]:
    def number(value: float | None, scale: float = 1.0) -> str:
        return "" if value is None else three_digits(value / scale)

    return [
        one.backend,
        count_cell(one.peak_ops_per_second),
        number(one.ridge_ops_per_byte),
        number(one.bytes_per_second, 1e9),
        number(one.bytes_per_cycle),
        "" if one.macs_per_cycle is None else f"{one.macs_per_cycle:,}",
        bytes_cell(one.memory_bytes),
        one.memory,
    ]


def _level_cells(level: LevelSees) -> list[str]:
    def number(value: float | None) -> str:
        return "" if value is None else three_digits(value)

    return [
        level.name,
        "" if level.count is None else f"{level.count:,}",
        bytes_cell(level.bytes),
        number(level.gb_per_s),
        number(level.pj_per_byte),
        number(level.area_mm2),
        PARTS.get(level.part or "", "in no model"),
    ]


def _area(page: MachinePage) -> str:
    """The area of the chip by part, and whose formulas say it, or what they lack; nothing where they lack more."""
    whole = page.area_mm2.get("chip")
    if whole is None:
        lacks_node = page.model == MODELS[0] and all(key.key != "technology.node_nm" for key in page.keys)
        return "not known: its technology node is not said (--set technology.node_nm=N)" if lacks_node else ""
    parts = [f"{name} {three_digits(size)}" for name, size in page.area_mm2.items() if size and name != "chip"]
    return f"{three_digits(whole)} mm2 by the formulas of {page.model}: {', '.join(parts)}"


def _label(key: KeySource) -> str:
    return f"{key.key} = {value_text(key.value)}"


def _said(key: KeySource, about: str) -> Iterator[str]:
    """Where a number is from, and who looks at it."""
    same = key.source == about
    yield ORIGINS.get(key.origin, "")
    yield "as the file says of all" if same and about else key.source or "the file"
    yield f" [{', '.join(key.backends)}]" if key.backends else " [no backend]"

"""What is compared where it is asked why two parts of a layer differ, and which causes of time are of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.difference.document import DiffSetting, DiffSide
from npuc.compiler.report.rows import OpRow

Rows = Sequence[OpRow]
COMPUTING = ("macs", "space", "fill", "edge")
MOVING = ("dram", "latency", "waits", "offchip")
KEYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        COMPUTING, ("array.cores", "array.rows", "array.cols", "clock_mhz", "array.", "compute.", "maestro.")
    ),
    **dict.fromkeys(MOVING, ("dram.", "memory.", "clock_mhz")),
    "vector": ("vector.", "clock_mhz", "compute."),
    "network": ("network.",),
    "noc": ("maestro.",),
}
"""The keys of a machine that a cause of time follows from."""


@frozen
class Between:
    """What is compared: rows of one part in both reports and what they cost, and what differs beside it."""

    a: Rows
    b: Rows
    side_a: DiffSide
    side_b: DiffSide
    same_model: bool
    precision: tuple[str, str]
    settings: Sequence[DiffSetting]
    cause: str | None

    @property
    def products(self) -> tuple[list[OpRow], list[OpRow]]:
        """The rows of products."""
        return [row for row in self.a if row.kind == "matrix"], [row for row in self.b if row.kind == "matrix"]

"""The savings of data reuse by scope: the structures that `npuc reuse` writes, and their CSV."""

from __future__ import annotations

from typing import Any

import msgspec

from npuc.compiler.report.as_csv import csv_text

SHARES = (50, 90, 100)
"""The percentages of a scope for which the report gives the capacity that captures them."""


class ScopeReuse(msgspec.Struct, frozen=True, kw_only=True):
    """
    A scope of reuse.

    `intervals`: chances of reuse, of `tensors` tensors. `bytes` are saved when all are kept beside those of narrower
    scopes: `read_bytes` and `write_bytes`; `alone_bytes` when nothing else is kept. `enough_bytes` is a capacity that
    is enough for this scope alone, `enough_with_narrower_bytes` for this and those before it. `captured_bytes`: what
    the plan of the machine saves; `captured_from`: the capacity in bytes from which on plans save at least so many per
    cent, None where none does.
    """

    scope: str
    intervals: int
    tensors: int
    bytes: int
    read_bytes: int
    write_bytes: int
    alone_bytes: int
    enough_bytes: int
    enough_with_narrower_bytes: int
    captured_bytes: int
    captured_from: dict[str, int | None]


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic of the plan for a capacity, and its savings by scope; all in bytes."""

    capacity_bytes: int
    traffic_bytes: int
    captured_bytes: dict[str, int]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A larger capacity, the bytes that it saves beyond the machine's, and the scope of most of them."""

    capacity_bytes: int
    saved_bytes: int
    scope: str


class ReuseReport(msgspec.Struct, frozen=True, kw_only=True):
    """
    The savings of reuse in an iteration, and the part of them that a machine's cache captures.

    `within` is the reuse within steps, `scopes` that between steps from the narrowest to the widest, `total` all
    between steps. `without_bytes`: traffic of steps that keep nothing for each other; `traffic_bytes` that of the
    machine's plan; `compulsory_bytes` what no cache saves. `next`: the larger capacity that saves most for its size.
    """

    schema: str = "npuc.reuse/1"
    npuc: str = ""
    source: str = ""
    network: str = ""
    defines: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    hardware: dict[str, Any]
    machine: str
    training: bool
    capacity_bytes: int
    without_bytes: int
    compulsory_bytes: int
    traffic_bytes: int
    within: ScopeReuse
    scopes: list[ScopeReuse]
    total: ScopeReuse
    next: Step | None = None
    warnings: list[str] = msgspec.field(default_factory=list[str])
    curve: list[CurvePoint] = msgspec.field(default_factory=list[CurvePoint])

    @property
    def rows(self) -> list[ScopeReuse]:
        """All scopes, and their total between steps."""
        return [self.within, *self.scopes, self.total]


def to_csv(report: ReuseReport) -> str:
    """One line per scope, the total between steps last; an empty cell where no capacity captures so much."""
    plain = [name for name in ScopeReuse.__struct_fields__ if name != "captured_from"]
    head = [*plain, *(f"captured_{share}_from_bytes" for share in SHARES)]
    rows = (
        [*(getattr(row, name) for name in plain), *(row.captured_from[str(share)] for share in SHARES)]
        for row in report.rows
    )
    return csv_text(head, *rows)

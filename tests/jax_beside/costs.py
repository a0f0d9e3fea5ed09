"""What a network in JAX and the same one in the language cost."""

from __future__ import annotations

from typing import Any

from npuc.compiler import compile_source

BACKENDS = ("cycle", "roofline", "maestro")


def report_of(text: str, format: str, backend: str, **keywords: Any) -> Any:
    """The report of a text."""
    content: Any = text.encode() if format == "jax" else text
    return compile_source(content, format=format, filename="net.mlir", backend=backend, **keywords)


def products(report: Any) -> dict[str, tuple[int, int]]:
    """The multiplications and the DRAM bytes of the matrix work of each phase."""
    found: dict[str, tuple[int, int]] = {}
    for row in report.ops:
        if row.macs:
            macs, moved = found.get(row.phase, (0, 0))
            found[row.phase] = macs + row.macs, moved + (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
    return found


def total_bytes(report: Any) -> int:
    """The DRAM bytes of all operations."""
    return sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in report.ops)

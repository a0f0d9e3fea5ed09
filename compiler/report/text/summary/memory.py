"""Peak memory of the step, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.document import StepMemory
from npuc.compiler.report.text.quantities import bytes_unit
from npuc.compiler.report.totals import Totals


def memory_text(memory: StepMemory, totals: Totals) -> str:
    """The most that tensors take, where and of which kinds, and what the forward pass keeps for the backward pass."""
    scale, unit = bytes_unit(memory.peak_bytes)
    where = f", in {memory.peak_layer}" if memory.peak_layer else ""
    kinds = ", ".join(f"{kind} {size / scale:,.2f}" for kind, size in totals.memory.items() if size)
    kept = (
        f"; activations stored for the backward pass {memory.activation_bytes / scale:,.2f}"
        if memory.activation_bytes
        else ""
    )
    return f"peak {memory.peak_bytes / scale:,.2f} {unit}{where}: {kinds or 'nothing'}{kept}"

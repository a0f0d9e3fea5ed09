"""What tensors take in memory, as a line of the table."""

from __future__ import annotations

from npuc.compiler.report.model import StepMemory, Totals
from npuc.compiler.report.verdict import bytes_unit


def memory_text(memory: StepMemory, totals: Totals) -> str:
    """The most that tensors take and where, what the forward pass keeps for the backward pass, and the kinds."""
    scale, unit = bytes_unit(memory.peak_bytes)
    where = f", in {memory.peak_layer}" if memory.peak_layer else ""
    kinds = ", ".join(f"{kind} {size / scale:,.2f}" for kind, size in totals.memory.items() if size)
    activations = f"kept activations {memory.activation_bytes / scale:,.2f}, " if memory.activation_bytes else ""
    text = f"tensors take up to {memory.peak_bytes / scale:,.2f} {unit}{where}"
    return f"{text}; {activations}at the peak {kinds}" if kinds else text

"""What tensors take in memory, as a line of the table."""

from __future__ import annotations

from npuc.compiler.report.model import StepMemory
from npuc.compiler.report.verdict import bytes_unit


def memory_text(memory: StepMemory) -> str:
    """The most that tensors take, where, and what of it the forward pass keeps for the backward pass."""
    scale, unit = bytes_unit(memory.peak_bytes)
    kept, arguments = (f"{count / scale:,.2f}" for count in (memory.activation_bytes, memory.argument_bytes))
    where = f", in {memory.peak_layer}" if memory.peak_layer else ""
    activations = f"kept activations {kept}, " if memory.activation_bytes else ""
    text = f"tensors take up to {memory.peak_bytes / scale:,.2f} {unit}{where}"
    return f"{text}; {activations}parameters, states and inputs {arguments}"

"""The recurrence of tile operations on a machine, double buffered or not."""

from npuc.compiler.analysis.machine.table import Machine
from npuc.compiler.analysis.timing.recurrence import Run, RunState
from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.dialects.npu.widths import Width


class Serial:
    """The recurrence without double buffering: what moves and what is computed add up."""

    def __init__(self, per_cycle: int, per_bit: int):
        self.per_cycle, self.per_bit, self.comp = per_cycle, per_bit, 0

    @property
    def sent(self) -> int:
        """When the last transfer ends: what follows waits for the array."""
        return self.comp

    def repeat(self, child: SequenceNode, moved: Width, count: int) -> None:
        self.comp += count * ((moved + child.moved) * self.per_bit + child.cycles * self.per_cycle)

    def state(self) -> RunState:
        return 0, self.comp, 0, 0, 0, ()

    def restore(self, state: RunState) -> None:
        self.comp = state[1]


def run_of(machine: Machine) -> Run | Serial:
    """The recurrence of a machine, before its first operation."""
    rate = machine.channel_bits
    if machine.double_buffer:
        return Run(rate.numerator, rate.denominator, machine.spm_bits)
    return Serial(rate.numerator, rate.denominator)

"""
The last tile operation of a schedule, which waits for all loads.

Let M be the bits that move but for those that may move at any time, F those of them after the last operation, r the
bits of the channel in a cycle. The last load ends no earlier than (M - F) / r, and the last operation, of c cycles,
begins no earlier than that; F / r follows it, and so do the o cycles that an operation of the array pays once:

    time >= M / r + c + o

It holds where transfers overlap with computation; where they do not, the array's cycles follow in place of c.
"""

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import fold_cycles
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Width
from npuc.dialects.npu.nest import Nest, Schedule


def once(array: Array) -> int:
    """The cycles that an operation pays once, or 0 where they depend on its schedule."""
    return 0 if array.skips_reloads or array.row_stationary is not None else array.op_overhead


def last_cycles(nest: Nest, schedule: Schedule, array: Array) -> int:
    """A lower bound of the cycles of the last tile operation: its folds, without waits and reloads."""
    if array.row_stationary is not None:
        return 0
    extents = dict(nest.sizes)
    for loop in schedule.loops:
        extents[loop.dim] = (extents[loop.dim] - 1) % loop.step + 1
    return fold_cycles(nest, extents, array)


def cycles_with(cycles: int, bits: Width, machine: Machine) -> float:
    """So many cycles and the time of so many bits on the channel, one after the other, rounded once."""
    rate = machine.channel_bits
    return float((cycles * rate.numerator + bits * rate.denominator) / rate.numerator)

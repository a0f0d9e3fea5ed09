"""What the DRAM channel transfers before each of the first tile operations, tensor by tensor."""

from collections.abc import Callable, Collection, Iterator, Sequence

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.timing.operations import leaves
from npuc.compiler.analysis.timing.sequence import TileSequence
from npuc.compiler.analysis.timing.serial import Serial, run_of
from npuc.compiler.analysis.timing.states import Transfer
from npuc.dialects.npu.nest import Nest

Parts = Sequence[tuple[str, TileSequence]]
"""A tensor and the tile operations as if it alone moved; together they move what the operations move."""


def parts_of(nest: Nest, widths: Bits, build: Callable[[Bits], TileSequence]) -> Parts:
    """The parts of a nest, whose tile operations `build` makes of widths: outputs first, as their blocks make room."""
    outs = [out.name for out in nest.outs]
    names = [*outs, *(name for name in nest.tensors if name not in outs)]
    found = [(name, build(alone(nest, widths, (name,)))) for name in names]
    return [(name, sequence) for name, sequence in found if sequence.moved]


def alone(nest: Nest, widths: Bits, names: Collection[str]) -> Bits:
    """The widths as if no other tensors moved."""
    return widths.without(nest, [name for name in nest.tensors if name not in names])


def first_transfers(
    parts: Parts, sequence: TileSequence, machine: Machine, tiles: int, late: int
) -> Iterator[Transfer]:
    """
    The transfers of the first `tiles` operations of a sequence. `late` are the ticks by which all operations but the
    first one come later than the recurrence says, as the array fills before.
    """
    run, per_bit = run_of(machine), machine.channel_bits.denominator
    each = [(name, leaves(part.root, part.head)) for name, part in parts]
    for tile, (leaf, moved) in enumerate(leaves(sequence.root, sequence.head)):
        if tile == tiles:
            return
        before = run.sent
        run.repeat(leaf, moved, 1)
        at = (before if isinstance(run, Serial) else run.sent - moved * per_bit) + (late if tile else 0)
        for name, operations in each:
            ticks = next(operations)[1] * per_bit
            if ticks:
                yield Transfer(name, at, ticks, tile)
                at += ticks

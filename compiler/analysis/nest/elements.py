"""
How wide elements are, as counts of bits.

`npuc.dialects.npu.widths` says what an element takes by its type and on a machine. Until a result is finished its
partial sums have a width of their own: in SPM, where blocks of results are summed up, and in DRAM, from which an
unfinished block is read back. Only the last write of an element has the width of the result.

All models count bits. Bits become whole bytes in one function, `whole_bytes`, and at one moment: when a number of bytes
is stated of a tensor, which is what an operation reads of it, what it writes of it, or the room of a block or buffer.
All other numbers of bytes are sums of these, so that the tensors of a row add up to the row and rows to totals.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.widths import BYTE, Widths, whole_bytes

__all__ = [
    "BYTE",
    "Bits",
    "alike",
    "contract_widths",
    "element_bits",
    "element_bytes",
    "size_bytes",
    "taken_bytes",
    "value_widths",
    "whole_bytes",
    "widths_on",
]

DEFAULT_BYTES = 4
"""Bytes of an element where neither a type nor the machine says."""


class Elements(Protocol):
    """What a machine says of elements: bytes of every float, None for those of its type, and bits of partial sums."""

    @property
    def element_bytes(self) -> int | None: ...
    @property
    def accumulator_bits(self) -> int: ...


@dataclass(frozen=True)
class Bits:
    """
    The bits of an element of each tensor of a nest.

    `stored` are those of a finished element in DRAM, in the order of `nest.tensors` (inputs, outputs, starts); `sums`
    those of a partial sum of each output, in SPM and in DRAM. `room` are those that an element takes in SPM, where that
    is not what moves of it: it stays there, or something else is held beside it. Empty where it is.
    """

    stored: tuple[int, ...]
    sums: tuple[int, ...]
    room: tuple[int, ...] = ()

    def by_name(self, nest: Nest) -> dict[str, int]:
        """Those of a finished element, by tensor."""
        return dict(zip(nest.tensors, self.stored, strict=True))

    def sums_by_name(self, nest: Nest) -> dict[str, int]:
        """Those of a partial sum, by output."""
        return {out.name: bits for out, bits in zip(nest.outs, self.sums, strict=True)}

    def held(self, nest: Nest) -> dict[str, int]:
        """Those of an element in SPM by tensor: outputs are partial sums there."""
        return self.by_name(nest) | self.sums_by_name(nest)

    def rooms(self, nest: Nest) -> dict[str, int]:
        """Those that an element takes in SPM, by tensor."""
        return dict(zip(nest.tensors, self.room, strict=True)) if self.room else self.held(nest)

    def without(self, nest: Nest, still: Collection[str]) -> "Bits":
        """Those that move where none of some tensors do; they take their room."""
        stored = tuple(0 if name in still else width for name, width in self.by_name(nest).items())
        sums = tuple(0 if name in still else width for name, width in self.sums_by_name(nest).items())
        return Bits(stored, sums, tuple(self.rooms(nest).values()))


def element_bits(type_: Attribute, float_bytes: int | None) -> int:
    """Bits of an element of a tensor type; `float_bytes` are the bytes of every float, where the machine says."""
    return Widths(float_bytes).element_bits(type_)


def element_bytes(type_: Attribute, float_bytes: int | None) -> int:
    """Whole bytes of one element by itself; those of several are `size_bytes`."""
    return whole_bytes(element_bits(type_, float_bytes))


def size_bytes(type_: Attribute, count: int, float_bytes: int | None) -> int:
    """Whole bytes of so many elements of a tensor type."""
    return whole_bytes(count * element_bits(type_, float_bytes))


def widths_on(machine: Elements) -> Widths:
    """What a machine says of elements, as widths of types: all that is known of them is there."""
    return Widths(machine.element_bytes, machine.accumulator_bits)


def contract_widths(op: ContractOp, machine: Elements) -> Bits:
    """The bits of an element of each tensor of a contraction."""
    inputs = len(op.nest.ins)
    return value_widths(op.operands[:inputs], op.results, op.operands[inputs:], machine)


def value_widths(
    inputs: Sequence[SSAValue], results: Sequence[SSAValue], starts: Sequence[SSAValue], machine: Elements
) -> Bits:
    """The bits of an element of each of these values, as the tensors of a nest."""
    widths = widths_on(machine)
    stored = tuple(widths.element_bits(value.type) for value in (*inputs, *results, *starts))
    return Bits(stored, tuple(widths.sum_bits(value.type) for value in results))


def alike(nest: Nest, machine: Elements) -> Bits:
    """The bits of a nest without types: all tensors have the machine's width for floats, 32 bits where it has none."""
    widths = Widths(machine.element_bytes or DEFAULT_BYTES, machine.accumulator_bits)
    return Bits((widths.element_bits(f32),) * len(nest.tensors), (widths.sum_bits(f32),) * len(nest.outs))


def taken_bytes(nest: Nest, schedule: Schedule, widths: Bits, held: Mapping[str, int] | None = None) -> int:
    """The bytes of SPM that the largest blocks of a schedule take, or blocks of as many elements as `held` says."""
    bits = widths.rooms(nest)
    return sum(whole_bytes(bits[name] * count) for name, count in (held or footprint(nest, schedule)).items())

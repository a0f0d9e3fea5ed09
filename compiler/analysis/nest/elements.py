"""
Element widths in bits.

`npuc.dialects.npu.widths` gives the width of an element by its type and machine. Partial sums of an output have a width
of their own: in SPM, where a block accumulates, and in DRAM, from which an incomplete block is read back. Only the last
write of an element has the width of the result.

All models count bits, which are whole numbers but where elements share an exponent (`npuc.dialects.blockfloat`) or are
sparse: a `Fraction` then, so that sums stay exact. Searches that count in arrays, and walks of tile operations, count
parts of a bit of which all widths are whole numbers (`Bits.parts`). `whole_bytes` rounds bits up to bytes at one point
only: where a byte count of a single tensor is reported, which is what an operation reads of it, what it writes of it,
or the size of its block or buffer. All other byte counts are sums of these, so that the tensors of a row add up to the
row, and rows to totals.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Protocol, cast

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.widths import BYTE, Width, Widths, whole_bytes

__all__ = [
    "BYTE",
    "Bits",
    "Width",
    "common_unit",
    "contract_widths",
    "element_bits",
    "element_bytes",
    "footprint_bytes",
    "in_bits",
    "real",
    "size_bytes",
    "uniform_widths",
    "value_widths",
    "whole_bytes",
    "widths_on",
]

DEFAULT_BYTES = 4
"""Bytes of an element where neither a type nor the machine says."""


class Elements(Protocol):
    """The machine's element sizes: bytes of every float (None: as its type says) and bits of a partial sum."""

    @property
    def element_bytes(self) -> int | None: ...
    @property
    def accumulator_bits(self) -> int: ...


@frozen
class Bits:
    """
    The bits per element of each tensor of a nest.

    `stored` is the width of a final element in DRAM, in the order of `nest.tensors` (inputs, outputs, starts), `sums`
    that of a partial sum of each output, in SPM and in DRAM. `room` is what an element occupies in SPM where this
    differs from what moves: the tensor is resident, or a second buffer lies beside it. Empty: no such tensor.
    """

    stored: tuple[Width, ...]
    sums: tuple[Width, ...]
    room: tuple[Width, ...] = ()

    def by_name(self, nest: Nest) -> dict[str, Width]:
        """The bits of a final element, by tensor."""
        return dict(zip(nest.tensors, self.stored, strict=True))

    def sums_by_name(self, nest: Nest) -> dict[str, Width]:
        """The bits of a partial sum, by output."""
        return {out.name: bits for out, bits in zip(nest.outs, self.sums, strict=True)}

    def with_sums(self, nest: Nest) -> dict[str, Width]:
        """The bits of an element while the nest runs, by tensor: of an output those of a partial sum."""
        return self.by_name(nest) | self.sums_by_name(nest)

    def occupied(self, nest: Nest) -> dict[str, Width]:
        """The bits of SPM that an element occupies, by tensor."""
        return dict(zip(nest.tensors, self.room, strict=True)) if self.room else self.with_sums(nest)

    @property
    def parts(self) -> int:
        """The least number of parts of a bit of which all widths of what moves are whole numbers."""
        return lcm(*(width.denominator for width in (*self.stored, *self.sums)))

    def times(self, parts: int) -> "Bits":
        """All widths in parts of a bit: integers where `parts` is a multiple of `Bits.parts`, but for `room`."""
        if parts == 1:
            return self
        stored, sums, room = (
            tuple(_times(width, parts) for width in own) for own in (self.stored, self.sums, self.room)
        )
        return Bits(stored, sums, room)

    def without(self, nest: Nest, resident: Collection[str]) -> "Bits":
        """The widths where `resident` tensors occupy SPM but cause no traffic: zero bits move of them."""
        stored = tuple(0 if name in resident else width for name, width in self.by_name(nest).items())
        sums = tuple(0 if name in resident else width for name, width in self.sums_by_name(nest).items())
        return Bits(stored, sums, tuple(self.occupied(nest).values()))


def _times(width: Width, factor: int | Fraction) -> Width:
    """A multiple of a width, an integer where it is whole."""
    found = width * factor
    return cast("Width", found if found.denominator > 1 else found.numerator)


def in_bits(count: Width, parts: int) -> Width:
    """A count of parts of a bit, in bits: an integer where it is whole."""
    return count if parts == 1 else _times(cast("Width", Fraction(count)), Fraction(1, parts))


def real(bits: Width) -> float:
    """Bits for arrays of floats: an integer as it is, a fraction as the nearest float."""
    return bits.numerator if bits.denominator == 1 else float(bits)


def common_unit(*widths: Width) -> Width:
    """The largest width of which all are multiples; an integer where they are."""
    scale = lcm(*(width.denominator for width in widths))
    found = gcd(*((width * scale).numerator for width in widths))
    return found if scale == 1 else cast("Width", Fraction(found, scale))


def element_bits(type_: Attribute, float_bytes: int | None) -> Width:
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


def uniform_widths(nest: Nest, machine: Elements) -> Bits:
    """The widths of a nest without types: the machine's width of floats for every tensor, 32 bits by default."""
    widths = Widths(machine.element_bytes or DEFAULT_BYTES, machine.accumulator_bits)
    return Bits((widths.element_bits(f32),) * len(nest.tensors), (widths.sum_bits(f32),) * len(nest.outs))


def footprint_bytes(nest: Nest, schedule: Schedule, widths: Bits, elements: Mapping[str, int] | None = None) -> int:
    """The bytes of SPM that the largest block of every tensor occupies; `elements` replaces their sizes, by tensor."""
    bits = widths.occupied(nest)
    return sum(whole_bytes(bits[name] * count) for name, count in (elements or footprint(nest, schedule)).items())

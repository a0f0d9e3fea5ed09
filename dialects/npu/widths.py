"""
Element widths in bits, as the IR gives them: by type, and by the `npu.target` of the module.

`element_bytes` of the target applies to every float, whatever its type; a bool occupies a byte. The sums of a
contraction have the width of partial sums (`sums.py`), given by `accumulator_bits` of the target (32 by default), until
they are complete. A block occupies whole bytes of SPM.
"""

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import AnyFloat, DictionaryAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Operation

from npuc.dialects.npu.sums import ACCUMULATOR_BITS, sum_type

TARGET = "npu.target"
"""The attribute of a module that says what machine it is for."""
BYTE = 8


@dataclass(frozen=True)
class Widths:
    """What a machine says of elements: the bytes of every float (None: those of its type), the bits of partial sums."""

    element_bytes: int | None = None
    accumulator_bits: int = ACCUMULATOR_BITS[0]

    def element_bits(self, type_: Attribute) -> int:
        """The bits of an element of a type, or of a tensor of it."""
        element = _element(type_)
        if isinstance(element, AnyFloat) and self.element_bytes is not None:
            return BYTE * self.element_bytes
        if isinstance(element, AnyFloat | IntegerType) and element.bitwidth > 1:
            return element.bitwidth
        return BYTE

    def sum_bits(self, type_: Attribute) -> int:
        """
        The bits of a partial sum of a result of a type.

        Where the machine has one width for all floats, it stands for the type's: a wider accumulator wins.
        """
        element = _element(type_)
        if isinstance(element, AnyFloat) and self.element_bytes is not None:
            return 16 if self.accumulator_bits == 16 else max(BYTE * self.element_bytes, self.accumulator_bits)
        return Widths().element_bits(sum_type(element, self.accumulator_bits))


PLAIN = Widths()


def whole_bytes(bits: int) -> int:
    """Bits as bytes, the last of which may not be full."""
    return -(-bits // BYTE)


def widths_of(op: Operation) -> Widths:
    """The widths of the machine that an operation is compiled for: those of the nearest `npu.target` around it."""
    around: Operation | None = op
    while around is not None:
        target = around.attributes.get(TARGET)
        if isinstance(target, DictionaryAttr):
            bits = _whole(target, "accumulator_bits")
            return Widths(_whole(target, "element_bytes"), bits if bits in ACCUMULATOR_BITS else ACCUMULATOR_BITS[0])
        around = around.parent_op()
    return PLAIN


def _whole(target: DictionaryAttr, key: str) -> int | None:
    value = target.data.get(key)
    return value.value.data if isinstance(value, IntegerAttr) else None


def _element(type_: Attribute) -> Attribute:
    return cast("TensorType[Attribute]", type_).element_type if isinstance(type_, TensorType) else type_


def is_sum(own: Attribute, result: Attribute, op: Operation) -> bool:
    """Whether elements of the type `own` are the partial sums of results of a type, where an operation is compiled."""
    return own == sum_type(result, widths_of(op).accumulator_bits)

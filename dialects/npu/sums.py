"""
The element type of a partial sum: what the products of a contraction are added in until a result is finished.

The array adds in 32 bits, f32 or i32, wherever the sum lives: in SPM, in DRAM when its block has to leave, on its way
from core to core. A result of a wider type is added in its own. Machines whose accumulators have 16 bits add in the
result's type where that has 16 bits itself, else in bf16 or i16, and round at each addition.
"""

from xdsl.dialects.builtin import AnyFloat, IntegerType, bf16, f32, i16, i32
from xdsl.ir import Attribute

ACCUMULATOR_BITS = (32, 16)
"""The widths of accumulators there are, the default first (`array.accumulator_bits`)."""


def sum_type(result: Attribute, bits: int = ACCUMULATOR_BITS[0]) -> Attribute:
    """
    The element type of a partial sum of a result of the element type `result`, in accumulators of `bits` bits.

    With 32 bits f32 or i32, or the result's type if that is wider; with 16 the result's type if it has 16 bits, else
    bf16 or i16. Raises `ValueError` for other counts of bits. An element type that is no number is its own sum.
    """
    element: Attribute = result
    if bits not in ACCUMULATOR_BITS:
        raise ValueError(f"accumulators have {' or '.join(map(str, ACCUMULATOR_BITS))} bits, got {bits}")
    if not isinstance(result, AnyFloat | IntegerType):
        return result
    is_float, own = isinstance(result, AnyFloat), result.bitwidth
    if bits == 16:
        return element if own == bits else bf16 if is_float else i16
    return element if own >= bits else f32 if is_float else i32

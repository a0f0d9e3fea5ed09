"""
The element type of a partial sum: what the products of a contraction are added in until a result is finished.

The array adds in 32 bits, f32 or i32, wherever the sum lives: in SPM, in DRAM when its block has to leave, on its way
from core to core. A result of a wider type is added in its own. Machines whose accumulators have 16 bits add in the
result's type where that has 16 bits itself, else in bf16 or i16, and round at each addition.
"""

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import AnyFloat, IntegerType, bf16, f32, i16, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.npu.nest import Nest
from npuc.dialects.sparse import SparseType, dense_element
from npuc.dialects.tensors import tensor_type

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


def check_addends(name: str, result: Attribute, addends: Iterable[Attribute]) -> None:
    """
    Raise where elements of the types of `addends`, factors of products too, have no sum in one of `result`.

    Block floating point and sparse types are types of factors: their sum is one of floats, and dense.
    """
    if isinstance(result, BlockFloatType):
        raise VerifyException(f"{name} is a sum in {result}, expected a type of floats, as sums share no exponent")
    if isinstance(result, SparseType):
        raise VerifyException(f"{name} is a sum in {result}, expected a type of floats, as sums are dense")
    for element in map(dense_element, (result, *addends)):
        if not isinstance(element, AnyFloat | IntegerType | BlockFloatType):
            raise VerifyException(f"{name} is a sum of elements of type {element}, expected numbers")
        if isinstance(element, AnyFloat | BlockFloatType) and not isinstance(result, AnyFloat):
            raise VerifyException(f"{name} is a sum of {element} in {result}, expected a type of floats")


def check_sums(nest: Nest, values: Sequence[SSAValue]) -> None:
    """Raise where products of a nest have no sum in their output; `values` are its inputs, starts and outputs."""
    tensors = (*nest.ins, *(s for s in nest.starts if s is not None), *nest.outs)
    elements = {tensor.name: tensor_type(value).element_type for tensor, value in zip(tensors, values, strict=True)}
    for s in nest.statements:
        start = nest.start_of(s.out)
        names = [s.lhs, s.rhs] if start is None else [s.lhs, s.rhs, start.name]
        check_addends(s.out, elements[s.out], [elements[name] for name in names])

"""
Element widths in bits, as the IR gives them: by type, and by the `npu.target` of the module.

`element_bytes` of the target applies to every float of 16 bits or more, whatever its type. Narrower floats and block
floating point, which only quantisation makes, keep their own width: it is what they are made for. A width is a whole
number of bits, of block floating point a `Fraction`, so that counts of bits stay exact; of a sparse tensor, too, where
it is what an element of the dense shape takes on average, metadata included (`sparse.py`). A bool occupies a byte. The
sums of a contraction have the width of partial sums (`sums.py`), given by `accumulator_bits` of the target (32 by
default), until they are complete. A block occupies whole bytes of SPM.

A multiplier of a target with `mantissa_bits` takes so many bits of either mantissa at a time, as the fMAC of FAST does
(`blockfloat.py`): a product of mantissas of m and n bits takes ceil(m / b) x ceil(n / b) passes through it. Without
that fact it takes one, whatever the types.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, DictionaryAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.dialects.blockfloat import BlockFloatType, mantissa_bits
from npuc.dialects.npu.nest import Nest, Statement
from npuc.dialects.npu.sums import ACCUMULATOR_BITS, sum_type
from npuc.dialects.products import SparseFactor
from npuc.dialects.sparse import SparseType, dense_element
from npuc.dialects.sparse_formats import Structured
from npuc.dialects.tensors import SHORTEST

TARGET = "npu.target"
"""The attribute of a module that says what machine it is for."""
MANTISSA_BITS = "mantissa_bits"
"""The fact of a target that says how many bits of either mantissa a multiplier takes at a time."""
BYTE = 8
PARTS = 1024
"""
The average bits of an element of a sparse tensor are rounded up to one part in so many: widths of all operands are then
whole numbers of few parts of a bit, in which searches count exactly (`analysis/nest/elements.py`).
"""
Width: TypeAlias = int
"""
Bits of an element, or a sum of such: an integer, or of blocks and sparse tensors a `Fraction`, which counts as one.
Analyses add, multiply, compare and divide bits, and round them up to bytes, all of which is exact for both.
"""


@frozen
class Widths:
    """What a machine says of elements: the bytes of every float (None: those of its type), the bits of partial sums."""

    element_bytes: int | None = None
    accumulator_bits: int = ACCUMULATOR_BITS[0]

    def element_bits(self, type_: Attribute) -> Width:
        """The bits of an element of a type, or of a tensor of it."""
        element = _element(type_)
        if isinstance(element, SparseType):
            bits = element.bits(self.element_bits(element.element))
            return cast("Width", Fraction(ceil(bits * PARTS), PARTS))
        return cast("Width", element.bits) if isinstance(element, BlockFloatType) else self._whole_bits(element)

    def _whole_bits(self, element: Attribute) -> int:
        if isinstance(element, AnyFloat) and self.element_bytes is not None and element.bitwidth >= SHORTEST:
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
        return PLAIN._whole_bits(sum_type(element, self.accumulator_bits))


PLAIN = Widths()


def whole_bytes(bits: Width) -> int:
    """Bits as bytes, the last of which may not be full."""
    return -(-bits // BYTE)


def elements_of(value: SSAValue) -> int:
    """The number of elements of a tensor."""
    return elements_in(value.type)


def elements_in(type_: Attribute) -> int:
    """The number of elements of a tensor of a type."""
    return prod(cast(TensorType[Attribute], type_).get_shape())


def bytes_of(value: SSAValue, widths: Widths) -> int:
    """The bytes of a tensor."""
    return bytes_in(value.type, widths)


def bytes_in(type_: Attribute, widths: Widths) -> int:
    """The bytes of a tensor of a type."""
    return whole_bytes(elements_in(type_) * widths.element_bits(type_))


def sum_bytes_of(value: SSAValue, widths: Widths) -> int:
    """The bytes of a tensor as partial sums."""
    return whole_bytes(elements_of(value) * widths.sum_bits(value.type))


def widths_of(op: Operation) -> Widths:
    """The widths of the machine that an operation is compiled for: those of the nearest `npu.target` around it."""
    around: Operation | None = op
    while around is not None:
        target = around.attributes.get(TARGET)
        if target is not None and isinstance(target, DictionaryAttr):
            bits = _whole(target, "accumulator_bits")
            return Widths(_whole(target, "element_bytes"), bits if bits in ACCUMULATOR_BITS else ACCUMULATOR_BITS[0])
        around = around.parent_op()
    return PLAIN


def counted(nest: Nest, op: Operation) -> Nest:
    """
    A nest of an operation, whose first operands are its inputs, with the passes of its products on the machine that the
    operation is compiled for.
    """
    around: Operation | None = op
    while around is not None:
        target = around.attributes.get(TARGET)
        if target is not None and isinstance(target, DictionaryAttr):
            return in_passes_of(nest, op, _whole(target, MANTISSA_BITS))
        around = around.parent_op()
    return with_factors(nest, op)


def with_factors(nest: Nest, op: Operation) -> Nest:
    """A nest of an operation that says which of its operands are sparse; itself where none is."""
    factors = tuple(sparse_factor(value) for value in op.operands[: len(nest.ins)])
    return nest if all(one is None for one in factors) else _with_factors(nest, factors)


@lru_cache(maxsize=4096)
def _with_factors(nest: Nest, factors: tuple[SparseFactor | None, ...]) -> Nest:
    named = dict(zip((tensor.name for tensor in nest.ins), factors, strict=True))

    def of(statement: Statement, name: str) -> SparseFactor | None:
        factor, tensor = named[name], nest.tensors[name]
        if factor is None or factor.pattern is None:
            return factor
        kept = nest.tensors[statement.out].dims
        along_sums = any(not kept.issuperset(tensor.axes[axis].dims) for axis in factor.axes)
        return factor if along_sums else replace(factor, pattern=None)

    found = (replace(s, factors=(of(s, s.lhs), of(s, s.rhs))) for s in nest.statements)
    return replace(nest, statements=tuple(found))


def sparse_factor(value: SSAValue) -> SparseFactor | None:
    """What products have to know of a value that is sparse; None of a dense one, or one of density 1."""
    element = _element(value.type)
    # Not `isinstance`, which is slow where it is false: there is no subclass.
    if type(element) is not SparseType or element.density == 1:
        return None
    form = element.format
    if isinstance(form, Structured):
        return SparseFactor(element.density, (form.kept, form.of), form.axes)
    return SparseFactor(element.density)


def in_passes_of(nest: Nest, op: Operation, bits: int | None) -> Nest:
    """A nest of an operation with the passes of its products where a multiplier takes `bits` at a time; None: one."""
    nest = with_factors(nest, op)
    if not bits:
        return nest
    factors = op.operands[: len(nest.ins)]
    return in_passes(nest, tuple(mantissa_bits(_value_element(value.type)) for value in factors), bits)


def passes_of_factors(factors: Sequence[SSAValue], bits: int | None) -> int:
    """The passes of a product of elements of two values where a multiplier takes `bits` at a time; None: one."""
    return 1 if not bits else prod(-(-mantissa_bits(_value_element(value.type)) // bits) for value in factors)


@lru_cache(maxsize=4096)
def in_passes(nest: Nest, mantissas: tuple[int, ...], bits: int) -> Nest:
    """A nest with the passes of products of inputs of these mantissas, of which a multiplier takes `bits` at a time."""
    chunks = {tensor.name: -(-mantissa // bits) for tensor, mantissa in zip(nest.ins, mantissas, strict=True)}
    found = (replace(s, passes=chunks[s.lhs] * chunks[s.rhs]) for s in nest.statements)
    return replace(nest, statements=tuple(found))


def _whole(target: DictionaryAttr, key: str) -> int | None:
    value = target.data.get(key)
    return value.value.data if value is not None and isinstance(value, IntegerAttr) else None


def _element(type_: Attribute) -> Attribute:
    return cast("TensorType[Attribute]", type_).element_type if isinstance(type_, TensorType) else type_


def _value_element(type_: Attribute) -> Attribute:
    return dense_element(_element(type_))


def is_sum(own: Attribute, result: Attribute, op: Operation) -> bool:
    """Whether elements of the type `own` are the partial sums of results of a type, where an operation is compiled."""
    return own == sum_type(result, widths_of(op).accumulator_bits)

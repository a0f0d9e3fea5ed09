"""Writes operations of MLIR's own dialects: arith, math, tensor, linalg, scf and func, in their generic form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import cast

from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import Func
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.math import Math
from xdsl.dialects.scf import Scf
from xdsl.dialects.tensor import Tensor as TensorDialect
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type

INDEX = IndexType()


@irdl_op_definition
class RemFOp(IRDLOperation):
    """The remainder of a division of floats rounded towards zero, `arith.remf`, which xDSL's arith lacks."""

    name = "arith.remf"

    lhs = operand_def(AnyFloat)
    rhs = operand_def(AnyFloat)
    out = result_def(AnyFloat)
    traits = traits_def(Pure())


_DIALECTS = (Arith, Math, Linalg, TensorDialect, Scf, Func)
_OPERATIONS: Mapping[str, type[Operation]] = {
    operation.name: operation for dialect in _DIALECTS for operation in dialect.operations
} | {RemFOp.name: RemFOp}
_DYNAMIC = -(1 << 63)
"""What stands in a list of static offsets for one that is an operand."""

Body = Callable[["LinalgWriter", Sequence[SSAValue]], SSAValue | Sequence[SSAValue]]
"""Writes the body of a structured operation: from a scalar of each operand to one of each result."""
Expr = AffineExpr


@cache
def plain(element: Attribute) -> Attribute:
    """An element type as arith has it: integers without a sign, which stands in the operations."""
    if isinstance(element, IntegerType):
        return IntegerType(cast(IntegerType, element).width.data)
    return element


def plain_type(type: Attribute) -> Attribute:
    """The type of a value as arith has it."""
    if isinstance(type, TensorType):
        whole = cast(Tensor, type)
        return tensor_of(plain(whole.element_type), whole.get_shape())
    return plain(type)


def dims(rank: int) -> list[Expr]:
    """One index expression for each of so many loops."""
    return [AffineExpr.dimension(number) for number in range(rank)]


def broadcast_exprs(shape: Sequence[int], out: Sequence[int]) -> list[Expr]:
    """The index expressions of an operand that broadcasts to the shape `out` by numpy's rule."""
    skipped = len(out) - len(shape)
    return [
        AffineExpr.constant(0) if size == 1 and out[skipped + axis] != 1 else AffineExpr.dimension(skipped + axis)
        for axis, size in enumerate(shape)
    ]


class LinalgWriter:
    """Appends operations to a block."""

    def __init__(self, block: Block):
        self.block = block

    def op(
        self,
        name: str,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        segments: Sequence[int] | None = None,
    ) -> Sequence[SSAValue]:
        """An operation by its name; `segments` are the numbers of operands of each kind, where there are several."""
        given = dict(properties or {})
        if segments is not None:
            given["operandSegmentSizes"] = _numbers(i32, tuple(segments))
        made = _OPERATIONS[name].create(operands=operands, result_types=types, properties=given, regions=regions)
        self.block.add_op(made)
        return made.results

    def one(self, name: str, operands: Sequence[SSAValue], type: Attribute, **properties: Attribute) -> SSAValue:
        """The result of an operation that has one."""
        return self.op(name, operands, [type], properties)[0]

    def same(self, name: str, *operands: SSAValue) -> SSAValue:
        """The result of an operation that has the type of its first operand."""
        return self.one(name, operands, operands[0].type)

    def number(self, value: float, type: Attribute) -> SSAValue:
        """A scalar constant."""
        if isinstance(type, AnyFloat):
            return self.one("arith.constant", (), type, value=FloatAttr(float(value), type))
        kind = cast("IntegerType | IndexType", type)
        return self.one("arith.constant", (), type, value=_integer(_wrapped(int(value), kind), kind))

    def index(self, value: int) -> SSAValue:
        """A constant index."""
        return self.number(value, INDEX)

    def full(self, type: Tensor, value: float) -> SSAValue:
        """A constant tensor with one value everywhere."""
        return self.listed(type, [value])

    def listed(self, type: Tensor, values: Sequence[float]) -> SSAValue:
        """A constant tensor of values in row-major order, or of one everywhere."""
        element = type.element_type
        if isinstance(element, AnyFloat):
            dense = DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type), list(map(float, values)))
        else:
            whole = cast(IntegerType, element)
            wrapped = [_wrapped(int(value), whole) for value in values]
            dense = DenseIntOrFPElementsAttr.from_list(cast("TensorType[IntegerType]", type), wrapped)
        return self.one("arith.constant", (), type, value=dense)

    def empty(self, type: Tensor) -> SSAValue:
        """A tensor whose elements are written before they are read."""
        return self.one("tensor.empty", (), type)

    def filled(self, type: Tensor, value: float) -> SSAValue:
        """A tensor to reduce into, which begins with one value."""
        return self.generic_of([], [], [self.empty(type)], len(type.get_shape()), _constant_body(value))[0]

    def compare(self, predicate: int, a: SSAValue, b: SSAValue) -> SSAValue:
        """A comparison of floats or integers by the number of its predicate in arith."""
        name = "arith.cmpf" if isinstance(a.type, AnyFloat) else "arith.cmpi"
        return self.one(name, [a, b], i1, predicate=_integer(predicate, i64))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where a condition is true, else b."""
        return self.one("arith.select", [condition, a, b], a.type)

    def loop(self, number: int) -> SSAValue:
        """The index of a loop of the structured operation around it."""
        return self.one("linalg.index", (), INDEX, dim=_integer(number, i64))

    def generic(
        self,
        ins: Sequence[tuple[SSAValue, Sequence[Expr]]],
        outs: Sequence[tuple[SSAValue, Sequence[Expr]]],
        loops: int,
        body: Body,
    ) -> Sequence[SSAValue]:
        """
        A `linalg.generic` over so many loops: operands with their index expressions, from loops to places.

        A loop that no result is indexed by is one of a reduction.
        """
        values = [value for value, _ in (*ins, *outs)]
        block = Block(arg_types=[tensor_type(value).element_type for value in values])
        inside = LinalgWriter(block)
        yielded = body(inside, block.args)
        inside.op("linalg.yield", [yielded] if isinstance(yielded, SSAValue) else yielded, ())
        properties = _walk(loops, tuple(tuple(exprs) for _, exprs in (*ins, *outs)), len(outs))
        types = [value.type for value, _ in outs]
        return self.op("linalg.generic", values, types, properties, [Region(block)], (len(ins), len(outs)))

    def generic_of(
        self,
        ins: Sequence[SSAValue],
        exprs: Sequence[Sequence[Expr]],
        outs: Sequence[SSAValue],
        loops: int,
        body: Body,
    ) -> Sequence[SSAValue]:
        """A `linalg.generic` whose results are indexed by its loops as they stand."""
        return self.generic(list(zip(ins, exprs, strict=True)), [(value, dims(loops)) for value in outs], loops, body)

    def elementwise(self, type: Tensor, ins: Sequence[SSAValue], body: Body) -> SSAValue:
        """A tensor of which each element follows from those of operands that broadcast to it."""
        shape = type.get_shape()
        exprs = [broadcast_exprs(shape_of(value), shape) for value in ins]
        return self.generic_of(ins, exprs, [self.empty(type)], len(shape), body)[0]

    def box(self, x: SSAValue, starts: Sequence[int | SSAValue], sizes: Sequence[int], type: Tensor) -> SSAValue:
        """The part of a tensor at `starts`, without axes of size 1 that the type lacks."""
        dynamic, properties = _box(starts, sizes, (1,) * len(sizes))
        segments = (1, len(dynamic), 0, 0)
        return self.op("tensor.extract_slice", [x, *dynamic], [type], properties, segments=segments)[0]

    def put(
        self,
        part: SSAValue,
        whole: SSAValue,
        starts: Sequence[int | SSAValue],
        sizes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> SSAValue:
        """A tensor with a part of it, at `starts`, in place of what is there."""
        dynamic, properties = _box(starts, sizes, steps or (1,) * len(sizes))
        segments = (1, 1, len(dynamic), 0, 0)
        return self.op("tensor.insert_slice", [part, whole, *dynamic], [whole.type], properties, segments=segments)[0]


@lru_cache(maxsize=4096)
def _walk(loops: int, exprs: tuple[tuple[Expr, ...], ...], outs: int) -> Mapping[str, Attribute]:
    """The properties of a `linalg.generic` by the index expressions of its operands, results last."""
    used = {number for places in exprs[-outs:] for expr in places for number in expr.used_dims()}
    kinds = [IteratorType.PARALLEL if number in used else IteratorType.REDUCTION for number in range(loops)]
    return {
        "indexing_maps": ArrayAttr([AffineMapAttr(AffineMap(loops, 0, places)) for places in exprs]),
        "iterator_types": ArrayAttr([IteratorTypeAttr(kind) for kind in kinds]),
    }


@lru_cache(maxsize=4096)
def _numbers(element: IntegerType, values: tuple[int, ...]) -> Attribute:
    """Integers as an array."""
    return DenseArrayBase.from_list(element, list(values))


@lru_cache(maxsize=4096)
def _integer(value: int, type: IntegerType | IndexType) -> Attribute:
    return IntegerAttr(value, type)


def _constant_body(value: float) -> Body:
    """The body that yields a number of the type of the result."""
    return lambda inside, args: inside.number(value, args[0].type)


def _box(
    starts: Sequence[int | SSAValue], sizes: Sequence[int], steps: Sequence[int]
) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """The operands and properties of a box, of which only starts may be values."""
    static = [_DYNAMIC if isinstance(start, SSAValue) else start for start in starts]
    return [start for start in starts if isinstance(start, SSAValue)], {
        "static_offsets": _numbers(i64, tuple(static)),
        "static_sizes": _numbers(i64, tuple(sizes)),
        "static_strides": _numbers(i64, tuple(steps)),
    }


def _wrapped(value: int, type: IntegerType | IndexType) -> int:
    """A number as a signed one of as many bits; 0 or 1 for a boolean."""
    if isinstance(type, IndexType):
        return value
    bits = type.width.data
    if bits == 1:
        return int(bool(value))
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value

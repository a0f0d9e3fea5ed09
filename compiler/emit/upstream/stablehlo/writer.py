"""Writes operations of StableHLO, and of chlo for the functions that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npuc.compiler.emit.upstream.ranges import is_unsigned
from npuc.dialects.stablehlo import STABLEHLO
from npuc.dialects.stablehlo.chlo import CHLO
from npuc.dialects.stablehlo.enums import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
)
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type

_OPERATIONS: Mapping[str, type[Operation]] = {
    operation.name: operation for dialect in (STABLEHLO, CHLO) for operation in dialect.operations
}
Combine = Callable[["StablehloWriter", SSAValue, SSAValue], SSAValue]
"""From two scalars to one, as tensors without axes."""

Body = Callable[["StablehloWriter", Sequence[SSAValue]], Sequence[SSAValue]]
"""From the scalars of a region to what it returns."""


def same(type: Attribute) -> Attribute:
    """StableHLO has the types of the program."""
    return type


def axes_attr(axes: Sequence[int]) -> Attribute:
    """Numbers, one for an axis."""
    return _axes(tuple(axes))


@lru_cache(maxsize=4096)
def _axes(axes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, list(axes))


class StablehloWriter:
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
    ) -> Sequence[SSAValue]:
        """An operation by its name; of `stablehlo` unless the name says another dialect."""
        full = name if "." in name else f"stablehlo.{name}"
        made = _OPERATIONS[full].create(
            operands=operands, result_types=types, properties=dict(properties or {}), regions=regions
        )
        self.block.add_op(made)
        return made.results

    def one(self, name: str, operands: Sequence[SSAValue], type: Attribute, **properties: Attribute) -> SSAValue:
        """The result of an operation that has one."""
        return self.op(name, operands, [type], properties)[0]

    def same(self, name: str, *operands: SSAValue) -> SSAValue:
        """The result of an operation that has the type of its first operand."""
        return self.one(name, operands, operands[0].type)

    def listed(self, type: Tensor, values: Sequence[float]) -> SSAValue:
        """A constant of values in row-major order, or of one everywhere."""
        element = type.element_type
        if isinstance(element, AnyFloat):
            dense = DenseIntOrFPElementsAttr.from_list(cast("TensorType[AnyFloat]", type), list(map(float, values)))
        else:
            whole = [_wrapped(int(value), cast(IntegerType, element)) for value in values]
            dense = DenseIntOrFPElementsAttr.from_list(cast("TensorType[IntegerType]", type), whole)
        return self.one("constant", (), type, value=dense)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of one value everywhere, of the type of a value."""
        return self.listed(tensor_type(like), [value])

    def scalar(self, value: float, element: Attribute) -> SSAValue:
        """A constant without axes."""
        return self.listed(tensor_of(element, ()), [value])

    def iota(self, type: Tensor, axis: int) -> SSAValue:
        """The numbers from 0 along an axis."""
        return self.one("iota", (), type, iota_dimension=IntegerAttr(axis, i64))

    def compare(self, direction: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A comparison: EQ, NE, LT, LE, GT or GE; all but NE are false for NaN."""
        element = tensor_type(a).element_type
        kind = ComparisonType.UNSIGNED if is_unsigned(element) else ComparisonType.SIGNED
        if isinstance(element, AnyFloat):
            kind = ComparisonType.FLOAT
        properties = {
            "comparison_direction": ComparisonDirectionAttr(ComparisonDirection(direction)),
            "compare_type": ComparisonTypeAttr(kind),
        }
        return self.op("compare", [a, b], [tensor_of(i1, shape_of(a))], properties)[0]

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where a condition is true, else b."""
        return self.one("select", [condition, a, b], a.type)

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """A tensor with elements of another type."""
        if tensor_type(x).element_type == element:
            return x
        return self.one("convert", [x], tensor_of(element, shape_of(x)))

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements in another shape."""
        return x if tuple(shape) == shape_of(x) else self.one("reshape", [x], _shaped(x, shape))

    def transpose(self, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Axis i of the result is axis axes[i] of x."""
        if list(axes) == list(range(len(axes))):
            return x
        shape = [shape_of(x)[axis] for axis in axes]
        return self.one("transpose", [x], _shaped(x, shape), permutation=axes_attr(axes))

    def along(self, x: SSAValue, shape: Sequence[int], axes: Sequence[int]) -> SSAValue:
        """x in a shape, each of its axes as the one of it that is named."""
        if tuple(shape) == shape_of(x):
            return x
        return self.one("broadcast_in_dim", [x], _shaped(x, shape), broadcast_dimensions=axes_attr(axes))

    def broadcast(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """x in a shape, by numpy's rule."""
        return self.along(x, shape, range(len(shape) - len(shape_of(x)), len(shape)))

    def slice(
        self, x: SSAValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
    ) -> SSAValue:
        """The box of a size at `starts`, each `steps`-th element."""
        steps = steps or (1,) * len(sizes)
        if tuple(sizes) == shape_of(x):
            return x
        limits = [start + (size - 1) * step + 1 for start, size, step in zip(starts, sizes, steps, strict=True)]
        return self.one(
            "slice",
            [x],
            _shaped(x, sizes),
            start_indices=axes_attr(starts),
            limit_indices=axes_attr(limits),
            strides=axes_attr(steps),
        )

    def pad(
        self, x: SSAValue, starts: Sequence[int], steps: Sequence[int], shape: Sequence[int], value: float
    ) -> SSAValue:
        """x at `starts` of a shape, its elements `steps` apart, with copies of a value around them."""
        spans = [(size - 1) * step + 1 for size, step in zip(shape_of(x), steps, strict=True)]
        high = [whole - start - span for whole, start, span in zip(shape, starts, spans, strict=True)]
        return self.one(
            "pad",
            [x, self.scalar(value, tensor_type(x).element_type)],
            _shaped(x, shape),
            edge_padding_low=axes_attr(starts),
            edge_padding_high=axes_attr(high),
            interior_padding=axes_attr([step - 1 for step in steps]),
        )

    def put(self, part: SSAValue, whole: SSAValue, starts: Sequence[int]) -> SSAValue:
        """A tensor with a part of it, at `starts`, in place of what is there."""
        at = [self.scalar(start, i64) for start in starts]
        return self.one("dynamic_update_slice", [whole, part, *at], whole.type)

    def concat(self, parts: Sequence[SSAValue], axis: int) -> SSAValue:
        """Tensors one behind the other along an axis."""
        if len(parts) == 1:
            return parts[0]
        shape = list(shape_of(parts[0]))
        shape[axis] = sum(shape_of(part)[axis] for part in parts)
        return self.one("concatenate", parts, _shaped(parts[0], shape), dimension=IntegerAttr(axis, i64))

    def region(
        self, elements: Sequence[Attribute], body: Callable[[StablehloWriter, Sequence[SSAValue]], Sequence[SSAValue]]
    ) -> Region:
        """A region of scalars."""
        block = Block(arg_types=[tensor_of(element, ()) for element in elements])
        inside = StablehloWriter(block)
        inside.op("return", body(inside, block.args), ())
        return Region(block)

    def reduce(self, x: SSAValue, axes: Sequence[int], start: float, combine: Combine) -> SSAValue:
        """x combined over axes, which the result lacks."""
        if not axes:
            return x
        element = tensor_type(x).element_type
        region = self.region([element, element], lambda inside, args: [combine(inside, args[0], args[1])])
        kept = [size for axis, size in enumerate(shape_of(x)) if axis not in axes]
        properties = {"dimensions": axes_attr(sorted(axes))}
        return self.op("reduce", [x, self.scalar(start, element)], [_shaped(x, kept)], properties, [region])[0]


def _shaped(x: SSAValue, shape: Sequence[int]) -> Tensor:
    return tensor_of(tensor_type(x).element_type, shape)


def _wrapped(value: int, type: IntegerType) -> int:
    """A number within the range of a type; 0 or 1 for a boolean."""
    bits = type.width.data
    if bits == 1:
        return int(bool(value))
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) and not is_unsigned(type) else value

"""
Contractions: `dot_general` where each axis is a dimension, else a convolution.

A dimension of both inputs and the result is a batch of a product, or a group of features of a convolution; one of both
inputs alone is summed over, a feature; one of an input and the result is free: the batch of the operand, or features of
the result from the kernel. Of an axis p s + r d one dimension is of the result, which windows walk with its
coefficient as their stride, and one of the kernel, whose elements are as far apart as its coefficient says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.compiler.emit.upstream.ranges import wide
from npuc.compiler.emit.upstream.stablehlo.reductions import named
from npuc.compiler.emit.upstream.stablehlo.writer import StablehloWriter, axes_attr
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Axis
from npuc.dialects.stablehlo.numbering import ConvNumbers, ConvNumbersAttr, DotNumbers, DotNumbersAttr
from npuc.dialects.tensors import Tensor, shape_of, tensor_of

Place = str | tuple[tuple[str, int], tuple[str, int]]
"""What an axis of an input goes along: a dimension, or two of them with their coefficients."""


@frozen
class _Factor:
    """An input without axes that nothing walks, and what each of its axes goes along."""

    value: SSAValue
    places: tuple[Place, ...]

    @property
    def names(self) -> set[str]:
        """The dimensions that it depends on."""
        return {name for place in self.places for name in _names(place)}

    @property
    def windows(self) -> list[int]:
        """The axes along which windows move."""
        return [axis for axis, place in enumerate(self.places) if not isinstance(place, str)]


def _names(place: Place) -> tuple[str, ...]:
    return (place,) if isinstance(place, str) else (place[0][0], place[1][0])


def _contract(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Products are added up in the type of the result, in f32 for shorter floats, which are rounded at the end."""
    assert isinstance(op, ContractOp)
    nest, sizes = op.nest, op.nest.sizes
    (statement,), (out,) = nest.statements, nest.outs
    result = cast(Tensor, op.results[0].type)
    sums = wide(result.element_type)
    values = {tensor.name: value for tensor, value in zip(nest.ins, operands, strict=False)}
    lhs, rhs = (
        _factor(w, w.convert(values[name], sums), nest.tensors[name].axes, sizes)
        for name in (statement.lhs, statement.rhs)
    )
    wanted = [axis.terms[0][0] for axis in out.axes]
    lhs, rhs = _summed(w, lhs, rhs.names | {*wanted}), _summed(w, rhs, lhs.names | {*wanted})
    if rhs.windows and not lhs.windows:
        lhs, rhs = rhs, lhs
    lhs = _unfolded(w, lhs, lambda place: not _is_window(place, rhs, wanted), sizes)
    rhs = _unfolded(w, rhs, lambda place: True, sizes)
    found, order = (_convolved if lhs.windows else _multiplied)(w, lhs, rhs, wanted, sizes)
    kept = [name for name in wanted if name in order]
    found = w.transpose(found, [order.index(name) for name in kept])
    shape = [sizes[name] for name in wanted]
    found = w.along(found, shape, [wanted.index(name) for name in kept])
    return [w.convert(found, result.element_type)]


def _factor(w: StablehloWriter, x: SSAValue, axes: Sequence[Axis], sizes: dict[str, int]) -> _Factor:
    """An input whose axes have as many elements as are read, each multiple of one dimension as that dimension."""
    reads = [axis.span(sizes) for axis in axes]
    steps = [axis.terms[0][1] if len(axis.terms) == 1 else 1 for axis in axes]
    counts = [(read - 1) // step + 1 for read, step in zip(reads, steps, strict=True)]
    x = w.slice(x, [0] * len(axes), counts, steps) if tuple(counts) != shape_of(x) else x
    walked = [(axis, count) for axis, count in zip(axes, counts, strict=True) if axis.terms]
    places: list[Place] = []
    for axis, _ in walked:
        first, *rest = axis.terms
        places.append((first, rest[0]) if rest else first[0])
    return _Factor(w.reshape(x, [count for _, count in walked]), tuple(places))


def _summed(w: StablehloWriter, factor: _Factor, others: set[str]) -> _Factor:
    """An input summed over dimensions that it alone has."""
    alone = [axis for axis, place in enumerate(factor.places) if isinstance(place, str) and place not in others]
    kept = tuple(place for axis, place in enumerate(factor.places) if axis not in alone)
    return _Factor(w.reduce(factor.value, alone, 0, named("add")), kept) if alone else factor


def _is_window(place: Place, rhs: _Factor, wanted: Sequence[str]) -> bool:
    """Whether a convolution walks an axis so: along one dimension of the result alone, and one of the kernel alone."""
    kinds = {(name in wanted, name in rhs.names) for name in _names(place)}
    return kinds == {(True, False), (False, True)}


def _unfolded(w: StablehloWriter, factor: _Factor, chosen: Callable[[Place], bool], sizes: dict[str, int]) -> _Factor:
    """An input with each chosen axis of two dimensions as two axes: a slice for each value of the second."""
    for axis in reversed(factor.windows):
        place = factor.places[axis]
        if isinstance(place, str) or not chosen(place):
            continue
        (first, step), (second, distance) = place
        parts: list[SSAValue] = []
        for number in range(sizes[second]):
            shape, starts, steps = list(shape_of(factor.value)), [0] * len(factor.places), [1] * len(factor.places)
            shape[axis], starts[axis], steps[axis] = sizes[first], number * distance, step
            part = w.slice(factor.value, starts, shape, steps)
            parts.append(w.reshape(part, [*shape[: axis + 1], 1, *shape[axis + 1 :]]))
        value = w.concat(parts, axis + 1)
        factor = _Factor(value, (*factor.places[:axis], first, second, *factor.places[axis + 1 :]))
    return factor


def _multiplied(
    w: StablehloWriter, lhs: _Factor, rhs: _Factor, wanted: Sequence[str], sizes: dict[str, int]
) -> tuple[SSAValue, list[str]]:
    """The product of inputs without windows, and what each axis of it goes along."""
    left, right = [str(place) for place in lhs.places], [str(place) for place in rhs.places]
    both = [name for name in left if name in right]
    batches, summed = [n for n in both if n in wanted], [n for n in both if n not in wanted]
    order = [*batches, *(n for n in left if n not in both), *(n for n in right if n not in both)]
    numbers = DotNumbers(
        lhs_batching_dimensions=tuple(map(left.index, batches)),
        rhs_batching_dimensions=tuple(map(right.index, batches)),
        lhs_contracting_dimensions=tuple(map(left.index, summed)),
        rhs_contracting_dimensions=tuple(map(right.index, summed)),
    )
    element = cast(Tensor, lhs.value.type).element_type
    type = tensor_of(element, [sizes[name] for name in order])
    product = w.one("dot_general", [lhs.value, rhs.value], type, dot_dimension_numbers=DotNumbersAttr(numbers))
    return product, order


def _convolved(
    w: StablehloWriter, lhs: _Factor, rhs: _Factor, wanted: Sequence[str], sizes: dict[str, int]
) -> tuple[SSAValue, list[str]]:
    """The convolution of an input that has windows by one that has none, and what each axis of it goes along."""
    plain = [place for place in lhs.places if isinstance(place, str)]
    kernel = [str(place) for place in rhs.places]
    walks = [_walk(place, wanted) for place in lhs.places if not isinstance(place, str)]
    inside = {name for _, (name, _) in walks}
    groups = [n for n in plain if n in kernel and n in wanted]
    features = [n for n in plain if n in kernel and n not in wanted]
    batches = [n for n in plain if n not in kernel]
    outs = [n for n in kernel if n not in plain and n not in inside]

    def count(names: Sequence[str]) -> int:
        return prod(sizes[name] for name in names)

    order = [*(lhs.places.index(name) for name in (*batches, *groups, *features)), *lhs.windows]
    spans = [shape_of(lhs.value)[axis] for axis in lhs.windows]
    shape = [count(batches), count(groups) * count(features), *spans]
    operand = w.reshape(w.transpose(lhs.value, order), shape)
    taps = [name for _, (name, _) in walks]
    order = [kernel.index(name) for name in (*groups, *outs, *features, *taps)]
    shape = [count(groups) * count(outs), count(features), *(sizes[name] for name in taps)]
    window = w.reshape(w.transpose(rhs.value, order), shape)
    steps = [name for (name, _), _ in walks]
    spatial = tuple(map(str, range(len(walks))))
    type = tensor_of(
        cast(Tensor, operand.type).element_type,
        [count(batches), count(groups) * count(outs), *(sizes[name] for name in steps)],
    )
    found = w.one(
        "convolution",
        [operand, window],
        type,
        window_strides=axes_attr([stride for (_, stride), _ in walks]),
        rhs_dilation=axes_attr([distance for _, (_, distance) in walks]),
        dimension_numbers=ConvNumbersAttr(
            ConvNumbers(("b", "f", *spatial), ("o", "i", *spatial), ("b", "f", *spatial))
        ),
        feature_group_count=IntegerAttr(count(groups), i64),
        batch_group_count=IntegerAttr(1, i64),
    )
    names = [*batches, *groups, *outs, *steps]
    return w.reshape(found, [sizes[name] for name in names]), names


def _walk(place: Place, wanted: Sequence[str]) -> tuple[tuple[str, int], tuple[str, int]]:
    """Of an axis that windows walk, the dimension of the result and that of the kernel, with their coefficients."""
    assert not isinstance(place, str)
    first, second = place
    return (first, second) if first[0] in wanted else (second, first)


LOWERINGS = {"npu.contract": _contract}

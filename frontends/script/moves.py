"""Transposes that need not be computed: two in a row are one, and products take transposed operands as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import Tensor
from npuc.frontends.script.writer import CallWriter

TensorT = TypeVar("TensorT", bound=Tensor)


def _source_of(c: CallWriter, value: Tensor) -> tuple[Name, list[int]] | None:
    """What a tensor is the transpose of, and its axes there; None for another one."""
    written = c.script.written(value) if isinstance(value, Name) else None
    if not isinstance(written, Call) or written.function != "transpose":
        return None
    source, axes = (c.script.constant(argument.value) for argument in written.arguments)
    return (source, cast("list[int]", axes)) if isinstance(source, Name) and isinstance(axes, list) else None


def transposed(c: CallWriter, x: TensorT, axes: Sequence[int]) -> TensorT | Name | Call:
    """A tensor with its axes in another order, itself where it is theirs; the transpose of a transpose is one."""
    if list(axes) == sorted(axes):
        return x
    found = _source_of(c, x)
    if found is None:
        return c.call("transpose", x, list(axes))
    source, whole = found[0], [found[1][axis] for axis in axes]
    return source if whole == sorted(whole) else c.call("transpose", source, whole)


def matrix_product(c: CallWriter, x: Tensor, y: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Call:
    """A matrix product; an operand that is transposed in its last two axes is not copied."""
    (a, ta), (b, tb) = _untransposed(c, x), _untransposed(c, y)
    named = {"transpose_a": ta != transpose_a, "transpose_b": tb != transpose_b}
    return c.call("matmul", a, b, **{name: True for name, value in named.items() if value})


def _untransposed(c: CallWriter, value: Tensor) -> tuple[Tensor, bool]:
    """What a tensor is the transpose of in its last two axes, if it is one."""
    found, rank = _source_of(c, value), len(c.shape(value))
    if found is not None and found[1] == [*range(rank - 2), rank - 1, rank - 2]:
        return found[0], True
    return value, False

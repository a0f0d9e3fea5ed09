"""The values of tensors that depend on no input: what arange, comparisons and arithmetic of constants come to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, DataError, elements
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.base import TrainOp

MAX_ELEMENTS = 1 << 24
"""The most elements of a tensor whose values are computed while a graph is read."""
MAX_DEPTH = 100


def _unknown(_: SSAValue) -> Array | None:
    return None


class Constants:
    """Values computed so far, each once; `stored` gives those of arguments of the program that are known."""

    def __init__(self, stored: Callable[[SSAValue], Array | None] = _unknown) -> None:
        self._known: dict[SSAValue, Array | None] = {}
        self._stored = stored

    def of(self, value: SSAValue, depth: int = 0) -> Array | None:
        """The values of a tensor; None where they depend on an input, or are too many."""
        if value not in self._known:
            self._known[value] = None if depth > MAX_DEPTH else self._computed(value, depth)
        return self._known[value]

    def _computed(self, value: SSAValue, depth: int) -> Array | None:
        op = value.owner
        if not isinstance(op, Operation):
            return self._stored(value)
        if not isinstance(op, TrainOp):
            return None
        if any(elements(one) > MAX_ELEMENTS for one in (*op.operands, *op.results)):
            return None
        operands: list[Array] = []
        for operand in op.operands:
            found = self.of(operand, depth + 1)
            if found is None:
                return None
            operands.append(found)
        with np.errstate(all="ignore"):
            try:
                results = get_layer(op).evaluate(op, *operands)
            except DataError:  # a run tells of it, with its place
                return None
            typed = [_in_type(result, value) for result, value in zip(results, op.results, strict=True)]
        self._known.update(zip(op.results, typed, strict=True))
        return self._known[value]


def _in_type(result: Array, value: SSAValue) -> Array:
    """A result as whole numbers or truth values where its type says so: meanings may compute these as floats."""
    element = tensor_type(value).element_type
    if not isinstance(element, IntegerType):
        return result
    return result.astype(np.bool_ if element == i1 else np.int64)

"""The values of tensors that depend on no input: what arange, comparisons and arithmetic of constants come to."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, elements
from npuc.dialects.train.base import TrainOp

MAX_ELEMENTS = 1 << 24
"""The most elements of a tensor whose values are computed while a graph is read."""
MAX_DEPTH = 100


class Constants:
    """Values computed so far, each once."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Array | None] = {}

    def of(self, value: SSAValue, depth: int = 0) -> Array | None:
        """The values of a tensor; None where they depend on an input, or are too many."""
        if value not in self._known:
            self._known[value] = None if depth > MAX_DEPTH else self._computed(value, depth)
        return self._known[value]

    def _computed(self, value: SSAValue, depth: int) -> Array | None:
        op = value.owner
        if not isinstance(op, Operation) or not isinstance(op, TrainOp):
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
            results = get_layer(op).evaluate(op, *operands)
        self._known.update(zip(op.results, results, strict=True))
        return self._known[value]

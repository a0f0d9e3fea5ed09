"""Dropout: one vector operation an element; the mask is drawn again in the backward pass, not stored."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, derivative
from npuc.dialects.train.dropout import DropoutOp


class DropoutLayer(PerElementLayer[DropoutOp]):
    """x / (1 - p) where a mask that depends on seed and step alone keeps it (Philox counters, Salmon et al. 2011)."""

    op = DropoutOp
    elementwise = True

    def evaluate(self, op: DropoutOp, *arrays: Array) -> tuple[Array, ...]:
        shape: tuple[int, ...] = arrays[0].shape
        return self.evaluate_block(op, shape, tuple(np.arange(size) for size in shape), *arrays)

    def evaluate_block(
        self, op: DropoutOp, shape: tuple[int, ...], index: tuple[Array, ...], *arrays: Array
    ) -> tuple[Array, ...]:
        x, step = arrays
        p = op.p.value.data
        key = np.array([int(op.seed.value.data), int(step)], dtype=np.uint64)
        keep = np.random.Generator(np.random.Philox(key=key)).random(shape)[np.ix_(*index)] >= p
        return (np.where(keep, x * x.dtype.type(1.0 / (1.0 - p)), 0),)

    def vjp(self, op: DropoutOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(DropoutOp, op, g, op.step)).out, None]

    def cuts(self, op: DropoutOp) -> Sequence[Cut]:
        # the mask depends on the place in the whole tensor
        return ()


def dropout(b: GraphBuilder, x: Value, p: float = 0.5) -> SSAValue:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); the identity in inference."""
    if not 0.0 <= p < 1.0:
        raise ArgumentError("p", f"found {p}, expected at least 0 and below 1")
    if not b.training or p == 0:
        return x
    return b.emit(DropoutOp(x, b.step(), p=float(p), seed=b.next_seed())).out


LAYERS = (DropoutLayer(),)
FUNCTIONS = (dropout,)

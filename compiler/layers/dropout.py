"""Dropout: one vector operation per element; the mask is drawn again in the backward pass, not stored."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    PerElementLayer,
    broadcast_cuts,
    derivative,
    params_of,
)
from npuc.compiler.layers.draws import draws_at
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.dropout import DropoutOp


class DropoutLayer(PerElementLayer[DropoutOp]):
    """x / (1 - p) where a mask that depends on seed, step and place keeps it (Philox counters, Salmon et al. 2011)."""

    op = DropoutOp
    elementwise = True

    def evaluate(self, op: DropoutOp, *arrays: Array) -> tuple[Array, ...]:
        shape: tuple[int, ...] = arrays[0].shape
        return self.evaluate_block(op, shape, tuple(np.arange(size) for size in shape), *arrays)

    def evaluate_block(
        self, op: DropoutOp, shape: tuple[int, ...], index: tuple[Array, ...], *arrays: Array
    ) -> tuple[Array, ...]:
        x, step, *places = arrays
        p, known = op.p.value.data, dict(zip(ints(op.axes), places, strict=True))
        own = tuple(known[axis].reshape(-1) if axis in known else at for axis, at in enumerate(index))
        keep = draws_at((int(op.seed.value.data), int(step)), ints(op.of) or shape, own) >= p
        return (np.where(keep, x * x.dtype.type(1.0 / (1.0 - p)), 0),)

    def vjp(self, op: DropoutOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(DropoutOp, op, g, op.step, *op.places)).out, None, *(None for _ in op.places)]

    def cuts(self, op: DropoutOp) -> Sequence[Cut]:
        # the mask depends on the place in the whole tensor: a part needs its own place
        axes = ints(op.axes)
        return [cut for cut in broadcast_cuts(op) if cut.results[0] in axes]


def dropout_of_part(op: DropoutOp, x: SSAValue, step: SSAValue, places: Mapping[int, SSAValue]) -> DropoutOp:
    """The dropout of a part of its operand, which has the given positions along some axes and all along the others."""
    whole = ints(op.of) or shape_of(op.x)
    params = params_of(op) | {"axes": tuple(places), "of": tuple(whole) if places else ()}
    return DropoutOp(x, step, *places.values(), results=None, **params)


def dropout(b: GraphBuilder, x: Value, p: float = 0.5) -> SSAValue:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); the identity in inference."""
    if not 0.0 <= p < 1.0:
        raise ArgumentError("p", f"found {p}, expected at least 0 and below 1")
    if not b.training or p == 0:
        return x
    return b.emit(DropoutOp(x, b.step(), p=float(p), seed=b.next_seed())).out


LAYERS = (DropoutLayer(),)
FUNCTIONS = (dropout,)

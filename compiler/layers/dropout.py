"""Dropout: one vector operation per element; the mask is drawn again in the backward pass, not stored."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    Ints,
    Value,
    check_share,
    check_word,
    element_type,
    rank_at_least,
)
from npuc.compiler.layers.arithmetic import mul
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
from npuc.compiler.layers.constant import full
from npuc.compiler.layers.draws import LANES, UNUSED, draws_at, philox_words
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import ints
from npuc.dialects.train.compare import NotEqualOp
from npuc.dialects.train.dropout import DropoutOp, RandomBitsOp


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


class RandomBitsLayer(PerElementLayer[RandomBitsOp]):
    """
    The upper 53 bits of Philox's words, row by row.

    A draw counts as one vector operation an element, as it does in dropout, whatever it takes.
    """

    op = RandomBitsOp

    def evaluate(self, op: RandomBitsOp, *arrays: Array) -> tuple[Array, ...]:
        shape = shape_of(op.out)
        first, second = (word.astype(np.uint64) for word in arrays)
        # the generator counts before it draws, so that its first block has counter 1
        blocks = -(-prod(shape) // int(LANES))
        counters = np.arange(1, blocks + 1, dtype=np.uint64, like=first)
        words = np.stack(philox_words(counters, first, second), axis=-1).reshape(-1)
        return ((words[: prod(shape)].reshape(shape) >> UNUSED).astype(np.int64),)


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
    return dropout_of(b, x, p)


def dropout_of(b: GraphBuilder, x: Value, p: float) -> SSAValue:
    """x with a mask of its own, in inference too."""
    return b.emit(DropoutOp(x, b.step(), p=float(p), seed=b.next_seed())).out


def bernoulli(b: GraphBuilder, shape: Ints, p: float = 0.5, dtype: str = "f32") -> SSAValue:
    """
    A tensor of random ones, each with probability p, and zeros: a function of the layer and of the step alone.

    It has no derivative. A type of floats, i32, i64 or bool.
    """
    check_share("p", p)
    element = element_type("dtype", dtype)
    if p in (0, 1):
        return full(b, shape, p, dtype)
    drawn = mask_of(b, shape, 1 - p, b.next_seed())
    return drawn if element == i1 else b.emit(CastOp(drawn, results=[tensor_of(element, shape)])).out


def mask_of(b: GraphBuilder, shape: Ints, p: float, seed: int) -> SSAValue:
    """A mask that is true where a dropout of f32 with p and that seed keeps an element of a tensor of that shape."""
    kept = b.emit(DropoutOp(full(b, shape, 1, "f32"), b.step(), p=float(p), seed=seed)).out
    return b.emit(NotEqualOp(kept, b.constant(tensor_of(f32, ()), 0.0))).out


def stochastic_depth(b: GraphBuilder, x: Value, p: float, mode: str = "row") -> SSAValue:
    """
    Each sample of x [batch, …] zeroed with probability p, the others times 1 / (1 - p); the identity in inference.

    With `mode="batch"` all samples share one draw. Also known as drop path (Huang et al., 2016).
    """
    check_word("mode", mode, ("row", "batch"))
    shape = rank_at_least("x", x, 1, "[batch, …]")
    if not 0.0 <= p < 1.0:
        raise ArgumentError("p", f"found {p}, expected at least 0 and below 1")
    if not b.training or p == 0:
        return x
    sizes = [shape[0] if mode == "row" else 1, *(1 for _ in shape[1:])]
    return mul(b, x, dropout_of(b, b.constant(tensor_of(tensor_type(x).element_type, sizes), 1.0), p))


LAYERS = (DropoutLayer(), RandomBitsLayer())
FUNCTIONS = (dropout, bernoulli, stochastic_depth)

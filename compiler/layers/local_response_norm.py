"""
Local response normalisation: y = x / d^beta with d = k + alpha / size s, s the sum of x^2 over neighbouring channels.

With g = dy: dx = g / d^beta - 2 alpha beta / size x t, where t of a channel is the sum of g x / d^(beta + 1) over the
channels whose window holds it. Work per element: `size` vector operations for each window sum, one of them forward and
two backward (s is recomputed, not stored), and 4 more, as for the other normalisations.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Value, channels_of, check_not_negative, check_positive
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, derivative
from npuc.compiler.layers.cuts import same_axes
from npuc.dialects.train.local_response_norm import (
    LocalResponseNormBase,
    LocalResponseNormGradOp,
    LocalResponseNormOp,
)

_STEPS_BESIDE = 4


def _window_sum(values: Array, before: int, behind: int) -> Array:
    """For each channel the sum over its window, from `before` channels before it to `behind` behind it."""
    channels = values.shape[1]
    total = np.zeros_like(values)
    for shift in range(max(-before, 1 - channels), min(behind, channels - 1) + 1):
        low, high = max(0, -shift), min(channels, channels - shift)
        total[:, low:high] += values[:, low + shift : high + shift]
    return total


def _divisor(op: LocalResponseNormBase, x: Array) -> Array:
    size = int(op.size.value.data)
    return op.k.value.data + op.alpha.value.data / size * _window_sum(x * x, size // 2, (size - 1) // 2)


class LocalResponseNormLayer(PerElementLayer[LocalResponseNormOp]):
    """Each channel divided by a power of its neighbours' energy."""

    op = LocalResponseNormOp

    def evaluate(self, op: LocalResponseNormOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x / _divisor(op, x) ** op.beta.value.data,)

    def vjp(
        self, op: LocalResponseNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(LocalResponseNormGradOp, op, g, op.x)).dx]

    def steps_of(self, op: LocalResponseNormOp) -> int:
        return int(op.size.value.data) + _STEPS_BESIDE

    def cuts(self, op: LocalResponseNormOp) -> Sequence[Cut]:
        return same_axes(op, but=(1,))


class LocalResponseNormGradLayer(PerElementLayer[LocalResponseNormGradOp]):
    """The gradient of the input."""

    op = LocalResponseNormGradOp

    def evaluate(self, op: LocalResponseNormGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        size, alpha, beta = int(op.size.value.data), op.alpha.value.data, op.beta.value.data
        divisor = _divisor(op, x)
        # Channel c lies in the windows of the channels from (size - 1) // 2 before it to size // 2 behind it.
        through = _window_sum(dy * x / divisor ** (beta + 1), (size - 1) // 2, size // 2)
        return (dy / divisor**beta - 2 * alpha * beta / size * x * through,)

    def steps_of(self, op: LocalResponseNormGradOp) -> int:
        return 2 * int(op.size.value.data) + _STEPS_BESIDE


def local_response_norm(
    b: GraphBuilder, x: Value, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> SSAValue:
    """
    Each channel of x [batch, channels, …] over (k + alpha / size s)^beta, s the sum of squares of `size` channels.

    The window reaches from size // 2 channels before to (size - 1) // 2 behind.
    """
    channels_of("x", x)
    check_positive("size", size)
    for name, value in (("alpha", alpha), ("k", k)):
        check_not_negative(name, value)
    return b.emit(LocalResponseNormOp(x, size=size, alpha=float(alpha), beta=float(beta), k=float(k))).y


LAYERS = (LocalResponseNormLayer(), LocalResponseNormGradLayer())
FUNCTIONS = (local_response_norm,)

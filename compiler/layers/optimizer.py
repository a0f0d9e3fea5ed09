"""
Optimizer updates, and the optimizers a network can name with their hyperparameters.

Work in vector operations an element: sgd 2, with momentum 4, with weight decay 2 more; adam and adamw 12, with decay
2 more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from npuc.compiler.layers.base import Array, Layer, OpT, Work, result_elements
from npuc.dialects.train.optimizer import AdamBase, AdamOp, AdamwOp, IncrementOp, SgdOp


@dataclass(frozen=True)
class OptimizerRule:
    """
    An optimizer of the language: its operation, its hyperparameters with defaults, and its state.

    `states` are the suffixes of the state tensors a parameter gets; `needs_step` says that the update reads the step
    count. A default of None makes the hyperparameter mandatory. `stateless_without` names a hyperparameter that, at
    zero, removes the state.
    """

    op: type[SgdOp | AdamOp | AdamwOp]
    defaults: Mapping[str, float | None]
    states: tuple[str, ...]
    needs_step: bool = False
    stateless_without: str | None = None


def option_problem(name: str, value: float) -> str | None:
    """What is wrong with the value of a hyperparameter, as far as an optimizer's formula goes; None if nothing."""
    if name.startswith("beta"):
        return None if 0.0 <= value < 1.0 else f"found {value}, expected at least 0 and below 1"
    return None if 0.0 <= value < inf else f"found {value}, expected at least 0"


OPTIMIZERS: dict[str, OptimizerRule] = {
    "sgd": OptimizerRule(
        SgdOp, {"lr": None, "momentum": 0.0, "weight_decay": 0.0}, ("momentum",), stateless_without="momentum"
    ),
    "adam": OptimizerRule(
        AdamOp,
        {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0},
        ("mean", "square"),
        needs_step=True,
    ),
    "adamw": OptimizerRule(
        AdamwOp,
        {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01},
        ("mean", "square"),
        needs_step=True,
    ),
}


class SgdLayer(Layer[SgdOp]):
    """Gradient descent with momentum and weight decay, as PyTorch's SGD."""

    op = SgdOp

    def evaluate(self, op: SgdOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, *velocity = arrays
        real = w.dtype.type
        g = grad + real(op.weight_decay.value.data) * w if op.weight_decay.value.data else grad
        if not velocity:
            return (w - real(op.lr.value.data) * g,)
        v = real(op.momentum.value.data) * velocity[0] + g
        return (w - real(op.lr.value.data) * v, v)

    def work(self, op: SgdOp) -> Work:
        steps = 2 + 2 * (op.momentum.value.data != 0.0) + 2 * (op.weight_decay.value.data != 0.0)
        return Work(vector_ops=steps * result_elements(op))


class _Adam(Layer[OpT]):
    """What adam and adamw share."""

    def work(self, op: OpT) -> Work:
        assert isinstance(op, AdamBase)
        return Work(vector_ops=(12 + 2 * (op.weight_decay.value.data != 0.0)) * result_elements(op))


def _adam(op: AdamBase, w: Array, g: Array, mean: Array, square: Array, step: Array) -> tuple[Array, ...]:
    """One update with bias correction, t = step + 1."""
    real = w.dtype.type
    beta1, beta2, t = op.beta1.value.data, op.beta2.value.data, int(step) + 1
    m = real(beta1) * mean + real(1.0 - beta1) * g
    s = real(beta2) * square + real(1.0 - beta2) * g * g
    size = real(op.lr.value.data / (1.0 - beta1**t))
    deviation = np.sqrt(s) / real((1.0 - beta2**t) ** 0.5) + real(op.eps.value.data)
    return w - size * m / deviation, m, s


class AdamLayer(_Adam[AdamOp]):
    """Adam (Kingma, Ba 2015); weight decay is added to the gradient."""

    op = AdamOp

    def evaluate(self, op: AdamOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, mean, square, step = arrays
        decay = op.weight_decay.value.data
        return _adam(op, w, g + w.dtype.type(decay) * w if decay else g, mean, square, step)


class AdamwLayer(_Adam[AdamwOp]):
    """AdamW (Loshchilov, Hutter 2019); weight decay shrinks the parameter itself."""

    op = AdamwOp

    def evaluate(self, op: AdamwOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, mean, square, step = arrays
        shrink = w.dtype.type(1.0 - op.lr.value.data * op.weight_decay.value.data)
        return _adam(op, w * shrink, g, mean, square, step)


class IncrementLayer(Layer[IncrementOp]):
    """step + 1."""

    op = IncrementOp

    def evaluate(self, op: IncrementOp, *arrays: Array) -> tuple[Array, ...]:
        (step,) = arrays
        return (step + 1,)

    def work(self, op: IncrementOp) -> Work:
        return Work(vector_ops=1)


LAYERS = (SgdLayer(), AdamLayer(), AdamwLayer(), IncrementLayer())

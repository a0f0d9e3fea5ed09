"""
Adaptive optimizers, with a step size per element.

Work in vector operations per element: rmsprop 9, centred 5 more, with momentum 2 more; adagrad 7; adadelta 14; adamax
10; nadam 15; lamb 17, its two norms included; lion 9. Weight decay 2 more.
"""

import numpy as np

from npuc.compiler.layers.base import Array, OpT, PerElementLayer, Reread
from npuc.compiler.layers.domains import number, real_of, whole
from npuc.compiler.layers.optimizer import decayed
from npuc.dialects.train.adaptive_optimizer import (
    AdadeltaOp,
    AdagradOp,
    AdamaxOp,
    LambOp,
    LionOp,
    NadamOp,
    RmspropOp,
    UpdateOp,
)


class _UpdateLayer(PerElementLayer[OpT]):
    """An update; weight decay takes two more operations per element."""

    elementwise = True

    def steps_of(self, op: OpT) -> int:
        assert isinstance(op, UpdateOp)
        return self.steps + 2 * (op.weight_decay.value.data != 0.0)


class RmspropLayer(_UpdateLayer[RmspropOp]):
    """RMSprop, as PyTorch's: eps is added to the root."""

    op = RmspropOp
    steps = 9

    def evaluate(self, op: RmspropOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, square, *state = arrays
        real = real_of(w)
        alpha, lr, momentum = op.alpha.value.data, real(op.lr.value.data), op.momentum.value.data
        g = decayed(grad, w, op.weight_decay.value.data)
        s = real(alpha) * square + real(1.0 - alpha) * g * g
        new = [s]
        variance = s
        if op.centered is not None:
            mean = real(alpha) * state[0] + real(1.0 - alpha) * g
            new.append(mean)
            # where gradients do not change, rounding may leave a negative variance
            variance = np.maximum(s - mean * mean, 0)
        change = g / (np.sqrt(variance) + real(op.eps.value.data))
        if momentum:
            change = real(momentum) * state[-1] + change
            new.append(change)
        return w - lr * change, *new

    def steps_of(self, op: RmspropOp) -> int:
        return super().steps_of(op) + 5 * (op.centered is not None) + 2 * (op.momentum.value.data != 0.0)


class AdagradLayer(_UpdateLayer[AdagradOp]):
    """Adagrad, with a rate that falls with the steps."""

    op = AdagradOp
    steps = 7

    def evaluate(self, op: AdagradOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, total, *step = arrays
        real = real_of(w)
        g = decayed(grad, w, op.weight_decay.value.data)
        s = total + g * g
        rate = op.lr.value.data / (1.0 + (whole(step[0]) * op.lr_decay.value.data if step else 0.0))
        return w - real(rate) * g / (np.sqrt(s) + real(op.eps.value.data)), s


class AdadeltaLayer(_UpdateLayer[AdadeltaOp]):
    """Adadelta: the step is as large as earlier ones, over the size of the gradients."""

    op = AdadeltaOp
    steps = 14

    def evaluate(self, op: AdadeltaOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, square, delta = arrays
        real = real_of(w)
        rho, rest, eps = real(op.rho.value.data), real(1.0 - op.rho.value.data), real(op.eps.value.data)
        g = decayed(grad, w, op.weight_decay.value.data)
        s = rho * square + rest * g * g
        change = np.sqrt(delta + eps) / np.sqrt(s + eps) * g
        return w - real(op.lr.value.data) * change, s, rho * delta + rest * change * change


class AdamaxLayer(_UpdateLayer[AdamaxOp]):
    """Adamax: Adam under the largest norm."""

    op = AdamaxOp
    steps = 10

    def evaluate(self, op: AdamaxOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, mean, norm, step = arrays
        real = real_of(w)
        beta1 = op.beta1.value.data
        g = decayed(grad, w, op.weight_decay.value.data)
        m = real(beta1) * mean + real(1.0 - beta1) * g
        n = np.maximum(real(op.beta2.value.data) * norm, np.abs(g) + real(op.eps.value.data))
        size = real(op.lr.value.data / (1.0 - beta1 ** (whole(step) + 1)))
        return w - size * m / n, m, n


class NadamLayer(_UpdateLayer[NadamOp]):
    """NAdam: Adam with Nesterov momentum, whose weights change with the steps."""

    op = NadamOp
    steps = 15

    def evaluate(self, op: NadamOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, mean, square, step = arrays
        real = real_of(w)
        lr, decay = op.lr.value.data, op.weight_decay.value.data
        beta1, beta2, t = op.beta1.value.data, op.beta2.value.data, int(step) + 1
        if op.decoupled_weight_decay is None:
            g = decayed(g, w, decay)
        elif decay:
            w = w * real(1.0 - lr * decay)
        m = real(beta1) * mean + real(1.0 - beta1) * g
        s = real(beta2) * square + real(1.0 - beta2) * g * g
        weights = beta1 * (1.0 - 0.5 * 0.96 ** (np.arange(1, t + 2) * op.momentum_decay.value.data))
        now, following = float(np.prod(weights[:-1])), float(np.prod(weights))
        deviation = np.sqrt(s / real(1.0 - beta2**t)) + real(op.eps.value.data)
        of_gradient = real(lr * (1.0 - float(weights[-2])) / (1.0 - now))
        of_mean = real(lr * float(weights[-1]) / (1.0 - following))
        return w - (of_gradient * g + of_mean * m) / deviation, m, s


class LambLayer(_UpdateLayer[LambOp]):
    """
    LAMB: Adam's step, as long as a share of the parameter.

    The norms of parameter and step are known after a pass over both; a second pass reads the parameter and the moments
    that the first has written, which have the operands' sizes.
    """

    op = LambOp
    steps = 17
    elementwise = False

    def evaluate(self, op: LambOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, mean, square, step = arrays
        real = real_of(w)
        beta1, beta2, t = op.beta1.value.data, op.beta2.value.data, whole(step) + 1
        m = real(beta1) * mean + real(1.0 - beta1) * g
        s = real(beta2) * square + real(1.0 - beta2) * g * g
        deviation = np.sqrt(s / real(1.0 - beta2**t)) + real(op.eps.value.data)
        change = decayed(m / real(1.0 - beta1**t) / deviation, w, op.weight_decay.value.data)
        size, length = number(np.linalg.norm(w)), number(np.linalg.norm(change))
        ratio = np.where((size == 0) | (length == 0), 1.0, size / np.where(length == 0, 1.0, length))
        return w - real(op.lr.value.data * ratio) * change, m, s

    def reread_of(self, op: LambOp) -> Reread | None:
        return Reread((0, 2, 3))


class LionLayer(_UpdateLayer[LionOp]):
    """Lion: steps of one size, in the direction of a mean of the gradients."""

    op = LionOp
    steps = 9

    def evaluate(self, op: LionOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, mean = arrays
        real = real_of(w)
        beta1, beta2 = op.beta1.value.data, op.beta2.value.data
        direction = np.sign(real(beta1) * mean + real(1.0 - beta1) * g)
        change = decayed(direction, w, op.weight_decay.value.data)
        return w - real(op.lr.value.data) * change, real(beta2) * mean + real(1.0 - beta2) * g


LAYERS = (RmspropLayer(), AdagradLayer(), AdadeltaLayer(), AdamaxLayer(), NadamLayer(), LambLayer(), LionLayer())

"""
Optimizer updates, and the optimizers a network can name with their hyperparameters.

Work in vector operations per element: sgd 2, with momentum 4, with weight decay 2 more, dampening 1, Nesterov's form 2;
adam and adamw 12, with decay 2 more, with amsgrad 1 more.
"""

from collections.abc import Collection, Iterator, Mapping
from math import inf
from typing import TypeAlias

import numpy as np

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers.base import Array, OpT, PerElementLayer
from npuc.compiler.layers.domains import real_of, whole
from npuc.dialects.outside import families
from npuc.dialects.train.adaptive_optimizer import AdadeltaOp, AdagradOp, AdamaxOp, LambOp, LionOp, NadamOp, RmspropOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.dropback import DropbackOp
from npuc.dialects.train.optimizer import AdamBase, AdamOp, AdamwOp, IncrementOp, SgdOp
from npuc.dialects.train.signature import Argument

Option: TypeAlias = float | bool
"""The value of a hyperparameter: a number or a flag."""


@frozen
class State:
    """
    A state tensor of a parameter, `<parameter>.<suffix>`, in its shape, or one number for all of it (`scalar`).

    It exists only where the hyperparameter `only_with` is set (not zero), and not where `not_with` is; it starts at
    the hyperparameter `fill`.
    """

    suffix: str
    only_with: str | None = None
    fill: str | None = None
    not_with: str | None = None
    scalar: bool = False

    def exists(self, options: Collection[str]) -> bool:
        """Whether an update has it whose hyperparameters of these names are set."""
        return (self.only_with is None or self.only_with in options) and self.not_with not in options


@frozen
class OptimizerRule:
    """
    An optimizer of the language: its operation, its hyperparameters with defaults, and its state.

    A default of None makes the hyperparameter mandatory; one of True or False, a flag. `step_with` names the
    hyperparameters with which the update reads the step count, if all of them are set; None: it never does.
    `unsaid` are those that a program does not state at their default. With the hyperparameter `told_start` an update
    is told how its parameter starts, by the properties `start` (a name), and `bound` or `fill`.
    """

    op: type[TrainOp]
    defaults: Mapping[str, Option | None]
    states: tuple[State, ...] = ()
    step_with: tuple[str, ...] | None = None
    unsaid: frozenset[str] = frozenset()
    told_start: str | None = None

    def states_for(self, options: Mapping[str, Option]) -> list[State]:
        """The states that an update with these hyperparameters has."""
        known = [name for name, value in options.items() if value]
        return [state for state in self.states if state.exists(known)]

    def counts_steps(self, options: Mapping[str, Option]) -> bool:
        """Whether an update with these hyperparameters reads the step count."""
        return self.step_with is not None and all(options.get(name) for name in self.step_with)

    def takes_flag(self, name: str) -> bool:
        """Whether a hyperparameter is a flag, not a number."""
        return isinstance(self.defaults[name], bool)

    def for_update(self, options: Mapping[str, Option]) -> dict[str, Option]:
        """The hyperparameters of each update; the others say how its states start."""
        starts = {state.fill for state in self.states}
        return {name: value for name, value in options.items() if name not in starts}

    def start_of(self, options: Mapping[str, Option], argument: Argument) -> dict[str, str | float]:
        """The properties that tell an update how its parameter starts, if it is to know."""
        if self.told_start is None or not options.get(self.told_start):
            return {}
        value = {"fill": argument.fill or 0.0} if argument.bound is None else {"bound": argument.bound}
        return {"start": argument.name, **value}


def option_problem(name: str, value: Option) -> str | None:
    """The reason why an optimizer's formula does not take a value of a hyperparameter; None if it does."""
    if name.startswith("beta"):
        return None if 0.0 <= value < 1.0 else f"found {value}, expected at least 0 and below 1"
    if name == "keep":
        return None if 0.0 < value <= 1.0 else f"found {value}, expected above 0 and at most 1"
    if name == "rate":
        return None if 0.0 < value < 1.0 else f"found {value}, expected above 0 and below 1"
    if name == "seed":
        whole = 0.0 <= value < 2.0**53 and value == int(value)
        return None if whole else f"found {value}, expected a whole number of at least 0"
    if name in ("rho", "decay"):
        return None if 0.0 <= value <= 1.0 else f"found {value}, expected 0 to 1"
    return None if 0.0 <= value < inf else f"found {value}, expected at least 0"


def options_problem(options: Mapping[str, Option]) -> tuple[str, str] | None:
    """The hyperparameter that conflicts with others, and why; None if they agree."""
    if options.get("nesterov"):
        if not options.get("momentum"):
            return "nesterov", "found true without momentum, expected a momentum above 0"
        if options.get("dampening"):
            return "nesterov", "found true with dampening, expected no dampening"
    for name, with_ in (("rate", "quantile"), ("seed", "regenerate")):
        if name in options and not options.get(with_):
            return name, f"found {options[name]:g}, which has no effect without {with_}"
    return None


_ADAM: Mapping[str, Option | None] = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
_SLOW_ADAM: Mapping[str, Option | None] = {**_ADAM, "lr": 2e-3, "weight_decay": 0.0}
_ADAM_STATES = (State("mean"), State("square"), State("largest", only_with="amsgrad"))

_OWN: dict[str, OptimizerRule] = {
    "sgd": OptimizerRule(
        SgdOp,
        {"lr": None, "momentum": 0.0, "weight_decay": 0.0, "dampening": 0.0, "nesterov": False},
        (State("momentum", only_with="momentum"),),
        step_with=("momentum", "dampening"),
        unsaid=frozenset({"dampening"}),
    ),
    "adam": OptimizerRule(AdamOp, {**_ADAM, "weight_decay": 0.0, "amsgrad": False}, _ADAM_STATES, step_with=()),
    "adamw": OptimizerRule(AdamwOp, {**_ADAM, "weight_decay": 0.01, "amsgrad": False}, _ADAM_STATES, step_with=()),
    "nadam": OptimizerRule(
        NadamOp,
        {**_SLOW_ADAM, "momentum_decay": 4e-3, "decoupled_weight_decay": False},
        (State("mean"), State("square")),
        step_with=(),
    ),
    "adamax": OptimizerRule(AdamaxOp, _SLOW_ADAM, (State("mean"), State("norm")), step_with=()),
    "rmsprop": OptimizerRule(
        RmspropOp,
        {"lr": 0.01, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": False},
        (State("square"), State("mean", only_with="centered"), State("momentum", only_with="momentum")),
    ),
    "adagrad": OptimizerRule(
        AdagradOp,
        {"lr": 0.01, "lr_decay": 0.0, "weight_decay": 0.0, "initial_accumulator_value": 0.0, "eps": 1e-10},
        (State("sum", fill="initial_accumulator_value"),),
        step_with=("lr_decay",),
    ),
    "adadelta": OptimizerRule(
        AdadeltaOp,
        {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0},
        (State("square"), State("delta")),
    ),
    "lamb": OptimizerRule(LambOp, {**_ADAM, "weight_decay": 0.0}, (State("mean"), State("square")), step_with=()),
    "dropback": OptimizerRule(
        DropbackOp,
        {
            **{"lr": None, "momentum": 0.0, "keep": 0.1, "decay": 1.0},
            **{"quantile": False, "rate": 1e-3, "regenerate": False, "seed": 0.0},
        },
        (
            State("momentum", only_with="momentum"),
            State("initial", not_with="regenerate"),
            State("threshold", only_with="quantile", scalar=True),
        ),
        step_with=(),
        unsaid=frozenset({"rate", "seed"}),
        told_start="regenerate",
    ),
    "lion": OptimizerRule(LionOp, {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0}, (State("mean"),)),
}


class _Optimizers(Mapping[str, OptimizerRule]):
    """npuc's optimizers, and those that families from outside list under other names."""

    def __getitem__(self, name: str) -> OptimizerRule:
        known = (rules for rules in (_OWN, *self._outside()) if name in rules)
        rules = next(known, None)
        if rules is None:
            raise KeyError(name)
        return rules[name]

    def __contains__(self, name: object) -> bool:
        return name in _OWN or any(name in rules for rules in self._outside())

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*_OWN, *(name for rules in self._outside() for name in rules)]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _outside(self) -> list[Mapping[str, OptimizerRule]]:
        return [getattr(module, "OPTIMIZERS", {}) for module in families().modules.values()]


OPTIMIZERS: Mapping[str, OptimizerRule] = _Optimizers()
"""The optimizers by name."""


class SgdLayer(PerElementLayer[SgdOp]):
    """Gradient descent with momentum and weight decay, as PyTorch's SGD."""

    op = SgdOp
    elementwise = True

    def evaluate(self, op: SgdOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad, *state = arrays
        real = real_of(w)
        lr, momentum, dampening = real(op.lr.value.data), real(op.momentum.value.data), op.dampening.value.data
        g = decayed(grad, w, op.weight_decay.value.data)
        if not state:
            return (w - lr * g,)
        velocity, *step = state
        v = momentum * velocity + (real(1.0 - dampening) * g if dampening else g)
        if step:
            v = np.where(step[0] == 0, g, v)
        return (w - lr * (g + momentum * v if op.nesterov is not None else v), v)

    def steps_of(self, op: SgdOp) -> int:
        steps = 2 + 2 * (op.momentum.value.data != 0.0) + 2 * (op.weight_decay.value.data != 0.0)
        steps += (op.dampening.value.data != 0.0 and op.momentum.value.data != 0.0) + 2 * (op.nesterov is not None)
        return steps


def decayed(grad: Array, w: Array, weight_decay: float) -> Array:
    """The gradient of the loss with a penalty weight_decay w^2 / 2."""
    return grad + real_of(w)(weight_decay) * w if weight_decay else grad


class _AdamLayer(PerElementLayer[OpT]):
    """What adam and adamw share."""

    elementwise = True

    def steps_of(self, op: OpT) -> int:
        assert isinstance(op, AdamBase)
        return 12 + 2 * (op.weight_decay.value.data != 0.0) + (op.amsgrad is not None)


def _adam(op: AdamBase, w: Array, g: Array, *state: Array) -> tuple[Array, ...]:
    """One update with bias correction, t = step + 1."""
    mean, square, *largest, step = state
    real = real_of(w)
    beta1, beta2, t = op.beta1.value.data, op.beta2.value.data, whole(step) + 1
    m = real(beta1) * mean + real(1.0 - beta1) * g
    s = real(beta2) * square + real(1.0 - beta2) * g * g
    kept = [np.maximum(largest[0], s)] if largest else []
    size = real(op.lr.value.data / (1.0 - beta1**t))
    deviation = np.sqrt(kept[0] if kept else s) / real((1.0 - beta2**t) ** 0.5) + real(op.eps.value.data)
    return w - size * m / deviation, m, s, *kept


class AdamLayer(_AdamLayer[AdamOp]):
    """Adam (Kingma, Ba 2015); weight decay is added to the gradient."""

    op = AdamOp

    def evaluate(self, op: AdamOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, *state = arrays
        return _adam(op, w, decayed(g, w, op.weight_decay.value.data), *state)


class AdamwLayer(_AdamLayer[AdamwOp]):
    """AdamW (Loshchilov, Hutter 2019); weight decay shrinks the parameter itself."""

    op = AdamwOp

    def evaluate(self, op: AdamwOp, *arrays: Array) -> tuple[Array, ...]:
        w, g, *state = arrays
        shrink = real_of(w)(1.0 - op.lr.value.data * op.weight_decay.value.data)
        return _adam(op, w * shrink, g, *state)


class IncrementLayer(PerElementLayer[IncrementOp]):
    """step + 1."""

    op = IncrementOp

    def evaluate(self, op: IncrementOp, *arrays: Array) -> tuple[Array, ...]:
        (step,) = arrays
        return (step + 1,)


LAYERS = (SgdLayer(), AdamLayer(), AdamwLayer(), IncrementLayer())

"""Recurrent layers step by step, with activations and a place of the reset that the language's own have not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.activations import activation_call
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MAX_STEPS = 4096
"""The most steps that are written one by one."""


@dataclass(frozen=True)
class RecurrentOptions:
    """What a recurrent layer computes: `functions` are the activations, that of the gates second."""

    kind: str
    units: int
    functions: tuple[str, ...]
    reset_after: bool
    sequences: bool
    states: bool
    backwards: bool
    dropout: float


def run_steps(
    c: KerasLayer,
    options: RecurrentOptions,
    x: Name,
    weights: Sequence[Name],
    start: Sequence[Name],
    *,
    backwards: bool,
) -> tuple[Name, list[Name]]:
    """The outputs in order of time, [batch, steps, units], and the last states. `weights` as the language has them."""
    if c.shape(x)[1] > MAX_STEPS:
        raise Refused(f"found {c.shape(x)[1]:,} steps, which are written one by one, expected at most {MAX_STEPS:,}")
    fed = c.let("linear", x, bias=False, weight=weights[0])
    if len(weights) > 2:
        fed = c.let("add", fed, weights[2])
    steps = [c.let("squeeze", c.let("slice", fed, 1, k, k + 1), 1) for k in range(c.shape(x)[1])]
    states, outputs = list(start), list[Name]()
    run = {"lstm": _lstm, "gru": _gru, "rnn": _rnn}[options.kind]
    for step in reversed(steps) if backwards else steps:
        states = run(c, options, step, weights, states)
        outputs.append(states[0])
    return c.let("stack", outputs[::-1] if backwards else outputs, 1), states


def _active(c: KerasLayer, options: RecurrentOptions, place: int, value: Name) -> Name:
    name = options.functions[place]
    if name == "linear":
        return value
    call = activation_call(c, KerasValue(value), name)
    return c.script.assign(f"{c.layer}.{call.function}", call)


def _gates(c: KerasLayer, options: RecurrentOptions, value: Name) -> list[Name]:
    count = c.shape(value)[1] // options.units
    return [c.let("slice", value, 1, k * options.units, (k + 1) * options.units) for k in range(count)]


def _product(c: KerasLayer, state: Name, weight: Name) -> Name:
    return c.let("linear", state, bias=False, weight=weight)


def _rnn(
    c: KerasLayer, options: RecurrentOptions, step: Name, weights: Sequence[Name], states: list[Name]
) -> list[Name]:
    return [_active(c, options, 0, c.let("add", step, _product(c, states[0], weights[1])))]


def _lstm(
    c: KerasLayer, options: RecurrentOptions, step: Name, weights: Sequence[Name], states: list[Name]
) -> list[Name]:
    h, cell = states
    gates = _gates(c, options, c.let("add", step, _product(c, h, weights[1])))
    taken, kept, shown = (_active(c, options, 1, gates[k]) for k in (0, 1, 3))
    new = _active(c, options, 0, gates[2])
    cell = c.let("add", c.let("mul", kept, cell), c.let("mul", taken, new))
    return [c.let("mul", shown, _active(c, options, 0, cell)), cell]


def _gru(
    c: KerasLayer, options: RecurrentOptions, step: Name, weights: Sequence[Name], states: list[Name]
) -> list[Name]:
    """h' = z h + (1 - z) f(x W + r (h U + b)), or with the reset before the product f(x W + b + (r h) U)."""
    (h,) = states
    x = _gates(c, options, step)
    units = options.units
    if options.reset_after:
        whole = _product(c, h, weights[1])
        own = _gates(c, options, c.let("add", whole, weights[3]) if len(weights) > 2 else whole)
    else:
        own = _gates(c, options, _product(c, h, c.let("slice", weights[1], 1, 0, 2 * units)))
    reset, update = (_active(c, options, 1, c.let("add", x[k], own[k])) for k in range(2))
    if options.reset_after:
        inner = c.let("mul", reset, own[2])
    else:
        inner = _product(c, c.let("mul", reset, h), c.let("slice", weights[1], 1, 2 * units, 3 * units))
    new = _active(c, options, 0, c.let("add", x[2], inner))
    return [c.let("add", new, c.let("mul", update, c.let("sub", h, new)))]

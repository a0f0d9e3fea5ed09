"""One step of a recurrent layer after another, with what the language's own layers lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.context import OnnxContext

_ACTIVATIONS = {
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "relu": "relu",
    "softsign": "softsign",
    "softplus": "softplus",
    "leakyrelu": "leaky_relu",
    "elu": "elu",
}


@dataclass(frozen=True)
class RecurrentCell:
    """
    What a step computes with: activations by their names, the weight [hidden, gates] of the state, and its bias.

    Gates are in the language's order. `peepholes` are the weights of an LSTM from its cell to input, output and forget.
    """

    op: str
    hidden: int
    functions: tuple[str, ...]
    weight: Name
    bias: Name | None
    peepholes: Sequence[Name]


def run_steps(
    c: OnnxContext, cell: RecurrentCell, first: Name, start: Sequence[Name], backwards: bool
) -> tuple[list[Name], list[Name]]:
    """The outputs of all steps of `first`, x W + b [batch, length, gates], in order of time, and the last states."""
    length = c.shape(first)[1]
    steps = [c.let("squeeze", c.let("slice", first, 1, step, step + 1), 1) for step in range(length)]
    states, outputs = list(start), list[Name]()
    for step in reversed(steps) if backwards else steps:
        states = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}[cell.op](c, cell, step, states)
        outputs.append(states[0])
    return outputs[::-1] if backwards else outputs, states


def _activated(c: OnnxContext, cell: RecurrentCell, number: int, value: Name) -> Name:
    limit = c.onnx.float("clip")
    limited = c.let("clip", value, -limit, limit) if limit > 0 else value
    name = cell.functions[number]
    function = _ACTIVATIONS.get(name.lower())
    if function is None:
        raise c.error(f"found the activation '{name}', which has no counterpart")
    return c.let(function, limited)


def _product(c: OnnxContext, cell: RecurrentCell, h: Name) -> Name:
    product = c.let("linear", h, bias=False, weight=cell.weight)
    return product if cell.bias is None else c.let("add", product, cell.bias)


def _gates(c: OnnxContext, cell: RecurrentCell, value: Name) -> list[Name]:
    count = c.shape(value)[1] // cell.hidden
    return [c.let("slice", value, 1, gate * cell.hidden, (gate + 1) * cell.hidden) for gate in range(count)]


def _rnn(c: OnnxContext, cell: RecurrentCell, step: Name, states: Sequence[Name]) -> list[Name]:
    return [_activated(c, cell, 0, c.let("add", step, _product(c, cell, states[0])))]


def _lstm(c: OnnxContext, cell: RecurrentCell, step: Name, states: Sequence[Name]) -> list[Name]:
    h, state = states
    taken, forgot, new, shown = _gates(c, cell, c.let("add", step, _product(c, cell, h)))
    if cell.peepholes:
        taken = c.let("add", taken, c.let("mul", cell.peepholes[0], state))
        forgot = c.let("add", forgot, c.let("mul", cell.peepholes[2], state))
    taken = _activated(c, cell, 0, taken)
    kept = c.let("sub", 1.0, taken) if c.onnx.int("input_forget") else _activated(c, cell, 0, forgot)
    new = _activated(c, cell, 1, new)
    state = c.let("add", c.let("mul", kept, state), c.let("mul", taken, new))
    if cell.peepholes:
        shown = c.let("add", shown, c.let("mul", cell.peepholes[1], state))
    shown = _activated(c, cell, 0, shown)
    return [c.let("mul", shown, _activated(c, cell, 2, state)), state]


def _gru(c: OnnxContext, cell: RecurrentCell, step: Name, states: Sequence[Name]) -> list[Name]:
    """The reset scales the state before its product with the weight, or the product with its bias."""
    (h,) = states
    hidden = cell.hidden
    x = _gates(c, cell, step)
    if c.onnx.int("linear_before_reset"):
        reset, update, inner = _gates(c, cell, _product(c, cell, h))
    else:
        weight = c.let("slice", cell.weight, 1, 0, 2 * hidden)
        both = c.let("linear", h, bias=False, weight=weight)
        if cell.bias is not None:
            both = c.let("add", both, c.let("slice", cell.bias, 0, 0, 2 * hidden))
        reset, update = _gates(c, cell, both)
        inner = None
    reset = _activated(c, cell, 0, c.let("add", x[0], reset))
    update = _activated(c, cell, 0, c.let("add", x[1], update))
    if inner is None:
        weight = c.let("slice", cell.weight, 1, 2 * hidden, 3 * hidden)
        product = c.let("linear", c.let("mul", reset, h), bias=False, weight=weight)
        inside = product if cell.bias is None else c.let("add", product, c.let("slice", cell.bias, 0, 2 * hidden))
    else:
        inside = c.let("mul", reset, inner)
    new = _activated(c, cell, 1, c.let("add", x[2], inside))
    return [c.let("add", new, c.let("mul", update, c.let("sub", h, new)))]

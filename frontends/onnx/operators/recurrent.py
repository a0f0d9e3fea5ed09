"""Recurrent layers over a sequence: the language's where it has them, else step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.container.element_types import Array
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.parts.steps import RecurrentCell, run_steps
from npuc.frontends.onnx.values import Constant
from npuc.frontends.onnx.weights import OnnxWeight

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)

# The gates of ONNX in the language's order: input, forget, cell, output for lstm, reset, update, new for gru.
_ORDERS = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}


@dataclass(frozen=True)
class _Layer:
    """A recurrent node: `x` is [batch, length, features], states are [directions, batch, hidden]."""

    c: OnnxContext
    op: str
    x: Name
    hidden: int
    directions: int
    backwards: bool
    states: tuple[Name | None, ...]
    batch_first: bool

    @property
    def order(self) -> tuple[int, ...]:
        return _ORDERS[self.op]


@operator("LSTM", "GRU", "RNN")
def recurrent(c: OnnxContext) -> Result:
    op = c.onnx.op
    layer = _layer(c, op)
    _check_lengths(c, layer)
    functions = _functions(c, op, layer.directions)
    usual = set(functions) <= {_USUAL[op]} or (op == "RNN" and set(functions) == {("Relu",)})
    steps = not usual or c.onnx.has(7) or c.onnx.float("clip") > 0 or c.onnx.int("input_forget") != 0
    steps |= op == "GRU" and not c.onnx.int("linear_before_reset")
    output, last = _stepwise(layer, functions) if steps else _whole(layer, functions[0][0])
    return _results(layer, output, last)


def _layer(c: OnnxContext, op: str) -> _Layer:
    batch_first = c.onnx.int("layout") != 0
    direction = c.onnx.string("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional") or len(c.tensor(0).shape) != 3:
        raise c.error(f"found direction '{direction}' and an input of rank {len(c.tensor(0).shape)}")
    directions = 2 if direction == "bidirectional" else 1
    shape = c.tensor(2).shape
    gates = len(_ORDERS[op])
    if len(shape) != 3 or shape[0] != directions or shape[1] != gates * shape[2]:
        raise c.error(f"its recurrent weights are {list(shape)}, expected [{directions}, {gates} hidden, hidden]")
    x = c.x(0) if batch_first else c.let("transpose", c.x(0), [1, 0, 2])
    states = tuple(_state(c, index, batch_first) for index in ((5, 6) if op == "LSTM" else (5,)))
    return _Layer(c, op, x, shape[2], directions, direction == "reverse", states, batch_first)


def _state(c: OnnxContext, index: int, batch_first: bool) -> Name | None:
    """An initial state; None where it is 0."""
    value = c.onnx.input(index)
    if value is None or (isinstance(value, Constant) and not value.array.any()):
        return None
    return c.let("transpose", c.x(index), [1, 0, 2]) if batch_first else c.x(index)


def _check_lengths(c: OnnxContext, layer: _Layer) -> None:
    length = c.shape(layer.x)[1]
    if c.onnx.has(4) and any(one != length for one in c.onnx.ints_at(4) or ()):
        raise c.error(f"has sequences shorter than {length} steps, which has no counterpart")


def _functions(c: OnnxContext, op: str, directions: int) -> list[tuple[str, ...]]:
    """The activations of each direction."""
    usual, given = _USUAL[op], c.onnx.attributes.get("activations")
    if "activation_alpha" in c.onnx.attributes or "activation_beta" in c.onnx.attributes:
        raise c.error("has activations with parameters, which has no counterpart")
    if not isinstance(given, tuple) or not given:
        return [usual] * directions
    names = [one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in given]
    if len(names) != len(usual) * directions:
        raise c.error(f"found {len(names)} activations, expected {len(usual) * directions}")
    return [tuple(names[at : at + len(usual)]) for at in range(0, len(names), len(usual))]


# with the language's layers


def _whole(layer: _Layer, activation: str) -> tuple[Name, list[Name]]:
    """The outputs [batch, length, directions * hidden] and the last states, by one call of a layer."""
    c = layer.c
    biased = c.onnx.has(3)
    x = c.let("flip", layer.x, 1) if layer.backwards else layer.x
    weights = None if _own(layer) else [_turned(layer, number) for number in range(layer.directions)]
    names = ["h", "c"][: len(layer.states)]
    initial = {name: state for name, state in zip(names, layer.states, strict=True) if state is not None}
    named = {
        **({} if biased else {"bias": False}),
        **({"bidirectional": True} if layer.directions == 2 else {}),
        **({"nonlinearity": "relu"} if activation == "Relu" else {}),
        **({} if weights is None else {"weight": weights, "transpose_weight": True}),
    }
    call = c.call(layer.op.lower(), x, layer.hidden, states=True, **named, **initial)
    own = [c.layer, *(f"{c.layer}.last_{name}" for name in names)]
    output, *last = c.script.unpacked([c.script.unused(name) for name in own], call)
    return (c.let("flip", output, 1) if layer.backwards else output), last


def _own(layer: _Layer) -> bool:
    """Let the layer make its weights, in its own layout, if no other node reads them."""
    c, order, hidden = layer.c, layer.order, layer.hidden
    given: list[OnnxWeight] = []
    for index in (1, 2, 3):
        weight = c.weight(index)
        if weight is None and c.onnx.has(index):
            return False
        if weight is not None:
            given.append(weight)
    parts: dict[str, tuple[OnnxWeight, Callable[[Array], Array]]] = {}
    for number, path in enumerate(("0", "0.reverse")[: layer.directions]):
        for name, weight in zip(("weight_ih", "weight_hh"), given, strict=False):
            parts[f"{path}.{name}"] = (weight, _gates_of(number, order, hidden, 0))
        if len(given) == 3:
            for side, name in enumerate(("bias_ih", "bias_hh")):
                parts[f"{path}.{name}"] = (given[2], _gates_of(number, order, hidden, side))
    return c.own_parts(parts)


def _gates_of(number: int, order: Sequence[int], hidden: int, side: int) -> Callable[[Array], Array]:
    """From the weights of a node to those of one direction in the language's order of gates, [inputs, gates]."""

    def part(array: Array) -> Array:
        half = array[number] if array.ndim == 3 else array[number].reshape(2, -1)[side]
        gates = [half[gate * hidden : (gate + 1) * hidden] for gate in order]
        return np.ascontiguousarray(np.concatenate(gates).T)

    return part


def _turned(layer: _Layer, number: int) -> list[Name]:
    """The weights of one direction, where other nodes read or make them."""
    c = layer.c
    both = [gates_in_order(layer, c.x(index), number) for index in (1, 2)]
    return [*both, *biases(layer, number)] if c.onnx.has(3) else both


def gates_in_order(layer: _Layer, weight: Name, number: int) -> Name:
    """The gates of one direction, [gates, …], in the language's order."""
    c, hidden = layer.c, layer.hidden
    own = c.let("squeeze", c.let("slice", weight, 0, number, number + 1), 0)
    if layer.order == tuple(range(len(layer.order))):
        return own
    return c.let("concat", [c.let("slice", own, 0, g * hidden, (g + 1) * hidden) for g in layer.order], 0)


def biases(layer: _Layer, number: int) -> list[Name]:
    """The two vectors of one direction, in the language's order of gates."""
    c, width = layer.c, len(layer.order) * layer.hidden
    halves = [c.let("slice", c.x(3), 1, side * width, (side + 1) * width) for side in range(2)]
    return [gates_in_order(layer, half, number) for half in halves]


# step by step


def _stepwise(layer: _Layer, functions: Sequence[tuple[str, ...]]) -> tuple[Name, list[Name]]:
    """What the language's layers lack: other activations, peepholes, limits, a reset before the product."""
    c, hidden = layer.c, layer.hidden
    outputs: list[Name] = []
    finals: list[list[Name]] = []
    for number in range(layer.directions):
        weights = [c.let("transpose", gates_in_order(layer, c.x(index), number), [1, 0]) for index in (1, 2)]
        bias = biases(layer, number) if c.onnx.has(3) else [None, None]
        cell = RecurrentCell(layer.op, hidden, functions[number], weights[1], bias[1], _peepholes(layer, number))
        backwards = layer.backwards or number == 1
        product = c.let("linear", layer.x, bias=False, weight=weights[0])
        first = product if bias[0] is None else c.let("add", product, bias[0])
        start = [_start(layer, state, number) for state in layer.states]
        steps, last = run_steps(c, cell, first, start, backwards)
        outputs.append(c.let("stack", steps, 1))
        finals.append(last)
    output = outputs[0] if len(outputs) == 1 else c.let("concat", outputs, 2)
    return output, [c.let("stack", list(states), 0) for states in zip(*finals, strict=True)]


def _peepholes(layer: _Layer, number: int) -> list[Name]:
    """The diagonal weights from the state of a cell to its gates: input, output, forget."""
    c, hidden = layer.c, layer.hidden
    if not c.onnx.has(7):
        return []
    own = c.let("squeeze", c.let("slice", c.x(7), 0, number, number + 1), 0)
    return [c.let("slice", own, 0, gate * hidden, (gate + 1) * hidden) for gate in range(3)]


def _start(layer: _Layer, state: Name | None, number: int) -> Name:
    c = layer.c
    if state is None:
        return c.let("zeros", [c.shape(layer.x)[0], layer.hidden], dtype=c.element(layer.x))
    return c.let("squeeze", c.let("slice", state, 0, number, number + 1), 0)


# what a node gives


def _results(layer: _Layer, output: Name, last: Sequence[Name]) -> Result:
    """The outputs of all steps and the last states, in the node's order of axes."""
    c = layer.c
    batch, length, _ = c.shape(output)
    results: list[Name | None] = [None]
    if c.onnx.outputs and c.onnx.outputs[0]:
        apart = c.let("reshape", output, [batch, length, layer.directions, layer.hidden])
        results[0] = apart if layer.batch_first else c.let("transpose", apart, [1, 2, 0, 3])
    for name, state in zip(c.onnx.outputs[1:], last, strict=False):
        wanted = c.let("transpose", state, [1, 0, 2]) if layer.batch_first and name else state
        results.append(wanted if name else None)
    return results

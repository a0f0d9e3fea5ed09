"""
Recurrent layers: the language's own where it has them, else step by step.

A cell has the weights of Keras, in size and number: `weight` [in, gates units], `recurrent` [units, gates units] and
`bias`; of a GRU with the reset behind the product also `recurrent_bias`. Gates stand in the language's order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.activations import name_of
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.layers.cells import RecurrentOptions, run_steps
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)
_KINDS = {"LSTM": ("lstm", 4), "CuDNNLSTM": ("lstm", 4), "GRU": ("gru", 3), "CuDNNGRU": ("gru", 3)}
_KINDS["SimpleRNN"] = ("rnn", 1)


@dataclass(frozen=True)
class _Direction:
    """A layer in one direction: its options, and the weights in the order that the language has."""

    options: RecurrentOptions
    weights: list[Name]
    is_own: bool
    """Whether the language has the layer."""


@layer("LSTM", "CuDNNLSTM", "GRU", "CuDNNGRU", "SimpleRNN")
def recurrent(c: KerasLayer) -> list[KerasValue]:
    x, states = _arguments(c)
    direction = _direction(c, x)
    if direction.options.backwards:
        x = c.let("flip", x, 1)
    output, last = _passed(c, x, [direction], states)
    results = [KerasValue(output if direction.options.sequences else last[0])]
    return [*results, *map(KerasValue, last)] if direction.options.states else results


@layer("Bidirectional")
def bidirectional(c: KerasLayer) -> list[KerasValue]:
    """Both directions, joined as `merge_mode` says."""
    spec, back = c.options.get("layer"), c.options.get("backward_layer")
    x, states = _arguments(c)
    pair = [_direction(_inside(c, spec, "forward"), x), _direction(_inside(c, back or spec, "backward"), x)]
    mode = c.options.get("merge_mode")
    mode = "concat" if mode is None and "merge_mode" not in c.spec.config else mode
    if mode not in ("concat", "sum", "mul", "ave", None):
        raise Refused(f"merge_mode: found {mode}, expected concat, sum, mul, ave or null")
    output, last = _passed(c, x, pair, states)
    units, options = pair[0].options.units, pair[0].options
    half = len(last) // 2
    if options.sequences and mode == "concat":
        joined = [output]
    else:
        parts = [last[0], last[half]]
        if options.sequences:
            parts = [c.let("slice", output, 2, k * units, (k + 1) * units) for k in range(2)]
        joined = _joined(c, parts, mode)
    results = list(map(KerasValue, joined))
    return [*results, *map(KerasValue, last)] if options.states else results


def _joined(c: KerasLayer, parts: list[Name], mode: object) -> list[Name]:
    match mode:
        case "concat":
            return [c.let("concat", parts, len(c.shape(parts[0])) - 1)]
        case "sum":
            return [c.let("add", *parts)]
        case "mul":
            return [c.let("mul", *parts)]
        case "ave":
            return [c.let("div", c.let("add", *parts), 2.0)]
        case _:
            return parts


def _inside(c: KerasLayer, document: object, part: str) -> KerasLayer:
    """What the layer of a direction is written with."""
    from npuc.frontends.keras.walk import inner_spec

    spec = inner_spec(c, document)
    if spec.kind not in _KINDS:
        raise Refused(f"found {spec.kind} in two directions, expected one of {', '.join(_KINDS)}")
    return c.inner(spec, f"{c.layer}.{part}")


def _arguments(c: KerasLayer) -> tuple[Name, list[Name]]:
    """The sequence [batch, steps, features], and initial states."""
    values: list[object] = []
    for one in (*c.args, c.kwargs.get("initial_state")):
        values += cast("list[object]", one) if isinstance(one, list) else [one]
    tensors = [one for one in values if isinstance(one, KerasValue)]
    if c.kwargs.get("mask") is not None:
        raise Refused("its mask has no counterpart")
    if not tensors or len(c.shape(tensors[0].name)) != 3:
        raise Refused("found no sequence, expected a tensor [batch, steps, features]")
    return c.last(tensors[0]), [c.last(one) for one in tensors[1:]]


def _direction(c: KerasLayer, x: Name) -> _Direction:
    """The options of a layer, and its weights."""
    kind, gates = _KINDS[c.spec.kind]
    units, options = c.options.integer("units"), c.options
    functions = [name_of(options.get("activation") or ("linear" if "activation" in c.spec.config else "tanh"))]
    if kind != "rnn":
        functions.append(name_of(options.get("recurrent_activation") or "sigmoid"))
    after = kind == "gru" and options.flag("reset_after", c.spec.kind == "CuDNNGRU" or c.version >= 3)
    read = RecurrentOptions(
        kind=kind,
        units=units,
        functions=tuple(functions),
        reset_after=after,
        sequences=options.flag("return_sequences", False),
        states=options.flag("return_state", False),
        backwards=options.flag("go_backwards", False),
        dropout=options.rate("dropout", 0.0),
    )
    if options.rate("recurrent_dropout", 0.0) and c.script.training:
        raise Refused("recurrent_dropout has no counterpart", "0 in a copy of the file, or --inference")
    if options.flag("stateful", False):
        c.remark("its states begin with zeros in every step")
    width = gates * units
    weights: list[Name] = [c.weight("weight", [c.shape(x)[-1], width]), c.weight("recurrent", [units, width])]
    if options.flag("use_bias", True):
        bias = c.weight("bias", [width], 0.0)
        weights += [bias, c.weight("recurrent_bias", [width], 0.0)] if after else [bias]
    own = {"lstm": ("tanh", "sigmoid"), "gru": ("tanh", "sigmoid"), "rnn": ("tanh",)}[kind] == read.functions
    own |= kind == "rnn" and read.functions == ("relu",)
    return _Direction(read, weights, own and (kind != "gru" or after))


def _passed(c: KerasLayer, x: Name, pair: list[_Direction], states: list[Name]) -> tuple[Name, list[Name]]:
    """The outputs [batch, steps, units of all directions], and the last states of each direction in turn."""
    options = pair[0].options
    count = 2 if options.kind == "lstm" else 1
    if len(states) not in (0, count * len(pair)):
        raise Refused(f"found {len(states)} initial states, expected {count * len(pair)}")
    if options.dropout and c.script.training:
        mask = c.let("dropout", c.let("ones", [c.shape(x)[0], 1, c.shape(x)[2]]), options.dropout)
        x = c.let("mul", x, mask)
    if all(one.is_own for one in pair) and len({one.options.units for one in pair}) == 1:
        return _whole(c, x, pair, states)
    outputs: list[Name] = []
    last: list[Name] = []
    for number, one in enumerate(pair):
        start = states[number * count : (number + 1) * count]
        zero = c.let("zeros", [c.shape(x)[0], one.options.units])
        output, final = run_steps(
            *(c, one.options, x, one.weights, start or [zero] * count),
            backwards=number == 1,
        )
        outputs.append(output)
        last += final
    return outputs[0] if len(outputs) == 1 else c.let("concat", outputs, 2), last


def _whole(c: KerasLayer, x: Name, pair: list[_Direction], states: list[Name]) -> tuple[Name, list[Name]]:
    """By a call of the language's layer."""
    options = pair[0].options
    names = ["h", "c"] if options.kind == "lstm" else ["h"]
    initial = {
        name: c.let("stack", [states[d * len(names) + k] for d in range(len(pair))], 0)
        for k, name in enumerate(names)
        if states
    }
    named = {
        **({"nonlinearity": "relu"} if options.functions == ("relu",) else {}),
        **({"bidirectional": True} if len(pair) == 2 else {}),
        **({"bias": False} if len(pair[0].weights) == 2 else {}),
    }
    weights: list[list[Name]] = []
    for one in pair:  # Keras has one bias, of zeros is the second
        more = [c.let("zeros", c.shape(one.weights[2]))] if len(one.weights) == 3 else []
        weights.append([*one.weights, *more])
    call = c.call(options.kind, x, options.units, states=True, **initial, weight=weights, **named)
    layers = [c.layer, *(f"{c.layer}.last_{name}" for name in names)]
    output, *last = c.script.unpacked([c.script.unused(name) for name in layers], call)
    apart = [[c.let("squeeze", c.let("slice", one, 0, d, d + 1), 0) for d in range(len(pair))] for one in last]
    return output, [state[d] for d in range(len(pair)) for state in apart]


@layer("TimeDistributed")
def time_distributed(c: KerasLayer) -> KerasValue:
    """A layer on each step: steps are samples of a batch to it."""
    x = c.last(c.x)
    batch, length, *rest = c.shape(x)
    if not rest:
        raise Refused("found a tensor of rank 2, expected [batch, steps, …]")
    steps = KerasValue(c.let("reshape", x, [batch * length, *rest]))
    made = c.last(c.run(c.options.get("layer"), "step", steps))
    return KerasValue(c.done("reshape", made, [batch, length, *c.shape(made)[1:]]))

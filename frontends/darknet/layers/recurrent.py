"""[lstm], [gru] and [rnn] over the steps of a sequence; states begin with zeros."""

from __future__ import annotations

from npuc.frontends.darknet.activations import activated
from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry
from npuc.frontends.dsl.syntax import Call, Name

MEANINGS: dict[str, Meaning] = {}
MAX_STEPS = 4096
"""The most steps that are written one by one."""
section = registry(MEANINGS)


def _sequence(c: DarknetLayer) -> Name:
    """The input as a sequence, one of one step where [net] has no time_steps."""
    x = c.vectors()
    shape = c.shape(x)
    if c.section.flag("batch_normalize"):
        raise c.section.wrong("batch_normalize", "of the steps of a sequence has no counterpart in the language")
    return x if len(shape) == 3 else c.let("reshape", x, [shape[0], 1, shape[1]])


@section("lstm")
def lstm(c: DarknetLayer) -> DarknetValue:
    """Long short-term memory with two biases a gate, as lstm_layer.c and the language have it."""
    return DarknetValue(c.result("lstm", _sequence(c), c.section.integer("output", 1, 1)))


@section("gru")
def gru(c: DarknetLayer) -> DarknetValue:
    """
    A gated recurrent unit (gru_layer.c): s' = z s + (1 - z) h, h = f(x Wh + (r s) Uh).

    The reset is before the product, other than in the language's own; f is tanh where `tanh=1`, else the sigmoid.
    """
    own, x, hidden = c.section, _sequence(c), c.section.integer("output", 1, 1)
    _check_steps(c, x)
    inner = "tanh" if own.flag("tanh") else "sigmoid"
    fed = {gate: c.script.let(f"{c.layer}.w{gate}", "linear", x, hidden) for gate in "zrh"}
    weights = {gate: _parameter(c, f"u{gate}", [hidden, hidden]) for gate in "zrh"}
    biases = {gate: _parameter(c, f"u{gate}_bias", [hidden]) for gate in "zrh"}

    def joined(step: int, gate: str, state: Name) -> Name:
        kept = c.let("add", c.let("linear", state, bias=False, weight=weights[gate]), biases[gate])
        return c.let("add", _step(c, fed[gate], step), kept)

    state = c.let("zeros", [c.shape(x)[0], hidden])
    states: list[Name] = []
    for step in range(c.shape(x)[1]):
        update, reset = (c.let("sigmoid", joined(step, gate, state)) for gate in "zr")
        new = c.let(inner, joined(step, "h", c.let("mul", reset, state)))
        state = c.let("add", new, c.let("mul", update, c.let("sub", state, new)))
        states.append(state)
    return DarknetValue(c.result("stack", states, 1))


@section("rnn")
def rnn(c: DarknetLayer) -> DarknetValue:
    """s' = f(x W + b) + f(s U + c), or with `shortcut` s more, and of it a product f(s' V + d) (rnn_layer.c)."""
    own, x = c.section, _sequence(c)
    own.read.add("logistic")
    _check_steps(c, x)
    outputs, hidden = own.integer("output", 1, 1), own.integer("hidden", 1, 1)
    function = own.word_of("activation", "logistic")

    def active(value: Name) -> Name:
        result: Call | Name = activated(c, function, value)
        return result if isinstance(result, Name) else c.script.assign(f"{c.layer}.{result.function}", result)

    fed = active(c.script.let(f"{c.layer}.input", "linear", x, hidden))
    weight, bias = _parameter(c, "self", [hidden, hidden]), _parameter(c, "self_bias", [hidden])
    state = c.let("zeros", [c.shape(x)[0], hidden])
    states: list[Name] = []
    for step in range(c.shape(x)[1]):
        kept = active(c.let("add", c.let("linear", state, bias=False, weight=weight), bias))
        both = c.let("add", _step(c, fed, step), kept)
        state = c.let("add", state, both) if own.flag("shortcut") else both
        states.append(state)
    product = c.call("linear", c.let("stack", states, 1), outputs)
    return DarknetValue(c.activate(product, "logistic"))


def _check_steps(c: DarknetLayer, x: Name) -> None:
    if c.shape(x)[1] > MAX_STEPS:
        count = f"{c.shape(x)[1]:,} steps, which are written one by one"
        raise c.error(f"found {count}, expected at most {MAX_STEPS:,}", "lower time_steps of [net]")


def _parameter(c: DarknetLayer, name: str, shape: list[int]) -> Name:
    return c.script.let(f"{c.layer}.{name}", "param", shape)


def _step(c: DarknetLayer, values: Name, step: int) -> Name:
    return c.let("squeeze", c.let("slice", values, 1, step, step + 1), 1)

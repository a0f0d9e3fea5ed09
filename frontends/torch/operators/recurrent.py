"""Recurrent layers over a whole sequence."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.lstm.input")
def lstm(
    c: Context,
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Name]:
    h, cell = hx
    shape = (num_layers, dropout, bidirectional, batch_first)
    return _sequence(c, "lstm", input, {"h": h, "c": cell}, params, has_biases, shape)


def _of_one_state(function: str, **named: str) -> Meaning:
    """The meaning of a recurrent layer with one state."""

    def meaning(
        c: Context,
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> list[Name]:
        shape = (num_layers, dropout, bidirectional, batch_first)
        return _sequence(c, function, input, {"h": hx}, params, has_biases, shape, **named)

    return meaning


MEANINGS["aten.gru.input"] = _of_one_state("gru")
MEANINGS["aten.rnn_tanh.input"] = _of_one_state("rnn")
MEANINGS["aten.rnn_relu.input"] = _of_one_state("rnn", nonlinearity="relu")


def _sequence(
    c: Context,
    function: str,
    x: Tensor,
    states: dict[str, Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    shape: tuple[int, float, bool, bool],
    **options: str,
) -> list[Name]:
    """A recurrent layer: its outputs and last states. Weights are [gates, in] here and [in, gates] in the language."""
    layers, dropout, bidirectional, batch_first = shape
    each = 4 if has_biases else 2
    weights = [params[at : at + each] for at in range(0, len(params), each)]
    turned = [[*(c.let("transpose", one, [1, 0]) for one in row[:2]), *row[2:]] for row in weights]
    hidden = c.shape(weights[0][1])[1]
    inputs: Tensor = x if batch_first else c.let("transpose", x, [1, 0, 2])
    initial = {name: value for name, value in states.items() if not _is_zero(c, value)}
    named = {
        **({"layers": layers} if layers != 1 else {}),
        **({} if has_biases else {"bias": False}),
        **({"dropout": dropout} if dropout else {}),
        **({"bidirectional": True} if bidirectional else {}),
    }
    call = c.call(function, inputs, hidden, states=True, weight=turned, **options, **named, **initial)
    own = [c.layer, *(f"{c.layer}.{name}" for name in states)]
    output, *last = c.script.unpacked(own, call)
    if not batch_first:
        output = c.let("transpose", output, [1, 0, 2])
    return [output, *last]


def _is_zero(c: Context, value: Tensor) -> bool:
    """Whether a state is known to be 0 everywhere."""
    known = c.numbers(value)
    return known is not None and not known.any()

"""Recurrent layers, over a whole sequence and one step of them. Weights are as PyTorch keeps them, gates first."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import Refused, Tensor
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


def _cell(function: str, **options: str) -> Meaning:
    """The meaning of one step of a layer."""

    def meaning(
        c: Context,
        input: Tensor,
        hx: Tensor | Sequence[Tensor],
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> list[Name] | Call:
        if (b_ih is None) != (b_hh is None):
            raise Refused("found one bias of two")
        biases = {"bias": False} if b_ih is None else {"bias_ih": b_ih, "bias_hh": b_hh}
        named = {"weight_ih": w_ih, "weight_hh": w_hh, **biases, **options, "transpose_weight": True}
        states = hx if isinstance(hx, Sequence) else [hx]
        call = c.call(function, input, *states, **named)
        return call if len(states) == 1 else c.script.unpacked([c.layer, f"{c.layer}.c"], call)

    return meaning


MEANINGS["aten.lstm_cell"] = _cell("lstm_cell")
MEANINGS["aten.gru_cell"] = _cell("gru_cell")
MEANINGS["aten.rnn_tanh_cell"] = _cell("rnn_cell")
MEANINGS["aten.rnn_relu_cell"] = _cell("rnn_cell", nonlinearity="relu")


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
    """A recurrent layer: its outputs and last states."""
    layers, dropout, bidirectional, batch_first = shape
    each = 4 if has_biases else 2
    if len(params) != each * layers * (2 if bidirectional else 1):
        raise Refused(f"found {len(params)} weights, expected {each} for each layer and direction, without proj_size")
    weights = [params[at : at + each] for at in range(0, len(params), each)]
    hidden = c.shape(weights[0][1])[1]
    inputs: Tensor = x if batch_first else c.let("transpose", x, [1, 0, 2])
    initial = {name: value for name, value in states.items() if not _is_zero(c, value)}
    named = {
        **({"layers": layers} if layers != 1 else {}),
        **({} if has_biases else {"bias": False}),
        **({"dropout": dropout} if dropout else {}),
        **({"bidirectional": True} if bidirectional else {}),
    }
    call = c.call(
        function, inputs, hidden, states=True, weight=weights, transpose_weight=True, **options, **named, **initial
    )
    own = [c.layer, *(f"{c.layer}.{name}" for name in states)]
    output, *last = c.script.unpacked(own, call)
    if not batch_first:
        output = c.let("transpose", output, [1, 0, 2])
    return [output, *last]


def _is_zero(c: Context, value: Tensor) -> bool:
    """Whether a state is known to be 0 everywhere."""
    known = c.numbers(value)
    return known is not None and not known.any()

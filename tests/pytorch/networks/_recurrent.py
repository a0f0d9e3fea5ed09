"""Recurrent layers by torch.nn, from the weights of a block."""

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import RNNBase

from tests.pytorch.networks import Weights


def recurrent(
    w: Weights, name: str, kind: type[RNNBase], x: Tensor, *, bidirectional: bool = False
) -> tuple[Tensor, Tensor]:
    """All layers of torch.nn.LSTM or GRU over x [batch, length, features]: the outputs and the last h."""
    state: dict[str, Tensor] = {}
    layers = 0
    while f"{name}.{layers}.weight_ih" in w.params:
        for ours, theirs in {"": "", "reverse.": "_reverse"}.items():
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                if bidirectional or not theirs:
                    weight = w[f"{name}.{layers}.{ours}{part}"]
                    state[f"{part}_l{layers}{theirs}"] = weight.T if weight.dim() == 2 else weight
        layers += 1
    hidden = w[f"{name}.0.weight_hh"].shape[0]
    module = kind(x.shape[-1], hidden, num_layers=layers, batch_first=True, bidirectional=bidirectional)
    output, last = functional_call(module, state, (x,))
    return output, last[0] if isinstance(last, tuple) else last


def lstm_by_operations(w: Weights, name: str, x: Tensor) -> tuple[Tensor, Tensor]:
    """
    What `recurrent` computes for an LSTM, one operation after the other: outputs and the last h.

    PyTorch has a kernel of its own for it on the CPU, which rounds the results of a step and not those of its parts.
    """
    layer, last = 0, list[Tensor]()
    while f"{name}.{layer}.weight_ih" in w.params:
        ways = [way for way in ("", "reverse.") if f"{name}.{layer}.{way}weight_ih" in w.params]
        passes = [_lstm_pass(w, f"{name}.{layer}.{way}", x) for way in ways]
        last += [output[:, 0 if way else -1] for way, output in zip(ways, passes, strict=True)]
        x = torch.cat(passes, 2)
        layer += 1
    return x, torch.stack(last)


def _lstm_pass(w: Weights, layer: str, x: Tensor) -> Tensor:
    """The outputs [batch, length, hidden] of one layer in one direction, whose states begin as zeros."""
    inputs = x @ w[f"{layer}weight_ih"]
    inputs = inputs + sum(w[f"{layer}{bias}"].to(inputs.dtype) for bias in ("bias_ih", "bias_hh"))
    h = c = inputs.new_zeros(x.shape[0], w[f"{layer}weight_hh"].shape[0])
    outputs: list[Tensor] = []
    steps = list(inputs.unbind(1))
    backwards = layer.endswith("reverse.")
    for step in reversed(steps) if backwards else steps:
        gates = step + h @ w[f"{layer}weight_hh"]
        enter, forget, cell, leave = gates.chunk(4, 1)
        c = forget.sigmoid() * c + enter.sigmoid() * cell.tanh()
        h = leave.sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs[::-1] if backwards else outputs, 1)

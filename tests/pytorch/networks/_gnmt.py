"""GNMT by torch.nn.LSTM where a layer has one input, else by torch.nn.LSTMCell."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_LAYERS = 4


def _state(w: Weights, name: str, suffix: str = "") -> dict[str, Tensor]:
    """The weights of a layer as PyTorch stacks them; ours are [inputs and state, hidden], a matrix a gate."""
    gates = torch.cat([w[f"{name}.gates.{gate}"].T for gate in ("input", "forget", "candidate", "output")])
    hidden = gates.shape[0] // 4
    return {f"weight_ih{suffix}": gates[:, :-hidden], f"weight_hh{suffix}": gates[:, -hidden:]}


def _layer(w: Weights, name: str, x: Tensor) -> Tensor:
    """A layer over all steps of x [batch, length, hidden]."""
    module = torch.nn.LSTM(x.shape[2], x.shape[2], bias=False, batch_first=True)
    return functional_call(module, _state(w, name, "_l0"), (x,))[0]


def _encode(w: Weights, x: Tensor, residual: int) -> Tensor:
    """The encoder's outputs; from layer `residual` on, of those in one direction, the input is added."""
    x = _layer(w, "encoder.forward.0", x) + _layer(w, "encoder.backward.0", x.flip(1)).flip(1)
    for layer in range(_LAYERS - 1):
        y = _layer(w, f"encoder.above.{layer}", x)
        x = x + y if layer >= residual else y
    return x


def _decode(w: Weights, x: Tensor, memory: Tensor, *, sums_keys: bool) -> Tensor:
    x = _layer(w, "decoder.0", x)
    keys = w.linear("keys", memory)
    weights = ((x @ w["decoder.query"]) @ keys.transpose(1, 2)).softmax(2)
    context = weights @ (keys if sums_keys else memory)
    for layer in range(1, _LAYERS):
        parameters = _state(w, f"decoder.{layer}")
        cell = torch.nn.LSTMCell(2 * x.shape[2], x.shape[2], bias=False)
        state, outputs = None, list[Tensor]()
        for step in torch.cat([x, context], 2).unbind(1):
            state = functional_call(cell, parameters, (step, state))
            outputs.append(state[0])
        y = torch.stack(outputs, 1)
        x = x + y if layer >= 2 else y
    return x


def gnmt(variant: str, residual: int, *, sums_keys: bool) -> Network:
    """A variant of the sample `gnmt` at a small size."""

    def loss(w: Weights, x: Inputs) -> Tensor:
        decoded = _decode(w, x["target"], _encode(w, x["source"], residual), sums_keys=sums_keys)
        return F.mse_loss(decoded, x["expected"])

    task = Task("samples:gnmt", defines={"batch": 2, "length": 4, "hidden": 5, "layers": _LAYERS, "variant": variant})
    return Network(task, loss, lambda params: torch.optim.Adam(params, lr=2e-4))

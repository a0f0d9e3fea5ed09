"""Recurrent layers by torch.nn, from the weights of a block."""

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

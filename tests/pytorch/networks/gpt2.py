"""The sample `gpt2` at a small size, without dropout, by torch.nn.TransformerEncoderLayer with its norms first."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import module_weights
from tests.steps import Task

_HEADS, _WIDTH = 2, 8


def layer_weights(w: Weights, name: str) -> dict[str, Tensor]:
    """The parameters of a layer of torch.nn."""
    found = module_weights(w, f"{name}.attention", "self_attn")
    for number in (1, 2):
        found[f"linear{number}.weight"] = w[f"{name}.fc{number}.weight"].T
        found[f"linear{number}.bias"] = w[f"{name}.fc{number}.bias"]
        found[f"norm{number}.weight"] = w[f"{name}.norm{number}.weight"]
        found[f"norm{number}.bias"] = w[f"{name}.norm{number}.bias"]
    return found


def _loss(w: Weights, x: Inputs) -> Tensor:
    length = x["tokens"].shape[1]
    h = F.embedding(x["tokens"], w["wte"]) + F.embedding(torch.arange(length), w["wpe"])
    layer = torch.nn.TransformerEncoderLayer(
        _WIDTH, _HEADS, 4 * _WIDTH, 0.0, partial(F.gelu, approximate="tanh"), batch_first=True, norm_first=True
    )
    mask = torch.nn.Transformer.generate_square_subsequent_mask(length)
    for number in range(2):
        h = functional_call(layer, layer_weights(w, f"h.{number}"), (h, mask))
    logits = F.linear(w.layer_norm("norm", h), w["wte"])
    return F.cross_entropy(logits.flatten(0, 1), x["y"].flatten())


NETWORK = Network(
    Task(
        "samples:gpt2",
        defines={"batch": 2, "length": 5, "layers": 2, "width": _WIDTH, "heads": _HEADS, "vocabulary": 13}
        | {"max_length": 7, "dropout": 0.0},
        limits={"tokens": 13, "y": 13},
    ),
    _loss,
    lambda params: torch.optim.AdamW(params, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1),
)

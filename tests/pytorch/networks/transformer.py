"""The sample `transformer` at a small size, without dropout, by torch.nn.Transformer's layers."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import module_weights
from tests.steps import Task

_HEADS = 2


def _rest(w: Weights, name: str, norms: int) -> dict[str, Tensor]:
    """The feed-forward and normalisation parameters of a layer."""
    found: dict[str, Tensor] = {}
    for number in (1, 2):
        found[f"linear{number}.weight"] = w[f"{name}.feed_forward.fc{number}.weight"].T
        found[f"linear{number}.bias"] = w[f"{name}.feed_forward.fc{number}.bias"]
    for number in range(1, norms + 1):
        found[f"norm{number}.weight"] = w[f"{name}.norm{number}.weight"]
        found[f"norm{number}.bias"] = w[f"{name}.norm{number}.bias"]
    return found


def _loss(w: Weights, x: Inputs) -> Tensor:
    options = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
    width, hidden = x["source"].shape[-1], w["encoder.0.feed_forward.fc1.weight"].shape[1]
    encoder = torch.nn.TransformerEncoderLayer(width, _HEADS, hidden, **options)
    decoder = torch.nn.TransformerDecoderLayer(width, _HEADS, hidden, **options)
    memory, h = x["source"], x["target"]
    mask = torch.nn.Transformer.generate_square_subsequent_mask(h.shape[1], dtype=torch.float64)
    for layer in range(2):
        name = f"encoder.{layer}"
        weights = module_weights(w, f"{name}.attention", "self_attn") | _rest(w, name, 2)
        memory = functional_call(encoder, weights, (memory,))
    for layer in range(2):
        name = f"decoder.{layer}"
        weights = module_weights(w, f"{name}.self_attention", "self_attn") | _rest(w, name, 3)
        weights |= module_weights(w, f"{name}.cross_attention", "multihead_attn")
        h = functional_call(decoder, weights, (h, memory), {"tgt_mask": mask})
    return F.mse_loss(h, x["expected"])


NETWORK = Network(
    Task(
        "samples:transformer",
        defines={"batch": 2, "length": 5, "layers": 2, "width": 8, "heads": _HEADS, "hidden": 12, "dropout": 0.0},
    ),
    _loss,
    lambda params: torch.optim.Adam(params, lr=5e-4, betas=(0.9, 0.98), eps=1e-9),
)

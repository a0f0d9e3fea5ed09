"""The sample `unet` with few channels, without dropout; convolutions without padding."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _double(w: Weights, name: str, x: Tensor, padding: int) -> Tensor:
    for number in (1, 2):
        x = F.relu(w.conv2d(f"{name}.conv{number}.conv2d", x, padding=padding))
    return x


def loss(w: Weights, x: Inputs, padding: int) -> Tensor:
    """The loss of all pixels."""
    h = x["x"]
    skips: list[Tensor] = []
    for level in range(1, 5):
        skips.append(_double(w, f"down{level}", h, padding))
        h = F.max_pool2d(skips[-1], 2)
    h = _double(w, "bottom.double_conv", h, padding)
    for level in range(4, 0, -1):
        h = w.conv_transpose2d(f"up{level}.upsampled", h, stride=2)
        skip = skips.pop()
        margin = (h.shape[-1] - skip.shape[-1]) // 2  # a negative padding cuts
        h = _double(w, f"up{level}.conv", torch.cat([F.pad(skip, [margin] * 4), h], 1), padding)
    return F.cross_entropy(w.conv2d("scores", h), x["y"])


def network(image: int, padding: int) -> Network:
    """The network for a size of images."""
    defines = {"image": image, "inputs": 2, "classes": 3, "width": 2, "dropout": 0.0, "padding": padding}
    return Network(
        Task("samples:unet", defines=defines | {"batch": 2 if padding else 1}, limits={"y": 3}),
        partial(loss, padding=padding),
        lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.99),
    )


NETWORK = network(188, 0)

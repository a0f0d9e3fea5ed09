"""
Imported models multiply as often, forward and backward, as PyTorch's own joint graph of them, product by product.

Attention is counted as the products of its definition on both sides. A gradient that nobody needs, as that of the
first layer's input, is computed on neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch

from npuc.compiler import compile_file
from npuc.frontends.torch import from_module
from tests.pytorch.exported import Cnn, Decoder
from tests.pytorch.joint_graph import Products, joint_products

nn = torch.nn
TOKENS = (1, 64)


class _Shapes(nn.Module):
    """Products and convolutions of less common kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.signal, self.grouped = nn.Conv1d(4, 8, 3, dilation=2), nn.Conv2d(8, 12, (3, 1), groups=4)
        self.up, self.volume = nn.ConvTranspose2d(12, 6, 3, stride=2, groups=2), nn.Conv3d(1, 2, 2)
        self.frozen, self.bilinear = nn.Linear(11, 7), nn.Parameter(torch.ones(7, 7))
        for parameter in self.frozen.parameters():
            parameter.requires_grad_(False)

    def forward(self, x: Any) -> Any:
        x = self.signal(x).reshape(2, 8, -1, 4)
        x = self.volume(self.up(self.grouped(x))[:, None])
        x = self.frozen(x.flatten(2)[..., :11])
        return torch.einsum("bci,ij,bdj->bcd", x, self.bilinear, x) @ x


def _vision(name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module("torchvision.models"), name)()


def _language(family: str, head: str, **sizes: int) -> Callable[[], Any]:
    def make() -> Any:
        found = import_module("transformers")
        return _Logits(getattr(found, head)(getattr(found, f"{family}Config")(**sizes, use_cache=False)))

    return make


class _Logits(nn.Module):
    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, ids: Any) -> Any:
        second = {"decoder_input_ids": ids} if self.model.config.is_encoder_decoder else {}
        return self.model(input_ids=ids, **second).logits


def _image(size: int = 224) -> Any:
    return torch.empty(2, 3, size, size)


def _ids() -> Any:
    return torch.zeros(TOKENS, dtype=torch.int64)


SMALL: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "cnn": (Cnn, lambda: torch.empty(2, 3, 16, 16)),
    "decoder": (Decoder, _ids),
    "shapes": (_Shapes, lambda: torch.empty(2, 4, 28)),
    "encoder": (
        lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True),
        lambda: torch.empty(2, 9, 32),
    ),
    "attention": (lambda: _Attention(), lambda: torch.empty(5, 2, 12)),
}
LARGE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    **{
        name: (_vision(name), _image)
        for name in (
            "resnet18",
            "resnet50",
            "mobilenet_v3_large",
            "efficientnet_b0",
            "densenet121",
            "shufflenet_v2_x1_0",
            "convnext_tiny",
            "vit_b_16",
            "swin_t",
        )
    },
    "inception_v3": (_vision("inception_v3"), lambda: _image(299)),
    "llama": (_language("Llama", "LlamaForCausalLM", num_hidden_layers=2), _ids),
    "mixtral": (_language("Mixtral", "MixtralForCausalLM", num_hidden_layers=2), _ids),
    "gpt2": (_language("GPT2", "GPT2LMHeadModel", n_layer=2), _ids),
    "bert": (_language("Bert", "BertForMaskedLM", num_hidden_layers=2), _ids),
    "t5": (_language("T5", "T5ForConditionalGeneration", num_layers=2), _ids),
}
"""Models of torchvision and transformers, at their full width, without memory."""


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, kdim=12, vdim=12)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]


def _products(model: Any, inputs: tuple[Any, ...], **options: Any) -> Products:
    """The products that npuc computes in a training step."""
    report = compile_file(from_module(model, inputs), backend="cycle", opt_level=0, **options)
    found: Products = Counter()
    for row in report.ops:
        if row.macs:
            found["forward" if row.phase == "forward" else "backward", row.macs] += row.repeat
    return found


@pytest.mark.parametrize("name", list(SMALL))
def test_products_of_small_models(name: str) -> None:
    make, example = SMALL[name]
    assert _products(make(), (example(),)) == joint_products(make(), (example(),))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LARGE))
def test_products_of_models_of_libraries(name: str) -> None:
    make, example = LARGE[name]
    try:
        with torch.device("meta"):
            model, inputs = make(), (example(),)
    except (ImportError, RuntimeError) as error:  # torchvision's own operators may be missing beside torch's build
        pytest.skip(f"cannot load the library: {error}")
    options = {"result": "logits"} if name == "inception_v3" else {}
    theirs = joint_products(_First(model) if options else model, inputs)
    assert _products(model, inputs, **options) == theirs


class _First(nn.Module):
    """The first of several outputs."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        return self.model(x)[0]

"""Popular models of torchvision, timm and transformers at full size, without memory for weights, and inputs of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

VISION = """
resnet18 resnet50 resnext50_32x4d wide_resnet50_2 alexnet vgg16 squeezenet1_1 densenet121 googlenet inception_v3
mobilenet_v2 mobilenet_v3_large shufflenet_v2_x1_0 mnasnet1_0 efficientnet_b0 efficientnet_v2_s convnext_tiny vit_b_16
vit_l_16 swin_t swin_v2_t maxvit_t segmentation.deeplabv3_resnet50 segmentation.fcn_resnet50 video.r3d_18 video.swin3d_t
""".split()
TIMM = """
vit_tiny_patch16_224 deit3_base_patch16_224 beit_base_patch16_224 swin_base_patch4_window7_224 convnextv2_base
tf_efficientnetv2_s mobilenetv4_conv_small resnet50d seresnext50_32x4d nfnet_l0 mixer_b16_224 coatnet_0_224
crossvit_15_240 levit_256 mobilevit_s poolformer_s12 cait_s24_224 xcit_small_12_p8_224 hrnet_w18 ghostnet_100
""".split()
TRANSFORMERS = """
gpt2:CausalLM opt:CausalLM bloom:CausalLM llama:CausalLM mistral:CausalLM mixtral:CausalLM qwen2:CausalLM
qwen2_moe:CausalLM gemma2:CausalLM phi3:CausalLM falcon:CausalLM bert:MaskedLM roberta:MaskedLM distilbert:MaskedLM
albert:MaskedLM electra:MaskedLM deberta-v2:MaskedLM mpnet:MaskedLM t5:Seq2SeqLM bart:Seq2SeqLM pegasus:Seq2SeqLM
vit:ImageClassification segformer:SemanticSegmentation whisper:SpeechSeq2Seq
""".split()
MODELS = tuple([f"torchvision:{n}" for n in VISION] + [f"timm:{n}" for n in TIMM] + [f"hf:{n}" for n in TRANSFORMERS])
_IMAGE = {"inception_v3": 299}


class Logits(torch.nn.Module):
    """A model of transformers with its logits alone."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, **inputs: Any) -> Any:
        return self.model(**inputs).logits


def zoo_model(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A model on the meta device, and the arguments that it is exported with."""
    library, _, rest = name.partition(":")
    make: Callable[[str], Any] = {"torchvision": _torchvision, "timm": _timm, "hf": _transformers}[library]
    with torch.device("meta"):
        return make(rest)


def _torchvision(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    folder, _, model = name.rpartition(".")
    package = import_module(f"torchvision.models.{folder}" if folder else "torchvision.models")
    options = {"segmentation": {"weights_backbone": None}}.get(folder, {})
    options |= {"init_weights": False} if model in ("googlenet", "inception_v3") else {}
    shape = (1, 3, 16, 112, 112) if folder == "video" else (2, 3, *[_IMAGE.get(model, 224)] * 2)
    return getattr(package, model)(**options), (torch.empty(shape),), {}


def _timm(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = import_module("timm").create_model(name, pretrained=False)
    return model, (torch.empty(2, *model.default_cfg["input_size"]),), {}


def _transformers(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    family, _, head = name.partition(":")
    package = import_module("transformers")
    config = package.CONFIG_MAPPING[family]()
    config.use_cache = False
    model = getattr(package, f"AutoModelFor{head}").from_config(config)
    ids = torch.empty(1, 512, dtype=torch.int64)
    if model.main_input_name == "pixel_values":
        given = {"pixel_values": torch.empty(1, 3, 224, 224)}
    elif model.main_input_name == "input_features":
        given = {"input_features": torch.empty(1, config.num_mel_bins, 3000), "decoder_input_ids": ids[:, :128]}
    else:
        given = {"input_ids": ids} | ({"decoder_input_ids": ids} if config.is_encoder_decoder else {})
    return Logits(model), (), given

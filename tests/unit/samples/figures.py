"""Published parameters and multiply-accumulates of the networks that ship with npuc, beside the exact counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TORCHVISION = "torchvision: `num_params`, `_ops` of the weights"
STUDY = "layer list of a roofline study of training (C.-Y. Tsai, NTU, 2021)"


@dataclass(frozen=True)
class Published:
    """A figure as its source prints it: in units of `unit`, for one image or sequence unless it is `of_batch`."""

    digits: str
    unit: int
    source: str
    of_batch: bool = False


@dataclass(frozen=True)
class Figures:
    """
    The counts of a network with `defines` and else its defaults, and what is published of them.

    The published count of parameters leaves out `extra_parameters`, those of the last layer.
    """

    parameters: int
    macs: int
    batch: int
    published_parameters: tuple[Published, ...] = ()
    published_macs: tuple[Published, ...] = ()
    defines: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    extra_parameters: int = 0


FIGURES: dict[str, Figures] = {
    "mlp": Figures(
        407_050,
        64 * 406_528,
        64,
        (Published("407050", 1, 'TensorFlow: tutorial "Save and load models"'),),
    ),
    "lenet": Figures(
        61_706,
        64 * 416_520,
        64,
        (Published("61706", 1, "mnchapel.github.io/deep_learning_models: LeNet"),),
    ),
    "alexnet": Figures(
        61_100_840,
        32 * 714_188_480,
        32,
        (Published("61100840", 1, TORCHVISION),),
        (Published("0.714", 10**9, TORCHVISION),),
    ),
    "vgg16": Figures(
        138_357_544,
        32 * 15_470_264_320,
        32,
        (Published("138357544", 1, TORCHVISION), Published("138", 10**6, "Simonyan, Zisserman 2015, table 2")),
        (Published("15.47", 10**9, TORCHVISION),),
    ),
    "resnet18": Figures(
        11_689_512,
        32 * 1_814_073_344,
        32,
        (Published("11689512", 1, TORCHVISION),),
        (Published("1.814", 10**9, TORCHVISION), Published("1.8", 10**9, "He et al. 2016, table 1")),
    ),
    "resnet50": Figures(
        25_557_032,
        123_455_143_936,
        32,
        (Published("25557032", 1, TORCHVISION),),
        (Published("123.455", 10**9, STUDY, of_batch=True),),
    ),
    "resnet50 v1_5": Figures(
        25_557_032,
        32 * 4_089_184_256,
        32,
        (Published("25557032", 1, TORCHVISION),),
        (Published("4.089", 10**9, TORCHVISION),),
        {"variant": "v1_5"},
    ),
    "mobilenet_v2": Figures(
        3_504_872,
        9_624_776_704,
        32,
        (Published("3504872", 1, TORCHVISION),),
        (
            Published("0.301", 10**9, TORCHVISION),
            Published("9.625", 10**9, STUDY, of_batch=True),
            Published("0.30", 10**9, "Sandler et al. 2018, table 4"),
        ),
    ),
    "bert_base": Figures(
        109_482_240 + 1_538,
        32 * 11_174_217_216,
        32,
        (Published("109482240", 1, "Hugging Face transformers: BertModel, bert-base-uncased"),),
        extra_parameters=1_538,
    ),
    "transformer": Figures(176_357_376, 128 * 8_900_198_400, 128),
}

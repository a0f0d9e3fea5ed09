"""Published parameters and multiply-accumulates of the networks that ship with npuc, beside the exact counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TORCHVISION = "torchvision: `num_params`, `_ops` of the weights"
VGG = "Simonyan, Zisserman 2015, table 2"
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
    defines: Mapping[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])
    extra_parameters: int = 0


def _vgg(weights: int, macs: int, millions: str, giga: str = "") -> Figures:
    """VGG without biases: weights and MACs of an image, published in 10^6 and 10^9; torchvision has no C."""
    parameters, operations = Published(millions, 10**6, VGG), Published(giga, 10**9, TORCHVISION)
    return Figures(weights, 256 * macs, 256, (parameters,), (operations,) if giga else ())


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
        (Published("138357544", 1, TORCHVISION), Published("138", 10**6, VGG)),
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
    "mobilenet_v1": Figures(
        4_231_976,
        32 * 568_740_352,
        32,
        (
            Published("4231976", 1, "Keras: keras.applications.MobileNet, trainable parameters"),
            Published("4.2", 10**6, "Howard et al. 2017, table 8"),
        ),
        (Published("569", 10**6, "Howard et al. 2017, table 8"),),
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
    "mnasnet": Figures(
        4_383_312,
        32 * 314_415_872,
        32,
        (Published("4383312", 1, TORCHVISION),),
        (Published("0.314", 10**9, TORCHVISION),),
    ),
    "squeezenet": Figures(
        1_248_424,
        32 * 818_924_576,
        32,
        (Published("1248424", 1, TORCHVISION),),
        (Published("0.819", 10**9, TORCHVISION),),
    ),
    "squeezenet v1_1": Figures(
        1_235_496,
        32 * 349_151_936,
        32,
        (Published("1235496", 1, TORCHVISION),),
        (Published("0.349", 10**9, TORCHVISION),),
        {"variant": "v1_1"},
    ),
    "googlenet": Figures(
        13_378_280,
        32 * 1_591_044_096,
        32,
        (Published("13378280", 1, "Caffe: bvlc_googlenet, train_val.prototxt"),),
    ),
    "googlenet inference": Figures(
        6_998_552,
        32 * 1_582_671_872,
        32,
        (Published("6998552", 1, "Caffe: bvlc_googlenet, deploy.prototxt"),),
        defines={"auxiliary": False},
    ),
    "densenet121": Figures(
        7_978_856,
        32 * 2_834_161_664,
        32,
        (Published("7978856", 1, TORCHVISION),),
        (Published("2.834", 10**9, TORCHVISION),),
    ),
    "shufflenet_v2": Figures(
        2_278_604,
        32 * 144_907_992,
        32,
        (Published("2278604", 1, TORCHVISION), Published("2.3", 10**6, "Ma et al. 2018, table 5")),
        (Published("0.145", 10**9, TORCHVISION),),
    ),
    "efficientnet_b0": Figures(
        5_288_548,
        32 * 385_814_752,
        32,
        (Published("5288548", 1, TORCHVISION), Published("5.3", 10**6, "Tan, Le 2019, table 2")),
        (Published("0.386", 10**9, TORCHVISION), Published("0.39", 10**9, "Tan, Le 2019, table 2")),
    ),
    "faster_rcnn": Figures(28_469_983, 134_243_949_568, 1),
    "faster_rcnn proposals": Figures(13_290_102, 30_633_892_864, 1, defines={"head": False}),
    "yolo_v2_tiny": Figures(
        15_861_773,
        64 * 3_485_520_896,
        64,
        (Published("15861773", 1, "Keras models of yolov2-tiny-voc (YAD2K): trainable parameters"),),
        (Published("3.49", 10**9, "darknet: half of the 6.97 G operations of Tiny YOLO for VOC"),),
    ),
    "yolo_v2_tiny COCO": Figures(
        16_169_273,
        64 * 3_537_437_696,
        64,
        published_macs=(Published("3.54", 10**9, "darknet: half of the 7.07 G operations of Tiny YOLO for COCO"),),
        defines={"classes": 80},
    ),
    "yolo_v5": Figures(
        46_563_709,
        16 * 54_496_870_400,
        16,
        (Published("46563709", 1, "Ultralytics: summary of yolov5l before layers are fused"),),
    ),
    "unet": Figures(31_030_658, 150_428_424_448, 1),
    "unet small": Figures(
        7_760_097,
        48_284_827_648,
        1,
        (Published("7.76", 10**6, "Zhou et al. 2018 (UNet++): U-Net of width 32"),),
        defines={"width": 32, "inputs": 3, "classes": 1, "padding": 1, "image": 512},
    ),
    "gpt2": Figures(
        124_439_808,
        8 * 145_824_153_600,
        8,
        (Published("124439808", 1, "Hugging Face transformers: GPT2LMHeadModel, gpt2"),),
    ),
    "gpt2 XL": Figures(
        1_557_611_200,
        8 * 1_753_351_782_400,
        8,
        (Published("1557611200", 1, "Hugging Face transformers: GPT2LMHeadModel, gpt2-xl"),),
        defines={"layers": 48, "width": 1600, "heads": 25},
    ),
    "t5_small large": Figures(
        737_668_096,
        7_702_283_550_720,
        32,
        (Published("737668096", 1, "Hugging Face transformers: T5ForConditionalGeneration, t5-large"),),
        defines={"layers": 24, "width": 1024, "heads": 16, "hidden": 4096},
    ),
    "t5_small": Figures(
        60_506_624,
        32 * 17_708_900_352,
        32,
        (Published("60506624", 1, "Hugging Face transformers: T5ForConditionalGeneration, t5-small"),),
    ),
    "llama_block": Figures(202_383_360, 448_824_082_432, 1),
    "lstm_lm": Figures(
        19_780_400,
        20 * 464_100_000,
        20,
        (Published("20", 10**6, "Merity et al. 2017, table 1: Zaremba et al., medium"),),
    ),
    "lstm_lm large": Figures(
        66_034_000,
        20 * 1_785_000_000,
        20,
        (Published("66", 10**6, "Merity et al. 2017, table 1: Zaremba et al., large"),),
        defines={"hidden": 1500},
    ),
    "gnmt": Figures(
        90_177_536,
        144_447_897_600,
        32,
        (Published("90.18", 10**6, STUDY),),
        (Published("144.4", 10**9, STUDY, of_batch=True),),
    ),
    "gnmt standard": Figures(90_177_536, 32 * 4_463_665_152, 32, defines={"variant": "standard"}),
    "dlrm": Figures(
        540_677_217,
        2048 * 486_032,
        2048,
        (Published("5.4", 10**8, "Shi et al. 2020, section 5"),),
    ),
    "ncf": Figures(31_832_577, 65536 * 106_624, 65536),
    "bert_base": Figures(
        109_482_240 + 1_538,
        32 * 11_174_217_216,
        32,
        (Published("109482240", 1, "Hugging Face transformers: BertModel, bert-base-uncased"),),
        extra_parameters=1_538,
    ),
    "bert_large": Figures(
        335_141_888 + 2_050,
        1_262_754_004_992,
        32,
        (Published("335141888", 1, "Hugging Face transformers: BertModel, bert-large-uncased"),),
        extra_parameters=2_050,
    ),
    "bert_base tiny": Figures(
        14_350_248 + 626,
        19_959_633_408,
        32,
        (Published("14350248", 1, "Hugging Face transformers: BertModel, TinyBERT_General_4L_312D"),),
        defines={"layers": 4, "width": 312, "heads": 12, "hidden": 1200},
        extra_parameters=626,
    ),
    "transformer": Figures(176_357_376, 128 * 8_900_198_400, 128),
    "transformer thesis_fit": Figures(
        100_724_736,
        128 * 5_125_324_800,
        128,
        (Published("100.7", 10**6, STUDY),),
        defines={"variant": "thesis_fit"},
    ),
    "revnet": Figures(464_890, 100 * 77_231_200, 100),
    "camel": Figures(12_478_090, 32 * 3_090_040_064, 32),
    "sfc": Figures(140_722_176, 256 * 140_722_176, 256),
    "sconv": Figures(100_500, 256 * 12_588_000, 256),
    "lenet_c": Figures(430_500, 256 * 2_293_000, 256),
    "cifar_c": Figures(145_376, 256 * 12_354_176, 256),
    "alexnet_hypar": Figures(16_624_656, 256 * 311_191_824, 256),
    "vgg_a": _vgg(132_851_392, 7_609_090_048, "133", "7.609"),
    "vgg_b": _vgg(133_035_712, 11_308_466_176, "133", "11.308"),
    "vgg_c": _vgg(133_625_536, 11_770_888_192, "134"),
    "vgg_d": _vgg(138_344_128, 15_470_264_320, "138", "15.470"),
    "vgg_e": _vgg(143_652_544, 19_632_062_464, "144", "19.632"),
}

"""
The networks of the study: their matrix products, and the samples that are these networks.

The paper publishes no tables of layers. `workloads.csv` holds them from the public architectures: sequences of 512
(large) and 128 (small) tokens, 1,024 users an image of the batch for the recommenders.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TypeAlias

Setting: TypeAlias = int | bool | str | list[int]
"""A value for a parameter of a sample."""

MODELS: Mapping[str, str] = {
    "rcnn": "faster-rcnn",
    "goo": "googlenet",
    "ncf": "ncf",
    "res": "resnet50",
    "dlrm": "dlrm",
    "mob": "mobilenet",
    "yolo": "yolo",
    "bert": "bert",
    "T5": "t5",
}
"""The models in the paper's order: their names in the tables, and in full."""

BATCHES: Mapping[str, int] = {"large": 8, "small": 4}
"""The NPUs and the batch that each trains."""


@dataclass(frozen=True)
class Product:
    """
    A forward product X [m, k] W [k, n] of a layer, `count` times.

    A convolution is the product after im2col. Without `has_dx` nothing before it is trained, so that only dW is needed.
    """

    layer: str
    m: int
    n: int
    k: int
    count: int
    has_dx: bool


@dataclass(frozen=True)
class StudyNetwork:
    """The sample that is a model of the study at the size for an NPU; `defines` are values of its parameters."""

    npu: str
    model: str
    sample: str
    defines: Mapping[str, Setting] = field(default_factory=dict[str, Setting])

    @property
    def source(self) -> str:
        """The sample's name on the command line."""
        return f"samples:{self.sample}"


_Samples: TypeAlias = Mapping[str, tuple[str, Mapping[str, Setting]]]

_EITHER: _Samples = {
    "rcnn": ("faster_rcnn", {"image": 224, "head": False}),
    "goo": ("googlenet", {"auxiliary": False}),
    "ncf": ("ncf", {}),
    "res": ("resnet50", {"variant": "v1_5"}),
    "dlrm": ("dlrm", {"size": 128, "bottom": [512, 256], "top": [1024, 1024, 512, 256]}),
    "mob": ("mobilenet_v1", {}),
}
"""Models that both NPUs train with equal parameters, by sample and parameters."""

_LARGE: _Samples = {
    "yolo": ("yolo_v5", {}),
    "bert": ("bert_large", {"length": 512, "joint": True}),
    "T5": (
        "t5_small",
        {"layers": 24, "width": 1024, "heads": 16, "hidden": 4096, "length": 512, "target_length": 512, "joint": True},
    ),
}
_SMALL: _Samples = {
    "yolo": ("yolo_v2_tiny", {}),
    "bert": ("bert_base", {"layers": 4, "width": 312, "heads": 12, "hidden": 1200, "length": 128, "joint": True}),
    "T5": ("t5_small", {"length": 128, "target_length": 128, "joint": True}),
}
_USERS = ("ncf", "dlrm")
"""The recommenders, whose batch is 1,024 users for each image of the others."""


@cache
def study_networks() -> tuple[StudyNetwork, ...]:
    """The networks, NPU by NPU in the order of `MODELS`."""
    return tuple(_network(npu, model) for npu in BATCHES for model in MODELS)


def _network(npu: str, model: str) -> StudyNetwork:
    sample, defines = {**_EITHER, **(_LARGE if npu == "large" else _SMALL)}[model]
    batch = BATCHES[npu] * (1024 if model in _USERS else 1)
    return StudyNetwork(npu, model, sample, {"batch": batch, **defines})


@cache
def workloads() -> Mapping[tuple[str, str], Sequence[Product]]:
    """The products of each NPU and model, in the order of the file."""
    found: dict[tuple[str, str], list[Product]] = {}
    for row in _rows():
        m, n, k, count = (int(row[column]) for column in ("M", "N", "K", "count"))
        product = Product(row["layer"], m, n, k, count, row["has_dX"] == "1")
        found.setdefault((row["npu"], row["model"]), []).append(product)
    return found


def _rows() -> Iterator[Mapping[str, str]]:
    text = (files("npuc.studies.igo") / "workloads.csv").read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())

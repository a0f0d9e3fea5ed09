"""The networks and machines of the study, and what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from npuc.compiler.analysis.mapping.flexibility.axes import Supports

Preset = Literal["inference", "training"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
Age = Literal["2014", "later"]
EVALUATIONS = 500
"""The mappings of each distinct contraction that are tried for each class."""
MACHINES_EACH = 4
"""The machines that are tried for each of these, where one is designed."""

FIXED: Supports = ("fixed", "fixed", "fixed", "fixed")
ALL: Supports = ("any", "any", "any", "any")
CLASSES: tuple[Supports, ...] = (
    FIXED,
    ("any", "fixed", "fixed", "fixed"),
    ("fixed", "any", "fixed", "fixed"),
    ("fixed", "fixed", "any", "fixed"),
    ("fixed", "fixed", "fixed", "any"),
    ALL,
)
"""The machine as it was designed, each of its axes freed alone, and all together."""
NAMES = ("fixed", "T tiles", "O order", "P parallel", "S shape", "all")
"""The classes in tables."""


@dataclass(frozen=True)
class StudiedNetwork:
    """A network, and the batch with which `inference` runs it; `training` takes the sample's own."""

    name: str
    age: Age
    batch: int = 1

    @property
    def source(self) -> str:
        """The sample."""
        return f"samples:{self.name}"


NETWORKS = (
    StudiedNetwork("alexnet", "2014"),
    StudiedNetwork("googlenet", "2014"),
    StudiedNetwork("vgg16", "2014"),
    StudiedNetwork("resnet50", "later"),
    StudiedNetwork("mobilenet_v2", "later"),
    StudiedNetwork("mnasnet", "later"),
    StudiedNetwork("efficientnet_b0", "later"),
    StudiedNetwork("bert_base", "later"),
    StudiedNetwork("gpt2", "later"),
    StudiedNetwork("dlrm", "later", batch=64),
    StudiedNetwork("ncf", "later", batch=64),
)


def _machine(name: str, elements: int, kib: int, network: int, gb_per_s: float) -> Mapping[str, object]:
    return {
        "name": name,
        "precision": "as-written",
        "clock_mhz": 1000,
        "memory": {"element_bytes": 2, "spm_kib": kib},
        "dram": {"gb_per_s": gb_per_s},
        "maestro": {"num_pes": elements, "noc_bw": network, "l1_size": 256},
    }


MACHINES: tuple[Mapping[str, object], ...] = (
    _machine("small", 1024, 128, 64, 32.0),
    _machine("large", 16384, 2048, 1024, 1024.0),
)
"""
Hypothetical machines of 16-bit elements at 1 GHz: 1,024 with 128 KiB, a network of 64 elements and 32 bytes of DRAM a
cycle, and sixteen times as many with sixteen times the buffer and the network, and 1,024 bytes. None is published.
"""

PUBLISHED_GAIN = 11.8
"""Of all axes over none on present-day networks, geometric mean: abstract of the paper."""

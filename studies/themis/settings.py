"""The networks, sizes and programs of the paper, and what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.analysis.interconnect.topology import Interconnect, Kind, NetworkLevel
from npuc.compiler.core.options import PlanObjective

CHUNKS = 64
"""Chunks of a collective where the paper does not vary them."""
SIZES = tuple(100_000_000 * number for number in range(1, 11))
"""Bytes of the all-reduces: 100 MB to 1 GB."""


def network(*levels: tuple[Kind, int, int, int]) -> Interconnect:
    """A network of levels, outermost first: kind, devices, Gb/s that a device sends, latency of a step in ns."""
    return Interconnect(
        tuple(
            NetworkLevel(kind, size, Fraction(gbit_per_s * 10**9, 8), Fraction(latency_ns, 10**9))
            for kind, size, gbit_per_s, latency_ns in levels
        )
    )


TOPOLOGIES: Mapping[str, Interconnect] = {
    "2D-SW_SW": network(("switch", 64, 800, 1700), ("switch", 16, 1200, 700)),
    "3D-SW_SW_SW_homo": network(("switch", 8, 800, 1700), ("switch", 8, 800, 700), ("switch", 16, 800, 700)),
    "3D-SW_SW_SW_hetero": network(("switch", 8, 400, 1700), ("switch", 8, 800, 700), ("switch", 16, 1600, 700)),
    "3D-FC_Ring_SW": network(("switch", 8, 400, 1700), ("ring", 16, 800, 700), ("fc", 8, 1400, 700)),
    "4D-Ring_SW_SW_SW": network(
        ("switch", 8, 400, 1700), ("switch", 8, 800, 700), ("switch", 4, 1600, 700), ("ring", 4, 2000, 20)
    ),
    "4D-Ring_FC_Ring_SW": network(
        ("switch", 8, 800, 1700), ("ring", 4, 1200, 700), ("fc", 8, 1400, 700), ("ring", 4, 3000, 20)
    ),
}
"""Table 2 of the paper, whose names have the innermost level first; 1,024 devices each."""
TODAY = network(("switch", 64, 100, 1700), ("switch", 16, 1200, 700))
"""A platform of the time; that 64 groups are connected is an assumption, which utilisation does not depend on."""
FEW_CHUNKS = ("3D-SW_SW_SW_hetero", "4D-Ring_FC_Ring_SW")
"""The networks of which the paper varies the number of chunks."""


@dataclass(frozen=True)
class TrainedModel:
    """A training step of the authors: seconds of work, of which their script takes 0.26, and an all-reduce of bytes."""

    name: str
    compute_s: float
    size: int


COMPUTE_SHARE = 0.26
"""The part of a workload file's seconds of work that the authors' script takes."""
MODELS = (
    TrainedModel("ResNet-50", 1.0953e-3, 51_005_824),
    TrainedModel("GNMT", 7.9008e-3, 267_788_288),
)
"""The workload files in the authors' repository."""

OWN_MACHINE, OWN_PRECISION = "a100", "bf16"
"""What the devices of npuc's own programs are."""
FILE_TFLOPS = 60.0
"""By which the authors count the work of DLRM: 512 samples by 2,048 x 2,048 weights take 71,583 ns in their file."""
OWN_TFLOPS = FILE_TFLOPS / COMPUTE_SHARE


@dataclass(frozen=True)
class OwnProgram:
    """
    A network whose step npuc derives, and what is published of it: mean and greatest speed-up by version of the paper.

    `group` devices share it, in `copies`; it has so many equal `layers`, None where no parameter says how many.
    """

    name: str
    source: str
    defines: Mapping[str, int]
    group: int
    copies: int
    published: Mapping[str, tuple[float, float]]
    objective: PlanObjective = "bytes"
    layers: int | None = None


FIRST, ISCA = "arXiv v1", "ISCA 2022"
"""What the setting of a row says whose figure is in one version alone."""
PROGRAMS = (
    OwnProgram(
        "DLRM",
        "dlrm.dsl",
        {"batch": 1024 * 512},
        group=1024,
        copies=1,
        published={FIRST: (1.42, 1.80), ISCA: (1.30, 1.77)},
        objective="time",
    ),
    OwnProgram(
        "Transformer-1T",
        "samples:gpt2",
        {
            **{"batch": 16, "length": 2048, "max_length": 2048, "width": 25600, "heads": 128, "vocabulary": 51200},
            "dropout": 0,
        },
        group=128,
        copies=8,
        published={FIRST: (1.35, 1.78), ISCA: (1.25, 1.53)},
        layers=128,
    ),
)
"""
DLRM with the sizes of a file of the authors, and a transformer with those of the largest of Megatron-LM (Narayanan et
al., SC 2021; 128 heads, not 160, so that 128 devices can share them): 128 devices share a copy, as in the authors'
files of a network of this size, for 16 sequences.
"""

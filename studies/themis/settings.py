"""The networks, sizes and programs of the paper, and what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.analysis.interconnect.topology import Interconnect, Kind, NetworkLevel

CHUNKS = 64
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
MODELS = (
    TrainedModel("ResNet-50", 1.0953e-3, 51_005_824),
    TrainedModel("GNMT", 7.9008e-3, 267_788_288),
)
"""The workload files in the authors' repository."""

"""The networks of the paper, who takes part in which collective, and what bandwidth costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npuc.compiler.analysis.interconnect.topology import Kind

PRESETS = ("both", "workloads", "programs")
"""The authors' workloads, npuc's own programs, or both."""
TOTAL = 500.0
"""GB/s that a device sends over all levels."""
CONSTRAINED_TOTAL = 1000.0
"""The same of the case with constraints."""
PHASES = ("forward", "input_gradient", "weight_gradient")


@dataclass(frozen=True)
class PricedLevel:
    """A level, the price of a GB/s of its links, and of a switch and a NIC where it has them, in USD."""

    kind: Kind
    size: int
    link: float
    switch: float = 0.0
    nic: float = 0.0

    @property
    def price(self) -> float:
        """USD for a GB/s that a device sends: links of a device carry together what it sends, whatever the kind."""
        return self.link + self.switch + self.nic


NETWORKS: Mapping[str, tuple[PricedLevel, ...]] = {
    "4d": (
        PricedLevel("ring", 4, 2.0),
        PricedLevel("fc", 8, 4.0),
        PricedLevel("ring", 4, 4.0),
        PricedLevel("switch", 32, 7.8, 18.0, 31.6),
    ),
    "3d": (PricedLevel("ring", 16, 4.0), PricedLevel("fc", 8, 4.0), PricedLevel("switch", 32, 7.8, 18.0, 31.6)),
}
"""Levels, the innermost first: of a chiplet, a package, a node and a pod; 4,096 devices."""
Group = tuple[int, ...]
"""How many devices of each level take part, the innermost first; 1: the level is not crossed."""

NOBODY, EVERYBODY = (1, 1, 1, 1), (4, 8, 4, 32)
COMMUNICATORS: Mapping[str, Mapping[str, tuple[Group, Group, Group]]] = {
    "4d": {
        "gpt3": ((4, 4, 1, 1), (4, 4, 1, 1), (1, 2, 4, 32)),
        "msft_1t": ((4, 8, 4, 1), (4, 8, 4, 1), (1, 1, 1, 32)),
        "resnet50": (NOBODY, NOBODY, EVERYBODY),
        "turing_nlg": (NOBODY, NOBODY, EVERYBODY),
    },
    "3d": {
        "gpt3": ((16, 1, 1), (16, 1, 1), (1, 8, 32)),
        "msft_1t": ((16, 8, 1), (16, 8, 1), (1, 1, 32)),
        "resnet50": ((1, 1, 1), (1, 1, 1), (16, 8, 32)),
        "turing_nlg": ((1, 1, 1), (1, 1, 1), (16, 8, 32)),
    },
}
"""By network and workload who takes part in the collectives of each of the `PHASES`."""


def constraints_of(total: float) -> str:
    """The constraints that the authors' repository has with 1,000 GB/s, in the same proportion of a total."""
    return f"B1 = {total / 2:g}, B1 >= B2 >= B3, B3 + B4 = {total / 5:g}"


CONSTRAINED = ("4d", "gpt3")
"""The network and the workload of that case."""

PROGRAMS = ("samples:resnet50", "samples:bert_large", "samples:gpt2")
"""Programs of npuc that are measured beside the authors' workloads."""
PROGRAM_NETWORK = "4d"
BATCH = 4096
"""Samples of a step, one a device."""
MACHINE = "a100"
"""What the devices of these programs are."""

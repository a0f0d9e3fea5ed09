"""The paper's numbers (`published.json`), and what the study varies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from npuc.compiler.core.options import Convention, Strategy

PRESETS: tuple[Convention, ...] = ("published", "table2", "physical")
"""The conventions by which plans are chosen and counted; the first gives the paper's figures."""
DEVICES = 16
SCALES = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of accelerators, of which the paper has 16 throughout."""
STUDIED_STRATEGIES: tuple[Strategy, ...] = ("dp", "mp", "owt", "hypar", "joint")
BASE: Strategy = "dp"
"""The baseline of performance and energy."""
OURS: Strategy = "hypar"
"""The strategy that the study is about."""
Topology = Literal["tree", "torus"]
TOPOLOGIES: tuple[Topology, ...] = get_args(Topology)
TOPOLOGY_NAMES: Mapping[Topology, str] = {"tree": "H-tree", "torus": "torus"}
TREE: Topology = "tree"


@dataclass(frozen=True)
class Published:
    """
    The paper's numbers for a network, or for the geometric mean over its ten; empty where they are not known.

    `choices` are the letters of the layers at each level; the rest are by strategy.
    """

    choices: tuple[str, ...] | None
    communication_gb: Mapping[str, float]
    performance: Mapping[str, float]
    energy: Mapping[str, float]


MEAN = "gmean"
"""The name of the means."""
NOTHING = Published(None, {}, {}, {})


@cache
def published() -> Mapping[str, Published]:
    """The paper's numbers by network."""
    networks: dict[str, dict[str, Any]] = _data()["networks"]
    return {
        name: Published(
            tuple(entry["choices"]) if "choices" in entry else None,
            entry["communication_gb"],
            entry["performance_vs_dp"],
            entry["energy_efficiency_vs_dp"],
        )
        for name, entry in networks.items()
    }


@cache
def over_owt() -> Mapping[str, float]:
    """The paper's mean gains of hypar over owt: `performance`, `energy`."""
    found = _data()["one_weird_trick"]
    return {"performance": found["hypar_over_owt_performance_gmean"], "energy": found["hypar_over_owt_energy_gmean"]}


def _data() -> dict[str, Any]:
    return json.loads((files("npuc.studies.hypar") / "published.json").read_text(encoding="utf-8"))

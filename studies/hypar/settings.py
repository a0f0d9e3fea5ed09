"""The paper's numbers (`published.json`), and the machines on which steps are scored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from npuc.compiler.core.options import Convention, Strategy
from npuc.hardware import Hardware, load_hardware

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
HARDWARE = "hypar16"
Topology = Literal["tree", "torus"]
TOPOLOGIES: tuple[Topology, ...] = get_args(Topology)
TOPOLOGY_NAMES: Mapping[Topology, str] = {"tree": "H-tree", "torus": "torus"}
TREE: Topology = "tree"


def machine_of(topology: Topology, devices: int) -> Hardware:
    """
    So many of the platform's accelerators, in a tree of halves or a torus as near to square as can be.

    Links are those of the presets, with their energy: 0.2 GB/s a device on each level of the tree, 0.4 on each ring of
    the torus.
    """
    levels = devices.bit_length() - 1
    if topology == "tree":
        shape = [("pair", 2, 0.2)] * levels
    else:
        rows = 2 ** (levels - levels // 2)
        shape = [("ring", size, 0.4) for size in (rows, devices // rows) if size > 1]
    energy = link_energy()
    levels_of_links = [
        {"kind": kind, "size": size, "gb_per_s": speed, "pj_per_byte": energy} for kind, size, speed in shape
    ]
    return load_hardware(HARDWARE, {"network.levels": levels_of_links} if levels_of_links else {})


@cache
def link_energy() -> float:
    """The energy of a byte that crosses a link of the platform, in pJ."""
    levels = load_hardware(HARDWARE).require("network.levels", backend="cycle")
    assert isinstance(levels, list), "network.levels is read as a list"
    return float(levels[0]["pj_per_byte"])


@cache
def peak_flops() -> float:
    """Operations a second of one accelerator, as the paper states them."""
    return load_hardware(HARDWARE).require("compute.tflops", float, backend="cycle") * 1e12


@dataclass(frozen=True)
class Published:
    """
    What the paper has of a network, or of the geometric mean over its ten; empty where it is not known.

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
    """What the paper says hypar gains over owt in the mean: `performance`, `energy`."""
    found = _data()["one_weird_trick"]
    return {"performance": found["hypar_over_owt_performance_gmean"], "energy": found["hypar_over_owt_energy_gmean"]}


def _data() -> dict[str, Any]:
    return json.loads((files("npuc.studies.hypar") / "published.json").read_text(encoding="utf-8"))

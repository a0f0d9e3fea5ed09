"""The machines of the study, its possible conventions, and its published claims."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from npuc.hardware import load_hardware

HARDWARE = "rtx2080ti"
CAPACITIES = tuple(range(24, 1001, 2))
"""The capacities of the study, in MB (MiB)."""
LEAST = CAPACITIES[0]

Kind = Literal["numeric", "upper_limit", "order_of_magnitude", "qualitative"]
Value: TypeAlias = float | Mapping[str, Sequence[str] | Sequence[float] | float]
"""A number, names by class, or numbers by name."""


def machine_value(preset: str, key: str) -> float:
    """A value of a machine that the study names."""
    return load_hardware(preset).require(key, float, backend="roofline")


TFLOPS = machine_value(HARDWARE, "compute.tflops")
GB_PER_S = machine_value(HARDWARE, "dram.gb_per_s")
FASTER_TFLOPS = machine_value("rx6900xt", "compute.tflops")
"""The throughput of the study's second machine, with the bandwidth of the first."""
FASTER_GB_PER_S = machine_value("a100", "dram.gb_per_s")
"""The bandwidth of the study's third machine, with the throughput of the first."""
BATCHES = (8, 16, 32, 64, 128, 256)
BATCH_MIB = (LEAST, 400)
"""The batches and the capacities at which the study compares samples a second; the batches are ours."""
VARIED = ("compute.tflops", "dram.gb_per_s", "memory.cache_mib")
"""The keys that the study varies itself."""


@dataclass(frozen=True)
class Preset:
    """Conventions: keys of the hardware, and whether networks are `own`, as their papers define them."""

    keys: Mapping[str, object]
    own: bool = False


THESIS: Mapping[str, object] = {"roofline.profile": "thesis", "roofline.order": "listed"}
PRESETS: Mapping[str, Preset] = {
    "thesis": Preset(THESIS),
    "retain": Preset({**THESIS, "roofline.oversize": "retain"}),
    "networks": Preset(THESIS, own=True),
    "default": Preset({"roofline.profile": "default"}, own=True),
}
"""The conventions by name: the reference data's, two that change one thing, npuc's own."""


@dataclass(frozen=True)
class Claim:
    """
    A number of the study: its place in the text, and the tolerance of ours, in its unit; None for a claim in words.

    Of `kind` upper_limit, ours is to be below; of order_of_magnitude, of as many digits; without a tolerance and
    numeric, the same when rounded as the study rounds.
    """

    id: str
    claim: str
    section: str
    network: str | None
    published: Value | None
    unit: str
    tolerance: float | None
    kind: Kind


@cache
def claims() -> tuple[Claim, ...]:
    """The study's claims in order."""
    text = (files("npuc.studies.thesis") / "published.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return tuple(Claim(**row) for row in rows)

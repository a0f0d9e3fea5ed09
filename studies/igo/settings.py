"""
The machines of the study, the steps of the method, and the paper's numbers for them.

`published.json` has the paper's numbers: heights of bars, measured in its vector figures to about 0.001, for four of
the nine models and the mean over all; of the best of three orders only means, in the text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import cast

from npuc.compiler.analysis.machine.facts import Machine, machine_from
from npuc.hardware import load_hardware, machine_target
from npuc.studies.igo.networks import BATCHES

STEPS = ("interleaving", "rearrangement", "best_of_three", "data_partitioning")
"""The steps of the method; each has those before it."""
WIDTH = {"memory.element_bytes": 2}
"""The tables of products have no types: elements of 16 bits."""
AVERAGE = "avg"
"""The name of the arithmetic mean over the models, in place of a model's name."""


@dataclass(frozen=True)
class Setting:
    """An NPU; `gb_per_s` and `batch` are those of a core. Without them they are the NPU's own."""

    npu: str
    cores: int = 1
    gb_per_s: float = 150.0
    batch: int = 8

    @property
    def preset(self) -> str:
        """The machine that it is made of."""
        return f"igo-{self.npu}"

    @property
    def overrides(self) -> dict[str, object]:
        """The keys that it gives that machine: cores, bandwidth, width of elements."""
        return {"array.cores": self.cores, "dram.gb_per_s": self.gb_per_s, **WIDTH}

    @property
    def machine(self) -> Machine:
        """Its preset with this bandwidth and number of cores."""
        return machine_from(machine_target(load_hardware(self.preset, self.overrides)))

    @property
    def scale(self) -> Fraction:
        """The factor of the rows M of the tables of products: the batch of all cores over the tables'."""
        return Fraction(self.batch * self.cores, BATCHES[self.npu])

    @property
    def title(self) -> str:
        """The setting in words."""
        cores = f"{self.cores} core{'s' if self.cores > 1 else ''}"
        return f"{self.npu} NPU, {cores}, {self.gb_per_s:g} GB/s and batch {self.batch} a core"


LARGE = Setting("large")
SMALL = Setting("small", gb_per_s=22.0, batch=4)
SETTINGS = (
    LARGE,
    SMALL,
    *(Setting("large", cores=cores) for cores in (2, 4, 8)),
    *(Setting("large", gb_per_s=rate) for rate in (75.0, 37.5)),
    *(Setting("large", batch=batch) for batch in (16, 32)),
)
"""All of them; the first two are those of the paper's main figure."""

Bars = Mapping[str, float]


@cache
def figures() -> Mapping[str, Mapping[str, Bars]]:
    """The paper's numbers, by figure."""
    text = (files("npuc.studies.igo") / "published.json").read_text(encoding="utf-8")
    return cast("Mapping[str, Mapping[str, Bars]]", json.loads(text))


def published(setting: Setting, step: str, model: str) -> float | None:
    """The paper's time of a step over the sequential program's, forward and backward; None where it gives none."""
    shown = figures()
    if step == "best_of_three":
        gains = shown["text"]["rearrangement_best_of_three"]
        return round(1 - gains[setting.npu], 4) if model == AVERAGE and setting in (LARGE, SMALL) else None
    if setting in (LARGE, SMALL):
        return shown[f"fig12_{setting.npu}_norm_exec_time"][step].get(model)
    if step != "data_partitioning":
        return None
    if setting.cores > 1:
        return shown["fig14_multicore_norm_exec_time"][str(setting.cores)].get(model)
    if setting.batch != LARGE.batch:
        return shown["fig16_batch_norm_exec_time_large"][str(setting.batch)].get(model)
    return shown["fig15_bandwidth_norm_exec_time_large"][f"{setting.gb_per_s:g}GBps"].get(model)

"""What the study searches, and what is published of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Step = Literal["inference", "training"]
STEPS: tuple[Step, ...] = get_args(Step)
PRESETS: Mapping[str, tuple[Step, ...]] = {"both": STEPS, "inference": ("inference",), "training": ("training",)}
NETWORKS: Mapping[str, str] = {
    name: f"samples:{name}" for name in ("resnet18", "resnet50", "mobilenet_v2", "mnasnet", "bert_base", "ncf", "dlrm")
}
"""DiGamma's seven networks."""
AREAS: Mapping[str, float] = {"edge": 0.2, "cloud": 7.0}
"""Budgets of area, mm2."""
PUBLISHED: Mapping[str, float] = {"edge": 3.0, "cloud": 10.0}
"""How many times as fast as those of the best other optimiser its designs are, the geometric mean over networks."""
PUBLISHED_EVALUATIONS = 40_000
EVALUATIONS = 1_000
"""Designs that each optimiser evaluates, where nothing else is asked for."""
BATCH: Mapping[Step, int] = {"inference": 1}
"""The batch of a step where it is not the network's own."""
HARDWARE = "nvdla"
AREA_MODEL = "gamma-int8"
"""DiGamma's formula of area."""
OURS = "npuc design"
SEED = 0
REASONS: tuple[str, ...] = (
    "The other optimisers search the same space as ours, with buffers as large as the mappings need and tiles that are "
    "cut until they fit: each of their points is a machine within the budget, nearly always. Published are those of "
    "spaces in which points outside the budget have no value.",
    "They know how far a point that is none is from the budget.",
    "Costs are exact, with MAESTRO's buffers, and transfers that MAESTRO leaves out must fit into the time.",
    "Machines have the bandwidths of the given one, which bound the time of some layers whatever the design.",
)
"""Why ours differs from what is published."""

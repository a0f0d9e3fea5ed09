"""
How long the plans of many capacities take, beside the plan of one.

    pytest benchmarks/test_roofline.py --benchmark-columns=mean,stddev --benchmark-group-by=param:sample
"""

from typing import Any

import pytest

from npuc.backends.roofline.backend import RooflineBackend
from npuc.frontends import read_source, read_text
from npuc.hardware import load_hardware

THESIS = {"roofline.profile": "thesis", "roofline.order": "listed"}
SAMPLES = ["resnet50", "mobilenet_v2", "transformer", "gnmt"]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("profile", ["thesis", "default"])
@pytest.mark.parametrize("points", [1, 123, 489])
def test_capacities(benchmark: Any, sample: str, profile: str, points: int) -> None:
    """Totals of so many capacities from 24 MiB to 1000 MiB, from the forward graph on."""
    module = read_source(read_text(f"samples:{sample}"))
    keys = THESIS if profile == "thesis" else {}
    capacities = [24 + 976 * i / max(points - 1, 1) for i in range(points)]
    machines = [load_hardware("rtx2080ti", keys | {"memory.cache_mib": mib}) for mib in capacities]

    def score() -> int:
        return sum(1 for _ in RooflineBackend().score_many(module, machines))

    assert benchmark.pedantic(score, rounds=1) == points

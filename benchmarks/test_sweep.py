"""
What a point of a sweep costs beyond the first: CPU seconds of some points less those of one, by their number.

    pytest benchmarks/test_sweep.py -s
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from npuc.compiler import sweep_file

SAMPLES = ["resnet50", "bert_base", "mobilenet_v2", "lstm_lm"]
RUNS: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "cycle-spm": ("cycle", "memory.spm_kib", (1024, 2048, 4096)),
    "cycle-bandwidth": ("cycle", "dram.gb_per_s", (100, 150, 200)),
    "cycle-rows": ("cycle", "array.rows", (64, 128, 256)),
    "roofline-bandwidth": ("roofline", "dram.gb_per_s", tuple(range(100, 292, 2))),
    "roofline-throughput": ("roofline", "compute.tflops", tuple(10 + number / 5 for number in range(96))),
    "roofline-cache": ("roofline", "memory.cache_mib", tuple(4 + number / 10 for number in range(60))),
    "maestro-elements": ("maestro", "maestro.num_pes", tuple(range(64, 448, 8))),
    "maestro-network": ("maestro", "maestro.noc_bw", tuple(range(8, 72, 2))),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("run", RUNS)
def test_points(benchmark: Any, sample: str, run: str) -> None:
    """The time of all points is in the table, that of a point beyond the first in `extra_info`."""
    from time import process_time

    backend, key, values = RUNS[run]

    def score(count: int) -> float:
        before = process_time()
        points = list(sweep_file(f"samples:{sample}", vary={key: list(values[:count])}, backend=backend))
        assert len(points) == count
        return process_time() - before

    score(1)  # what is loaded once
    one = score(1)
    every = benchmark.pedantic(score, args=(len(values),), rounds=1)
    benchmark.extra_info["seconds_per_point"] = (every - one) / (len(values) - 1)
    print(f"{sample} {run}: {benchmark.extra_info['seconds_per_point']:.4f} s a point")

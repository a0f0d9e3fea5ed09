"""
Mappings of a convolution on one core: many at once, and how many times as many a second as one at a time.

    pytest benchmarks/test_maestro.py --benchmark-columns=mean,stddev

`extra_info` has `per_second` and, in mode parity, `times_scalar`, the ratio to `analyse` in the same run.
"""

from time import process_time
from typing import Any

import numpy as np
import pytest

from npuc.backends.maestro import evaluate
from npuc.compiler.analysis.mapping.batch.arrays import Mappings
from npuc.compiler.analysis.mapping.batch.build import mapping_of
from npuc.compiler.analysis.mapping.columns import columns
from npuc.compiler.analysis.mapping.parity import PeArray, analyse
from npuc.dialects.mapping import Problem

LAYER = Problem("CONV", (("K", 64), ("C", 64), ("R", 3), ("S", 3), ("Y", 58), ("X", 58)))
ARRAY = PeArray(num_pes=256, noc_bw=32)
MACHINE = {"maestro.num_pes": ARRAY.num_pes, "maestro.noc_bw": ARRAY.noc_bw}
COUNT, ALONE = 4000, 100


def tile(r: np.random.Generator, whole: int, *, divides: bool) -> int:
    """The size of a tile of so many elements."""
    fits = [size for size in range(1, whole + 1) if whole % size == 0 or not divides]
    return int(r.choice(fits))


def random_mappings(count: int, *, divides: bool) -> Mappings:
    """Two levels in any order, a dimension of each spread; tiles divide what they are cut from, or are of any size."""
    r, names = np.random.default_rng(0), LAYER.named
    shape = (count, 2, len(names))
    dim, size, offset = (np.zeros(shape, np.int64) for _ in range(3))
    spatial = np.zeros(shape, np.bool_)
    for row in range(count):
        outputs = {name: LAYER.outputs(name) for name in names}
        for level in range(2):
            spread = r.choice(list("KCYX"))
            for slot, name in enumerate(r.permutation(names)):
                if name not in "RS":
                    outputs[name] = tile(r, outputs[name], divides=divides)
                at = (row, level, slot)
                dim[at], spatial[at] = names.index(name), name == spread
                size[at], offset[at] = outputs[name] + 2 * (name in "YX"), outputs[name]
    return Mappings(dim, size, offset, spatial, r.choice([1, 2, 4, 8, 16, 32], size=(count, 1)))


def alone_per_second(mappings: Mappings) -> float:
    """Mappings a second of the analysis of one at a time."""
    start = process_time()
    for row in range(ALONE):
        columns(analyse(mapping_of(LAYER, mappings, row), ARRAY), ARRAY, 2)
    return ALONE / (process_time() - start)


@pytest.mark.parametrize("mode", ["parity", "exact"])
@pytest.mark.parametrize("tiles", ["divisors", "any"])
def test_many_at_once(benchmark: Any, tiles: str, mode: str) -> None:
    mappings = random_mappings(COUNT, divides=tiles == "divisors")
    hardware = {**MACHINE, "maestro.mode": mode}
    table = benchmark.pedantic(lambda: evaluate(LAYER, mappings, hardware), rounds=3, warmup_rounds=1)
    assert np.isfinite(table["runtime_cycles"]).all()
    start = process_time()
    evaluate(LAYER, mappings, hardware)
    per_second = COUNT / (process_time() - start)
    benchmark.extra_info["per_second"] = round(per_second)
    if mode == "parity":
        benchmark.extra_info["times_scalar"] = round(per_second / alone_per_second(mappings))

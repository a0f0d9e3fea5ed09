"""Random batches of mappings of one layer, as arrays: sensible ones, wild ones, and ones that no machine takes."""

from random import Random

import numpy as np

from npuc.compiler.analysis.mapping.batch.arrays import Mappings
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.dialects.mapping import Problem
from npuc.dialects.mapping.problem import KINDS, SLIDES, KindName


def draw_layer(r: Random, kinds: tuple[KindName, ...] = KINDS, big: int = 20) -> Problem:
    """A layer of any kind, with strides up to 3."""
    kind = r.choice(kinds)
    if kind == "GEMM":
        return Problem(kind, tuple((dim, r.randint(1, big)) for dim in "MNK"))
    dims = {dim: r.randint(1, big) for dim in ("C" if kind == "DSCONV" else "KC")}
    for dim, most in (("G", 4 if kind == "NGCONV" else 0), ("N", r.choice((0, 0, 3)))):
        if most:
            dims[dim] = r.randint(1, most)
    for dim, window in SLIDES.items():
        dims[window] = r.randint(1, 5)
        dims[dim] = dims[window] + r.randint(0, big)
    return Problem(kind, tuple(dims.items()), tuple((dim, r.randint(1, 3)) for dim in SLIDES))


def draw_array(r: Random, inner: int = 1) -> PeArray:
    """A machine, narrow or wide, now and then too small for clusters of `inner` processing elements."""
    pes = r.randint(1, 4) * inner + r.randint(0, 2) if r.random() < 0.9 else r.randint(1, inner)
    wide = (1 << 31) - 1
    bandwidths = r.choice((1, 2, 7, 64, wide)), r.choice((1, 3, 50, 70_000, wide))
    return PeArray(pes, bandwidths[0], r.randint(0, 3), bandwidths[1], r.choice((1, 1, 2, 5)))


def draw_batch(r: Random, problem: Problem, count: int, levels: int) -> Mappings:
    """
    Mappings whose levels name some of the dimensions, one or two of them spatial.

    Most have tiles that lie side by side, windows that slide on; a few overlap, leave gaps, are larger than what they
    are cut from, name a dimension twice or have sizes of 0.
    """
    width = len(problem.named) + 1
    shape = (count, levels, width)
    dim, size = np.full(shape, -1, np.int64), np.ones(shape, np.int64)
    offset, spatial = np.ones(shape, np.int64), np.zeros(shape, np.bool_)
    for row in range(count):
        wild, given = r.random() < 0.3, dict(problem.sizes)
        for level in range(levels):
            names = r.sample(problem.named, r.randint(1, len(problem.named)))
            spread = names[: 1 if r.random() < 0.8 else 2]
            if wild and r.random() < 0.1:
                names.append(r.choice(names))
            slots = sorted(r.sample(range(width), len(names)))
            for slot, name in zip(slots, r.sample(names, len(names)), strict=True):
                at = (row, level, slot)
                first = problem.named.index(name) not in dim[row, level]
                spatial[at] = name in spread and (first or r.random() < 0.5)
                dim[at] = problem.named.index(name)
                size[at], offset[at] = _tile(r, problem, given, name, wild=wild, spatial=bool(spatial[at]))
            for d, s in zip(dim[row, level], size[row, level], strict=True):
                if d >= 0:
                    given[problem.named[d]] = max(1, min(int(s), given[problem.named[d]]))
    cluster = np.array([[r.choice((1, 2, 3, 4, 8)) for _ in range(levels - 1)] for _ in range(count)], np.int64)
    return Mappings(dim, size, offset, spatial, cluster.reshape(count, levels - 1))


def _tile(
    r: Random, problem: Problem, given: dict[str, int], name: str, *, wild: bool, spatial: bool
) -> tuple[int, int]:
    whole = given[name]
    if problem.slides and name in SLIDES.values() and not (spatial or (wild and r.random() < 0.05)):
        return problem.sizes[name], problem.sizes[name]
    if wild and r.random() < 0.3:
        return r.randint(0 if r.random() < 0.03 else 1, problem.sizes[name] + 2), r.randint(1, problem.sizes[name] + 2)
    if problem.slides and name in SLIDES:
        window = min(given[SLIDES[name]], whole)
        outputs = r.randint(1, whole - window + 1)
        return outputs + window - 1, outputs
    size = r.randint(1, whole)
    return size, size


def hardware_of(array: PeArray) -> dict[str, int]:
    """A machine as hardware keys."""
    found = {"num_pes": array.num_pes, "noc_bw": array.noc_bw, "noc_hop_latency": array.noc_latency}
    found |= {"offchip_bw": array.offchip_bw, "num_simd_lanes": array.lanes}
    return {f"maestro.{key}": value for key, value in found.items()}

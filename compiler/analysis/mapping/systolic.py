"""
The dataflows of a systolic array as mappings, so that two cost models can be compared.

    os    [m : R / 1, n : C / 1, k : 1]     outputs are stationary: all sums of an output are in one element
    ws    [k : R / 1, n : C / 1, m : 1]     weights are stationary, rows stream past them
    is    [k : R / 1, m : C / 1, n : 1]     inputs are stationary

There is one level of R x C elements, each of which does one multiply-accumulate a step: a step of the mapping is a
cycle of the array without fill and drain. In exact mode (`exact/`) the time is the number of steps plus the waits for
the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.machine.array import PLACES
from npuc.compiler.analysis.machine.array import Array as SystolicArray
from npuc.compiler.analysis.mapping.exact.arrays import cluster_arrays
from npuc.compiler.analysis.mapping.exact.columns import evaluate_exact
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.dialects.mapping import ClusterLevel, Clusters, Problem, TileLoop


def systolic_clusters(array: SystolicArray, sizes: dict[str, int]) -> Clusters:
    """The mapping of a product of `sizes` m, n, k that does what the array's dataflow does."""
    rows, cols, streamed = PLACES[array.dataflow]
    loops = [
        TileLoop(rows, min(array.rows, sizes[rows]), 1),
        TileLoop(cols, min(array.cols, sizes[cols]), 1),
        TileLoop(streamed, 1, 1),
    ]
    return Clusters((ClusterLevel(array.elements, tuple(loops)),))


@dataclass(frozen=True)
class MappedTime:
    """The cycles of a mapped product: `steps` of it with work for the array, the rest waits for the network."""

    steps: int
    cycles: int

    @property
    def waits(self) -> int:
        """Cycles in which the network is waited for."""
        return self.cycles - self.steps


def mapped_time(array: SystolicArray, noc_bw: int, m: int, n: int, k: int) -> MappedTime:
    """The exact time of one product under the array's dataflow, with a network of `noc_bw` elements a cycle."""
    sizes = {"m": m, "n": n, "k": k}
    machine = PeArray(num_pes=array.elements, noc_bw=noc_bw, offchip_bw=(1 << 31) - 1)
    found = evaluate_exact(
        product(m, n, k), cluster_arrays(product(m, n, k), [systolic_clusters(array, sizes)]), machine
    )
    streamed = sizes[PLACES[array.dataflow][2]]
    return MappedTime(array.folds(m, n, k) * streamed, int(np.rint(found["runtime_cycles"][0])))


def product(m: int, n: int, k: int) -> Contraction:
    """Y[m, n] += X[m, k] * W[k, n]."""
    found = contraction_of(Problem("GEMM", (("M", m), ("N", n), ("K", k))))
    lower = {"M": "m", "N": "n", "K": "k"}
    return found.renamed(lower)

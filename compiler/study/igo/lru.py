"""
The preset `lru`: the published method on the prototype's machine.

SPM is one pool of tiles under least recently used replacement (`analysis/lru.py`); half of it may be used, elements
have two bytes. Every program has tiles of one edge: three tiles take a quarter of the pool, and the edge is a multiple
of the array's, at most a dimension rounded up to it. The orders are those of the paper's figure: dX row by row, then
dW column by column; the two in turn; one nest dX-major or dW-major. Partitions over time are an outer loop.

Several cores share one pool of all their SPM and the DRAM channel of all; each runs its part of the product, a tile
operation of each core in turn. That is the walk at the bandwidth of one core, as each operation takes only its core,
and its time divided by the number of cores.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Literal

from npuc.compiler.analysis.lru import Split, Walk, walk_pool
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.published import PublishedChoice
from npuc.compiler.study.igo.products import DW, DX, FORWARD, WIDTH, Size, floor_time, fused_nest, nest_of
from npuc.compiler.study.igo.times import ORDERS, PARTS, Cut
from npuc.dialects.npu.nest import Loop, Schedule, Statement

LOOPS = {"Y": "mnk", "dX": "mkn", "dW": "nkm"}
"""The loops that finish a tensor tile by tile, outermost first."""
FusedOrder = Literal["dX", "dW"]
"""The gradient that one nest of both finishes tile by tile."""
PROGRAMS: Mapping[PublishedChoice, Sequence[Statement | FusedOrder]] = {
    "in turn": [DX, DW],
    "dX-major": ["dX"],
    "dW-major": ["dW"],
}


def tile_of(size: Size, machine: Machine) -> dict[str, int]:
    """The steps of the loops."""
    side = machine.array.rows
    edge = max(side, isqrt(machine.spm_bytes // 4 // (3 * WIDTH)) // side * side)
    return {d: min(edge, extent) for d, extent in size.dims}


class LruCosts:
    """Times in cycles of the programs of a layer on a machine of one core or several."""

    cut_orders = ORDERS

    def __init__(self, machine: Machine):
        self.cores = machine.cores
        # What walks see: all SPM together, and a core's bandwidth, since an operation takes a core's time.
        self.core = machine.core(machine.cores)
        self.pool = replace(self.core, spm_bytes=self.core.spm_bytes * self.cores)

    def forward(self, size: Size) -> Fraction:
        """The forward product; on several cores each has its rows of X."""
        return self._time(size, "m", [[FORWARD]])

    def weights(self, size: Size) -> Fraction:
        """dW of a layer that has no dX."""
        return self._time(size, "m", [[DW]])

    def sequential(self, size: Size) -> Fraction:
        """dX, then dW; on several cores each has its rows of X, dX and dY."""
        return self._time(size, "m", [[DX], [DW]])

    def together(self, size: Size, order: PublishedChoice, cut: Cut | None = None) -> Fraction:
        """Both gradients together; a cut is over time on one core, else it is what each core has."""
        split = Split(cut.dim, cut.parts) if cut is not None and self.cores == 1 else None
        return self._time(size, "m" if cut is None else cut.dim, [PROGRAMS[order]], split)

    def floor(self, size: Size) -> Fraction:
        """The array's work, or every tensor once over the channel."""
        return floor_time(size, replace(self.core, cores=self.cores))

    def cuts(self, size: Size) -> Iterator[Cut]:
        """One part a core, or over time no more parts than there are tiles."""
        steps = tile_of(size, self.core)
        for dim, extent in size.dims:
            tiles = -(-extent // steps[dim])
            yield from (Cut(dim, parts) for parts in PARTS if self.cores == 1 and parts <= tiles)
            if self.cores > 1:
                yield Cut(dim, self.cores)

    def _time(
        self, size: Size, dim: str, stages: Sequence[Sequence[Statement | FusedOrder]], split: Split | None = None
    ) -> Fraction:
        """
        The time of stages one after another, of each the nests of all cores in turn.

        It is no less than what the busiest core computes.
        """
        parts = size.cut(dim, self.cores)
        walks = tuple(
            self._walk(part, nest, dim, core, split)
            for stage in stages
            for nest in stage
            for core, part in enumerate(parts)
        )
        pooled = walk_pool(walks, self.pool, by=len(stages[0]) * len(parts))
        busiest = max(sum(walked.compute for walked in pooled.walks[core :: len(parts)]) for core in range(len(parts)))
        return max(pooled.time / self.cores, Fraction(busiest))

    def _walk(self, size: Size, nest: Statement | FusedOrder, dim: str, core: int, split: Split | None) -> Walk:
        steps = tile_of(size, self.core)
        whole, order = (
            (nest_of(size, nest), LOOPS[nest.out]) if isinstance(nest, Statement) else (fused_nest(size), LOOPS[nest])
        )
        # What the cut dimension indexes is a core's own; the rest is one tensor for all cores.
        values = tuple((name, core if dim in tensor.dims else 0) for name, tensor in whole.tensors.items())
        schedule = Schedule(tuple(Loop(d, steps[d]) for d in order))
        return Walk(whole, schedule, (WIDTH,) * len(whole.tensors), values, split)

"""
The presets `lru` and `paper`: the published method on a machine whose SPM is one pool of tiles.

The pool evicts the least recently used tile (`analysis/lru/`). Every program has square tiles, whose side is a multiple
of the array's, at most a dimension. The sequential program computes dX, then dW, each completed tile by tile; the
interleaved ones compute both round-robin, or in one nest, dX-major or dW-major, which completes that gradient tile by
tile. Partitions over time are an outer loop.

The paper leaves open the tile size, the order of a gradient's tiles, the share of the SPM that is the pool, and whether
dW finds tiles that dX left there. `Assumptions` fixes them: as the prototype does, whose digits the preset `lru`
reproduces, or so that the paper's averages come out best, the preset `paper`.

Several cores share one pool of all their SPM and the DRAM channel of all; each runs its part of the product, a tile
operation of each core in turn. That is the walk at the bandwidth of one core, as each operation takes only its core,
and its time divided by the number of cores.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import isqrt
from typing import Literal

from npuc.compiler.analysis.lru import Split, Walk, walk_pool
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.traffic import bits_by_tensor
from npuc.compiler.analysis.programs.published_order import PublishedChoice
from npuc.dialects.npu.nest import Loop, Schedule, Statement
from npuc.studies.igo.cost import Cost, cost_of
from npuc.studies.igo.products import DW, DX, FORWARD, WIDTH, Size, floor_time, fused_nest, nest_of, widths_of
from npuc.studies.igo.times import ORDERS, PARTS, LayerPartition

BY_ROWS = {"Y": "mnk", "dX": "mkn", "dW": "nkm"}
"""The loops that finish a tensor tile by tile, outermost first: dX and Y row by row, dW column by column."""
BY_INPUTS = {"Y": "mnk", "dX": "kmn", "dW": "knm"}
"""The same with k, which the gradients' tiles have in common beside dY, outermost: dX by columns, dW by rows."""
FusedOrder = Literal["dX", "dW"]
"""The gradient that one nest of both finishes tile by tile."""
PROGRAMS: Mapping[PublishedChoice, Sequence[Statement | FusedOrder]] = {
    "in turn": [DX, DW],
    "dX-major": ["dX"],
    "dW-major": ["dW"],
}


@dataclass(frozen=True)
class Assumptions:
    """
    Choices that the paper leaves open.

    `sides` is the edge of a tile in sides of the array; None: three tiles take a quarter of the pool. `loops` are those
    that finish a tensor, `pool` the share of the SPM that is the pool. With `fresh` dW begins with an empty pool, with
    `edge` folds wait for the array's edge as the machine says; the prototype knows no edge.
    """

    sides: int | None = None
    loops: tuple[tuple[str, str], ...] = tuple(BY_ROWS.items())
    pool: Fraction = Fraction(1, 2)
    fresh: bool = False
    edge: bool = False
    width: int = WIDTH


PROTOTYPE = Assumptions()
PAPER = Assumptions(2, tuple(BY_INPUTS.items()), Fraction(1), fresh=True, edge=True)


class LruCosts:
    """Costs of the programs of a layer on a machine of one core or several."""

    cut_orders = ORDERS

    def __init__(self, machine: Machine, assumptions: Assumptions = PROTOTYPE):
        # Partial sums of the prototype have the width of its elements, two bytes, wherever they are.
        machine = replace(machine, accumulator_bits=16)
        self.cores, self.width, self.fresh = machine.cores, assumptions.width, assumptions.fresh
        self.loops = dict(assumptions.loops)
        # The machine of the walks: all SPM together, and a core's bandwidth, since an operation takes a core's time.
        self.core = machine.core(machine.cores)
        if not assumptions.edge:
            self.core = replace(self.core, array=replace(self.core.array, edge_elements=None))
        # A machine's spm_bytes are half of the SPM, as it is double buffered.
        own = int(2 * self.core.spm_bytes * assumptions.pool)
        self.pool = replace(self.core, spm_bytes=own * self.cores)
        side = machine.array.rows
        self.edge = side * (assumptions.sides or max(1, isqrt(own // 4 // (3 * self.width)) // side))

    def tile(self, size: Size) -> dict[str, int]:
        """The steps of the loops."""
        return {d: min(self.edge, extent) for d, extent in size.dims}

    def forward(self, size: Size) -> Cost:
        """The forward product; on several cores each has its rows of X."""
        return self._cost(size, "m", [[FORWARD]])

    def weights(self, size: Size) -> Cost:
        """dW of a layer that has no dX."""
        return self._cost(size, "m", [[DW]])

    def sequential(self, size: Size) -> Cost:
        """dX, then dW; on several cores each has its rows of X, dX and dY."""
        return self._cost(size, "m", [[DX], [DW]])

    def together(self, size: Size, order: PublishedChoice, cut: LayerPartition | None = None) -> Cost:
        """Both gradients together; a partition is over time on one core, over cores otherwise."""
        split = Split(cut.dim, cut.parts) if cut is not None and self.cores == 1 else None
        return self._cost(size, "m" if cut is None else cut.dim, [PROGRAMS[order]], split)

    def floor(self, size: Size) -> Fraction:
        """The array's work, or every tensor once over the channel."""
        return floor_time(size, replace(self.core, cores=self.cores), self.width)

    def cuts(self, size: Size) -> Iterator[LayerPartition]:
        """One part a core, or over time no more parts than there are tiles."""
        steps = self.tile(size)
        for dim, extent in size.dims:
            tiles = -(-extent // steps[dim])
            yield from (LayerPartition(dim, parts) for parts in PARTS if self.cores == 1 and parts <= tiles)
            if self.cores > 1:
                yield LayerPartition(dim, self.cores)

    def _cost(
        self, size: Size, dim: str, stages: Sequence[Sequence[Statement | FusedOrder]], split: Split | None = None
    ) -> Cost:
        """
        The cost of stages one after another, of each the nests of all cores in turn.

        The time is no less than what the busiest core computes.
        """
        parts = size.cut(dim, self.cores)
        walks = [
            tuple(self._walk(part, nest, dim, core, split) for nest in stage for core, part in enumerate(parts))
            for stage in stages
        ]
        runs = walks if self.fresh else [tuple(chain.from_iterable(walks))]
        pooled = [walk_pool(run, self.pool, by=len(stages[0]) * len(parts)) for run in runs]
        found = [walked for run in pooled for walked in run.walks]
        busiest = max(sum(walked.compute for walked in found[core :: len(parts)]) for core in range(len(parts)))
        time = max(sum((run.time for run in pooled), Fraction(0)) / self.cores, Fraction(busiest))
        pairs = zip(chain.from_iterable(walks), found, strict=True)
        return cost_of(time, (bits_by_tensor(walk.nest, dict(one.tensors), walk.widths) for walk, one in pairs))

    def _walk(self, size: Size, nest: Statement | FusedOrder, dim: str, core: int, split: Split | None) -> Walk:
        steps = self.tile(size)
        alone = isinstance(nest, Statement)
        whole, order = (nest_of(size, nest), nest.out) if alone else (fused_nest(size), nest)
        # A tensor that the partitioned dimension indexes is split over the cores; the others are shared by all.
        values = tuple((name, core if dim in tensor.dims else 0) for name, tensor in whole.tensors.items())
        schedule = Schedule(tuple(Loop(d, steps[d]) for d in self.loops[order]))
        return Walk(whole, schedule, widths_of(whole, self.core, self.width), values, split)

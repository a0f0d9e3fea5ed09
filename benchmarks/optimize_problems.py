"""
Five design spaces of real networks whose points cost nothing to price, for comparing searches of Pareto fronts.

Time, energy and area of a point are the bounds of `npuc optimize`: those of every row of the step on the point's
arrays and memories, and the area of its chip. They have the shape of what a compilation says (steps where an array is a
little too small, prices of area), and a search may ask for thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npuc.compiler.explore.optimize.floors import PointFloors
from npuc.compiler.explore.optimize.goals import read_goals
from npuc.compiler.explore.optimize.machine_facts import GridMachines
from npuc.compiler.explore.pareto.front import Floats, Ints, pareto
from npuc.compiler.explore.pareto.hypervolume import hypervolume
from npuc.compiler.explore.pareto.space import GridSpace
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import open_source

GOALS = ("time", "energy", "area")
SAMPLE = 20_000
"""Random points from which the ranges of goals are taken."""


@dataclass(frozen=True)
class DesignProblem:
    """A network with varied keys of a machine."""

    network: str
    hardware: str
    vary: tuple[tuple[str, str], ...]

    @cached_property
    def _floors(self) -> PointFloors:
        options = {"hardware": self.hardware, "overrides": {"technology.node_nm": 28}}
        if any(key == "technology.node_nm" for key, _ in self.vary):
            options = {"hardware": self.hardware}
        source = open_source(f"samples:{self.network}")
        sweep = Sweep(source, dict(self.vary), "cycle", options, most=10**12)  # pyright: ignore[reportArgumentType]
        return PointFloors(sweep.scorer, read_goals(GOALS, by_mac=False), (), GridMachines(sweep.scorer))

    @property
    def space(self) -> GridSpace:
        """The points."""
        return self._floors.space

    def goals(self, numbers: Ints) -> Floats:
        """Time, energy and area of points, as logarithms: a front is as good in each part of the space."""
        return self._table[numbers]

    @cached_property
    def _table(self) -> Floats:
        return np.log10(self._floors.of(np.arange(self.space.count)))

    @cached_property
    def _ranges(self) -> tuple[Floats, Floats]:
        random = np.random.default_rng(0)
        values = self.goals(random.integers(0, self.space.count, SAMPLE))
        return values.min(axis=0), values.max(axis=0)

    def quality(self, values: Floats) -> float:
        """The hypervolume of points, the range of each goal being 1 and the reference the worst of all goals."""
        low, high = self._ranges
        scaled = (values - low) / (high - low)
        reference: Floats = np.ones(len(GOALS))
        return hypervolume(scaled[pareto(scaled)], reference)


SIDES = (("array.rows", "4:256:4"), ("array.cols", "4:256:4"))
PROBLEMS = (
    DesignProblem("mlp", "igo-small", (*SIDES, ("array.cores", "1:8:1"), ("memory.spm_kib", "64:2048:64"))),
    DesignProblem("lenet", "igo-small", (*SIDES, ("memory.spm_kib", "64:4096:64"), ("array.dataflow", "os,ws,is"))),
    DesignProblem("resnet18", "igo-large", (*SIDES, ("array.cores", "1:16:1"), ("memory.spm_kib", "256:8192:256"))),
    DesignProblem("vgg_a", "tpu-v1", (*SIDES, ("clock_mhz", "300:1500:100"), ("technology.node_nm", "7,16,28,45"))),
    DesignProblem("mobilenet_v2", "igo-small", (*SIDES, ("vector.lanes", "16:256:16"), ("array.cores", "1,2,4,8"))),
)

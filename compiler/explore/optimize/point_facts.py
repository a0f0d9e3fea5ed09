"""Facts of the machines of a sweep's points that bounds of their costs depend on, by name and for many points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npuc.compiler.explore.optimize.machine_facts import GridMachines, MachineFact, codes_of
from npuc.compiler.explore.optimize.row_floors import MachineTables, Table
from npuc.compiler.explore.pareto.front import Flags, Floats, Ints
from npuc.compiler.explore.pareto.openness import ENUMERATED
from npuc.compiler.explore.sweep.points import Points
from npuc.hardware import Hardware

MOST_VALUES = 100_000
"""A fact of more machines is not asked for of all points."""
BOUNDED = ("cycle", "roofline", "maestro")
"""The backends of which bounds are known."""
KEYS_OF = {
    "rows": "array.rows",
    "cols": "array.cols",
    "cores": "array.cores",
    "edge": "array.edge_elements",
    "spm_kib": "memory.spm_kib",
    "vector_lanes": "vector.lanes",
    "clock": "clock_mhz",
    "tflops": "compute.tflops",
    "per_mac": "compute.ops_per_mac",
    "num_pes": "maestro.num_pes",
    "lanes": "maestro.num_simd_lanes",
    "mac_pj": "energy.mac_pj",
    "spm_pj": "energy.spm_pj_per_byte",
    "dram_pj": "energy.dram_pj_per_byte",
    "vector_pj": "energy.vector_pj",
    "gb_per_s": "dram.gb_per_s",
}
"""The keys that facts are, written, by default or derived."""


class PointFacts:
    """The facts of points, each evaluated once for each combination of the values that it depends on."""

    def __init__(self, points: Points, machines: GridMachines):
        self._points, self.space = points, machines.space
        self._facts = {name: MachineFact(machines, _key(key)) for name, key in KEYS_OF.items()}

    def of(self, name: str, numbers: Ints) -> Floats:
        """A fact of each of some points; NaN where the machine does not say it."""
        return self._facts[name].of(numbers)

    def table(self, name: str, numbers: Ints) -> Table:
        """The same as values, and the number of each point's value."""
        return self._facts[name].table(numbers)

    def axes(self, name: str) -> tuple[int, ...]:
        """The axes on which a fact depends, as far as is known."""
        return self._facts[name].axes

    def are_small(self, numbers: Ints) -> bool:
        """Whether facts depend on few values, so that they may be asked for of all points."""
        return all(self.is_small(fact, numbers) for fact in self._facts.values())

    def is_small(self, fact: MachineFact, numbers: Ints) -> bool:
        """The same of one fact."""
        fact.of(numbers[:1])
        return self.fits(fact.size)

    def fits(self, size: int) -> bool:
        """Whether a fact of so many combinations may be asked for of all points; of more points of some alone."""
        return size <= MOST_VALUES or self.space.count > ENUMERATED

    def backends(self, numbers: Ints) -> Ints:
        """The numbers of the points' backends among those with bounds, -1 for others."""
        axes = self._points.grid.axes
        chosen = [number for number, axis in enumerate(axes) if axis.target == "backend"]
        names = [str(value) for value in axes[chosen[0]].values] if chosen else [self._points.backend]
        known = np.array([BOUNDED.index(name) if name in BOUNDED else -1 for name in names], np.int64)
        return known[codes_of(self.space, chosen, numbers)]

    def are_of_cycle(self, numbers: Ints) -> Flags:
        """Whether the backend of points is `cycle`."""
        return self.backends(numbers) == BOUNDED.index("cycle")

    def peak(self, numbers: Ints) -> Floats:
        """Multiply-accumulates a second of machines, by their backends; infinite where nothing is known."""
        clock = self.of("clock", numbers) * 1e6
        cycle = self.of("rows", numbers) * self.of("cols", numbers) * self.of("cores", numbers) * clock
        roofline = self.of("tflops", numbers) * 1e12 / self.of("per_mac", numbers)
        maestro = self.of("num_pes", numbers) * np.fmax(self.of("lanes", numbers), 1.0) * clock
        backends = self.backends(numbers)
        found = np.select([backends == one for one in range(len(BOUNDED))], [cycle, roofline, maestro], np.inf)
        return np.where(np.isnan(found), np.inf, found)

    def say_rows(self, numbers: Ints) -> bool:
        """Whether machines say all that the rows of a step depend on."""
        names = ("spm_kib", "cores", "rows", "cols", "vector_lanes", "gb_per_s", "clock")
        return not any(np.isnan(self.of(name, numbers)).any() for name in names)

    def tables(self, numbers: Ints) -> MachineTables:
        """What the rows of a step depend on."""
        cores = self.table("cores", numbers)
        return MachineTables(
            self.table("spm_kib", numbers),
            cores,
            self.table("rows", numbers),
            self.table("cols", numbers),
            self.table("edge", numbers),
            self.of("vector_lanes", numbers),
            self.of("gb_per_s", numbers) * 1000.0 / self.of("clock", numbers) * cores[0][cores[1]],
        )


def _key(path: str) -> Callable[[Hardware], float | None]:
    """What reads a key, written, by default or derived."""

    def read(machine: Hardware) -> float | None:
        value = machine.known(path)
        return None if not isinstance(value, int | float) else float(value)

    return read

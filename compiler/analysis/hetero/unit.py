"""
Units of a machine, and the time and energy of a product on one of them.

    cost = unit_cost(unit, product)
    cost.seconds(machine)          # the longer of computing and moving

Energies are of elements, of the unit's buffer, and of DRAM. What a step reads and writes of the buffer is our choice: a
dense unit is a square array in which an operand serves a whole row or column; the others read a value with its
coordinate a step, units that merge write the product and read it again, and inner reads two coordinates a step and two
values a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt

from npuc.compiler.analysis.hetero.classes import CLASSES, FormatPair, UnitKind, pairs_text
from npuc.compiler.analysis.hetero.product import INDEX_BYTES, SparseProduct
from npuc.compiler.analysis.hetero.traffic import SUM_BYTES, UnitTraffic, unit_traffic
from npuc.compiler.analysis.hetero.work import UnitWork, unit_work
from npuc.compiler.core.errors import UsageError


@dataclass(frozen=True)
class SparseUnit:
    """
    A unit with `pes` elements, a step a cycle each; energies in pJ, `idle_w` in W while anything of the machine runs.

    `only` is the pair of formats that it takes, None for all of its kind. Raises `UsageError` without a buffer.
    """

    name: str
    kind: UnitKind
    pes: int
    buffer_bytes: int
    mac_pj: float
    buffer_pj_per_byte: float
    idle_w: float = 0.0
    only: FormatPair | None = None

    def __post_init__(self) -> None:
        if self.buffer_bytes < SUM_BYTES:
            raise UsageError(
                f"unit '{self.name}' has no buffer, so that not a single sum can stay in it",
                hint=f"a buffer of at least {SUM_BYTES} bytes",
            )

    @property
    def takes(self) -> tuple[FormatPair, ...]:
        """The pairs of formats of A and B."""
        return CLASSES[self.kind].takes if self.only is None else (self.only,)


@dataclass(frozen=True)
class UnitMachine:
    """
    Units of one clock that share a DRAM: `bytes_per_second` is that of all of them together.

    `priced`: energies are known; where they are not, they are 0 and say nothing.
    """

    name: str
    units: tuple[SparseUnit, ...]
    hertz: float
    bytes_per_second: float
    dram_pj_per_byte: float
    priced: bool = True

    @property
    def idle_w(self) -> float:
        """Power of all units, whatever they do."""
        return sum(unit.idle_w for unit in self.units)


@dataclass(frozen=True)
class UnitCost:
    """A product on a unit: cycles of its elements, bytes of DRAM and of the buffer, energy without idle power in pJ."""

    work: UnitWork
    traffic: UnitTraffic
    formats: FormatPair
    cycles: float
    dram_bytes: float
    buffer_bytes: float
    unit_pj: float

    def seconds(self, machine: UnitMachine) -> float:
        """The time where the unit has the DRAM for itself."""
        return max(self.cycles / machine.hertz, self.dram_bytes / machine.bytes_per_second)

    def joules(self, machine: UnitMachine) -> float:
        """Energy without idle power."""
        return 1e-12 * (self.unit_pj + self.dram_bytes * machine.dram_pj_per_byte)


def formats_on(unit: SparseUnit, product: SparseProduct) -> tuple[FormatPair, ...]:
    """The pairs of formats of a unit in which a product's operands are there; none where it does not take them."""
    return tuple((a, b) for a, b in unit.takes if product.a_format in (None, a) and product.b_format in (None, b))


def takers(units: Sequence[SparseUnit], product: SparseProduct) -> tuple[SparseUnit, ...]:
    """The units that take a product in its formats. Raises `UsageError` where none does, with what each takes."""
    found = tuple(unit for unit in units if formats_on(unit, product))
    if found or not units:
        return found
    formats = " x ".join(one or "any" for one in (product.a_format, product.b_format))
    raise UsageError(
        f"{product.name}: no unit takes operands in {formats}",
        hint="; ".join(f"'{unit.name}' takes {taken_text(unit)}" for unit in units),
    )


def taken_text(unit: SparseUnit) -> str:
    """The pairs of formats that a unit takes."""
    return pairs_text(unit.kind) if unit.only is None else " x ".join(unit.only)


@lru_cache(maxsize=1 << 16)
def unit_cost(unit: SparseUnit, product: SparseProduct) -> UnitCost:
    """
    A product on a unit, of its formats in those of the fewest cycles.

    Raises `UsageError` for one that it does not take.
    """
    takers((unit,), product)
    costs = (_cost(unit, product, pair) for pair in formats_on(unit, product))
    return min(costs, key=lambda cost: (cost.cycles, cost.dram_bytes))


def _cost(unit: SparseUnit, product: SparseProduct, formats: FormatPair) -> UnitCost:
    one = product if product.batch == 1 else replace(product, batch=1)
    work = unit_work(unit.kind, one, formats, unit.pes).times(product.batch)
    traffic = unit_traffic(unit.kind, one, formats, unit.buffer_bytes).times(product.batch)
    buffer_bytes = _buffer_bytes(unit, product, work) + traffic.total
    operations = float(work.multiplications) + work.merges
    return UnitCost(
        work=work,
        traffic=traffic,
        formats=formats,
        cycles=work.longest,
        dram_bytes=traffic.total,
        buffer_bytes=buffer_bytes,
        unit_pj=operations * unit.mac_pj + buffer_bytes * unit.buffer_pj_per_byte,
    )


def _buffer_bytes(unit: SparseUnit, product: SparseProduct, work: UnitWork) -> float:
    """What the steps read and write of the buffer."""
    value, multiplications = float(product.value_bytes), float(work.multiplications)
    match unit.kind:
        case "dense":
            return 2 * value * work.steps / max(1, isqrt(unit.pes))
        case "dense-sparse":
            return (value + INDEX_BYTES) * work.steps
        case "inner":
            return 2 * INDEX_BYTES * work.steps + 2 * value * multiplications
        case "outer" | "row-wise":
            return 3 * (value + INDEX_BYTES) * multiplications

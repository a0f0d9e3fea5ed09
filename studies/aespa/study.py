"""
Each product on a machine of several kinds of units, split over them, and on one EIE-like unit of the same elements.

The one unit has all elements and all buffer of the machine, its clock and its DRAM, and energies that are the means of
its units by elements and by buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import exp, fsum, log

from npuc.compiler.analysis.hetero.queue import queue_plan
from npuc.compiler.analysis.hetero.tiles import TileSplit, best_split, single_splits
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, unit_cost
from npuc.hardware import load_hardware
from npuc.hardware.units import area_of_units, machine_of_units, refuse_without_units
from npuc.studies.aespa.kernels import Kernel, kernels_of
from npuc.studies.aespa.settings import GROUPS, HARDWARE, PUBLISHED, TOLERANCE
from npuc.studies.base import Advance


@dataclass(frozen=True)
class KernelRow:
    """
    A product: sizes and densities, times in us and energies in uJ on the one unit, on the best unit of the machine
    alone, and split over its units along `axis` (None: one has it all), where each has `shares` of that axis.

    `work_deviation` is the standard deviation, over masks of these densities, of what the one unit multiplies, as a
    share of it. `speedup` and `edp_gain` are those of the split over the one unit.
    """

    kernel: str
    group: str
    m: int
    k: int
    n: int
    a: float
    b: float
    homogeneous_us: float
    homogeneous_uj: float
    work_deviation: float
    best_unit: str
    best_unit_us: float
    heterogeneous_us: float
    heterogeneous_uj: float
    axis: str | None
    shares: tuple[tuple[str, int], ...]
    dram_bound: bool
    speedup: float
    edp_gain: float
    source: str


@dataclass(frozen=True)
class MeanRow:
    """
    A geometric mean of a group, or what all products as one queue take; None where nothing is published of it.

    `least` and `most` are the mean where any one product is left out.
    """

    claim: str
    setting: str
    published: float | None
    ours: float
    least: float
    most: float
    reproduced: bool | None


@dataclass(frozen=True)
class AespaResults:
    """The products, their means, and the machine."""

    preset: str
    machine: UnitMachine
    area_mm2: float | None
    rows: tuple[KernelRow, ...]
    means: tuple[MeanRow, ...]


def machine_named(hardware: str | None) -> tuple[UnitMachine, float | None]:
    """
    A machine and the area of its units, where they say it.

    Raises `UsageError` for a machine without units, and for keys that are missing.
    """
    described = load_hardware(hardware or HARDWARE)
    refuse_without_units(described)
    return machine_of_units(described), area_of_units(described)


def homogeneous(machine: UnitMachine) -> UnitMachine:
    """One EIE-like unit with the elements, the buffer, the clock and the DRAM of a machine."""
    units = machine.units
    pes, held = sum(one.pes for one in units), sum(one.buffer_bytes for one in units)
    unit = SparseUnit(
        "eie",
        "dense-sparse",
        pes,
        held,
        mac_pj=fsum(one.mac_pj * one.pes for one in units) / pes,
        buffer_pj_per_byte=fsum(one.buffer_pj_per_byte * one.buffer_bytes for one in units) / held,
        idle_w=machine.idle_w,
    )
    return UnitMachine("eie-like", (unit,), machine.hertz, machine.bytes_per_second, machine.dram_pj_per_byte)


def run_study(preset: str, machine: UnitMachine, area_mm2: float | None, done: Advance) -> AespaResults:
    """All products of a preset. Raises `UsageError` where no unit takes one."""
    kernels, one_kind = kernels_of(preset), homogeneous(machine)
    rows: list[KernelRow] = []
    for kernel in kernels:
        rows.append(kernel_row(kernel, machine, one_kind))
        done(kernel.product.name, 1)
    return AespaResults(preset, machine, area_mm2, tuple(rows), tuple(_means(rows, kernels, machine, one_kind)))


def kernel_row(kernel: Kernel, machine: UnitMachine, one_kind: UnitMachine) -> KernelRow:
    """A product on both machines."""
    product = kernel.product
    (before,) = single_splits(one_kind, product)
    alone = min(single_splits(machine, product), key=lambda split: split.seconds)
    split = best_split(machine, product)
    return KernelRow(
        kernel=product.name,
        group=kernel.group,
        m=product.m,
        k=product.k,
        n=product.n,
        a=float(product.a),
        b=float(product.b),
        homogeneous_us=1e6 * before.seconds,
        homogeneous_uj=1e6 * before.joules,
        work_deviation=_deviation(one_kind, before),
        best_unit=alone.shares[0].unit.name,
        best_unit_us=1e6 * alone.seconds,
        heterogeneous_us=1e6 * split.seconds,
        heterogeneous_uj=1e6 * split.joules,
        axis=split.axis,
        shares=tuple((share.unit.name, share.size) for share in split.shares),
        dram_bound=split.dram_bytes / machine.bytes_per_second >= split.seconds,
        speedup=before.seconds / split.seconds,
        edp_gain=before.edp / split.edp,
        source=kernel.source,
    )


def _deviation(machine: UnitMachine, split: TileSplit) -> float:
    work = unit_cost(machine.units[0], split.product).work
    return work.deviation / work.steps


def _means(
    rows: Sequence[KernelRow], kernels: Sequence[Kernel], machine: UnitMachine, one_kind: UnitMachine
) -> Iterator[MeanRow]:
    groups = [group for group in GROUPS if any(row.group == group for row in rows)]
    for setting in ["all", *groups] if len(groups) > 1 else groups:
        own = [row for row in rows if setting in ("all", row.group)]
        gains = {"speed": [row.speedup for row in own], "energy-delay product": [row.edp_gain for row in own]}
        for claim, ratios in gains.items():
            without = [_mean([*ratios[:one], *ratios[one + 1 :]]) for one in range(len(ratios))]
            mean, least, most = _mean(ratios), min(without), max(without)
            known = PUBLISHED[claim] if setting == "all" else None
            met = None if known is None else all(abs(one / known - 1) <= TOLERANCE for one in (mean, least, most))
            yield MeanRow(claim, f"geometric mean of {len(own)} products, {setting}", known, mean, least, most, met)
    products = [kernel.product for kernel in kernels]
    ratio = queue_plan(one_kind, products).seconds / queue_plan(machine, products).seconds
    yield MeanRow("speed", "all of them as one queue", None, ratio, ratio, ratio, None)


def _mean(ratios: Sequence[float]) -> float:
    return exp(fsum(map(log, ratios)) / len(ratios))


def as_dicts(results: AespaResults) -> dict[str, list[dict[str, object]]]:
    """The tables as plain data."""
    units = [asdict(one) for one in results.machine.units]
    return {
        "rows": [asdict(one) for one in results.rows],
        "means": [asdict(one) for one in results.means],
        "units": units,
    }

"""Budgets of a machine: its area by the formulas of its description, and the power of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.machine.published_area import AREA_MODELS, Sizes
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import UsageError
from npuc.hardware import Hardware
from npuc.hardware.area import MODEL, chip_area
from npuc.hardware.level_keys import NODE
from npuc.hardware.technology import sram_area

RETICLE_MM2 = 858.0
"""The largest chip that a mask exposes at once, 26 mm x 33 mm: the limit where no area is given."""


@dataclass(frozen=True)
class AreaModel:
    """
    The area of a machine, mm2, by its processing elements and the bytes of each one's buffer and of the shared one.

    `base` is all but the shared buffer, which comes in banks of `bank` bytes (1: any size) of `bank_mm2` each. `beside`
    says in words what a machine has beside elements and buffers.
    """

    name: str
    base: Callable[[Floats, Floats], Floats]
    bank: float
    bank_mm2: float
    beside: str = ""

    def of(self, elements: Floats, l1: Floats, l2: Floats) -> Floats:
        """mm2."""
        return self.base(elements, l1) + np.ceil(l2 / self.bank) * self.bank_mm2


@dataclass(frozen=True)
class Budget:
    """What a machine may take: mm2 by an area model, and W on average over a step, None: any."""

    model: AreaModel
    limit_mm2: float
    power_w: float | None = None

    @property
    def content(self) -> tuple[object, ...]:
        """What distinguishes it from others: the limits, and areas of some machines."""
        samples = [self.area_mm2(*sizes) for sizes in ((1, 1, 1), (1, 1, 1 << 20), (1000, 64, 1), (1000, 1 << 12, 1))]
        return self.model.name, self.model.bank, self.model.bank_mm2, samples, self.limit_mm2, self.power_w

    def area_mm2(self, elements: float, l1: float, l2: float) -> float:
        """The area of a machine with so many elements, bytes of each one's buffer, and of the shared one."""
        return float(self.model.of(np.array([elements]), np.array([l1]), np.array([l2]))[0])

    def largest_l2(self, elements: float, l1: Floats) -> Floats:
        """The largest shared buffer that the area leaves, bytes, for each size of the elements' buffers."""
        left = self.limit_mm2 - self.model.base(np.full(len(l1), elements), l1)
        banks = np.floor(np.maximum(left, 0.0) / self.model.bank_mm2 * (1 + 1e-12))
        # a bank less where rounding puts their sum above the limit
        banks = np.where(banks * self.model.bank_mm2 > left, banks - 1, banks)
        return np.maximum(banks, 0.0) * self.model.bank

    def most_elements(self, l1: float) -> int:
        """The largest number of elements with such buffers that the area leaves; 0 where there is none."""
        low, high = 0, 1
        while self.area_mm2(high, l1, 1.0) <= self.limit_mm2:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.area_mm2(middle, l1, 1.0) <= self.limit_mm2 else (low, middle)
        return low


def area_model(machine: Hardware, width: float) -> AreaModel:
    """
    The area of machines like one with other elements and buffers, by `technology.model`; `width` are the bytes of an
    element, in which published formulas count.

    Raises `UsageError` where the machine does not say what they need.
    """
    name = machine.get(MODEL, str) or "npuc"
    if name == "npuc":
        return _by_node(machine)
    of = AREA_MODELS[name]
    bandwidth, lanes = machine.get("maestro.noc_bw", int) or 1, machine.get("maestro.num_simd_lanes", int) or 1

    def base(elements: Floats, l1: Floats) -> Floats:
        sizes = zip(np.broadcast_to(elements, l1.shape).tolist(), np.ceil(l1 / width).tolist(), strict=True)
        return np.array([of(Sizes(int(count), size, 0, bandwidth, lanes)).total for count, size in sizes]) / 1e6

    bank = 32768 if name == "gamma" else 1
    bank_mm2 = (of(Sizes(1, 0, bank, 1)).total - of(Sizes(1, 0, 0, 1)).total) / 1e6
    return AreaModel(name, base, bank * width, bank_mm2)


def _by_node(machine: Hardware) -> AreaModel:
    """MACs and SRAM cells of the technology node, with what else of the machine has an area of its own."""
    node = machine.get(NODE, float)
    parts = chip_area(machine).parts
    array, count = parts.get("array"), machine.known("maestro.num_pes", int)
    if node is None or array is None or not count:
        raise UsageError(
            "the area of a machine follows from a technology node, which it does not say",
            hint="--set technology.node_nm=28, or --set technology.model=gamma for published areas",
        )
    each, kib = array / count, sram_area(1.0, node)
    rest = (parts.get("vector") or 0.0) + (parts.get("dram") or 0.0)
    beside = f", beside {rest:.3g} mm2 of what else the given machine has" if rest else ""
    return AreaModel("npuc", lambda elements, l1: rest + elements * (each + kib * l1 / 1024), 1.0, kib / 1024, beside)

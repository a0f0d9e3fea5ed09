"""Budgets of a machine: its area by one of several models, and the power of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats

RETICLE_MM2 = 858.0
"""The largest chip that a mask exposes at once, 26 mm x 33 mm: the limit where no area is given."""


@dataclass(frozen=True)
class AreaModel:
    """
    The area of a machine: mm2 of processing elements with buffers of `l1` bytes each, and of a shared buffer.

    `base(elements, l1)` is that without a shared buffer; the latter comes in banks of `bank` bytes (1: any size) of
    `bank_mm2` each.
    """

    name: str
    base: Callable[[Floats, Floats], Floats]
    bank: float
    bank_mm2: float

    def of(self, elements: Floats, l1: Floats, l2: Floats) -> Floats:
        """mm2."""
        return self.base(elements, l1) + np.ceil(l2 / self.bank) * self.bank_mm2


@dataclass(frozen=True)
class Budget:
    """
    What a machine may take: `area_mm2` of a model, and `power_w` on average over a step, None: any.

    `l1_width` is the bytes of an element in a processing element's buffer.
    """

    model: AreaModel
    limit_mm2: float
    l1_width: float
    power_w: float | None = None

    def area_mm2(self, elements: float, l1: float, l2: float) -> float:
        """The area of a machine with so many elements, elements of each one's buffer, and bytes of the shared one."""
        return float(self.model.of(np.array([elements]), np.array([self.l1_width * l1]), np.array([l2]))[0])

    def largest_l2(self, elements: float, l1: Floats) -> Floats:
        """The largest shared buffer that the area leaves, bytes, for each size of the elements' buffers."""
        left = self.limit_mm2 - self.model.base(np.full(len(l1), elements), self.l1_width * l1)
        # as many banks as fit; a bank less where rounding puts their sum above the limit
        banks = np.floor(np.maximum(left, 0.0) / self.model.bank_mm2 * (1 + 1e-12))
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

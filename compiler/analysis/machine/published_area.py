"""
Areas of machines of processing elements by the formulas of published tools, um2, for numbers and arrays of them.

MAESTRO (Kwon et al., MICRO 2019): elements with vector lanes, buffers by their size, a bus and an arbiter that grows
with the square of the elements. GAMMA and DiGamma (Kao et al., ICCAD 2020 and DATE 2022) have two formulas without a
network: MAESTRO's areas of a MAC and of SRAMs in whole units, and an 8-bit MAC with 0.086 um2 a bit.
Sizes of buffers are in elements, which GAMMA takes for bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npuc.compiler.core.frozen import frozen


@frozen
class PublishedArea:
    """um2 by part; `network` is None where a formula has none."""

    elements: Any
    l1: Any
    l2: Any
    network: Any = None

    @property
    def total(self) -> Any:
        """All parts together."""
        return self.elements + self.l1 + self.l2 + (0.0 if self.network is None else self.network)


@frozen
class Sizes:
    """A machine: its elements, their lanes, elements in each L1 and in the L2, elements a cycle of the network."""

    elements: Any
    l1: Any
    l2: Any
    noc_bw: int = 1
    lanes: int = 1


def maestro_area(machine: Sizes) -> PublishedArea:
    """MAESTRO's."""
    count = machine.elements
    bus = 101.7938 * (14.662 * count + 28.895) * machine.noc_bw
    arbiter = 1.2886 * count**2 + 5.5814 * count - 23.711
    least = 395.473 * arbiter
    return PublishedArea(
        count * 283 * machine.lanes,
        count * 0.104 * machine.l1,
        0.104 * machine.l2,
        bus + (least if least > 395.473 else 395.473),
    )


def gamma_area(machine: Sizes) -> PublishedArea:
    """GAMMA's with MAESTRO's MAC and SRAMs: buffers are whole units of 64 (L1) and 32,768 elements (L2)."""
    count = machine.elements
    return PublishedArea(count * 4470.0, count * 4505.1889 * -(-machine.l1 // 64), 4161.536 * -(-machine.l2 // 32768))


def gamma_int8_area(machine: Sizes) -> PublishedArea:
    """GAMMA's with MACs of 8 bits and buffers by the bit."""
    count = machine.elements
    return PublishedArea(count * 282.0, 8 * 0.086 * count * machine.l1, 8 * 0.086 * machine.l2)


AREA_MODELS: Mapping[str, Callable[[Sizes], PublishedArea]] = {
    "maestro": maestro_area,
    "gamma": gamma_area,
    "gamma-int8": gamma_int8_area,
}
"""The formulas by name."""

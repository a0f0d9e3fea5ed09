"""
Kinds of memory beside the chip or on it: bandwidth, energy, area, price.

    MEMORIES["HBM2e"].pj_per_bit     # 5.5

`gb_per_s` is of one channel, device or stack, in 10^9 bytes a second; `mm2_per_mib` of the memory's own die;
`usd_per_gib` an order of magnitude of a year's contract prices, which move by a factor of two; `idle_w_per_gib` of a
memory that only keeps its contents. docs/hardware.md has the sources as a table.
"""

from __future__ import annotations

from collections.abc import Mapping

from npuc.compiler.core.frozen import frozen


@frozen
class Memory:
    """A kind of memory; `source` says what is published and what an estimate, `on_chip` whether it takes area there."""

    gb_per_s: float
    pj_per_bit: float
    mm2_per_mib: float
    usd_per_gib: float
    idle_w_per_gib: float
    on_chip: bool
    source: str


MEMORIES: Mapping[str, Memory] = {
    "DDR4": Memory(
        25.6,
        20.3,
        0.041,
        3.0,
        0.05,
        False,
        "DDR4-3200, 64 bits (JESD79-4); energy: Jouppi et al., ISCA 2021, 1,300 pJ for 64 bits; area: dies of "
        "0.19 Gb/mm2; price and idle power are estimates",
    ),
    "LPDDR5": Memory(
        25.6,
        4.5,
        0.039,
        4.0,
        0.01,
        False,
        "6,400 Mb/s, 32 bits (JESD209-5); energy: an estimate, 4 to 5 pJ as vendors say of LPDDR4X and 5; the rest are "
        "estimates",
    ),
    "GDDR6": Memory(
        64.0,
        6.5,
        0.050,
        8.0,
        0.10,
        False,
        "16 Gb/s, 32 bits (JESD250); energy: Jouppi et al., ISCA 2021, 350 to 480 pJ for 64 bits, the middle; the "
        "rest are estimates",
    ),
    "HBM2e": Memory(
        460.8,
        5.5,
        0.050,
        12.0,
        0.10,
        False,
        "3.6 Gb/s, 1,024 bits a stack (JESD235D and vendors); energy: Jouppi et al., ISCA 2021, HBM2, 250 to 450 pJ "
        "for 64 bits, the middle; the rest are estimates",
    ),
    "SRAM": Memory(
        1000.0,
        0.6,
        0.453,
        1500.0,
        46.0,
        True,
        "area: cells of 0.027 um2 (TSMC, 7 nm), half of it cells; energy: banks of 8 MiB at 7 nm (the table of SRAM); "
        "the rest are estimates, idle power by that area",
    ),
    "eDRAM": Memory(
        500.0,
        1.0,
        0.44,
        1000.0,
        4.0,
        True,
        "area: cells of 0.026 um2 (IBM, 22 nm, IEDM 2012), half of it cells; the rest are estimates",
    ),
    "MRAM": Memory(
        100.0,
        2.0,
        0.77,
        1000.0,
        0.0,
        True,
        "area: cells of 0.046 um2 (TSMC, 22 nm, IEDM 2019), half of it cells; the rest are estimates: a write costs "
        "several reads, the mean is taken",
    ),
}

"""
Energy and area of parts of a chip by technology node and size: published points, and what lies between them.

    mac_energy("bf16", 7.0)        # 0.59 pJ: 0.21 to multiply, 0.38 to add to a sum of 32 bits
    sram_energy(8192.0, 7.0)       # pJ of a byte from or to a memory of 8 MiB

Points: Horowitz, ISSCC 2014 (45 nm: energies, areas); Jouppi et al., ISCA 2021, table 2 (45 and 7 nm); Keckler et al.,
IEEE Micro 31(5), 2011 (wires at 40 nm). Between nodes energies follow Stillmaker and Baas, Integration 58, 2017, so
that they meet both published points; areas follow their table. docs/hardware.md derives it all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

Number = Literal["int8", "bf16", "f16", "f32"]
"""What a MAC multiplies; it adds in 32 bits."""
LEAST_NODE, MOST_NODE = 3.0, 130.0
"""nm; the nodes that the tables span."""
LEAST_SRAM = 1.0
"""KiB; a smaller memory costs what one of this size does: registers are another matter."""

_ENERGY_FIT: Mapping[float, tuple[float, float, float, float]] = {
    130: (7.171, -6.709, 2.904, 1.3),
    90: (4.762, -4.781, 2.092, 1.2),
    65: (3.755, -4.398, 1.975, 1.1),
    45: (1.018, -0.3107, 0.1539, 1.0),
    32: (0.8367, -0.4341, 0.1701, 0.9),
    20: (0.373, -0.1582, 0.04104, 0.9),
    16: (0.2958, -0.1241, 0.03024, 0.85),
    14: (0.2363, -0.09675, 0.02239, 0.8),
    10: (0.2068, -0.09311, 0.02375, 0.75),
    7: (0.1776, -0.09097, 0.02447, 0.7),
}
"""Node: a, b, c of the energy a V^2 + b V + c (Stillmaker and Baas, high performance), and PTM's nominal supply V."""
_BEYOND: Mapping[float, float] = {5: 0.70, 3: 0.70 * 0.72}
"""Node: energy over that at 7 nm. TSMC's statements of equal speed: N5 30% less than N7, N3 25 to 30% less than N5."""
_AREA: Mapping[float, float] = {
    130: 6.4,
    90: 2.8,
    65: 1.5,
    45: 1.0,
    32: 0.46,
    20: 0.21,
    16: 0.19,
    14: 0.17,
    10: 0.10,
    7: 0.059,
    5: 0.059 / 1.8,
    3: 0.059 / 1.8 / 1.6,
}
"""Node: area over that at 45 nm (Stillmaker and Baas; 5 and 3 nm: TSMC's density, 1.8x of N7 and 1.6x of N5)."""
_CELL: Mapping[float, float] = {
    130: 2.45,
    90: 0.999,
    65: 0.525,
    45: 0.296,
    40: 0.242,
    28: 0.127,
    20: 0.081,
    16: 0.070,
    10: 0.042,
    7: 0.027,
    5: 0.021,
    3: 0.021,
}
"""
Node: um2 of a high-density SRAM cell, as TSMC published them at ISSCC, IEDM and VLSI (3 nm: N3E); those above 40 nm are
not verified.
"""
ARRAY_EFFICIENCY = 0.5
"""The part of an SRAM that is cells; an estimate, macros publish 0.4 to 0.7."""

_MULTIPLY: Mapping[Number, tuple[float, float]] = {
    "int8": (0.20, 0.07),
    "bf16": (0.21 * 1.10 / 0.34, 0.21),
    "f16": (1.10, 0.34),
    "f32": (3.70, 1.31),
}
"""pJ at 45 and 7 nm (Jouppi et al.; bf16 at 45 nm has no published point: it is to f16 what it is at 7 nm)."""
_ADD: Mapping[Number, tuple[float, float]] = {
    "int8": (0.10, 0.030),
    "bf16": (0.90, 0.38),
    "f16": (0.90, 0.38),
    "f32": (0.90, 0.38),
}
"""pJ at 45 and 7 nm to add 32 bits: integers for int8, else floats (Jouppi et al.)."""
_MAC_AREA: Mapping[Number, float] = {
    "int8": 282.0 + 137.0,
    "bf16": 1640.0 + 4184.0,
    "f16": 1640.0 + 4184.0,
    "f32": 7700.0 + 4184.0,
}
"""um2 at 45 nm: multiplier and 32-bit adder alone (Horowitz; bf16 is taken as f16)."""
_SRAM_45, _SRAM_7 = ((8.0, 10.0), (1024.0, 100.0)), ((8.0, 7.5), (1024.0, 14.0))
"""KiB and pJ of 64 bits (Jouppi et al.); the third point, 32 KiB, is 20 and 8.5: the fit has 18.7 and 8.1."""
_WIRE_40 = 310.0 / 256 / 10
"""pJ of a bit over a mm at 40 nm: 310 pJ for 256 bits over 10 mm (Keckler et al.)."""
LEAKAGE_W_PER_MM2 = 0.1
"""
W of a mm2 that does nothing: an estimate by idle power over die area, 28 W of 331 mm2 (TPU v1, 28 nm), 53 W of 611 (v2,
16 nm), 55 W of 400 (v4i, 7 nm), clock and interfaces included (Jouppi et al., ISCA 2017 and 2021).
"""


def _factors() -> dict[float, float]:
    """The energy of a gate by node, of Stillmaker and Baas at the nominal supply."""
    found = {node: a * v * v + b * v + c for node, (a, b, c, v) in _ENERGY_FIT.items()}
    return found | {node: ratio * found[7] for node, ratio in _BEYOND.items()}


def _between(points: Mapping[float, float], at: float) -> float:
    """The value at a node by those beside it: a line where both axes are logarithmic."""
    nodes = sorted(points)
    if at in points:
        return points[at]
    if not nodes[0] < at < nodes[-1]:
        raise ValueError(f"{at} nm is outside of the table")
    above = next(node for node in nodes if node > at)
    below = max(node for node in nodes if node < at)
    part = math.log(at / below) / math.log(above / below)
    return points[below] ** (1 - part) * points[above] ** part


def energy_at(at_45: float, at_7: float, node_nm: float) -> float:
    """
    An energy at a node that is `at_45` at 45 nm and `at_7` at 7 nm.

    Between them it falls as the energy of a gate does, on a logarithmic scale that meets both points; below 7 nm it
    falls by the same part as that of a gate.
    """
    factors = _factors()
    factor = _between(factors, node_nm)
    if node_nm < 7:
        return at_7 * factor / factors[7]
    part = math.log(factor / factors[45]) / math.log(factors[7] / factors[45])
    return at_45 ** (1 - part) * at_7**part


def mac_energy(number: Number, node_nm: float) -> float:
    """pJ of a multiplication and an addition of 32 bits."""
    return energy_at(*_MULTIPLY[number], node_nm) + energy_at(*_ADD[number], node_nm)


def pass_energy(bits: int, node_nm: float) -> float:
    """
    pJ of a pass of a MAC through a multiplier that takes so many bits of either mantissa, and of an addition of 32
    bits: the energy of a multiplication of integers grows with the bits of one times those of the other.
    """
    of_8_bits = energy_at(*_MULTIPLY["int8"], node_nm)
    return of_8_bits * (bits / 8) ** 2 + energy_at(*_ADD["int8"], node_nm)


def vector_energy(node_nm: float) -> float:
    """pJ of an element operation of the vector unit: the mean of a multiplication and an addition of f32."""
    return (energy_at(*_MULTIPLY["f32"], node_nm) + energy_at(*_ADD["f32"], node_nm)) / 2


def sram_energy(kib: float, node_nm: float) -> float:
    """pJ of a byte read or written of an SRAM: a + b sqrt(KiB) through the published points of each node."""

    def of_64_bits(points: tuple[tuple[float, float], tuple[float, float]]) -> float:
        (small, low), (large, high) = points
        slope = (high - low) / (math.sqrt(large) - math.sqrt(small))
        return low + slope * (math.sqrt(kib) - math.sqrt(small))

    kib = max(kib, LEAST_SRAM)
    return energy_at(of_64_bits(_SRAM_45), of_64_bits(_SRAM_7), node_nm) / 8


def wire_energy(millimetres: float, node_nm: float) -> float:
    """pJ of a byte over a wire of some length: it shrinks as the energy of a gate's addition does, from 40 nm on."""
    scale = energy_at(*_ADD["f32"], node_nm) / energy_at(*_ADD["f32"], 40.0)
    return 8 * _WIRE_40 * millimetres * scale


def mac_area(number: Number, node_nm: float) -> float:
    """mm2 of a MAC, the arithmetic alone."""
    return _MAC_AREA[number] * _between(_AREA, node_nm) / 1e6


def sram_area(kib: float, node_nm: float) -> float:
    """mm2 of an SRAM."""
    return kib * 1024 * 8 * _between(_CELL, node_nm) / ARRAY_EFFICIENCY / 1e6

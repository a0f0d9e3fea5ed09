"""
The area of a machine of processing elements with buffers, by the formulas of several sources.

    technology   MACs and SRAM cells by the node of the machine (hardware/technology.py)
    gamma        GAMMA's code for int8: banks of 64 bytes in an element, of 32 KiB shared (Kao and Krishna, ICCAD 2020)
    digamma      DiGamma's for int8: a MAC of 282 um2 and 0.086 um2 a bit of buffer (Kao et al., DATE 2022)
    maestro      MAESTRO's columns, for elements; its arbiter grows with the square of the elements
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from npuc.backends.maestro.machine import array_of
from npuc.compiler.analysis.mapping.columns import area
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.design.budget import AreaModel
from npuc.hardware import Hardware
from npuc.hardware.technology import Number, mac_area, sram_area

UM2 = 1e-6
"""mm2 of a um2."""


def _technology(machine: Hardware) -> AreaModel:
    node = machine.get("technology.node_nm", float)
    if node is None:
        raise UsageError(
            "the area by technology needs a node",
            hint="--set technology.node_nm=28, or --area-model gamma, digamma or maestro",
        )
    mac = mac_area(_number(machine), node)
    kib = sram_area(1.0, node)
    return AreaModel("technology", lambda count, l1: count * (mac + kib * l1 / 1024), 1.0, kib / 1024)


def _number(machine: Hardware) -> Number:
    """What a MAC multiplies, by the precision, or by the bytes of an element."""
    named: dict[str, Number] = {"bf16": "bf16", "f16": "f16", "f32": "f32", "mixed": "bf16"}
    sized: dict[int, Number] = {1: "int8", 2: "bf16"}
    known = named.get(machine.get("precision", str) or "")
    return known or sized.get(machine.get("memory.element_bytes", int) or 4, "f32")


def _gamma(machine: Hardware) -> AreaModel:
    def base(count: Floats, l1: Floats) -> Floats:
        return count * (4470 + np.ceil(l1 / 64) * 4505.1889) * UM2

    return AreaModel("gamma", base, 32768.0, 4161.536 * UM2)


def _digamma(machine: Hardware) -> AreaModel:
    bit = 8 * 0.086 * UM2
    return AreaModel("digamma", lambda count, l1: count * (282 * UM2 + bit * l1), 1.0, bit)


def _maestro(machine: Hardware) -> AreaModel:
    array = array_of(machine)

    def base(count: Floats, l1: Floats) -> Floats:
        pairs = zip(np.broadcast_to(count, np.shape(l1)).tolist(), np.asarray(l1).tolist(), strict=True)
        return UM2 * np.array([area(0.0, size, replace(array, num_pes=int(pes))) for pes, size in pairs])

    return AreaModel("maestro", base, 1.0, 0.104 * UM2)


AREA_MODELS: dict[str, Callable[[Hardware], AreaModel]] = {
    "technology": _technology,
    "gamma": _gamma,
    "digamma": _digamma,
    "maestro": _maestro,
}

"""What the study sets side by side, and what is published of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

KernelGroup = Literal["networks", "graphs", "scientific"]
GROUPS: tuple[KernelGroup, ...] = get_args(KernelGroup)
PRESETS: tuple[str, ...] = ("all", *GROUPS)
HARDWARE = "aespa"
PUBLISHED: Mapping[str, float] = {"speed": 1.96, "energy-delay product": 7.9}
"""How many times better AESPA is than a homogeneous EIE-like machine (arXiv 2201.08916, abstract)."""
TOLERANCE = 0.1
"""By which share ours may differ, whichever product is left out, where it is said to be reproduced."""
REASONS: tuple[str, ...] = (
    "Of the paper its abstract alone was to be had: its products, sizes of units and energies are not those here.",
    "The unit of one kind has all elements for a layer with one sparse operand, of which a machine of several kinds "
    "has few that fit; where both operands are very sparse it reads and writes matrices with all their zeros. So the "
    "mean is one of losses and of gains of thousands: it follows the mix of products, and says little by itself.",
    "Nonzeros are where chance has them: rows and columns of real matrices are less even, which favours units that "
    "deal single products to their elements.",
    "HARD TACO, which writes the RTL of units, is a description here: kind, formats, elements, buffer, energies.",
)
"""Why ours differs from what is published."""

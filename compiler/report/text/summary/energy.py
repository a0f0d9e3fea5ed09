"""The energy of a step in one line."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.text.quantities import energy_text, three_digits

NAMES = {"array": "array", "edge": "edges", "spm": "SPM", "vector": "vector", "dram": "DRAM", "network": "network"}
DETAILED = ("edge", "vector")
"""Components that a machine has more than the energies of MACs, SPM and DRAM of."""


def energy_line(report: Report) -> str | None:
    """
    The energy, by component where the machine says more of it than of MACs, SPM and DRAM, with what was reached; None
    without one.
    """
    if report.totals.energy_j is None:
        return None
    text, energy = energy_text(report.totals.energy_j), report.energy
    if energy is None or all(energy.dynamic_j.get(name) is None for name in DETAILED):
        return text
    whole = report.totals.energy_j or 1.0
    parts = [f"{NAMES[name]} {joules / whole:.0%}" for name, joules in energy.dynamic_j.items() if joules is not None]
    text += f" dynamic: {', '.join(parts)}"
    static = [joules for joules in energy.static_j.values() if joules is not None]
    if static:
        text += f"; {energy_text(sum(static))} static"
    if energy.watts is not None:
        text += f"; {three_digits(energy.watts)} W"
    if energy.tops_per_w is not None:
        text += f", {three_digits(energy.tops_per_w)} TOPS/W"
    chip = energy.area_mm2.get("chip")
    if chip is not None and energy.tops_per_mm2 is not None:
        text += f"; {three_digits(energy.tops_per_mm2)} TOPS/mm2 of {three_digits(chip)} mm2"
    return text

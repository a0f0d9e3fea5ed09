"""The machine of a step with the best split of bandwidth in its network."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.network.program import SharedStep, mesh_fits
from npuc.compiler.explore.network.result import NetworkResult
from npuc.compiler.report.text.quantities import time_text
from npuc.hardware import load_hardware
from npuc.hardware.as_toml import as_toml

LEVELS = "network.levels"
NOTHING = 1e-9
"""A share of the largest bandwidth below which a level has none: what rounding leaves."""


def machine_text(result: NetworkResult, step: SharedStep) -> str:
    """
    The machine as TOML. Outermost levels that its mesh does not reach and that have no bandwidth are left out, which a
    remark says; all else is as it was.

    Raises `UsageError` where another level has no bandwidth: no machine has one.
    """
    best, rows = result.split("best"), step.machine.values[LEVELS]
    assert isinstance(rows, list), "network.levels is read as a list"
    rates = [0.0 if rate <= NOTHING * max(best.gb_per_s) else rate for rate in best.gb_per_s]
    out = unreached(step, rates)
    for number, rate in enumerate(rates[out:], out + 1):
        if not rate:
            raise UsageError(
                f"-o: the best split has 0 GB/s at b{number}, which no bytes cross, and a level of a machine has more",
                hint=f"--constraint 'b{number} >= 1' leaves it 1 GB/s",
            )
    levels = [{**row, "gb_per_s": rate} for row, rate in zip(rows[out:], rates[out:], strict=True)]
    machine = load_hardware({**step.machine.values, "name": f"{step.machine.name}-network", LEVELS: levels})
    said = [f"Bandwidths that npuc network found for {result.title}: {time_text(best.seconds)} a step."]
    if out:
        said.append(f"Without {_numbered(out)} of {step.machine.name}, which no bytes of the step cross.")
    return as_toml(machine, "\n".join(said))


def unreached(step: SharedStep, rates: Sequence[float]) -> int:
    """How many of the outermost levels have no bandwidth, and none of the devices of the step's mesh."""
    count = 0
    while count < len(rates) - 1 and not rates[count] and mesh_fits(step, step.levels[count + 1 :]):
        count += 1
    return count


def _numbered(count: int) -> str:
    return "b1" if count == 1 else f"b1 to b{count}"

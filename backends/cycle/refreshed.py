"""Refreshes in the rows of the backend: a scratchpad of embedded DRAM, whose cells keep a value for a while."""

from collections.abc import Sequence

from msgspec.structs import replace
from xdsl.ir import Operation

from npuc.backends.cycle.compat import is_compat
from npuc.backends.cycle.keys import REFRESH, RETENTION
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.timing.refresh import held_by
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import RefreshFacts
from npuc.hardware import Hardware


def with_refreshes(
    ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine, hardware: Hardware
) -> list[OpRow]:
    """
    Rows with what is refreshed in the scratchpad while their operations run, where its cells do not keep values.

    The energy of a refresh is that of a read and a write where the machine does not say it.
    """
    retention = hardware.get(RETENTION, float)
    if retention is None or machine.policy == "lru":
        return [*rows]
    price = hardware.get(REFRESH, float)
    if price is None:
        access = hardware.known("energy.spm_pj_per_byte", float)
        price = None if access is None else 2 * access
    every = held_by(ops, [row.seconds or 0.0 for row in rows], [row.repeat for row in rows], machine)
    found: list[OpRow] = []
    for row, held in zip(rows, every, strict=True):
        if not held:
            found.append(row)
            continue
        longest = max(held, key=lambda one: one.seconds)
        moved = sum(one.refreshed(1e-6 * retention) for one in held)
        joules = None if price is None or row.energy_j is None else 1e-12 * price * moved
        facts = RefreshFacts(refreshed_bytes=moved, refresh_j=joules, held_seconds=longest.seconds, held=longest.name)
        energy = None if row.energy_j is None else row.energy_j + (joules or 0.0)
        found.append(replace(row, energy_j=energy, native=row.native | facts.columns()))
    return found


def refresh_warnings(hardware: Hardware) -> list[str]:
    """Says where keys of refreshes have no effect."""
    if hardware.written(RETENTION):
        if is_compat(hardware):
            return [
                f"{RETENTION} has no effect: SCALE-Sim has no time that a value is held (cycle.compat = 'scalesim3')"
            ]
        if hardware.get("memory.policy") == "lru":
            return [f"{RETENTION} has no effect: with memory.policy = 'lru' it is not known how long tiles are held"]
    elif hardware.written(REFRESH):
        return [f"{REFRESH} has no effect: nothing is refreshed without {RETENTION}"]
    return []

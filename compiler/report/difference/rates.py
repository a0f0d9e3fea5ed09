"""What rates of the array, the DRAM channel and the clock say of why two parts of a layer differ, and their keys."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from npuc.compiler.report.difference.between import COMPUTING, KEYS, MOVING, Between, Rows
from npuc.compiler.report.difference.document import DiffReason, DiffSide
from npuc.compiler.report.difference.tensors import moved_bytes, says_bytes
from npuc.compiler.report.sections import TransferFacts
from npuc.compiler.report.text.quantities import count_cell, three_digits

SMALL = 0.005
"""Shares of the peak that differ by less are not worth a clause."""
NOTABLE = 0.02
"""Rates that differ by less are rounded times."""
KEYS_SHOWN = 2


def utilization(it: Between) -> Iterator[DiffReason]:
    if it.cause is not None and it.cause not in COMPUTING:
        return  # then it follows from what takes longer
    before, after = it.side_a.utilization, it.side_b.utilization
    if before is not None and after is not None and abs(after - before) >= SMALL:
        text = f"{before:.1%} → {after:.1%} of the array's peak"
        yield DiffReason(kind="utilization", a=before, b=after, text=text)


def peak(it: Between) -> Iterator[DiffReason]:
    """The MACs that the array could do in a second, which utilisations are shares of."""
    rates: list[float] = []
    for rows in it.products:
        able = fsum(row.repeat * (row.utilization or 0.0) * (row.seconds or 0.0) for row in rows)
        macs = sum(row.repeat * (row.macs or 0) for row in rows)
        rates.append(macs / able if able > 0 else 0.0)
    before, after = rates
    if before and after and abs(after / before - 1) >= NOTABLE:
        text = f"the array's peak {count_cell(before)} → {count_cell(after)} MAC/s"
        yield DiffReason(kind="peak", a=before, b=after, text=text)


def bandwidth(it: Between) -> Iterator[DiffReason]:
    """The rate at which the channel moves what a part reads and writes, where the backend says how long it does."""
    if not says_bytes(it.a, it.b):
        return
    rates = [_rate(rows, side) for rows, side in ((it.a, it.side_a), (it.b, it.side_b))]
    before, after = rates
    if before and after and abs(after / before - 1) >= NOTABLE:
        yield DiffReason(
            kind="bandwidth", a=before, b=after, text=f"DRAM at {three_digits(before)} → {three_digits(after)} GB/s"
        )


def _rate(rows: Rows, side: DiffSide) -> float | None:
    """10^9 bytes a second of the channel's time."""
    cycles = 0
    for row in rows:
        facts = TransferFacts.found_in(row)
        cycles += 0 if facts is None else row.repeat * facts.transfer_cycles
    if cycles <= 0 or not side.seconds or not side.cycles:
        return None
    return moved_bytes(rows) / (cycles * side.seconds / side.cycles) / 1e9


def clock(it: Between) -> Iterator[DiffReason]:
    """The clock, where both reports have cycles and seconds."""
    rates = [None if not s.seconds or not s.cycles else s.cycles / s.seconds / 1e6 for s in (it.side_a, it.side_b)]
    before, after = rates
    if before and after and abs(after / before - 1) > 1e-6:
        same = "the same cycles" if it.side_a.cycles == it.side_b.cycles else "cycles"
        text = f"{same} at {before:,.5g} → {after:,.5g} MHz"
        yield DiffReason(kind="clock", a=before, b=after, text=text)


def machine(it: Between) -> Iterator[DiffReason]:
    """The keys of the machine that the cause follows from, where work and bytes do not say enough."""
    if not it.same_model:
        return  # each model has its own machine
    wanted = KEYS.get(it.cause or "", ())
    if it.cause in MOVING and moved_bytes(it.a) == moved_bytes(it.b):
        wanted = tuple(start for start in wanted if start != "memory.")
    if any(clock(it)):
        wanted = tuple(start for start in wanted if start != "clock_mhz")  # the clock says it
    keys = [one for start in wanted for one in it.settings if one.group == "machine" and one.name.startswith(start)]
    if it.cause in MOVING and any(bandwidth(it)):
        return  # the rate says it
    told = [one for one in keys if one.a is not None and one.b is not None and len(one.a) + len(one.b) < 40]
    for one in told[:KEYS_SHOWN]:
        yield DiffReason(kind="machine", a=one.a, b=one.b, text=f"{one.name} {one.a} → {one.b}")

"""Rows of operations that run several times: their sums, and what moves once beside them."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.timing.epilogue import vector_cycles
from npuc.compiler.report import OpRow, Scalar, TensorBytes

ADDED = (
    *("tiles", "folds", "fill_drain_cycles", "edge_cycles", "transfer_cycles", "not_moved_bytes", "read_twice_bytes"),
    *("spm_read_bytes", "spm_write_bytes", "spm_bytes_moved"),
)
"""The columns that count what happens, so that those of several micro-batches add up."""


@dataclass(frozen=True)
class Extra:
    """What an operation's row has beside its micro-batches: bytes by tensor that move once, cycles of adding."""

    loaded: Mapping[str, int]
    stored: Mapping[str, int]
    added: int = 0
    added_bytes: int = 0
    """The bytes that adding reads and writes in SPM."""


def times(row: OpRow, count: int) -> OpRow:
    """A row of so many micro-batches."""
    tensors = {name: TensorBytes(count * t.read_bytes, count * t.write_bytes) for name, t in row.tensors.items()}
    native = {key: _scaled(value, count) if key in ADDED else value for key, value in row.native.items()}
    sums = {name: _multiplied(getattr(row, name), count) for name in _SUMMED}
    return replace(row, **sums, tensors=tensors, native=native)


_SUMMED = (
    *("macs", "vector_ops", "cycles", "compute_cycles", "stall_cycles", "seconds", "energy_j"),
    *("dram_read_bytes", "dram_write_bytes", "lower_bound_bytes", "lower_bound_seconds"),
)


def _scaled(value: Scalar | list[Scalar], count: int) -> Scalar | list[Scalar]:
    return count * value if isinstance(value, int | float) else value


def _multiplied(value: float | None, count: int) -> float | None:
    return None if value is None else count * value


def plus(row: OpRow, last: OpRow | None) -> OpRow:
    """A row with the last, smaller micro-batch."""
    if last is None:
        return row
    sums = {name: _added(getattr(row, name), getattr(last, name)) for name in _SUMMED}
    tensors = {name: _both(t, last.tensors.get(name)) for name, t in row.tensors.items()}
    native = dict(row.native)
    for key in ADDED:
        one, other = native.get(key), last.native.get(key)
        if isinstance(one, int | float) and isinstance(other, int | float):
            native[key] = one + other
    cycles = (row.cycles or 0) + (last.cycles or 0)
    busy = (row.utilization or 0) * (row.cycles or 0) + (last.utilization or 0) * (last.cycles or 0)
    utilization = None if row.utilization is None or not cycles else busy / cycles
    return replace(row, **sums, tensors=tensors, native=native, utilization=utilization)


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _both(one: TensorBytes, other: TensorBytes | None) -> TensorBytes:
    return one if other is None else TensorBytes(one.read_bytes + other.read_bytes, one.write_bytes + other.write_bytes)


def with_extra(row: OpRow, extra: Extra | None, machine: Machine) -> OpRow:
    """A row with what moves once."""
    if extra is None:
        return row
    loaded, stored = sum(extra.loaded.values()), sum(extra.stored.values())
    sizes = (*extra.loaded.values(), *extra.stored.values())
    moving = sum(map(machine.transfer_cycles, sizes))
    cycles = moving + vector_cycles(extra.added, machine)
    tensors = dict(row.tensors)
    for name, size in extra.loaded.items():
        tensors[name] = _both(tensors[name], TensorBytes(size, 0))
    for name, size in extra.stored.items():
        tensors[name] = _both(tensors[name], TensorBytes(0, size))
    energy = row.energy_j
    if energy is not None and machine.energy is not None:
        energy += machine.energy.joules(0, loaded + stored + extra.added_bytes, loaded + stored)
    all_cycles = (row.cycles or 0) + cycles
    utilization = row.utilization and row.utilization * (row.cycles or 0) / all_cycles
    return replace(
        row,
        vector_ops=(row.vector_ops or 0) + extra.added,
        cycles=all_cycles,
        compute_cycles=(row.compute_cycles or 0) + cycles - moving,
        stall_cycles=(row.stall_cycles or 0) + moving,
        seconds=(row.seconds or 0.0) + machine.seconds(cycles),
        utilization=utilization,
        dram_read_bytes=(row.dram_read_bytes or 0) + loaded,
        dram_write_bytes=(row.dram_write_bytes or 0) + stored,
        lower_bound_bytes=None if row.lower_bound_bytes is None else row.lower_bound_bytes + loaded + stored,
        lower_bound_seconds=None
        if row.lower_bound_seconds is None
        else row.lower_bound_seconds + machine.seconds(cycles),
        energy_j=energy,
        tensors=tensors,
    )

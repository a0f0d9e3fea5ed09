"""
`memory.policy = "lru"`: the SPM as one pool of tiles, which is shared by the operations of a layer's backward pass.

Consecutive contractions of one layer's backward pass (dX, then dW; for a product of two activations both gradients) run
over the same pool, so that the second may find a tile of dY there; the pool is empty before the first of them. Vector
work between them does not touch the pool. Each contraction has the traffic of its own tile operations. Its time is what
it adds to the time of those before it, so that the times add up to that of a simulation without a pause in between: the
loads of the second contraction may overlap the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths, whole_bytes
from npuc.compiler.analysis.nest.traffic import TensorTraffic
from npuc.compiler.analysis.timing.double_buffer import Timing
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import Role, layer_of, repeat_of, role_of

if TYPE_CHECKING:
    from npuc.compiler.analysis.lru import Walk


BACKWARD = (Role.DX, Role.DW, Role.DXDW)
"""The roles of contractions of a layer's backward pass."""
SECONDS = 4e-6
"""The approximate time to simulate a tile operation."""
LONG = 2.0
"""The seconds from which on a simulation is announced."""
IGNORED = "memory.policy = 'lru': the schedules' keep and spm have no meaning, tiles stay as long as there is room"


@frozen
class PoolShare:
    """
    The share of one contraction in the pool: elements moved by tensor, its timing, and the peak bits in the pool.

    `found` counts bytes of its operands that earlier contractions touched, and that may be in the pool when it starts;
    `early` is the room for loads that may be issued before those end.
    """

    tensors: tuple[tuple[str, TensorTraffic], ...]
    timing: Timing
    peak: int
    found: int = 0
    early: int = 0


def pool_shares(ops: Sequence[Operation], machine: Machine) -> dict[Operation, PoolShare]:
    """
    The share of each contraction of a program that has a schedule; none under another policy.

    Raises `CapacityError` for tiles of which those of one operation do not fit the pool.
    """
    shares: dict[Operation, PoolShare] = {}
    for group in pool_groups(ops, machine):
        walks = walks_of(group, machine)
        try:
            from npuc.compiler.analysis.lru import walk_pool

            pooled = walk_pool(walks, machine)
        except CapacityError as e:
            layer = layer_of(group[0]) or "a contraction"
            raise CapacityError(f"{layer}: {e.message}", location=location_of(group[0]), hint=e.hint) from None
        end = Fraction(0)
        seen: set[SSAValue] = set()
        for op, walk, walked in zip(group, walks, pooled.walks, strict=True):
            overhead = compute(op.nest, op.schedule, machine.array).overhead
            time = walked.end - end + overhead
            timing = Timing(time, walked.compute + overhead, walked.moved, walked.head, 0)
            known = {
                value: width for value, width in zip(op.operands, walk.widths.stored, strict=False) if value in seen
            }
            touched = sum(whole_bytes(_elements(op, value) * width) for value, width in known.items())
            found = min(machine.spm_bytes, touched)
            early = machine.spm_bytes if seen else 0
            shares[op] = PoolShare(walked.tensors, timing, walked.peak, found, early)
            seen.update(op.operands)
            end = walked.end
    return shares


def _elements(op: ContractOp, value: SSAValue) -> int:
    return next(t.elements for t, v in zip(op.nest.ins, op.operands, strict=False) if v is value)


def forecast_walks(ops: Sequence[Operation], machine: Machine) -> str | None:
    """The announcement of simulations that take long; equal ones are simulated once. None if they are short."""
    walks = {walks for walks in (walks_of(group, machine) for group in pool_groups(ops, machine))}
    count = sum(walk.operations for group in walks for walk in group)
    if count * SECONDS < LONG:
        return None
    return f"memory.policy = 'lru' walks {count:,} tile operations, about {count * SECONDS:,.0f} s"


def pool_warnings(ops: Sequence[Operation], machine: Machine) -> list[str]:
    """The warning that `keep` and `spm` of schedules are ignored under this policy, if any schedule has them."""
    contracts = [op for group in pool_groups(ops, machine) for op in group]
    return [IGNORED] if any(op.schedule.keep or op.schedule.spm is not None for op in contracts) else []


def pool_groups(ops: Sequence[Operation], machine: Machine) -> Iterator[list[ContractOp]]:
    """The groups of contractions that share a pool, in program order."""
    if machine.policy != "lru":
        return
    contracts = [op for op in ops if isinstance(op, ContractOp)]

    def pool_of(numbered: tuple[int, ContractOp]) -> tuple[object, ...]:
        number, op = numbered
        if role_of(op) not in BACKWARD or not layer_of(op):
            return (number,)
        return layer_of(op), repeat_of(op)

    for _, members in groupby(enumerate(contracts), key=pool_of):
        group = [op for _, op in members if op.schedule_attr is not None]
        if group:
            yield group


def walks_of(group: Sequence[ContractOp], machine: Machine) -> tuple[Walk, ...]:
    """
    The walks of contractions over one pool, for `walk_pool`, sequential or round-robin.

    Values are numbered by first use, so that structurally equal groups have equal walks.
    """
    numbers: dict[SSAValue, int] = {}
    from npuc.compiler.analysis.lru import Walk

    walks: list[Walk] = []
    for op in group:
        inputs = len(op.nest.ins)
        values = (*op.operands[:inputs], *op.results, *op.operands[inputs:])
        known = tuple(numbers.setdefault(value, len(numbers)) for value in values)
        walks.append(Walk(op.nest, op.schedule, contract_widths(op, machine), known))
    return tuple(walks)

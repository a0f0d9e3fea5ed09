"""
The exchanges between the devices of a program, what each costs on a network, and between which work each stands.

What moves in chunks (`dist.chunks`) takes the time of their events, a bucket of gradients (`dist.bucket`) that of one
collective of all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npuc.compiler.analysis.interconnect.chunks.cost import chunked_cost
from npuc.compiler.analysis.interconnect.collectives import Cost, collective_cost, collective_of, messages_cost
from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.layers.base import elements
from npuc.compiler.report import OpRow
from npuc.dialects.distributed import (
    AddendOp,
    CopyOp,
    DistOp,
    OnceOp,
    PlaceOp,
    SendReceiveOp,
    SliceOp,
    bucket_of,
    buckets_of,
    chunks_of,
    levels_of,
)
from npuc.dialects.npu import ConstantOp, ViewOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.train.base import ints
from npuc.hardware.network import latency_of

if TYPE_CHECKING:
    from npuc.hardware import Hardware

FREE = (SliceOp, CopyOp, OnceOp, AddendOp, PlaceOp)
"""What moves nothing between devices."""


@dataclass(frozen=True)
class Exchange:
    """
    A movement between devices: the operation, the bytes of a device's operand, and what it costs, if known.

    Of a bucket it is the last one of `members`, and the operands of all.
    """

    op: DistOp
    size: int
    cost: Cost | None
    members: Sequence[DistOp] = ()

    @property
    def bucket(self) -> int | None:
        """The number of the bucket that moves; None for what moves alone."""
        return bucket_of(self.op)


def exchanges(func: FuncOp, placement: MeshPlacement | None, machine: Hardware) -> Iterator[Exchange]:
    """The exchanges between devices, in program order; a bucket where its last member stands."""
    facts = machine.get("memory.element_bytes", int)
    closing = {members[-1]: members for members in buckets_of(func).values()}
    for op in func.walk():
        if isinstance(op, DistOp) and not isinstance(op, FREE):
            members = closing.get(op, (op,) if bucket_of(op) is None else ())
            if members:
                size = sum(size_bytes(one.x.type, elements(one.x), facts) for one in members)
                cost = None if placement is None else exchange_cost(op, size, placement, machine)
                yield Exchange(op, size, cost, members)


def exchange_cost(op: DistOp, size: int, placement: MeshPlacement, machine: Hardware | None = None) -> Cost:
    """What a movement of `size` bytes a device costs; without a machine, whose latencies count, no chunks do."""
    if isinstance(op, SendReceiveOp):
        (level,) = levels_of(op)
        return messages_cost(size, placement, level, ints(op.source), ints(op.target))
    kind, chunks = collective_of(op), chunks_of(op)
    assert kind is not None, "what is no message and not free is a collective"
    if chunks is None or machine is None:
        return collective_cost(kind, size, placement, levels_of(op))
    return chunked_cost(kind, size, placement, levels_of(op), chunks, latency_of(machine))


def in_order(func: FuncOp, rows: Sequence[OpRow], moved: Sequence[Exchange]) -> list[Exchange | OpRow]:
    """Rows of work and exchanges as the program has them one after the other."""
    order = {op: number for number, op in enumerate(func.walk())}
    events: list[tuple[int, int, Exchange | OpRow]] = [(order[exchange.op], 1, exchange) for exchange in moved]
    events += [(place, 0, row) for place, row in zip(_places(order, rows), rows, strict=True)]
    return [event for _, _, event in sorted(events, key=lambda event: event[:2])]


def _places(order: Mapping[Operation, int], rows: Sequence[OpRow]) -> list[int]:
    """
    Where in the program each row of work is done.

    That is at its operation, if as many of a layer, phase and name have a row; else if as many of a layer and phase
    have one; else at the last of these.
    """
    return [max(map(order.__getitem__, own), default=0) for own in _operations(order, rows)]


def operations_of_rows(func: FuncOp, rows: Sequence[OpRow]) -> dict[int, Sequence[Operation]]:
    """The operations that the rows of work stand for, by their indices; all of a layer and phase where it is open."""
    order = {op: number for number, op in enumerate(func.walk())}
    return dict(zip((row.index for row in rows), _operations(order, rows), strict=True))


def _operations(order: Mapping[Operation, int], rows: Sequence[OpRow]) -> list[Sequence[Operation]]:
    """The operations of each row."""
    named: dict[tuple[str, str, str], list[Operation]] = {}
    known: dict[tuple[str, str], list[Operation]] = {}
    for op in order:
        if not isinstance(op, DistOp | ViewOp | ConstantOp):
            layer, role = layer_of(op), role_of(op).value
            named.setdefault((layer, role, op.name), []).append(op)
            known.setdefault((layer, role), []).append(op)
    wanted: dict[tuple[str, str, str], list[int]] = {}
    for number, row in enumerate(rows):
        wanted.setdefault((row.name, row.phase, row.op), []).append(number)
    found: list[Sequence[Operation]] = [()] * len(rows)
    for (name, phase, op_name), numbers in wanted.items():
        ops = named.get((name, phase, op_name), [])
        if len(ops) != len(numbers):
            roles = ("dxdw", "dx", "dw") if phase == "dxdw" else (phase,)
            ops = sorted((op for role in roles for op in known.get((name, role), ())), key=order.__getitem__)
        for n, number in enumerate(numbers):
            found[number] = (ops[n],) if len(ops) == len(numbers) else ops
    return found


def followed(func: FuncOp, rows: Sequence[OpRow], moved: Sequence[Exchange]) -> list[int | None]:
    """The index of the last row of work that comes before each exchange in the program; None where none does."""
    order = {op: number for number, op in enumerate(func.walk())}
    placed = sorted(zip(_places(order, rows), (row.index for row in rows), strict=True))
    places, last = [place for place, _ in placed], list(accumulate((index for _, index in placed), max))
    before = [bisect_left(places, order[exchange.op]) for exchange in moved]
    return [last[count - 1] if count else None for count in before]

"""
A step whose gradients are summed in buckets beside the backward pass: when all happens, and what is exposed.

    times = step_in_buckets(func, report.ops, moved, placement, latency)
    times.step.exposed, times.bound

Buckets run beside work, and what reads a sum waits for its bucket: updates, each for its own gradients, unless
something reads all of them, such as a norm over all. All other movements wait for the work before them and hold up the
work behind them. All of them share the levels of the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npuc.backends.exchanges import Exchange, exchange_cost, in_order, operations_of_rows
from npuc.compiler.analysis.interconnect.chunks.cost import ChunkedCost, baseline_chunks, chunk_stages
from npuc.compiler.analysis.interconnect.chunks.events import Latency
from npuc.compiler.analysis.interconnect.chunks.stages import ChunkStage
from npuc.compiler.analysis.interconnect.collectives import collective_of
from npuc.compiler.analysis.interconnect.overlap.bound import exposed_bound
from npuc.compiler.analysis.interconnect.overlap.step import Movement, OverlappedStep, Work, overlapped_step
from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.layers.base import elements
from npuc.compiler.report import OpRow
from npuc.dialects.distributed import DistOp, buckets_of, chunks_of, levels_of


@dataclass(frozen=True)
class BucketedStep:
    """
    A step with buckets: its times, when each row of work begins by its index, what no order of movements exposes less
    than, and the numbers of the movements, in their order, by those of the exchanges.
    """

    step: OverlappedStep
    begins: dict[int, Fraction]
    bound: Fraction
    numbers: tuple[int, ...]


def step_in_buckets(
    func: FuncOp, rows: Sequence[OpRow], moved: Sequence[Exchange], placement: MeshPlacement, latency: Latency
) -> BucketedStep:
    """The times of a step; work that has no time in the report takes none."""
    items, order = step_items(func, rows, moved, placement)
    step = overlapped_step(items, len(placement.network.levels), latency)
    least = [least_seconds_of(one) for one in order if isinstance(one, Exchange)]
    works = [one.index for one in order if isinstance(one, OpRow)]
    places = {id(one): number for number, one in enumerate(one for one in order if isinstance(one, Exchange))}
    return BucketedStep(
        step,
        dict(zip(works, step.begins, strict=True)),
        exposed_bound(items, least, latency),
        tuple(places[id(one)] for one in moved),
    )


def least_seconds_of(exchange: Exchange) -> Fraction:
    """What an exchange takes alone, at least."""
    cost = exchange.cost
    assert cost is not None, "on a network everything has a cost"
    return min(cost.seconds, cost.bound_s) if isinstance(cost, ChunkedCost) else cost.seconds


def step_items(
    func: FuncOp, rows: Sequence[OpRow], moved: Sequence[Exchange], placement: MeshPlacement
) -> tuple[list[Work | Movement], list[Exchange | OpRow]]:
    """Work and movements in the order of the program, and what they are."""
    order = in_order(func, rows, moved)
    buckets = [one for one in order if isinstance(one, Exchange)]
    reads = _reads(func, {one.op: number for number, one in enumerate(buckets)}, buckets)
    operations = operations_of_rows(func, rows)
    items: list[Work | Movement] = []
    for one in order:
        if isinstance(one, Exchange):
            items.append(_movement(one, placement, reads.get(one.op, frozenset())))
        else:
            waits = frozenset[int]().union(*(reads.get(op, frozenset()) for op in operations.get(one.index, ())))
            items.append(Work(Fraction(one.repeat * (one.seconds or 0.0)), tuple(sorted(waits))))
    return items, order


def _reads(func: FuncOp, numbers: dict[DistOp, int], moved: Sequence[Exchange]) -> dict[Operation, frozenset[int]]:
    """The buckets whose sums each operation reads, itself or through what was made of them."""
    members: dict[Operation, Sequence[DistOp]] = {group[-1]: group for group in buckets_of(func).values()}
    of_value: dict[SSAValue, frozenset[int]] = {}
    found: dict[Operation, frozenset[int]] = {}
    none = frozenset[int]()

    def read_by(op: Operation) -> frozenset[int]:
        values = (value for inner in op.walk() for value in inner.operands) if op.regions else op.operands
        own = {id(read): read for value in values if (read := of_value.get(value))}
        return none.union(*own.values()) if len(own) > 1 else next(iter(own.values()), none)

    for op in func.body.block.ops:
        group = members.get(op)
        if group is not None:
            found[op] = none.union(*(read_by(one) for one in group))
            of_value.update((one.out, frozenset((numbers[group[-1]],))) for one in group)
        elif own := read_by(op):
            found[op] = own
            of_value.update(dict.fromkeys(op.results, own))
    return found


def _movement(one: Exchange, placement: MeshPlacement, waits: frozenset[int]) -> Movement:
    """An exchange as its chunks, which cross levels of the network."""
    op, cost = one.op, one.cost
    assert cost is not None, "on a network everything has a cost"
    kind, holds, after = collective_of(op), one.bucket is None, tuple(sorted(waits))
    if kind is None:  # a message occupies its level as long as it takes
        zero = Fraction(0)
        chain = tuple(ChunkStage(stage.level, stage.sent, stage.seconds, zero, zero) for stage in cost.stages)
        return Movement((chain,), waits=after, holds=holds)
    chunks = chunks_of(op) or baseline_chunks(kind, levels_of(op), 1)
    groups, orders, known = chunk_stages(kind, one.size, placement, chunks)
    chains = {
        order: tuple(replace(stage, level=groups[stage.level].number) for stage in chain)
        for order, chain in known.items()
    }
    return Movement(tuple(chains[order] for order in orders), chunks.queue, chunks.sequence, after, holds)


def seconds_without_buckets(
    rows: Sequence[OpRow], moved: Sequence[Exchange], placement: MeshPlacement, float_bytes: int | None
) -> float:
    """The seconds of a step that sums each gradient alone and whole, and does one thing after the other."""
    seconds = [row.repeat * (row.seconds or 0.0) for row in rows]
    for one in moved:
        assert one.cost is not None, "on a network everything has a cost"
        if one.bucket is None:
            seconds.append(float(one.cost.seconds))
        else:
            sizes = [(op, size_bytes(op.x.type, elements(op.x), float_bytes)) for op in one.members]
            seconds += [float(exchange_cost(op, size, placement).seconds) for op, size in sizes]
    return fsum(seconds)

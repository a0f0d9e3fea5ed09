"""The sums of weights' gradients over devices in a program, and into which buckets they go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeGuard

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.traits import Pure

from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.layers.base import elements
from npuc.dialects.distributed import AllReduceOp, DistOp, ReduceScatterOp, levels_of
from npuc.dialects.npu.resident import HasResidency
from npuc.dialects.provenance import Role, repeat_of, role_of
from npuc.dialects.tensors import tensor_type

Way = tuple[tuple[str, tuple[int, ...], bool, str], ...]
"""How a gradient is summed: of each operation its name, its levels, whether it is a mean, and the type of elements."""


@dataclass(frozen=True)
class GradientSum:
    """
    The sum of a weight's gradient: operations that follow each other directly, such as reduce-scatters of several
    levels.

    The first one's operand, of `size` bytes, is there after the operation at place `ready` of the block, -1 for an
    argument. Nothing that reads the sum can stand behind the operation at `limit`, None where all can.
    """

    ops: tuple[DistOp, ...]
    ready: int
    size: int
    limit: int | None

    @property
    def is_alone(self) -> bool:
        """Whether it goes with no other: it runs several times."""
        return any(repeat_of(op) > 1 for op in self.ops)

    @property
    def way(self) -> Way:
        """What the sums of a bucket have in common."""
        return tuple(
            (op.name, levels_of(op), "mean" in op.properties, str(tensor_type(op.x).element_type)) for op in self.ops
        )


def gradient_sums(func: FuncOp, float_bytes: int | None) -> list[GradientSum]:
    """
    The sums of gradients in the order in which these are there; `float_bytes` are those of any float, None: by type.
    """
    block = func.body.block
    places = {op: place for place, op in enumerate(block.ops)}
    found: list[GradientSum] = []
    for op in block.ops:
        if is_sum(op) and not is_sum(op.x.owner):
            ops = tuple(_chain(op))
            before = op.x.owner
            ready = places[before] if isinstance(before, Operation) else -1
            size = size_bytes(op.x.type, elements(op.x), float_bytes)
            found.append(GradientSum(ops, ready, size, _limit(ops, places)))
    return sorted(found, key=lambda one: one.ready)


def is_sum(op: object) -> TypeGuard[DistOp]:
    """Whether an operation sums a weight's gradient over devices."""
    return isinstance(op, AllReduceOp | ReduceScatterOp) and role_of(op) is Role.DW


def _chain(op: DistOp) -> Iterator[DistOp]:
    """A sum, and those that directly follow it and are all that reads it."""
    while True:
        yield op
        readers = [use.operation for use in op.out.uses]
        if len(readers) != 1 or not is_sum(readers[0]):
            return
        (op,) = (reader for reader in readers if isinstance(reader, DistOp))


def _limit(ops: Sequence[DistOp], places: Mapping[Operation, int]) -> int | None:
    """The first place of what reads a sum, itself or what is made of it, and has to stay where it is."""
    seen: set[Operation] = set(ops)
    waiting: list[Operation] = [ops[-1]]
    limit: int | None = None
    while waiting:
        for result in waiting.pop().results:
            for use in result.uses:
                reader = use.operation
                while reader not in places and (around := reader.parent_op()) is not None:
                    reader = around
                if reader in seen or isinstance(reader, ReturnOp):
                    continue
                seen.add(reader)
                waiting.append(reader)
                if not is_movable(reader):
                    limit = min(places[reader], places[reader] if limit is None else limit)
    return limit


def is_movable(op: Operation) -> bool:
    """Whether an operation may stand elsewhere: it writes no memory, and finds and leaves nothing in the scratchpad."""
    resident = isinstance(op, HasResidency) and bool(op.resident.names)
    return not op.regions and op.has_trait(Pure) and not resident


def by_size(sums: Sequence[GradientSum], limit_bytes: float) -> list[list[GradientSum]]:
    """
    Buckets in the order in which their last gradients are there, each of sums that are made in one way.

    A bucket takes gradients as they come, and is full when it has reached so many bytes, as in PyTorch's
    DistributedDataParallel (Li et al., "PyTorch Distributed", VLDB 13(12), 2020, section 4.2). It ends before a sum
    is read by what cannot be put behind it.
    """
    return _filled(sums, lambda bucket: sum(one.size for one in bucket) >= limit_bytes, frozenset())


def by_ends(sums: Sequence[GradientSum], ends: Collection[int]) -> list[list[GradientSum]]:
    """The same for buckets that end behind these numbers of gradients."""
    return _filled(sums, lambda _: False, ends)


def by_numbers(sums: Sequence[GradientSum], numbers: Sequence[int]) -> list[list[GradientSum]]:
    """Buckets by their numbers from 1 on, one for each sum; what has the number 0 is in none."""
    found: list[list[GradientSum]] = [[] for _ in range(max(numbers, default=0))]
    for one, number in zip(sums, numbers, strict=True):
        if number:
            found[number - 1].append(one)
    return found


def numbers_of(sums: Sequence[GradientSum], buckets: Sequence[Sequence[GradientSum]]) -> tuple[int, ...]:
    """The number of the bucket of each sum, from 1 on; 0 for one that is in none."""
    numbers = {id(one): number for number, bucket in enumerate(buckets, 1) for one in bucket}
    return tuple(numbers.get(id(one), 0) for one in sums)


def _filled(
    sums: Sequence[GradientSum], is_full: Callable[[Sequence[GradientSum]], bool], ends: Collection[int]
) -> list[list[GradientSum]]:
    """Buckets that take sums as they come until they are full, and all of them at the ends."""
    filling: dict[Way, list[GradientSum]] = {}
    full: list[list[GradientSum]] = []
    for number, one in enumerate(sums, 1):
        own = filling.setdefault(one.way, [])
        if own and (one.is_alone or not may_wait(own, one)):
            full.append(filling.pop(one.way))
            own = filling.setdefault(one.way, [])
        own.append(one)
        if one.is_alone or is_full(own):
            full.append(filling.pop(one.way))
        if number in ends:
            full.extend(filling.values())
            filling.clear()
    return in_order([*full, *filling.values()])


def may_wait(bucket: Sequence[GradientSum], one: GradientSum) -> bool:
    """Whether the sums of a bucket may wait for another gradient."""
    return all(other.limit is None or one.ready < other.limit for other in bucket)


def in_order(buckets: Sequence[list[GradientSum]]) -> list[list[GradientSum]]:
    """Buckets by the places at which their last gradients are there."""
    numbers = dict(zip(map(id, buckets), count()))
    return sorted(buckets, key=lambda own: (own[-1].ready, numbers[id(own)]))

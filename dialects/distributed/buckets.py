"""
Buckets: sums of gradients that move together, as one collective.

    %2 = dist.all_reduce %0 over [0] {dist.bucket = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    …
    %3 = dist.all_reduce %1 over [0] {dist.bucket = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>

The members of a bucket are the operations of a function with its number. Their operands are ready where they stand; the
collective of all of them runs where the last one stands, and there is no result of any before. The last one has the
chunks of the bucket, if it moves in chunks. What is summed is the same as without buckets.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.dialects.distributed.base import DistOp, bucket_of, levels_of
from npuc.dialects.distributed.chunks import CHUNKS
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import tensor_type

Buckets = Mapping[int, Sequence[DistOp]]
"""The members of each bucket by its number, in program order."""


def buckets_of(func: FuncOp) -> Buckets:
    """The buckets of a function in the order of their first members; none where nothing is gathered."""
    found: dict[int, list[DistOp]] = {}
    for block in func.body.blocks:
        for op in block.ops:
            number = bucket_of(op) if isinstance(op, DistOp) else None
            if number is not None and isinstance(op, DistOp):
                found.setdefault(number, []).append(op)
    return found


def moved_by(op: DistOp) -> Sequence[DistOp]:
    """The operations whose operands move where one stands: it alone, all of its bucket, or none (a later one does)."""
    number, block = bucket_of(op), op.parent_block()
    if number is None or not isinstance(block, Block):
        return (op,)
    members = [other for other in block.ops if isinstance(other, DistOp) and bucket_of(other) == number]
    return members if members[-1] is op else ()


def bucket_problems(func: FuncOp) -> Iterator[str]:
    """What is wrong with the buckets of a function, a sentence each."""
    buckets = buckets_of(func)
    for number, members in buckets.items():
        yield from (f"bucket {number}: {problem}" for problem in _unlike(members))
    if buckets:
        yield from _early(func, buckets)


def _unlike(members: Sequence[DistOp]) -> Iterator[str]:
    """Members that are not summed over the same levels in the same way, and chunks that are not the last one's."""
    for one, other in pairwise(members):
        for what, of_one, of_other in zip(
            ("operation", "levels", "mean", "elements"), _way(one), _way(other), strict=True
        ):
            if of_one != of_other:
                yield f"{_shown(one)} and {_shown(other)} differ in {what}: {of_one} and {of_other}"
                return
        if CHUNKS in one.attributes:
            yield f"{_shown(one)} has {CHUNKS}, expected it on the last member, {_shown(members[-1])}"
            return


def _way(op: DistOp) -> tuple[str, list[int], bool, str]:
    """What members of a bucket have in common."""
    return op.name, list(levels_of(op)), "mean" in op.properties, str(tensor_type(op.x).element_type)


def _early(func: FuncOp, buckets: Buckets) -> Iterator[str]:
    """Operations that read a sum before the last member of its bucket has run."""
    last: dict[Operation, int] = {members[-1]: number for number, members in buckets.items()}
    pending: dict[SSAValue, int] = {}
    for op in func.body.block.ops:
        if pending:
            read = next((value for inner in op.walk() for value in inner.operands if value in pending), None)
            if read is not None:
                yield f"bucket {pending[read]}: {_shown(op)} reads a sum before the last member has run"
                return
        number = bucket_of(op) if isinstance(op, DistOp) else None
        if number is not None:
            pending.update(dict.fromkeys(op.results, number))
        if op in last:
            pending = {value: own for value, own in pending.items() if own != last[op]}


def _shown(op: Operation) -> str:
    layer = layer_of(op)
    return f"{op.name} of {layer}" if layer else op.name

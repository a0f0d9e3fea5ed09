"""
Slices of one argument that share elements, taken from one slice, so that each element has one gradient to sum.

The gradient of a slice is summed over devices in the slice's shape. Two slices that overlap would have their common
elements summed twice; taken from one slice their gradients are added first. Slices that share nothing stay apart, since
what lies between them has no gradient.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Block, BlockArgument
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from npuc.compiler.layers.shape import shaped
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import SliceOp


@dataclass(frozen=True, eq=False)
class MergeSlices(NamedPattern):
    """
    Slices of an argument that are equal become one, those that overlap along one axis are taken from one slice.

        %a = train.slice %x starts [0, 0] : (tensor<20x4xf32>) -> tensor<10x4xf32>
        %b = train.slice %x starts [5, 0] : (tensor<20x4xf32>) -> tensor<10x4xf32>
        --> MergeSlices()
        %0 = train.slice %x starts [0, 0] : (tensor<20x4xf32>) -> tensor<15x4xf32>
        %a = train.slice %0 starts [0, 0] : (tensor<15x4xf32>) -> tensor<10x4xf32>
        %b = train.slice %0 starts [5, 0] : (tensor<15x4xf32>) -> tensor<10x4xf32>

    Checks that the slices are of an argument, without steps and all along the same axis, and that together they are not
    all of it. The slice of which the argument knows last stands for all of them: the pattern acts at that one.
    """

    name: ClassVar[str] = "merge-slices"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op.x, BlockArgument) or next(_slices_of(op.x)) is not op:
            return
        slices = list(_slices_of(op.x))
        if len(slices) == 1 or op.parent is None:
            return
        slices = _without_equal(_in_order(slices, op.parent), rewriter)
        runs = [run for place, one in enumerate(slices) if (run := _run_of(one, place)) is not None]
        if len({run.axis for run in runs}) == 1:
            for group in _overlapping(runs):
                _take_from_one(group, rewriter)


def _slices_of(x: BlockArgument) -> Iterator[SliceOp]:
    """The slices of an argument in its own block."""
    users = (use.operation for use in x.uses)
    return (user for user in users if isinstance(user, SliceOp) and user.parent is x.block)


def _in_order(slices: Iterable[SliceOp], block: Block) -> list[SliceOp]:
    """Slices in the order of their block."""
    own = set(slices)
    return [op for op in block.ops if isinstance(op, SliceOp) and op in own]


def _without_equal(slices: list[SliceOp], rewriter: PatternRewriter) -> list[SliceOp]:
    """Slices of one value, of equal ones the first, which stands for the others from now on."""
    first: dict[Hashable, SliceOp] = {}
    for op in slices:
        known = first.setdefault((frozenset(op.properties.items()), op.out.type), op)
        if known is not op:
            rewriter.replace(op, [], [known.out])
    return list(first.values())


@dataclass(frozen=True)
class _Run:
    """
    A slice that takes the elements from `start` to before `stop` along `axis`, and all along the others.

    `place` is that of its operation among the slices of a value.
    """

    op: SliceOp
    place: int
    axis: int
    start: int
    stop: int


def _run_of(op: SliceOp, place: int) -> _Run | None:
    """The run that a slice is; None for one with steps, or of several axes."""
    whole, part = shape_of(op.x), shape_of(op.out)
    axes = [axis for axis, (all_, some) in enumerate(zip(whole, part, strict=True)) if all_ != some]
    if len(axes) != 1 or (op.steps is not None and any(step != 1 for step in ints(op.steps))):
        return None
    start = ints(op.starts)[axes[0]]
    return _Run(op, place, axes[0], start, start + part[axes[0]])


def _overlapping(runs: list[_Run]) -> list[list[_Run]]:
    """Groups of at least two runs along one axis, each of which shares elements with another of its group."""
    groups: list[list[_Run]] = []
    end = 0
    for run in sorted(runs, key=lambda run: run.start):
        if not groups or run.start >= end:
            groups.append([])
        groups[-1].append(run)
        end = max(end, run.stop)
    return [group for group in groups if len(group) > 1]


def _take_from_one(group: list[_Run], rewriter: PatternRewriter) -> None:
    """Take the slices of a group from one that covers them; from the argument itself, if that is all of it."""
    x, axis, start, stop = group[0].op.x, group[0].axis, group[0].start, max(run.stop for run in group)
    sizes = list(shape_of(x))
    if stop - start == sizes[axis]:
        return
    sizes[axis] = stop - start
    first = min(group, key=lambda run: run.place).op
    whole = SliceOp(x, results=[shaped(x, sizes)], starts=_at(axis, start, len(sizes)))
    whole.attributes.update(first.attributes)
    rewriter.insert(whole, InsertPoint.before(first))
    for run in group:
        if (run.start, run.stop) == (start, stop):
            rewriter.replace(run.op, [], [whole.out])
        else:
            part = SliceOp(whole.out, results=[run.op.out.type], starts=_at(axis, run.start - start, len(sizes)))
            part.attributes.update(run.op.attributes)
            rewriter.replace(run.op, part)


def _at(axis: int, start: int, rank: int) -> tuple[int, ...]:
    return tuple(start if at == axis else 0 for at in range(rank))

"""
Slices of one argument that share elements, taken from one slice, so that each element has one gradient to sum.

    merge_slices(func)          # rows 0 to 9 and rows 5 to 14 of a table: both from rows 0 to 14

The gradient of a slice is summed over devices in the slice's shape. Two slices that overlap would have their common
elements summed twice; taken from one slice their gradients are added first. Equal slices become one. Slices that
share nothing stay apart, since what lies between them has no gradient.
"""

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npuc.compiler.layers.shape import shaped
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import SliceOp


def merge_slices(func: FuncOp) -> None:
    """Merge the slices of each argument of a function that are equal, or that differ along one axis and overlap."""
    _merge_equal(func)
    taken: dict[SSAValue, list[_Run]] = {}
    for place, op in enumerate(func.body.block.ops):
        if isinstance(op, SliceOp) and isinstance(op.x, BlockArgument) and (run := _run_of(op, place)) is not None:
            taken.setdefault(op.x, []).append(run)
    for runs in taken.values():
        if len({run.axis for run in runs}) == 1:
            for group in _overlapping(runs):
                _take_from_one(group)


def _merge_equal(func: FuncOp) -> None:
    first: dict[tuple[SSAValue, frozenset[tuple[str, Attribute]], Attribute], SSAValue] = {}
    for op in list(func.body.block.ops):
        if isinstance(op, SliceOp) and isinstance(op.x, BlockArgument):
            known = first.setdefault((op.x, frozenset(op.properties.items()), op.out.type), op.out)
            if known is not op.out:
                Rewriter.replace_op(op, [], [known])


@dataclass(frozen=True)
class _Run:
    """
    A slice that takes the elements from `start` to before `stop` along `axis`, and all along the others.

    `place` is that of its operation among those of the function.
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


def _take_from_one(group: list[_Run]) -> None:
    """Take the slices of a group from one that covers them; from the argument itself, if that is all of it."""
    x, axis, start, stop = group[0].op.x, group[0].axis, group[0].start, max(run.stop for run in group)
    sizes = list(shape_of(x))
    if stop - start == sizes[axis]:
        return
    sizes[axis] = stop - start
    first = min(group, key=lambda run: run.place).op
    whole = SliceOp(x, results=[shaped(x, sizes)], starts=_at(axis, start, len(sizes)))
    whole.attributes.update(first.attributes)
    Rewriter.insert_op(whole, InsertPoint.before(first))
    for run in group:
        if (run.start, run.stop) == (start, stop):
            Rewriter.replace_op(run.op, [], [whole.out])
        else:
            part = SliceOp(whole.out, results=[run.op.out.type], starts=_at(axis, run.start - start, len(sizes)))
            part.attributes.update(run.op.attributes)
            Rewriter.replace_op(run.op, part)


def _at(axis: int, start: int, rank: int) -> tuple[int, ...]:
    return tuple(start if at == axis else 0 for at in range(rank))

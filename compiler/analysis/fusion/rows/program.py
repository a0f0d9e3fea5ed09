"""The rows of the operations in the body of a group that walks rows."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.fusion.rows.bands import Band, RowError, RowProgram, bands_of
from npuc.compiler.analysis.fusion.rows.maps import RowStep, row_step
from npuc.compiler.analysis.fusion.slices import body_axes
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import GroupOp
from npuc.dialects.npu.interleave import YieldOp


def program_of(ops: Sequence[Operation], results: Sequence[SSAValue], axis: int) -> RowProgram:
    """The rows of operations in their order, whose results have them along an axis. Raises `RowError`."""
    axes = dict.fromkeys(results, axis)
    found: dict[Operation, RowStep] = {}
    for op in reversed(ops):
        step = row_step(op, next((axes[value] for value in op.results if value in axes), axis))
        if isinstance(step, str):
            raise RowError(f"'{op.name}': {step}", op)
        found[op] = step
        for value, one in zip(op.operands, step.reads, strict=True):
            if one is not None:
                axes.setdefault(value, one.axis)
    return RowProgram({op: found[op] for op in ops}, tuple(results))


def row_program(group: GroupOp) -> RowProgram:
    """
    The rows of the operations of a group.

    Raises `SourceError` for an operation that is not row-wise, or not sample-wise.
    """
    walk = group.row_walk
    assert walk is not None
    body_axes(group)
    ops = [op for op in group.body.block.ops if not isinstance(op, YieldOp)]
    try:
        return program_of(ops, group.ending.operands, walk.axis)
    except RowError as error:
        raise SourceError(f"a group that walks rows: {error}", location=location_of(error.op or group)) from None


def group_bands(group: GroupOp, program: RowProgram) -> list[Band]:
    """The bands of a group; raises `SourceError` where it cannot walk rows by them."""
    walk = group.row_walk
    assert walk is not None
    try:
        return bands_of(program, walk)
    except RowError as error:
        raise SourceError(f"a group that walks rows: {error}", location=location_of(error.op or group)) from None

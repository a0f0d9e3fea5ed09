"""Groups of operations on numpy: the body runs once a micro-batch, on slices of the operands along their samples."""

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Region

from npuc.compiler.analysis.fusion.slices import body_axes, body_of
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.interpreter.row_bands import RowWalker
from npuc.compiler.layers.base import Array
from npuc.dialects.npu.groups.batches import WHOLE, Batches
from npuc.dialects.npu.groups.op import GroupOp
from npuc.dialects.npu.groups.window import RowWindowOp
from npuc.dialects.tensors import shape_of


def micro_batches(batches: Batches) -> Iterator[tuple[int, int]]:
    """The first sample of each micro-batch, and the one after its last."""
    for start in range(0, batches.samples, batches.micro):
        yield start, min(start + batches.micro, batches.samples)


def part(array: Array, axis: int, samples: int, start: int, stop: int) -> Array:
    """The samples from `start` up to `stop` along an axis; all of an array that is read whole."""
    if axis == WHOLE:
        return array
    rows = array.shape[axis] // samples
    index = (slice(None),) * axis + (slice(start * rows, stop * rows),)
    return array[index]


def joined(parts: Sequence[Array], axis: int) -> Array:
    """The whole result of those of the micro-batches: one after another along an axis, or their sum."""
    if axis != WHOLE:
        return np.concatenate(parts, axis)
    total = parts[0]
    for one in parts[1:]:
        total = total + one
    return total


@register_impls
class GroupFunctions(InterpreterFunctions):
    """The implementation of a group, whose sums have the type of the result after each micro-batch."""

    def __init__(self, numbers: Numbers = Numbers(double=True)):
        self.numbers = numbers

    @impl(GroupOp)
    def run_group(self, interpreter: Interpreter, op: GroupOp, args: PythonValues) -> PythonValues:
        batches = op.batches
        walker = None if op.row_walk is None else RowWalker(op)
        bodies: dict[int, Region] = {batches.micro: op.body}
        if batches.ragged:
            bodies[batches.ragged] = body_of(op, batches.ragged)
        else:
            body_axes(op)  # raises for a body that is not sample-wise, which would compute something else
        found: list[PythonValues] = []
        for start, stop in micro_batches(batches):
            own = [part(v, axis, batches.samples, start, stop) for v, axis in zip(args, op.slices, strict=True)]
            if walker is not None:
                found.append(tuple(walker.run(interpreter, own)))
            else:
                found.append(interpreter.run_ssacfg_region(bodies[stop - start], tuple(own), "group"))
        parts = zip(zip(*found, strict=True), op.joins, strict=True)
        return self.numbers.results(op, tuple(joined(own, axis) for own, axis in parts))

    @impl(RowWindowOp)
    def run_window(self, interpreter: Interpreter, op: RowWindowOp, args: PythonValues) -> PythonValues:
        rows = args[0] if len(args) == 1 else np.concatenate([args[1], args[0]], op.axis)
        stop = op.start + shape_of(op.out)[op.axis]
        return (rows[(slice(None),) * op.axis + (slice(op.start, stop),)],)

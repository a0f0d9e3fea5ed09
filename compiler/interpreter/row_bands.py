"""
Groups that walk rows, on numpy: the operations of the body run band by band, each on the rows that it computes then.

What is kept from one band to the next are arrays of exactly the rows that the analysis says, so that a row that was not
there would be missed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.interpreter import Interpreter
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.fusion.rows.bands import Band
from npuc.compiler.analysis.fusion.rows.maps import RowMap, Span
from npuc.compiler.analysis.fusion.rows.program import group_bands, row_program
from npuc.compiler.analysis.fusion.rows.sized import Extent, extent_of, of_rows, on_rows
from npuc.compiler.layers.base import Array
from npuc.dialects.npu.groups.op import GroupOp


@dataclass(frozen=True)
class Rows:
    """Some rows of a value: an array, its axis of rows, and the first of them."""

    array: Array
    axis: int
    start: int

    def part(self, span: Span) -> Array:
        """The rows of a span, all of which must be there."""
        start, stop = span[0] - self.start, span[1] - self.start
        if not 0 <= start < stop <= self.array.shape[self.axis]:
            raise AssertionError(f"rows {span} of {self.array.shape[self.axis]} from {self.start} on")
        return self.array[(slice(None),) * self.axis + (slice(start, stop),)]

    def behind(self, new: "Rows") -> "Rows":
        """These rows with new ones behind them."""
        if self.start + self.array.shape[self.axis] != new.start:
            raise AssertionError(f"rows from {new.start} on are not the next ones")
        return Rows(np.concatenate([self.array, new.array], self.axis), self.axis, self.start)


class RowWalker:
    """The bands of a group, for one sample after another."""

    def __init__(self, group: GroupOp):
        self.group, self.program = group, row_program(group)
        self.bands = group_bands(group, self.program)
        self.ops: dict[tuple[Operation, Extent], Operation] = {}

    def run(self, interpreter: Interpreter, args: Sequence[Array]) -> list[Array]:
        """The results for one sample."""
        inputs: dict[SSAValue, Array] = dict(zip(self.group.body.block.args, args, strict=True))
        there: dict[SSAValue, Rows] = {}
        found: dict[SSAValue, list[Array]] = {value: [] for value in self.program.results}
        for band in self.bands:
            values = self._run_band(interpreter, band, inputs, there)
            for value, parts in found.items():
                if value in band.fresh:
                    parts.append(values[value].part(band.fresh[value]))
            there = {v: Rows(values[v].part(span), values[v].axis, span[0]) for v, span in band.left.items()}
        return [np.concatenate(found[value], self._axis(value)) for value in self.program.results]

    def _axis(self, value: SSAValue) -> int:
        assert isinstance(value.owner, Operation)
        return self.program.steps[value.owner].axis

    def _run_band(
        self, interpreter: Interpreter, band: Band, inputs: dict[SSAValue, Array], there: dict[SSAValue, Rows]
    ) -> dict[SSAValue, Rows]:
        """All rows of values that there are in a band: the old ones, and what its operations compute behind them."""
        values = dict(there)
        for value, span in band.fresh.items():
            if value in inputs:  # New rows of an operand are read, all others are there or not needed any more.
                axis = next(one.axis for one in self._maps(value))
                _add(values, value, Rows(Rows(inputs[value], axis, 0).part(span), axis, span[0]))
        for op, made in band.made.items():
            step = self.program.steps[op]
            operands = [
                inputs[value] if one is None else values[value].part(band.read[op, number])
                for number, (value, one) in enumerate(zip(op.operands, step.reads, strict=True))
            ]
            reads = {number: span for (own, number), span in band.read.items() if own is op}
            sized = self._sized(op, extent_of(step, made, reads))
            for value, array in zip(op.results, interpreter.run_op(sized, tuple(operands)), strict=True):
                _add(values, value, Rows(array, step.axis, made[0]))
        return values

    def _maps(self, value: SSAValue) -> Iterator[RowMap]:
        """How operations read the rows of a value."""
        for use in value.uses:
            step = self.program.steps.get(use.operation)
            one = None if step is None else step.reads[use.index]
            if one is not None:
                yield one

    def _sized(self, op: Operation, extent: Extent) -> Operation:
        """An operation on the rows that it computes."""
        if (op, extent) not in self.ops:
            step = self.program.steps[op]
            types = [
                value.type if place is None or one is None else of_rows(value.type, one.axis, place.rows)
                for value, one, place in zip(op.operands, step.reads, extent.places, strict=True)
            ]
            self.ops[op, extent] = on_rows(op, step, extent, Block(arg_types=types).args)
        return self.ops[op, extent]


def _add(values: dict[SSAValue, Rows], value: SSAValue, new: Rows) -> None:
    """Put new rows of a value behind those that are there."""
    values[value] = values[value].behind(new) if value in values else new

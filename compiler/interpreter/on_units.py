"""The products that each unit multiplies while a program runs, counted on the values that are there."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from npuc.compiler.analysis.hetero.contractions import Ranges, boxes_of, product_of
from npuc.compiler.analysis.hetero.tiles import UnitShare, one_share
from npuc.compiler.analysis.hetero.unit import UnitMachine
from npuc.compiler.interpreter.contraction import Array, contract
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest


@dataclass(frozen=True)
class UnitCount:
    """How many products a unit multiplied, how many were expected, and the variance of that over masks."""

    counted: int
    expected: float
    variance: float

    def __add__(self, other: "UnitCount") -> "UnitCount":
        return UnitCount(self.counted + other.counted, self.expected + other.expected, self.variance + other.variance)


@dataclass
class UnitProducts(Interpreter.Listener):
    """
    Counts the products of contractions that units share, by unit.

    A dense unit multiplies all, one of dense x sparse those of nonzeros of the operand that it compresses, others those
    of two nonzeros. What a convolution pads is no product but of a dense unit.
    """

    machine: UnitMachine
    found: dict[Operation, dict[str, UnitCount]] = field(default_factory=dict[Operation, dict[str, UnitCount]])

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if not isinstance(op, ContractOp) or op.units_attr is None:
            return
        units, own = {unit.name: unit for unit in self.machine.units}, op.units_attr.data
        product = product_of(op)
        before = self.found.get(op, {})
        for part, boxes in zip(own.parts, boxes_of(op.nest, own), strict=True):
            share = one_share(self.machine, units[part.unit], product, own.axis, part.size)
            count = UnitCount(_counted(op, share, boxes, args), share.products, share.deviation**2)
            before[part.unit] = before.get(part.unit, UnitCount(0, 0.0, 0.0)) + count
        self.found[op] = before


def _counted(op: ContractOp, share: UnitShare, boxes: tuple[Ranges, ...], args: PythonValues) -> int:
    """The products that a unit multiplies in its boxes."""
    if share.unit.kind == "dense":
        return sum(prod(high - low for low, high in box.values()) for box in boxes)
    nest, statement = op.nest, op.nest.statements[0]
    skips = {statement.lhs: True, statement.rhs: True}
    if share.unit.kind == "dense-sparse" and share.formats is not None:
        skips = {statement.lhs: share.formats[0] != "dense", statement.rhs: share.formats[1] != "dense"}
    arrays = zip((tensor.name for tensor in nest.ins), args, strict=False)
    masks: Mapping[str, Array] = {name: _mask(value, skips=skips.get(name, True)) for name, value in arrays}
    (result,) = contract(_without_starts(nest), masks, boxes)
    return int(result.sum())


def _mask(value: Array, *, skips: bool) -> Array:
    """1 where a value takes part in a product, in floats, which count exactly."""
    return (np.asarray(value) != 0).astype(np.float64) if skips else np.ones(np.shape(value))


def _without_starts(nest: Nest) -> Nest:
    return replace(nest, starts=(None,) * len(nest.outs))


def totals_by_unit(found: Mapping[Operation, Mapping[str, UnitCount]]) -> dict[str, UnitCount]:
    """The counts of all products by unit."""
    totals: dict[str, UnitCount] = {}
    for counts in found.values():
        for unit, count in counts.items():
            totals[unit] = totals.get(unit, UnitCount(0, 0.0, 0.0)) + count
    return totals

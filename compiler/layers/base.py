"""
The interface of a layer: meaning, derivative, work, cuts and lowering of an operation of the `train` dialect.

One module of this package a family, named as the family's dialect module; see `npuc.compiler.layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from math import gcd, prod
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy.typing as npt
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers.domains import Domain
from npuc.dialects.npu.reread import Reread
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.base import Param, TrainOp, decode

Array: TypeAlias = npt.NDArray[Any]
NewOpT = TypeVar("NewOpT", bound=Operation)
OpT = TypeVar("OpT", bound=TrainOp)
Emit: TypeAlias = Callable[[NewOpT], NewOpT]
"""Appends an operation to the program under construction and returns it."""


class Kind(StrEnum):
    """What kind of work an operation is."""

    MATRIX = "matrix"
    VECTOR = "vector"
    DATA = "data"
    VIEW = "view"
    CONSTANT = "constant"
    COMM = "comm"


@frozen
class Work:
    """
    The work of executing an operation once.

    `macs` multiply-accumulates in matrix products, `vector_ops` elementary operations on elements; `reads` and
    `writes` are the elements moved for each operand and result, None where each is moved whole. `reread` are operands
    read in two passes, from DRAM twice unless they are resident in between.
    """

    macs: int = 0
    vector_ops: int = 0
    reads: tuple[int, ...] | None = None
    writes: tuple[int, ...] | None = None
    reread: Reread | None = None


class Combine(StrEnum):
    """How the results of the parts combine to the whole result."""

    SUM = "sum"
    MEAN = "mean"


@frozen
class Cut:
    """
    A way to split the work of an operation: equal shards of some tensors give equal shards of others.

    For each operand the axis that is split, or None if every part of the work needs it whole; for each result the axis,
    or how the parts' results combine, or None if each part has the whole result. A part fixes the leading mixed-radix
    digits of an index of these axes, so that repeated splits nest. (Axes of different sizes may correspond:
    [batch, time] as one axis is split as batch is.) The operation on a part has the same properties as the whole, but
    for those that count what is split, like the groups of a convolution: `divided` names them, and they are divided by
    the number of parts.

    With `addends` nothing is split: each part works on addends of the operands and has an addend of the result.
    """

    operands: tuple[int | None, ...]
    results: tuple[int | Combine | None, ...]
    divided: tuple[str, ...] = ()
    addends: bool = False

    def common(self, op: TrainOp) -> int:
        """
        The number that the number of parts must divide.

        The greatest common divisor of the sizes of the axes that are cut and of the divided properties (of none: 0).
        """
        beside = zip((*op.operands, *op.results), (*self.operands, *self.results), strict=True)
        sizes = [shape_of(value)[axis] for value, axis in beside if isinstance(axis, int)]
        return gcd(*sizes, *(count for name in self.divided for count in _counts(op, name)))


@frozen
class Joined:
    """Results that alias operands, given by number, concatenated in memory; nothing is copied."""

    operands: tuple[int, ...] = (0,)


@frozen
class Pieces:
    """
    Results that alias pieces of the first operand, whose memory is divided into pieces of so many elements.

    `picked` holds the number of each result's piece.
    """

    sizes: tuple[int, ...]
    picked: tuple[int, ...]


class Layer(Generic[OpT]):
    """
    The knowledge about one operation class, `op`.

    `evaluate` reads only the properties and result types of the operation it is given, never its operands: the values
    are passed as arrays. That lets later levels of the IR run the same meaning.
    """

    op: type[OpT]
    kind: Kind = Kind.VECTOR
    elementwise: ClassVar[bool] = False
    """Whether an element of a result reads only the same element of each operand that has the result's shape."""
    joint_gradients: ClassVar[bool] = False
    """Whether one operation computes the gradients of all operands: `vjp` is asked once, for data and parameters."""
    without_gradient: ClassVar[tuple[int, ...]] = ()
    """The operands, by number, that never get a gradient though they may be floats."""

    def evaluate(self, op: OpT, *arrays: Array) -> tuple[Array, ...]:
        """The results for given operand values, one array a result."""
        raise TypeError(f"{self.op.name} has no meaning")

    def evaluate_block(
        self, op: OpT, shape: tuple[int, ...], index: tuple[Array, ...], *arrays: Array
    ) -> tuple[Array, ...]:
        """
        The results of elementwise work at some positions of tensors of `shape`: an array of indices for each axis.

        `arrays` hold these positions only. In all but few layers the results do not depend on where the positions are.
        """
        return self.evaluate(op, *arrays)

    def vjp(self, op: OpT, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        """
        Emit the operations of the derivative; return a gradient for each operand.

        `grads` holds the gradient of each result, None where it has none. The answer is None for operands that need
        no gradient (`needs`) or have none.
        """
        raise NotDifferentiable(self.op.name)

    def work(self, op: OpT) -> Work:
        """
        The work of one execution. Raises `SourceError` for an operation that computes something but has no rule.

        By default an operation that computes nothing moves every tensor whole.
        """
        if self.kind in (Kind.MATRIX, Kind.VECTOR):
            raise SourceError(
                f"{told_of(op)}{op.name} has no cost: its layer has no rule for its work",
                location=location_of(op),
                hint="give the layer a method `work`, or derive it from PerElementLayer",
            )
        return Work()

    def shown(self, op: OpT) -> Joined | Pieces | None:
        """
        The operands' memory that the results alias, for models of memory; None: the results have memory of their own.

        By default only views alias. The cost of the operation elsewhere does not depend on it, but on `kind`.
        """
        return Joined() if self.kind is Kind.VIEW else None

    def cuts(self, op: OpT) -> Sequence[Cut]:
        """
        The ways to split the work of an operation among devices; none where it cannot be split.

        First those that split the first result, in the order of its axes, then those that combine it, in the order of
        the operands' axes. Every cut allows at least two parts, and the operation on a part still has the other cuts.
        """
        return broadcast_cuts(op) if self.elementwise else ()

    def index_limit(self, op: OpT, operand: int) -> int | None:
        """The number of values that an operand (by number) of indices or labels may take; None for all others."""
        return None

    def domain(self, op: OpT, operand: int) -> Domain | None:
        """What values an operand (by number) is meant to have; None where any numbers do."""
        return None

    def lower(self, op: OpT, emit: Emit[Any]) -> list[SSAValue] | None:
        """Emit `npu` operations for matrix work and return the results; None for vector work and data movement."""
        return None


class PerElementLayer(Layer[OpT]):
    """
    A layer of `steps` vector operations for each element of its largest tensor.

    That is the result where shapes broadcast, the operand of a reduction or loss, the parameter of an update.
    """

    steps: ClassVar[int] = 1

    def steps_of(self, op: OpT) -> int:
        """The steps of one operation, where its properties change them."""
        return self.steps

    def reread_of(self, op: OpT) -> Reread | None:
        """The operands that an operation reads in two passes; None where one pass is enough."""
        return None

    def work(self, op: OpT) -> Work:
        count = max(map(elements, (*op.operands, *op.results)))
        return Work(vector_ops=self.steps_of(op) * count, reread=self.reread_of(op))


Gradients: TypeAlias = Sequence[SSAValue | None]


class DataError(Exception):
    """What an operation cannot compute for the values of its operands, though their types are right."""


class NotDifferentiable(Exception):
    """The operation has no derivative."""


def elements(value: SSAValue) -> int:
    """The number of elements of a tensor value."""
    product = 1
    for size in tensor_type(value).get_shape():
        product *= size
    return product


def result_elements(op: Operation, index: int = 0) -> int:
    """The number of elements of a result."""
    return elements(op.results[index])


def slabs(value: SSAValue, axes: Sequence[int]) -> int:
    """
    The number of pieces of a tensor, neighbours in memory, that have all positions along some axes.

    Elements lie in the order of the axes, so these are the positions on the axes before the first of them.
    """
    shape = shape_of(value)
    return prod(shape[: min((axis % len(shape) for axis in axes), default=0)])


def broadcast_cuts(op: TrainOp) -> list[Cut]:
    """The cuts of work whose operands broadcast to its results by numpy's rule: every axis of the results."""
    shape, found = shape_of(op.results[0]), list[Cut]()
    for axis, size in enumerate(shape):
        behind = len(shape) - axis
        beside = tuple(
            len(own) - behind if len(own) >= behind and own[-behind] == size else None
            for own in map(shape_of, op.operands)
        )
        if size > 1:
            found.append(Cut(beside, (axis,) * len(op.results)))
    return found


def derivative(kind: type[OpT], op: TrainOp, *operands: SSAValue, results: Sequence[Attribute] | None = None) -> OpT:
    """The operation of a derivative, with those properties of the operation `op` that both have."""
    return kind(*operands, results=results, **params_of(op, kind))


def params_of(op: TrainOp, kind: type[TrainOp] | None = None) -> dict[str, Param]:
    """The properties of an operation by name; only those that operations of a `kind` have too, if it is given."""
    known = op.properties if kind is None else kind.get_irdl_definition().properties
    return {name: decode(attr) for name, attr in op.properties.items() if name in known}


def rebuilt(
    op: OpT, operands: Sequence[SSAValue], results: Sequence[Attribute], shares: Sequence[tuple[Cut, int]] = ()
) -> OpT:
    """
    The same operation on other operands and with results of other types, like those of a part.

    `shares` are the cuts that make the part and the number of parts of each, several where a part is cut again. The new
    operation has no attributes yet.
    """
    params = params_of(op)
    for name in {name for cut, _ in shares for name in cut.divided}:
        parts = prod(parts for cut, parts in shares if name in cut.divided)
        counts = [count // parts for count in _counts(op, name)]
        params[name] = counts[0] if isinstance(params[name], int) else tuple(counts)
    return type(op)(*operands, results=results, **params)


def _counts(op: TrainOp, name: str) -> list[int]:
    """The values of a property that is an integer or several."""
    value = decode(op.properties[name])
    counts = value if isinstance(value, tuple) else (value,)
    return [count for count in counts if isinstance(count, int)]


def told_of(op: Operation) -> str:
    """The beginning of a message about the execution of an operation: its layer, if it has one."""
    layer = layer_of(op)
    return f"layer '{layer}': " if layer else ""

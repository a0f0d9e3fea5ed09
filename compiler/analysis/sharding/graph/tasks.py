"""
A forward program as sharding sees it: values, and tasks with the cuts by which each can be split among devices.

A task is an operation, or a reshard point (`reshard_points.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import prod

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.analysis.sharding.graph.chain import LayerKind
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Combine, Cut, Kind
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.tensors import is_float, shape_of
from npuc.dialects.train.arithmetic import AddOp, AffineOp, CastOp, MulOp, SubOp
from npuc.dialects.train.base import TrainOp, ints
from npuc.dialects.train.box import SliceOp
from npuc.dialects.train.conv import ConvOp
from npuc.dialects.train.dropout import DropoutOp
from npuc.dialects.train.embedding import EmbeddingOp
from npuc.dialects.train.join import SplitOp, UnbindOp
from npuc.dialects.train.shape import ReshapeOp, TransposeOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of

SIZES = ("sizes",)
"""The property that the cut along the axis of a split divides."""


class Source(StrEnum):
    """What a value is computed from: the last of these kinds among its origins."""

    CONSTANT = "constant"
    PARAM = "param"
    DATA = "data"


@dataclass(frozen=True)
class Value:
    """
    A value: its shape and what it is computed from.

    `argument` is its kind as an argument of the function, None for other values; `trained`: it is a parameter that a
    step changes; `active`: it has a gradient, as no value has in a forward pass; `is_float`: a machine may store it in
    a width of its own. `type_bytes` are the bytes per element by its type, `gradient_bytes` those of its gradient where
    that moves between devices in another type: values computed from parameters alone have gradients in the parameters'
    type (`transforms/autodiff/gradient_types.py`).
    """

    shape: tuple[int, ...]
    source: Source
    active: bool
    argument: ArgumentKind | None = None
    is_float: bool = True
    type_bytes: int = 4
    trained: bool = False
    gradient_bytes: int | None = None

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def bytes(self, float_bytes: int | None) -> int:
        """The bytes of the value; `float_bytes` per float, if the machine says so."""
        return self.elements * self.element_bytes(float_bytes)

    def element_bytes(self, float_bytes: int | None) -> int:
        """The bytes per element."""
        return float_bytes if self.is_float and float_bytes is not None else self.type_bytes

    def gradient(self) -> Value:
        """Its gradient, in the type in which it moves between devices."""
        return self if self.gradient_bytes is None else replace(self, type_bytes=self.gradient_bytes)


@dataclass(frozen=True)
class Task:
    """
    An operation: the numbers of its operands and results, and the cuts by which it can be split.

    `weight` is the operand that holds the weights of a layer, `kind` the kind of that layer, `macs` the
    multiply-accumulates of its forward product. `gradients`: for each operand whether the task contributes to its
    gradient. `axes` are those along which the consumers of a `reshard_point` of weights split them. `linear` are the
    operands in which the result is linear with all others fixed; it is linear in several together if one of the cuts
    takes partial sums. `parts`: the results are parts of the operand, or all of it in another type. `placed`: the
    weights are a table of which type II cuts the rows.
    """

    layer: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    cuts: tuple[Cut, ...]
    weight: int | None = None
    kind: LayerKind | None = None
    reshard_point: bool = False
    macs: int = 0
    gradients: tuple[bool, ...] = ()
    axes: tuple[int, ...] = ()
    linear: tuple[int, ...] = ()
    parts: bool = False
    placed: bool = False


@dataclass(frozen=True)
class TaskGraph:
    """
    Values by number, and tasks in order; the tasks of operations keep the function's order.

    `returned` are the values that the function returns. `segments` has the segment sizes of segmented axes, by value
    and axis.
    """

    values: tuple[Value, ...]
    tasks: tuple[Task, ...]
    returned: frozenset[int] = frozenset()
    segments: Mapping[tuple[int, int], tuple[int, ...]] = field(default_factory=dict[tuple[int, int], tuple[int, ...]])

    @property
    def trains(self) -> bool:
        """Whether any value has a gradient; if none has, the program is a forward pass."""
        return any(value.active for value in self.values)


def forward_program(func: FuncOp) -> TaskGraph:
    """The tasks of a forward function, one for each operation, in order."""
    reader = _Reader(func)
    ops = [op for op in func.body.block.ops if not isinstance(op, ReturnOp)]
    tasks = [reader.task(op) for op in ops]
    last = func.body.block.last_op
    returned = [reader.numbers[value] for value in last.operands] if last is not None else []
    losses = {returned[result.index] for result in results_of(func) if result.loss} if returned else set[int]()
    values, tasks = _with_gradients(reader.values, tasks, ops, losses)
    return TaskGraph(values, tasks, frozenset(returned))


def _with_gradients(
    values: Sequence[Value], tasks: Sequence[Task], ops: Sequence[Operation], losses: set[int]
) -> tuple[tuple[Value, ...], tuple[Task, ...]]:
    """
    Values and tasks with the gradients that `autodiff` would derive: of the values that depend on a trained parameter
    (`active` so far) those that lead to the loss.
    """
    wanted = {number for number in losses if values[number].active}
    found: list[Task] = []
    for task, op in zip(reversed(tasks), reversed(ops), strict=True):
        reached = role_of(op) is not Role.UPDATE and not wanted.isdisjoint(task.results)
        without = _without_gradient(op)
        gradients = tuple(
            reached and place not in without and values[operand].active for place, operand in enumerate(task.operands)
        )
        wanted.update(operand for operand, has in zip(task.operands, gradients, strict=True) if has)
        found.append(replace(task, gradients=gradients, linear=_linear(op, gradients)))
    return (
        tuple(replace(value, active=number in wanted) for number, value in enumerate(values)),
        tuple(reversed(found)),
    )


class _Reader:
    """Numbers the values of a function in program order."""

    def __init__(self, func: FuncOp):
        self.values: list[Value] = []
        self.numbers: dict[SSAValue, int] = {}
        known = {argument.index: argument for argument in arguments_of(func)}
        for number, value in enumerate(func.body.block.args):
            argument = known.get(number)
            kind = argument.kind if argument is not None else ArgumentKind.INPUT
            trained = kind is ArgumentKind.PARAM and argument is not None and not argument.frozen
            source = Source.DATA if kind is ArgumentKind.INPUT else Source.PARAM
            self._add(value, source, trained and is_float(value), kind)

    def _add(self, value: SSAValue, source: Source, active: bool, kind: ArgumentKind | None = None) -> int:
        self.numbers[value] = len(self.values)
        width, trained = element_bytes(value.type, None), active and kind is ArgumentKind.PARAM
        self.values.append(Value(shape_of(value), source, active, kind, is_float(value), width, trained))
        return self.numbers[value]

    def task(self, op: Operation) -> Task:
        """The task of an operation; numbers its results."""
        operands = tuple(self.numbers[value] for value in op.operands)
        read = [self.values[number] for number in operands]
        source = max((value.source for value in read), key=list(Source).index, default=Source.CONSTANT)
        without = _without_gradient(op)
        active = any(value.active for place, value in enumerate(read) if place not in without)
        results = tuple(self._add(value, source, active and is_float(value)) for value in op.results)
        if source is Source.PARAM and active:
            back = max(value.gradient().type_bytes for value in read if value.active)
            for result in results:
                if self.values[result].active and self.values[result].type_bytes != back:
                    self.values[result] = replace(self.values[result], gradient_bytes=back)
        cuts = (*get_layer(op).cuts(op), *_added(op), *_segmented(op)) if isinstance(op, TrainOp) else ()
        weight = _weight(op, read)
        kind = None if weight is None else _kind(op)
        parts = isinstance(op, SliceOp | SplitOp | UnbindOp | CastOp)
        placed = weight is not None and isinstance(op, EmbeddingOp) and op.blocks is not None
        return Task(layer_of(op), operands, results, cuts, weight, kind, macs=_macs(op), parts=parts, placed=placed)


def _without_gradient(op: Operation) -> tuple[int, ...]:
    return get_layer(op).without_gradient if isinstance(op, TrainOp) else ()


def _added(op: TrainOp) -> list[Cut]:
    """The cut of a sum of two values of one shape: partial sums of both give partial sums of the result."""
    if not isinstance(op, AddOp | SubOp) or len({shape_of(value) for value in op.operands}) > 1 or not is_float(op.out):
        return []
    return [Cut((None, None), (Combine.SUM,), addends=True)]


def _segmented(op: TrainOp) -> list[Cut]:
    """The cut of a split along its axis, in each segment of the operand by itself (`segments`)."""
    if not isinstance(op, SplitOp) or min(ints(op.sizes)) < 2:
        return []
    axis = op.axis.value.data % len(shape_of(op.x))
    return [Cut((axis,), (axis,) * len(op.results), SIZES)]


def _linear(op: Operation, gradients: Sequence[bool]) -> tuple[int, ...]:
    """
    The operands in which an operation is linear with all others fixed, and whose elements it keeps.

    A factor is excluded if the other factor has a gradient, which needs the whole value.
    """
    match op:
        case AddOp() | SubOp() | MulOp():
            known = [not isinstance(op, MulOp) or not own for own in reversed(gradients)]
            same = [shape_of(value) == shape_of(op.out) for value in op.operands]
            return tuple(n for n in range(2) if known[n] and same[n])
        case AffineOp():
            return (0,) if op.offset.value.data == 0 else ()
        case ReshapeOp() | TransposeOp() | DropoutOp():
            return (0,)
        case _:
            return ()


def _weight(op: Operation, read: list[Value]) -> int | None:
    """The operand that holds the weights of a layer: of a product, a convolution or an embedding."""
    if not isinstance(op, EmbeddingOp) and not (isinstance(op, TrainOp) and get_layer(op).kind is Kind.MATRIX):
        return None
    sources = [value.source for value in read]
    if isinstance(op, EmbeddingOp) and op.blocks is not None:
        return 1 if sources[:2] == [Source.DATA, Source.PARAM] else None
    if sorted(sources) != [Source.DATA, Source.PARAM]:
        return None
    return sources.index(Source.PARAM)


def _macs(op: Operation) -> int:
    """The multiply-accumulates of a product; 0 for other work."""
    return get_layer(op).work(op).macs if isinstance(op, TrainOp) and get_layer(op).kind is Kind.MATRIX else 0


def _kind(op: Operation) -> LayerKind:
    return "conv" if isinstance(op, ConvOp) else "fc"

"""
What npuc knows about an operation of the `train` dialect: its meaning, derivative, work and lowering.

One module of this package a family, named as the family's dialect module; see `npuc.compiler.layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import numpy.typing as npt
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.base import TrainOp

Array: TypeAlias = npt.NDArray[Any]
NewOpT = TypeVar("NewOpT", bound=Operation)
OpT = TypeVar("OpT", bound=TrainOp)
Emit: TypeAlias = Callable[[NewOpT], NewOpT]
"""Appends an operation to the program under construction and returns it."""

# Kinds of arguments of a language function; frontends bind their syntax to these.
Value: TypeAlias = SSAValue
OptValue: TypeAlias = SSAValue | None
OptInt: TypeAlias = int | None
Values: TypeAlias = Sequence[SSAValue]
Operand: TypeAlias = SSAValue | int | float
Ints: TypeAlias = Sequence[int]
IntOrInts: TypeAlias = int | Sequence[int]
OptInts: TypeAlias = int | Sequence[int] | None
Padding: TypeAlias = int | Sequence[int] | str


ELEMENT_TYPES: dict[str, Attribute] = {
    "f32": f32,
    "bf16": bf16,
    "f16": f16,
    "f64": f64,
    "i32": i32,
    "i64": i64,
    "bool": i1,
}
"""The element types of the language by name."""


class Kind(StrEnum):
    """What kind of work an operation is."""

    MATRIX = "matrix"
    VECTOR = "vector"
    DATA = "data"
    VIEW = "view"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Work:
    """
    What executing an operation once takes.

    `macs` multiply-accumulates in matrix products, `vector_ops` elementary operations on elements; `reads` and
    `writes` are the elements moved for each operand and result, None where each is moved whole.
    """

    macs: int = 0
    vector_ops: int = 0
    reads: tuple[int, ...] | None = None
    writes: tuple[int, ...] | None = None


class ArgumentError(Exception):
    """A wrong argument of a language function. `argument` is its name, `message` says what was found and expected."""

    def __init__(self, argument: str, message: str, hint: str | None = None):
        super().__init__(message)
        self.argument = argument
        self.message = message
        self.hint = hint


class Layer(Generic[OpT]):
    """
    The knowledge about one operation class, `op`.

    `evaluate` reads only the properties and result types of the operation it is given, never its operands: the values
    are passed as arrays. That lets later levels of the IR run the same meaning.
    """

    op: type[OpT]
    kind: Kind = Kind.VECTOR

    def evaluate(self, op: OpT, *arrays: Array) -> tuple[Array, ...]:
        """The results for given operand values, one array a result."""
        raise TypeError(f"{self.op.name} has no meaning")

    def vjp(self, op: OpT, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        """
        Emit the operations of the derivative; return a gradient for each operand.

        `grads` holds the gradient of each result, None where it has none. The answer is None for operands that need
        no gradient (`needs`) or have none.
        """
        raise NotDifferentiable(self.op.name)

    def work(self, op: OpT) -> Work:
        """The work of one execution; by default nothing is computed and every tensor is moved whole."""
        return Work()

    def index_limit(self, op: OpT, operand: int) -> int | None:
        """How many values an operand, given by number, may have that holds indices or labels; None for all others."""
        return None

    def lower(self, op: OpT, emit: Emit[Any]) -> list[SSAValue] | None:
        """Emit `npu` operations for matrix work and return the results; None: it stays vector or data work."""
        return None


Gradients: TypeAlias = Sequence[SSAValue | None]


class NotDifferentiable(Exception):
    """The derivative of an operation was asked for that has none."""


def elements(value: SSAValue) -> int:
    """The number of elements of a tensor value."""
    product = 1
    for size in tensor_type(value).get_shape():
        product *= size
    return product


def result_elements(op: Operation, index: int = 0) -> int:
    """The number of elements of a result."""
    return elements(op.results[index])


def element_type(argument: str, name: str) -> Attribute:
    """The element type that an argument names."""
    if name not in ELEMENT_TYPES:
        raise ArgumentError(argument, f"found '{name}', expected one of {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[name]


def pair(argument: str, value: IntOrInts) -> tuple[int, int]:
    """An argument that is one integer for both axes or a list of two."""
    if isinstance(value, int):
        return value, value
    if len(value) != 2:
        raise ArgumentError(argument, f"found a list of {len(value)}, expected an integer or a list of two")
    return value[0], value[1]


def rank_at_least(argument: str, value: SSAValue, rank: int, form: str) -> tuple[int, ...]:
    """The shape of a tensor argument, or an error if its rank is too small; `form` says what the axes are."""
    shape = tensor_type(value).get_shape()
    if len(shape) < rank:
        raise ArgumentError(argument, f"found a tensor of rank {len(shape)}, expected {form}")
    return shape


def channels_of(argument: str, value: SSAValue) -> int:
    """The number of channels of a [batch, channels, …] tensor argument."""
    return rank_at_least(argument, value, 2, "[batch, channels, …]")[1]


def normal_axis(argument: str, axis: int, rank: int) -> int:
    """A non-negative axis for one that may count from the end."""
    if rank == 0:
        raise ArgumentError(argument, f"found {axis} for a scalar, which has no axes")
    if not -rank <= axis < rank:
        raise ArgumentError(argument, f"found {axis}, expected {-rank} to {rank - 1} for a tensor of rank {rank}")
    return axis % rank

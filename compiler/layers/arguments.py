"""
The arguments of language functions: the kinds that frontends bind their syntax to, and what is checked of them.

A check raises `ArgumentError`, which names the argument; the frontend knows its place. Shape rules are the dialect's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.errors import either
from npuc.dialects.densities import read_density
from npuc.dialects.tensors import element_text, tensor_type
from npuc.dialects.train.rules import integer_range

Value: TypeAlias = SSAValue
OptValue: TypeAlias = SSAValue | None
Bias: TypeAlias = bool | SSAValue
"""Whether a layer makes a bias, or one that is shared."""
Values: TypeAlias = Sequence[SSAValue]
Operand: TypeAlias = SSAValue | int | float
OptOperand: TypeAlias = SSAValue | int | float | None
OptInt: TypeAlias = int | None
Ints: TypeAlias = Sequence[int]
IntOrInts: TypeAlias = int | Sequence[int]
OptInts: TypeAlias = int | Sequence[int] | None
OptDensity: TypeAlias = float | str | None
OptNumbers: TypeAlias = float | Sequence[float] | None
IndexOrInts: TypeAlias = SSAValue | Sequence[int]
Padding: TypeAlias = int | Sequence[int] | str

ELEMENT_TYPES: dict[str, Attribute] = {
    "f32": f32,
    "bf16": bf16,
    "f16": f16,
    "f64": f64,
    "i8": i8,
    "i32": i32,
    "i64": i64,
    "bool": i1,
}
"""The element types of the language by name."""
IMAGE = "[batch, channels, height, width]"
_NUMBERS = {1: "one", 2: "two", 3: "three"}


class ArgumentError(Exception):
    """A wrong argument of a language function. `argument` is its name, `message` says what was found and expected."""

    def __init__(self, argument: str, message: str, hint: str | None = None):
        super().__init__(message)
        self.argument = argument
        self.message = message
        self.hint = hint


def check_shared(argument: str, shared: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """A parameter that is shared, which has to have the sizes that a layer's own would have."""
    found = tensor_type(shared).get_shape()
    if found != tuple(sizes):
        raise ArgumentError(argument, f"found a tensor of shape {list(found)}, expected {list(sizes)}")
    return shared


def check_density(density: OptDensity, weight: OptValue) -> None:
    """Raise for what is no density, and for that of a weight that is shared, which has one where it is made."""
    if density is None:
        return
    if weight is not None:
        raise ArgumentError("density", "found one beside weight=, expected it for a weight that is made here")
    said = str(density)
    try:
        read_density((said.split() or [""])[0])
    except ValueError:
        hint = 'for example 0.1, "2:4" or "0.1 csr"'
        raise ArgumentError(
            "density", f"found {said or 'nothing'}, expected a number above 0 and at most 1, or N:M", hint
        ) from None


# ---- numbers and words


def element_type(argument: str, name: str) -> Attribute:
    """The element type that an argument names."""
    if name not in ELEMENT_TYPES:
        raise ArgumentError(argument, f"found '{name}', expected one of {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[name]


def weight_element(argument: str, element: Attribute) -> Attribute:
    """The element type of weights that a layer makes, which is that of an argument: weights are trained, so floats."""
    if not isinstance(element, AnyFloat):
        found = element_text(element)
        raise ArgumentError(argument, f"found {found}, expected floating point", "cast it, or look it up by embedding")
    return element


def check_word(argument: str, word: str, known: Sequence[str]) -> None:
    """Raise unless an argument is one of a few words."""
    if word not in known:
        expected = either([f"'{one}'" for one in known])
        raise ArgumentError(argument, f"found '{word}', expected {expected}")


def check_positive(argument: str, number: int) -> None:
    """Raise unless an integer is at least 1."""
    if number < 1:
        raise ArgumentError(argument, f"found {number}, expected at least 1")


def check_not_negative(argument: str, number: float) -> None:
    """Raise unless a number is finite and at least 0."""
    if not 0 <= number < inf:
        raise ArgumentError(argument, f"found {number}, expected a number of at least 0")


def check_value(argument: str, value: float, element: Attribute) -> None:
    """
    Raise an error for a number that an integer type does not hold, or not exactly: numbers are exact to 2^53.

    A float type holds every number: one beyond its range is infinite, as in PyTorch's arithmetic.
    """
    bounds = integer_range(element)
    if bounds is None:
        return
    low, high = bounds
    if not float(value).is_integer() or not low <= value <= high:
        shown = value if isinstance(value, int) else f"{value:.16g}"
        message = f"found {shown}, expected an integer from {low} to {high} for {element_text(element)}"
        raise ArgumentError(argument, message, "numbers are exact below 2^53" if element == i64 else None)


def check_share(argument: str, number: float) -> None:
    """Raise unless a number lies between 0 and 1."""
    if not 0 <= number <= 1:
        raise ArgumentError(argument, f"found {number}, expected 0 to 1")


def short(numbers: Sequence[int]) -> str:
    """A list of numbers as messages show it, not too long."""
    return f"[{', '.join(map(str, numbers[:8]))}{', …' if len(numbers) > 8 else ''}]"


def per_axis(argument: str, value: IntOrInts, axes: int) -> tuple[int, ...]:
    """An argument that is one integer for every axis or a list of one each."""
    values = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(values) != axes:
        message = f"found a list of {len(values)}, expected an integer or a list of {_NUMBERS[axes]}"
        raise ArgumentError(argument, message)
    return values


def image_size(argument: str, value: IntOrInts) -> tuple[int, int]:
    """An argument that is the height and width of an image: one positive integer for both or a list of two."""
    height, width = per_axis(argument, value, 2)
    check_positive(argument, min(height, width))
    return height, width


# ---- shapes


def rank_at_least(argument: str, value: SSAValue, rank: int, form: str) -> tuple[int, ...]:
    """The shape of a tensor argument, or an error if its rank is too small; `form` says what the axes are."""
    shape = tensor_type(value).get_shape()
    if len(shape) < rank:
        raise _wrong_rank(argument, shape, form)
    return shape


def rank_exactly(argument: str, value: SSAValue, rank: int, form: str) -> tuple[int, ...]:
    """The shape of a tensor argument, or an error if it has another rank; `form` says what the axes are."""
    shape = tensor_type(value).get_shape()
    if len(shape) != rank:
        raise _wrong_rank(argument, shape, form)
    return shape


def _wrong_rank(argument: str, shape: tuple[int, ...], form: str) -> ArgumentError:
    return ArgumentError(argument, f"found a tensor of rank {len(shape)}, expected {form}")


def channels_of(argument: str, value: SSAValue) -> int:
    """The number of channels of a [batch, channels, …] tensor argument."""
    return rank_at_least(argument, value, 2, "[batch, channels, …]")[1]


# ---- axes


def normal_axis(argument: str, axis: int, rank: int) -> int:
    """A non-negative axis for one that may count from the end."""
    if rank == 0:
        raise ArgumentError(argument, f"found {axis} for a scalar, which has no axes")
    if not -rank <= axis < rank:
        raise ArgumentError(argument, f"found {axis}, expected {-rank} to {rank - 1} for a tensor of rank {rank}")
    return axis % rank


def normal_axes(argument: str, axes: OptInts, rank: int) -> tuple[int, ...]:
    """Different axes in ascending order, from one axis, several, which may count from the end, or none: all."""
    if axes is None:
        return tuple(range(rank))
    listed = [axes] if isinstance(axes, int) else list(axes)
    found = sorted({normal_axis(argument, axis, rank) for axis in listed})
    if len(found) != len(listed):
        raise ArgumentError(argument, f"found {listed}, which names an axis twice")
    if not found:
        raise ArgumentError(argument, "found an empty list, expected at least one axis")
    return tuple(found)


def new_axis(argument: str, axis: int, rank: int) -> int:
    """The place of one more axis in a tensor of a rank; it may count from the end of the result."""
    if not -rank - 1 <= axis <= rank:
        message = f"found {axis}, expected {-rank - 1} to {rank} for a new axis of a tensor of rank {rank}"
        raise ArgumentError(argument, message)
    return axis % (rank + 1)

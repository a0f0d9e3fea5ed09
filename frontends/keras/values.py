"""Tensors of a model, whose channels may stand first in the program."""

from __future__ import annotations

from dataclasses import dataclass

from npuc.frontends.dsl.syntax import Name


@dataclass(frozen=True)
class KerasValue:
    """
    A tensor: a variable of the script in Keras's order of axes, or where `first` is set with the last axis second.

    `softmax_of` is the value that it is the softmax of, over the last axis; `is_sigmoid`: it is that of a value.
    """

    name: Name
    first: bool = False
    softmax_of: KerasValue | None = None
    is_sigmoid: bool = False


def to_first(rank: int) -> list[int]:
    """The axes of a tensor whose last axis becomes the second."""
    return [0, rank - 1, *range(1, rank - 1)]


def to_last(rank: int) -> list[int]:
    """The axes of a tensor whose second axis becomes the last."""
    return [0, *range(2, rank), 1]


def place_of(axis: int, rank: int) -> int:
    """Where an axis of Keras's order stands in a tensor with the last axis second."""
    return axis if axis == 0 else 1 if axis == rank - 1 else axis + 1

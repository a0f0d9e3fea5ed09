"""Calls of operators without a meaning as calls that are priced: results as the file has them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, cast

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import Empty, Refused, Uniform, Weight
from npuc.frontends.torch.values import ELEMENTS, Complex

if TYPE_CHECKING:
    from npuc.frontends.script.opaque.calls import OpaqueOperators
    from npuc.frontends.script.opaque.counts import Number
    from npuc.frontends.torch.context import Context
    from npuc.frontends.torch.memory.values import Memory
    from npuc.frontends.torch.program import TensorType, TorchNode


def names_of(operator: str) -> tuple[str, ...]:
    """The names of an operator: with its overload, and without it."""
    bare, _, overload = operator.rpartition(".")
    return (operator, bare) if overload and "." in bare else (operator,)


def price_call(
    operators: OpaqueOperators | None,
    c: Context,
    node: TorchNode,
    types: Sequence[TensorType],
    arguments: Mapping[str, object],
    needed: Collection[str],
    memory: Memory,
) -> None:
    """
    Write a call of an operator without a meaning; `memory` gets its results.

    Those that nothing needs or the language has no type of are left out. Raises `Refused` and `UsageError`.
    """
    assert operators is not None, "a graph without --opaque is refused before its calls are written"
    operands = [c.variable(one) for value in arguments.values() for one in _tensors(value)]
    wanted = [number for number, name in enumerate(node.makes) if name in needed]
    kept = [n for n in wanted if types[n].dtype in ELEMENTS and 0 not in c.result_shape(n)]
    if not kept:
        raise Refused("found no result whose type the language has")
    call = operators.call(
        c,
        node.number,
        names_of(node.operator),
        operands,
        [tuple(c.result_shape(number)) for number in kept],
        [c.result_element(number) for number in kept],
        dict(_numbers(arguments)),
    )
    layers = [c.layer if place == 0 else f"{c.layer}.{number}" for place, number in enumerate(kept)]
    found = [c.script.assign(layers[0], call)] if len(kept) == 1 else c.script.unpacked(layers, call)
    for number, value in zip(kept, found, strict=True):
        memory.define(node.makes[number], value)


def _tensors(value: object) -> Iterator[Name | Weight]:
    """The tensors of an argument, in lists, too; those without elements are nothing that is read."""
    match value:
        case Name() | Weight():
            yield value
        case Complex() | Uniform():
            raise Refused("found an operand of complex or random numbers, expected real ones")
        case Empty():
            return
        case list():
            for one in cast("list[object]", value):
                yield from _tensors(one)
        case _:
            return


def _numbers(arguments: Mapping[str, object]) -> Iterator[tuple[str, Number]]:
    """The arguments that are numbers, by name; those of lists have the place behind it."""
    for name, value in arguments.items():
        listed = isinstance(value, list)
        for place, one in enumerate(cast("list[object]", value)[:64] if listed else [value]):
            if name and isinstance(one, int | float) and isfinite(one):
                yield (f"{name}{place}" if listed else name), one if isinstance(one, int) else Fraction(one)

"""
Data for a run that nobody gives any: random values that the program can take, one batch for all steps.

A network with enough parameters learns such a batch by heart, whatever its loss is, so that the loss falls where the
step is right; where there are classes, inputs say something of them, so that it falls soon. What values an input may
have follows from what reads it: classes and indices from their range, targets of losses of probabilities from the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp, TensorType, i1
from xdsl.ir import SSAValue

from npuc.compiler.interpreter.execute import argument_type, the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array, Kind
from npuc.compiler.layers.domains import Domain
from npuc.dialects.tensors import Tensor, tensor_type
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import Argument, ArgumentKind, arguments_of

Batch = Mapping[str, Array]
"""Values of inputs by name."""
NAMED = 4
"""The most inputs that a sentence names of one kind."""
TRUE_SHARE = 0.875
"""The share of true values in a mask: most of what it is about is seen."""
NORMAL = "normal"


@dataclass(frozen=True)
class Data:
    """What the inputs of a run are: in words (`said`), and those of each step, by its number from 0 (`batch`)."""

    said: str
    batch: Callable[[int], Batch]


def inputs_of(module: ModuleOp) -> list[Argument]:
    """The inputs and labels of a program."""
    return [one for one in arguments_of(the_function(module)) if one.kind is ArgumentKind.INPUT]


@dataclass
class _Made:
    """Values of an input, what they are in words, and below what number they are if they are indices."""

    argument: Argument
    values: Array
    kind: str
    limit: int | None


def made_data(module: ModuleOp, seed: int) -> Data:
    """One batch of random inputs for all steps, with something in them that labels follow from."""
    func = the_function(module)
    made: list[_Made] = []
    for argument in inputs_of(module):
        value, type = func.body.block.args[argument.index], argument_type(func, argument)
        limit, domain = index_limit(value), domain_of(value)
        values, kind = _drawn(type, limit, domain, _random(seed, argument.name), labels=argument.labels)
        made.append(_Made(argument, values, kind, limit))
    for labels in [one for one in made if one.argument.labels and one.limit is not None]:
        _relate(labels, [one for one in made if not one.argument.labels], seed)
    kinds: dict[str, list[str]] = {}
    for one in made:
        kinds.setdefault(one.kind, []).append(one.argument.name)
    told = "; ".join(f"{_listed(names)} {kind}" for kind, names in kinds.items())
    batch = {one.argument.name: one.values for one in made}
    return Data(f"one batch of random data in every step, seed {seed}: {told}", lambda step: batch)


def _random(seed: int, what: str) -> np.random.Generator:
    return np.random.default_rng([seed, crc32(f"data {what}".encode())])


def _relate(labels: _Made, inputs: list[_Made], seed: int) -> None:
    """
    Let labels and inputs have to do with each other: a class has a pattern that the inputs of its rows are around, and
    the label of an index is a function of it. Other labels are only to be learnt by heart.
    """
    name, shape = labels.argument.name, labels.values.shape
    for one in inputs:
        if one.limit is not None and one.values.shape == shape and len(shape) > 1:
            table = _random(seed, f"{name} of {one.argument.name}").integers(0, labels.limit or 1, one.limit)
            labels.values, labels.kind = table[one.values], f"{labels.kind} by {one.argument.name}"
            return
    for one in inputs:
        rows = one.values.shape[:1]
        if len(shape) == 1 and rows == shape and one.kind == NORMAL:
            for label in np.unique(labels.values):
                pattern = _random(seed, f"{one.argument.name} of {name} {label}").normal(size=one.values.shape[1:])
                one.values[labels.values == label] += pattern
            one.values /= np.sqrt(2)
            one.kind = f"{NORMAL} around a pattern for each {name}"


def _drawn(
    type: Tensor, limit: int | None, domain: Domain | None, random: np.random.Generator, *, labels: bool
) -> tuple[Array, str]:
    """Values of a type, and what they are in words."""
    shape, element = type.get_shape(), type.element_type
    if limit is not None:
        return random.integers(0, limit, shape), f"0 to {limit - 1}"
    if element == i1:
        return random.uniform(size=shape) < TRUE_SHARE, "mostly true"
    if isinstance(element, IntegerType | IndexType) or domain is Domain.EITHER:
        return random.integers(0, 2, shape), Domain.EITHER
    if domain is Domain.SHARES or domain is Domain.LOG_SHARES:
        weights = np.exp(random.normal(size=shape))
        shares = weights / weights.sum(axis=-1 if shape else None, keepdims=True)
        return shares if domain is Domain.SHARES else np.log(shares), domain
    if labels or domain is Domain.INSIDE:
        return random.uniform(0.01, 0.99, shape), Domain.INSIDE
    return random.normal(size=shape), NORMAL


def _listed(names: list[str]) -> str:
    """Names in a sentence, the first ones of many."""
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def index_limit(value: SSAValue) -> int | None:
    """How many values an argument may have that holds indices, also under other shapes; None if it holds none."""
    limits = (get_layer(op).index_limit(op, operand) for op, operand in _readers(value))
    return min((limit for limit in limits if limit is not None), default=None)


def domain_of(value: SSAValue) -> Domain | None:
    """What values an argument is meant to have, also under other shapes; None where nothing says so."""
    domains = (get_layer(op).domain(op, operand) for op, operand in _readers(value))
    return next((domain for domain in domains if domain is not None), None)


def _readers(value: SSAValue) -> Iterator[tuple[TrainOp, int]]:
    """The operations that read a value, by which operand; also what reads it in another shape."""
    if not isinstance(value.type, TensorType):
        return
    element, pending = tensor_type(value).element_type, [value]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, TrainOp):
                yield use.operation, use.index
                if get_layer(use.operation).kind in (Kind.VIEW, Kind.DATA, Kind.COMM):
                    pending += [r for r in use.operation.results if tensor_type(r).element_type == element]

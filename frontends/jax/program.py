"""A StableHLO module as plain data: what the process that has JAX's MLIR sends to the one that has npuc."""

from __future__ import annotations

import msgspec
import numpy as np

from npuc.compiler.core.errors import Location, SourceError
from npuc.compiler.layers.base import Array

NO_LINE = ""
ELEMENTS = {"i1": "bool"}
"""Element types that the language calls otherwise."""


class HloType(msgspec.Struct, frozen=True):
    """A tensor type; `element` as the language writes it, or as MLIR does where the language has none."""

    shape: tuple[int, ...]
    element: str


class HloDense(msgspec.Struct, frozen=True):
    """Numbers of a tensor: `data` in row-major order, one number where all are equal; `kind` is numpy's type."""

    shape: tuple[int, ...]
    element: str
    kind: str
    data: bytes

    def array(self) -> Array:
        """The numbers; equal ones take no memory."""
        flat = np.frombuffer(self.data, self.kind)
        return np.broadcast_to(flat[0], self.shape) if flat.size == 1 else flat.reshape(self.shape)


class HloRegion(msgspec.Struct, frozen=True):
    """A block: the numbers of the values that it takes, and its operations."""

    arguments: tuple[int, ...]
    ops: tuple[HloOp, ...]


class HloOp(msgspec.Struct, frozen=True):
    """
    An operation: the numbers of its operands and results, and what it has besides.

    `ints` are integers, truth values and lists of both, fields of dimension numbers among them; `texts` all other
    attributes as text; `stack` is JAX's name of the place, `jit(step)/jvp(mlp)/dot_general`, `line` that in the source,
    `at` line and column in the module's own text where it names no source.
    """

    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    ints: dict[str, list[int]]
    texts: dict[str, str]
    dense: dict[str, HloDense]
    regions: tuple[HloRegion, ...]
    stack: str
    line: str
    at: tuple[int, int] | None = None

    @property
    def kind(self) -> str:
        """The name without its dialect."""
        return self.name.partition(".")[2]


def error_at(op: HloOp, filename: str, message: str, hint: str | None = None) -> SourceError:
    """An error at an operation: at its place in the text, or with the place in the source that it names."""
    if op.at is not None:
        return SourceError(f"{op.name}: {message}", location=Location(filename, *op.at), hint=hint)
    place = f" ({op.line})" if op.line else ""
    return SourceError(f"{filename}: {op.name}{place}: {message}", hint=hint)


class HloFunction(msgspec.Struct, frozen=True):
    """A function: its block, and what JAX calls its arguments and results, empty where it does not say."""

    name: str
    body: HloRegion
    argument_names: tuple[str, ...]
    result_names: tuple[str, ...]


class HloModule(msgspec.Struct, frozen=True):
    """A module: its functions by name, the public one, and the types of values by their numbers."""

    functions: dict[str, HloFunction]
    main: str
    types: tuple[HloType, ...]


class Failure(msgspec.Struct, frozen=True):
    """Why there is no module."""

    message: str
    hint: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What the process that reads a file says."""

    module: HloModule | None = None
    failure: Failure | None = None

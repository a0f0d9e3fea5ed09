"""
Parameters at the border of a function: what they start with, and tables that have more rows there than outside.

    %w: tensor<4x16xf32> {train.param = "w", train.tables = [{name = "w", at = 0, rows = 14}], dist.sharding = …}

Rows of such an argument that belong to no table are zeros. Outside each table has its own name and rows, and so have
its gradient and the optimizer's states of it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from xdsl.dialects.func import FuncOp

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.start import drawn
from npuc.dialects.train.signature import Argument, ArgumentKind, arguments_of
from npuc.dialects.train.tables import Piece, pieces_of


def initial_value(argument: Argument, shape: tuple[int, ...], seed: int) -> Array:
    """The value an argument starts with: its fill, or uniform in its bound, drawn from the seed and its name."""
    if argument.bound is None:
        return np.full(shape, 0.0 if argument.fill is None else argument.fill)
    return drawn(argument.name, argument.bound, shape, seed)


def stacked(
    func: FuncOp, given: Mapping[str, Array], shape_of: Callable[[FuncOp, Argument], tuple[int, ...]], seed: int
) -> dict[str, Array]:
    """
    The given values with each argument that holds tables in one piece, which has those that are not given as they
    start; `shape_of` is that of an argument.

    Raises `UsageError` for a table of another shape.
    """
    found = dict(given)
    for argument, pieces in _stacks(func):
        if argument.kind is not ArgumentKind.PARAM and not any(piece.name in given for piece in pieces):
            continue
        shape = shape_of(func, argument)
        if pieces and pieces[-1].at + pieces[-1].rows > shape[0]:
            last = f"{pieces[-1].at + pieces[-1].rows:,}"
            raise SourceError(f"argument '{argument.name}' has {shape[0]:,} rows, its train.tables end at {last}")
        whole = np.zeros(shape)
        for piece in pieces:
            own = (piece.rows, *shape[1:])
            start = replace(argument, name=piece.name, bound=piece.bound)
            value = np.asarray(found.pop(piece.name)) if piece.name in found else initial_value(start, own, seed)
            if value.shape != own:
                shape_found, wanted = ("x".join(map(str, one)) or "scalar" for one in (value.shape, own))
                raise UsageError(f"input '{piece.name}' has shape {shape_found}, expected {wanted} of the table")
            whole[piece.at : piece.at + piece.rows] = value
        found[argument.name] = whole
    return found


def unstacked(func: FuncOp, found: Mapping[str, Array]) -> dict[str, Array]:
    """Values by the names of arguments, perhaps behind a word (`new w`), with each table by its own name."""
    tables = {argument.name: pieces for argument, pieces in _stacks(func)}
    apart: dict[str, Array] = {}
    for name, value in found.items():
        word, _, rest = name.rpartition(" ")
        for piece in tables.get(rest, ()):
            apart[f"{word} {piece.name}".lstrip()] = value[piece.at : piece.at + piece.rows]
        if rest not in tables:
            apart[name] = value
    return apart


def _stacks(func: FuncOp) -> Iterator[tuple[Argument, tuple[Piece, ...]]]:
    """The arguments that hold tables, and what holds the same rows of their optimizer's states."""
    tables = {argument.name: pieces for argument, pieces in pieces_of(func)}
    for argument in arguments_of(func):
        if argument.name in tables:
            yield argument, tables[argument.name]
        elif argument.kind is ArgumentKind.STATE:
            name, _, state = argument.name.rpartition(".")
            if name in tables:
                yield argument, tuple(replace(one, name=f"{one.name}.{state}", bound=None) for one in tables[name])

"""Folds one by one, as an array runs them: what closed forms of groups that wait for its edge are tested against."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import ceil

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import placement
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Statement

Ranges = dict[str, tuple[int, int]]


@dataclass
class Fold:
    """A fold: the tile operation that it belongs to, rows in use, cycles streamed, and the name of its tile."""

    operation: int
    rows: int
    streamed: int
    tile: Hashable


def folds_of(nest: Nest, array: Array, places: Sequence[Ranges]) -> list[Fold]:
    """The folds of tile operations at these ranges of the dimensions."""
    alone = len(nest.statements) == 1
    return [fold for n, at in enumerate(places) for fold in operation_folds(nest, nest.statements, array, at, n, alone)]


def operation_folds(
    nest: Nest, statements: Sequence[Statement], array: Array, at: Ranges, number: int, alone: bool
) -> list[Fold]:
    """The folds of one tile operation, of this number; `alone`: it may go on with the tile of the one before."""
    found: list[Fold] = []
    sizes = {dim: high - low for dim, (low, high) in at.items()}
    for statement in statements:
        view = gemm_view(nest, statement)
        batch, m, n, k = view.sizes(sizes)
        size, dims = {"m": m, "n": n, "k": k}, {"m": view.m, "n": view.n, "k": view.k}
        place = placement(statement, array)
        fixed = tuple((d, at[d]) for d in (*dims[place.rows], *dims[place.cols], *view.batch))
        single = batch == 1 and size[place.rows] <= array.rows and size[place.cols] <= array.cols
        for element in range(batch):
            for column in range(0, size[place.cols], array.cols):
                for row in range(0, size[place.rows], array.rows):
                    rows = min(array.rows, size[place.rows] - row)
                    tile = fixed if alone and single else (number, statement.out, element, column, row)
                    found.append(Fold(number, rows, ceil(statement.passes * size[place.streamed]), tile))
    return found


@dataclass
class Group:
    """Folds on one stationary tile: the operation in which it begins, rows in use, cycles streamed."""

    operation: int
    rows: int
    streamed: int


def groups_of(folds: Sequence[Fold]) -> list[Group]:
    """The groups of a sequence of folds."""
    found: list[Group] = []
    before: Hashable = None
    for fold in folds:
        if before is not None and fold.tile == before:
            found[-1].streamed += fold.streamed
        else:
            found.append(Group(fold.operation, fold.rows, fold.streamed))
        before = fold.tile
    return found


def group_waits(groups: Sequence[Group], array: Array) -> list[int]:
    """What each group waits, by the rule as it is written."""
    if not array.grouped or array.edge_elements is None:
        return [0] * len(groups)
    crossing = [-(-group.rows // array.edge_elements) for group in groups]
    waits = [0] * len(groups)
    for g, group in enumerate(groups):
        if array.dataflow == "os":
            waits[g] = max(0, crossing[g - 1] - group.streamed) if g else 0
        else:
            waits[g] = max(0, crossing[g + 1] - group.streamed) if g + 1 < len(groups) else 0
    return waits


def walked(nest: Nest, array: Array, places: Sequence[Ranges]) -> list[int]:
    """The cycles of each tile operation of a sequence on an array whose groups of folds overlap."""
    return fold_cycles(folds_of(nest, array, places), len(places), array)


def fold_cycles(folds: Sequence[Fold], operations: int, array: Array) -> list[int]:
    """The cycles of each of some operations with these folds."""
    cycles = [0] * operations
    for fold in folds:
        cycles[fold.operation] += fold.streamed
    groups = groups_of(folds)
    for group, waited in zip(groups, group_waits(groups, array), strict=True):
        cycles[group.operation] += waited
    return cycles

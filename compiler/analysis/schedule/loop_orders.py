"""The orders of a nest's groups of dimensions that a schedule search considers, and the ways to hold its tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.residency_options import Holder, Option
from npuc.compiler.analysis.schedule.space import DimGroup, Grid, Reals
from npuc.dialects.npu.nest import Nest


@dataclass(frozen=True, eq=False)
class Ways:
    """
    Every order of the groups in question, and in each of them every way to hold the tensors: a row each.

    `order` is the number of a row's order. `options` are all that differ in price, those of one tensor next to each
    other; `columns` has those of each row, a column a tensor. `known` are the options of each tensor in each order, and
    `chosen` the numbers in there.
    """

    orders: tuple[tuple[int, ...], ...]
    order: Grid
    options: tuple[Option, ...]
    columns: Grid
    known: Sequence[Sequence[tuple[Option, ...]]]
    chosen: Grid

    def kept(self, row: int) -> list[tuple[int, int]]:
        """What a row keeps of each tensor (`Option.kept`)."""
        order = int(self.order[row])
        return [own[order][int(n)].kept for own, n in zip(self.known, self.chosen[row], strict=True)]

    def total(self, values: Reals, rows: slice) -> Reals:
        """The sum over the tensors of some ways, from a row of values an option."""
        first, *rest = self.columns[rows].T
        total = values[first]
        for column in rest:
            total += values[column]
        return total

    @cached_property
    def starts(self) -> Grid:
        """The number of each tensor's first option."""
        return self.columns.min(axis=0)


def all_ways(
    nest: Nest, widths: Bits, groups: Sequence[DimGroup], holders: Sequence[Holder], wanted: tuple[str, ...]
) -> Ways:
    """
    Every order of the groups, batch outermost, with `wanted` dimensions in that order; all ways to hold tensors.

    `holders` are those of `nest.tensors`.
    """
    count, tensors = len(groups), len(nest.ins) + len(nest.outs)
    batch = 1 if count and all(0 in holder.used for holder in holders[:tensors]) else 0
    ranks = [min((wanted.index(d) for d in g.dims if d in wanted), default=len(wanted)) for g in groups]
    orders = [
        (*range(batch), *inner)
        for inner in permutations(range(batch, count))
        if [ranks[g] for g in inner] == sorted(ranks[batch:])
    ]
    known = [[holder.options(order) for order in orders] for holder in holders]
    distinct: dict[tuple[int, ...], Option] = {}
    numbers: list[list[Grid]] = []
    for tensor, own in enumerate(known):
        keys = [[_key(tensor, option) for option in options] for options in own]
        distinct |= {
            key: o for some, options in zip(keys, own, strict=True) for key, o in zip(some, options, strict=True)
        }
        number = {key: n for n, key in enumerate(distinct)}
        numbers.append([np.array([number[key] for key in some]) for some in keys])
    kinds = _kinds(nest, widths)
    order: list[Grid] = []
    chosen: list[Grid] = []
    columns: list[Grid] = []
    for which in range(len(orders)):
        sizes = [len(known[kinds.index(kind)][which]) for kind in range(max(kinds) + 1)]
        choices: Grid = np.indices(sizes).reshape(len(sizes), -1)[kinds]
        order.append(np.full(choices.shape[1], which))
        chosen.append(choices)
        columns.append(np.stack([own[which][n] for own, n in zip(numbers, choices, strict=True)]))
    joined = (np.concatenate(parts, axis=1).T for parts in (columns, chosen))
    columns_of_rows, chosen_of_rows = (np.ascontiguousarray(part) for part in joined)
    return Ways(tuple(orders), np.concatenate(order), tuple(distinct.values()), columns_of_rows, known, chosen_of_rows)


def _key(tensor: int, option: Option) -> tuple[int, ...]:
    """Options of a tensor with the same key cost the same: they share their arrays."""
    return tensor, id(option.room), id(option.moved), id(option.level)


def _kinds(nest: Nest, widths: Bits) -> list[int]:
    """
    The number of each tensor's kind; tensors of one kind are held alike.

    Each is of a kind of its own, but of more than two statements those of the same role and indices (W, W1, W2) are one
    kind: else the choices would be too many to look at.
    """
    if len(nest.statements) <= 2:
        return list(range(len(nest.tensors)))
    outs, held, rooms = {out.name for out in nest.outs}, widths.with_sums(nest), widths.occupied(nest)
    roles = {name: 1 if name in outs else 0 for name in nest.tensors}
    roles |= {start.name: 2 for start in nest.starts if start is not None}
    alike = [
        (roles[name], tensor.axes, tensor.shape, width, held[name], rooms[name])
        for (name, tensor), width in zip(nest.tensors.items(), widths.stored, strict=True)
    ]
    number = {kind: n for n, kind in enumerate(dict.fromkeys(alike))}
    return [number[kind] for kind in alike]

"""The loop orders that a schedule search considers for a nest, and the residency choices in each."""

from collections.abc import Sequence
from functools import cached_property
from itertools import permutations

import numpy as np

from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.grid.residency_options import ResidencyOption, ResidencyOptions
from npuc.compiler.analysis.schedule.grid.space import DimGroup, Grid, Reals
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest


@frozen(eq=False)
class ResidencyChoices:
    """
    All combinations of a loop order with a residency option for every tensor, a row each.

    `order` is the number of a row's order. `options` are the distinct options by cost, those of one tensor adjacent;
    `columns` holds each row's indices into them, a column per tensor. `known` are the options of each tensor in each
    order, and `chosen` each row's indices into those.
    """

    orders: tuple[tuple[int, ...], ...]
    order: Grid
    options: tuple[ResidencyOption, ...]
    columns: Grid
    known: Sequence[Sequence[tuple[ResidencyOption, ...]]]
    chosen: Grid

    def keeps(self, row: int) -> list[tuple[int, int]]:
        """The `ResidencyOption.keep` of each tensor in a row."""
        order = int(self.order[row])
        return [own[order][int(n)].keep for own, n in zip(self.known, self.chosen[row], strict=True)]

    def total(self, values: Reals, rows: slice) -> Reals:
        """The sum over the tensors for some rows, given a row of values per option."""
        first, *rest = self.columns[rows].T
        total = values[first]
        for column in rest:
            total += values[column]
        return total

    @cached_property
    def starts(self) -> Grid:
        """The index of each tensor's first option."""
        return self.columns.min(axis=0)


def loop_orders(
    nest: Nest, groups: Sequence[DimGroup], residencies: Sequence[ResidencyOptions], wanted: tuple[str, ...]
) -> list[tuple[int, ...]]:
    """Every order of the groups, batch outermost, with the `wanted` dimensions in that order."""
    count, tensors = len(groups), len(nest.ins) + len(nest.outs)
    batch = 1 if count and all(0 in residency.used for residency in residencies[:tensors]) else 0
    ranks = [min((wanted.index(d) for d in g.dims if d in wanted), default=len(wanted)) for g in groups]
    return [
        (*range(batch), *inner)
        for inner in permutations(range(batch, count))
        if [ranks[g] for g in inner] == sorted(ranks[batch:])
    ]


def all_choices(
    nest: Nest,
    widths: Bits,
    groups: Sequence[DimGroup],
    residencies: Sequence[ResidencyOptions],
    wanted: tuple[str, ...],
) -> ResidencyChoices:
    """
    Every order of the groups, batch outermost and `wanted` dimensions in that order, with all residency options.

    `residencies` are those of `nest.tensors`.
    """
    orders = loop_orders(nest, groups, residencies, wanted)
    known = [[residency.options(order) for order in orders] for residency in residencies]
    distinct: dict[tuple[int, ...], ResidencyOption] = {}
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
    return ResidencyChoices(
        tuple(orders), np.concatenate(order), tuple(distinct.values()), columns_of_rows, known, chosen_of_rows
    )


def _key(tensor: int, option: ResidencyOption) -> tuple[int, ...]:
    """The key of a tensor's option; options of equal keys share their arrays and cost the same."""
    return tensor, id(option.room), id(option.traffic), id(option.refetch_level)


def _kinds(nest: Nest, widths: Bits) -> list[int]:
    """
    The number of each tensor's kind; all tensors of one kind take the same residency option.

    Every tensor is a kind of its own, but in nests of more than two statements tensors of equal role and indices (W,
    W1, W2) form one kind: otherwise there would be too many choices to enumerate.
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

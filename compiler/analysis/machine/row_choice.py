"""
Which mapping a row-stationary array is configured with for an operation, and the work of all its tile operations.

It is configured once an operation, as the chip is once a layer. Of the mappings it takes the one whose busiest resource
is done first over all tiles: the elements, the network of inputs, or that of sums, with what each must wait for at the
ends of passes; of several the one that moves fewest words. All of it are sums over tiles that are
products of one factor for rows, taps, images, filters and channels each, so that they need no walk, and a search can
have them for all steps at once (`analysis/schedule/grid/row_work.py`): factors may be numbers or arrays.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.row_factors import Factors, Number, factors_of
from npuc.compiler.analysis.machine.row_passes import PassWork, tile_work
from npuc.compiler.analysis.machine.row_roles import roles_of
from npuc.compiler.analysis.machine.row_stationary import PassMapping, RowStationary, mappings_of
from npuc.compiler.analysis.nest.blocks import lengths
from npuc.compiler.analysis.nest.cores import core_parts
from npuc.dialects.npu.nest import Nest, Schedule, Statement


def busiest(factors: Factors[Number], own: RowStationary) -> Number:
    """
    The cycles of the busiest resource: elements, the network of inputs, or that of sums. No schedule of these tiles
    takes less.

    Each of them waits while passes begin and sums go up, the elements while the last sums leave, the network of inputs
    for the last step besides, and that of sums for the first one.
    """
    first, last = factors.first_inputs, _crossing(factors.last_sums, own.psum_port)
    begin = _largest(_crossing(factors.weights, own.filter_port), _crossing(first, own.ifmap_port))
    inputs = _crossing(factors.inputs - first, own.ifmap_port) + factors.single_steps + last
    sums = _crossing(factors.sums, own.psum_port) + factors.single_steps
    return begin + factors.hops + _largest(_largest(factors.steady + last, inputs), sums)


def moved_words(factors: Factors[Number]) -> Number:
    """The words between array and SPM that depend on the mapping."""
    return factors.inputs + 2 * factors.sums


def _crossing(words: Number, port: int | None) -> Number:
    return 0 * words if port is None else -(-words // port)


def _largest(one: Number, other: Number) -> Number:
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return cast("Number", np.maximum(one, other))


def row_stationary(array: Array) -> RowStationary:
    """What a row-stationary array has."""
    assert array.row_stationary is not None, "its dataflow is rs"
    return array.row_stationary


def choices(nest: Nest, statement: Statement, array: Array) -> tuple[PassMapping, ...]:
    """The mappings that a statement may have."""
    own = replace(row_stationary(array), mappings=())
    return mappings_of((array.rows, array.cols), own, roles_of(nest, statement).sizes(nest.sizes))


@lru_cache(maxsize=8192)
def configured(nest: Nest, schedule: Schedule, array: Array) -> Array:
    """
    The array as it is configured for a scheduled nest; one that is already, or needs not be, as it is.

    Cores are configured alike, for the largest part of the nest.
    """
    own = array.row_stationary
    if own is None or own.mappings:
        return array
    if schedule.core_depth:
        part = core_parts(nest, schedule)[0]
        return configured(part.nest, part.schedule, array)
    tiles = {d: lengths(n, tuple(lo.step for lo in schedule.loops if lo.dim == d)) for d, n in nest.sizes.items()}

    def best(statement: Statement) -> PassMapping:
        roles = roles_of(nest, statement)

        def cost(mapping: PassMapping) -> tuple[int, int]:
            factors = factors_of(roles, mapping, tiles)
            return busiest(factors, own), moved_words(factors)

        return min(choices(nest, statement, array), key=cost)

    return replace(array, row_stationary=replace(own, mappings=tuple(best(s) for s in nest.statements)))


def works(nest: Nest, array: Array, extents: Mapping[str, int]) -> list[PassWork]:
    """The work of each statement in one tile operation, on an array that is configured for the nest."""
    own = row_stationary(array)
    bare = replace(own, mappings=())
    return [
        tile_work(roles_of(nest, statement), bare, mapping, extents)
        for statement, mapping in zip(nest.statements, own.mappings, strict=True)
    ]

"""Groups of folds that wait for the array's edge: closed forms and tile sequence against a walk fold by fold."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Protocol

import pytest

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.machine.compute import compute, cycles_lower_bound
from npuc.compiler.analysis.timing.operations import leaves
from npuc.compiler.analysis.timing.tiles import tile_sequence
from npuc.dialects.npu.nest import Nest, Schedule
from tests.edge_walk import Ranges, folds_of, group_waits, groups_of, walked
from tests.widths import of_bytes

FLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")
Draw = Callable[..., tuple[Nest, Schedule]]


class Moves(Protocol):
    places: list[Ranges]


Walk = Callable[[Nest, Schedule], Moves]


def draw_array(r: Random) -> Array:
    rows, cols = r.choice([1, 2, 3, 5, 9, 20]), r.randint(1, 6)
    return Array(rows, cols, r.choice(FLOWS), edge_elements=r.choice([None, 1, 1, 1, 2, 3]))


@pytest.mark.parametrize("seed", range(20))
def test_closed_form_and_sequence_are_the_walk(seed: int, draw: Draw, explicit_walk: Walk) -> None:
    r = Random(seed)
    for _ in range(60):
        nest, schedule = draw(r, big=r.choice([4, 6, 12]))
        array = draw_array(r)
        places = explicit_walk(nest, schedule).places
        expected = walked(nest, array, places)
        context = f"{nest}\n{schedule}\n{array}"
        work = compute(nest, schedule, array)
        groups = groups_of(folds_of(nest, array, places))
        assert work.groups == len(groups), context
        assert work.edge == sum(group_waits(groups, array)), context
        assert work.cycles == sum(expected) + work.overhead, context
        assert work.cycles >= cycles_lower_bound((nest,), array), context
        sequence = tile_sequence(nest, schedule, array, of_bytes(nest, 1))
        assert [leaf.cycles for leaf, _ in leaves(sequence.root, 0)] == expected, context
        assert sequence.root.cycles == sum(expected), context
        more = replace(array, edge_elements=None if array.edge_elements is None else array.edge_elements + 1)
        assert compute(nest, schedule, more).cycles <= work.cycles, context
        assert work.cycles <= compute(nest, schedule, replace(array, fill="per-fold")).cycles, context

"""The closed form of traffic equals a walk of the tiles, tensor by tensor."""

from collections.abc import Callable
from random import Random
from typing import Protocol

import pytest

from npuc.compiler.analysis.nest.traffic import traffic
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule
from tests.widths import finished

Draw = Callable[..., tuple[Nest, Schedule]]


class Moves(Protocol):
    read: dict[str, int]
    write: dict[str, int]
    by_tile: list[dict[str, int]]
    tails: list[dict[str, int]]
    spare: dict[str, int]


@pytest.mark.parametrize("seed", range(12))
def test_closed_form_equals_walk(seed: int, draw: Draw, explicit_walk: Callable[[Nest, Schedule], Moves]) -> None:
    r = Random(seed)
    for _ in range(150):
        nest, schedule = draw(r, big=5, cores=r.random() < 0.3)
        assert not [*nest.problems(), *schedule.problems(nest)]
        moves = explicit_walk(nest, schedule)
        closed = traffic(nest, schedule)
        context = f"{nest}\n{schedule}"
        assert {t: v.read for t, v in closed.items()} == moves.read, context
        assert {t: v.write for t, v in closed.items()} == moves.write, context
        walked = [*moves.by_tile, *moves.tails, moves.spare]
        for out in nest.outs:
            own = closed[out.name]
            assert sum(tile.get(finished(out.name), 0) for tile in walked) == own.write - own.spilled, context
            assert own.resumed == own.read, context


@pytest.mark.parametrize("seed", range(5))
def test_conservation(seed: int, draw: Draw) -> None:
    """Every element of a result is finished once, and read back as often as it leaves before; blocks fit in tensors."""
    r = Random(1000 + seed)
    for _ in range(100):
        nest, schedule = draw(r, big=40)
        moved = traffic(nest, schedule)
        for out in nest.outs:
            own = moved[out.name]
            assert own.write - own.spilled == out.elements
            assert own.spilled == own.resumed == own.read
        for name, held in footprint(nest, schedule).items():
            assert held <= nest.tensors[name].elements

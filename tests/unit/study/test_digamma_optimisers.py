"""General optimisers: each finds the least of a simple function, the same for a seed, and counts what it evaluated."""

import numpy as np
import pytest

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.explore.seeds import generator
from npuc.studies.digamma.optimisers import OPTIMISERS, OnePlusOne

SIZE, CENTRE = 6, 0.3


def sphere(points: Floats) -> Floats:
    return ((points - CENTRE) ** 2).sum(axis=0)


def least(method: str, evaluations: int, seed: int = 0) -> float:
    if method == "cma-es":
        pytest.importorskip("cmaes")
    optimiser, left, best = OPTIMISERS[method](SIZE, generator(seed, method)), evaluations, np.inf
    while left > 0:
        values = sphere(optimiser.ask())
        counted = optimiser.tell(values)
        assert 1 <= counted <= len(values)
        best = min(best, float(values[:counted].min()))
        left -= counted
    return best


@pytest.mark.parametrize("method", OPTIMISERS)
def test_the_least_of_a_sphere(method: str) -> None:
    found = least(method, 6000)
    assert found < (0.1 if method == "random" else 1e-3)
    assert found == least(method, 6000)
    assert least(method, 300) != least(method, 300, seed=1)
    if method != "random":
        assert found < least("random", 6000)


def test_children_proposed_together_are_those_of_one_after_another() -> None:
    """The strategy of one child at a time, with the same random numbers, has the same parents."""
    random, again = generator(5), OnePlusOne(SIZE, generator(5))
    mine, step = random.random(SIZE), OnePlusOne.STEP
    value = float(sphere(mine[:, None])[0])
    assert again.tell(sphere(again.ask())) == 1
    for _ in range(40):
        asked = again.ask()
        noise = random.normal(size=asked.shape)
        values = sphere(asked)
        counted = again.tell(values)
        for at in range(asked.shape[1]):
            child = mine + step * noise[:, at]
            assert np.allclose(child, asked[:, at])
            mine_value = float(sphere(child[:, None])[0])
            if mine_value <= value:
                mine, value, step = child, mine_value, step * OnePlusOne.FACTOR
                assert counted == at + 1
                break
            step *= OnePlusOne.FACTOR ** (-1 / 4)
        else:
            assert counted == asked.shape[1]
    assert value < 0.05

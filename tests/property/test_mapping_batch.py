"""Many mappings at once give the numbers of each by itself: MAESTRO's, as `analyse` has them."""

import warnings
from collections import Counter
from random import Random

import numpy as np
import pytest

from npuc.backends.maestro import evaluate, mapping_arrays
from npuc.compiler.analysis.mapping.batch.arrays import Mappings
from npuc.compiler.analysis.mapping.batch.build import mapping_of
from npuc.compiler.analysis.mapping.batch.evaluate import evaluate_part
from npuc.compiler.analysis.mapping.columns import COLUMNS, columns
from npuc.compiler.analysis.mapping.levels import Unmappable
from npuc.compiler.analysis.mapping.parity import PeArray, analyse
from npuc.dialects.mapping import Cluster, Map, Mapping, Problem
from npuc.dialects.mapping.problem import SLIDES
from tests.mapping_batches import draw_array, draw_batch, draw_layer, hardware_of


def by_itself(mapping: Mapping, array: PeArray) -> dict[str, float]:
    """The columns of a mapping, NaN in each where it is refused."""
    written = [one for level in mapping.levels for one in level]
    sizes = [*(int(str(e)) for one in written for e in (one.size, one.offset)), *mapping.clusters]
    windows = [one for one in written if mapping.problem.slides and one.dim in SLIDES.values() and not one.spatial]
    if min(sizes) < 1 or any({one.size, one.offset} != {mapping.problem.sizes[one.dim]} for one in windows):
        return dict.fromkeys(COLUMNS, np.nan)
    try:
        found = columns(analyse(mapping, array), array, len(mapping.levels))
    except Unmappable:
        return dict.fromkeys(COLUMNS, np.nan)
    return {name: np.nan if value is None else value for name, value in found.items()}


def differences(problem: Problem, mappings: Mappings, array: PeArray) -> list[tuple[int, str, float, float]]:
    found = evaluate(problem, mappings, hardware_of(array))
    wrong: list[tuple[int, str, float, float]] = []
    for row in range(len(mappings)):
        for name, wanted in by_itself(mapping_of(problem, mappings, row), array).items():
            mine = float(found[name][row])
            if not (mine == wanted or abs(mine - wanted) <= 1e-12 * abs(wanted) or np.isnan([mine, wanted]).all()):
                wrong.append((row, name, mine, wanted))
    return wrong


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_many_at_once_are_as_each_by_itself(levels: int) -> None:
    r = Random(levels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            problem = draw_layer(r)
            mappings = draw_batch(r, problem, 16, levels)
            assert differences(problem, mappings, draw_array(r, 4 ** (levels - 1))) == []


def test_large_layers_too() -> None:
    """Sizes of real layers, where products are large and quotients are close to whole numbers."""
    r = Random(4)
    for _ in range(15):
        problem = draw_layer(r, big=300)
        assert differences(problem, draw_batch(r, problem, 8, 2), draw_array(r, 16)) == []


def test_hardly_any_mapping_is_left_to_the_slow_way() -> None:
    r, counts = Random(5), Counter[str]()
    for _ in range(30):
        problem = draw_layer(r)
        mappings = draw_batch(r, problem, 16, 2)
        array = PeArray(32)
        with np.errstate(all="ignore"):
            _, regular = evaluate_part(problem, mappings, array)
        for row in range(len(mappings)):
            refused = np.isnan(by_itself(mapping_of(problem, mappings, row), array)["runtime_cycles"])
            counts["refused" if refused else "regular" if regular[row] else "irregular"] += 1
    assert counts["regular"] > 10 * counts["irregular"] > 0
    assert counts["refused"] > 0


@pytest.mark.parametrize("above", [(), (Map("K", 1024, 1024, spatial=True), Cluster(2))])
def test_numbers_of_steps_that_wrap_around(above: tuple[Map | Cluster, ...]) -> None:
    """A number of steps is a 32-bit integer in MAESTRO, at every level."""
    problem = Problem("CONV", (("K", 1024), ("C", 1024), ("R", 3), ("S", 3), ("Y", 130), ("X", 130)))
    tiles = (Map("C", 1, 1), Map("K", 1, 1, spatial=True), Map("Y", 3, 1), Map("X", 3, 1))
    mapping, array = Mapping(problem, (*above, *tiles)), PeArray(4, 7)
    found = evaluate(problem, mapping_arrays([mapping]), hardware_of(array))
    wanted = by_itself(mapping, array)
    assert wanted["compute_delay_max"] < 1000
    np.testing.assert_equal({name: float(values[0]) for name, values in found.items()}, wanted)

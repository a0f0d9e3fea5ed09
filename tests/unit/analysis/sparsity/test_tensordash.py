"""The window of TensorDash against a simulator in plain Python, and what is expected of it by density."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.sparsity import tensordash
from npuc.compiler.analysis.sparsity.factor import WorkFactor, sampled
from npuc.compiler.analysis.sparsity.masks import pair_rows, random_mask
from npuc.compiler.analysis.sparsity.window import count_cycles, levels, places
from npuc.compiler.core.errors import UsageError

OWN_PLACES = {
    3: [(1, -1), (1, 0), (1, 1), (1, 3), (2, -2), (2, 0), (2, 2)],
    2: [(1, -2), (1, -1), (1, 0), (1, 1), (1, 2), (1, 3)],
    1: [],
}
"""What a lane reaches, written down by hand for rows of 16 lanes."""
OWN_ORDER = {
    3: [0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14, 15],
    2: [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 12, 13, 14, 15],
    1: [],
}


def slow_cycles(pairs: list[list[list[bool]]], depth: int) -> int:
    """One stream: the list of PEs, rows, lanes; a lane after the other, in sets of coordinates."""
    left = [{(t, i) for t, row in enumerate(pe) for i, pair in enumerate(row) if pair} for pe in pairs]
    length, head, cycles = len(pairs[0]), 0, 0
    while head < length:
        cycles += 1
        for waiting in left:
            busy = {lane for lane in range(16) if (head, lane) in waiting}
            waiting -= {(head, lane) for lane in busy}
            for lane in OWN_ORDER[depth]:
                if lane in busy:
                    continue
                for later, step in OWN_PLACES[depth]:
                    place = (head + later, (lane + step) % 16)
                    if place in waiting:
                        waiting.remove(place)
                        break
        head += 1
        dropped = 1
        while dropped < depth and not any(t == head for waiting in left for t, _ in waiting):
            head, dropped = head + 1, dropped + 1
    assert not any(left)
    return cycles


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 14), st.floats(0, 1), st.integers(0, 999))
def test_the_window_exactly(depth: int, elements: int, length: int, density: float, seed: int) -> None:
    masks = random_mask((5, elements, length, 16), density, seed)
    assert count_cycles(masks, depth).tolist() == [slow_cycles(stream, depth) for stream in masks.tolist()]


def test_levels_of_the_source() -> None:
    assert levels(16, 3) == ((0, 5, 10), (1, 6, 11), (2, 7, 12), (3, 8, 13), (4, 9, 14), (15,))
    assert 1 + len(places(16, 3)) == 8


@given(st.integers(1, 64), st.integers(1, 5))
def test_lanes_of_a_level_never_meet(lanes: int, depth: int) -> None:
    assert sorted(lane for level in levels(lanes, depth) for lane in level) == list(range(lanes))
    for level in levels(lanes, depth):
        reached = [(row, (lane + step) % lanes) for lane in level for row, step in places(lanes, depth)]
        assert len(reached) == len(set(reached))


@given(st.integers(1, 64), st.integers(1, 5), st.integers(0, 20), st.floats(0, 1), st.integers(0, 99))
def test_bounds_of_a_mask(lanes: int, depth: int, length: int, density: float, seed: int) -> None:
    masks = random_mask((3, length, lanes), density, seed)
    cycles = count_cycles(masks, depth)
    assert (cycles >= -(-length // depth)).all()
    assert (cycles >= -(-masks.sum((1, 2)) // lanes)).all()
    assert (cycles <= length).all()
    assert count_cycles(np.ones_like(masks), depth).tolist() == [length] * 3
    assert count_cycles(np.zeros_like(masks), depth).tolist() == [-(-length // depth)] * 3


@given(st.floats(0.001, 1.0), st.floats(0.001, 1.0), st.sampled_from([(16, 3), (16, 1), (4, 2)]))
def test_bounds(one: float, other: float, shape: tuple[int, int]) -> None:
    lanes, depth = shape
    factor = tensordash.work_factor(one, other, lanes, depth, length=24)
    assert max(one * other, 1 / depth) <= factor.mean <= 1.0
    assert tensordash.work_factor(1.0, 1.0, lanes, depth).mean == 1.0


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("density", [0.1, 0.37, 0.52])
def test_interpolation(density: float, rows: int) -> None:
    """Between points of the grid against masks of that density."""
    masks = random_mask((128, rows, tensordash.LENGTH, 16), density, 7)
    shares = count_cycles(masks) / tensordash.LENGTH
    factor = tensordash.work_factor(density, 1.0, rows=rows)
    deviation = shares.std() / len(shares) ** 0.5
    assert abs(shares.mean() - factor.mean) < 3 * (deviation + factor.error)


def test_counted_pairs_agree_with_what_is_expected() -> None:
    one, other = random_mask((300, 16 * 60), 0.7, 1), random_mask((300, 16 * 60), 0.6, 2)
    factor = tensordash.work_factor(0.7, 0.6, length=60)
    counted = tensordash.mask_factor(pair_rows(one, other, 16))
    assert abs(counted - factor.mean) < 4 * factor.deviation(300)


def test_the_published_speed_up_is_that_of_a_density() -> None:
    """1.95 is published as the mean over networks: that of pairs of which 43 % are effectual, 39 % by rows of four."""
    assert tensordash.work_factor(0.43, 1.0).speed_up == pytest.approx(1.95, abs=0.03)
    assert tensordash.work_factor(0.39, 1.0, rows=4).speed_up == pytest.approx(1.95, abs=0.04)


def test_rows_that_are_no_multiple() -> None:
    pairs = pair_rows(np.ones((2, 5), np.bool_), np.array([[1, 0, 1, 1, 1]] * 2, np.bool_), 4)
    assert pairs.astype(int).tolist() == [[[1, 0, 1, 1], [1, 0, 0, 0]]] * 2


@pytest.mark.parametrize(
    ("one", "other", "lanes", "depth"), [(0.0, 1.0, 16, 3), (1.0, 1.1, 16, 3), (1.0, 1.0, 65, 3), (1.0, 1.0, 16, 0)]
)
def test_refused(one: float, other: float, lanes: int, depth: int) -> None:
    with pytest.raises(UsageError, match="expected"):
        tensordash.work_factor(one, other, lanes, depth)
    with pytest.raises(UsageError, match="expected"):
        count_cycles(np.ones((2, 3), np.bool_))


@pytest.mark.parametrize("point", [1, 20, 37, 63])
def test_points_of_the_file_are_those_that_are_simulated(point: int) -> None:
    """Each point as it is simulated again."""
    density = point / tensordash.GRID
    own = tensordash.simulated(point, *tensordash.PUBLISHED)
    found = tensordash.work_factor(density, 1.0)
    assert (found.mean, found.spread, found.error) == pytest.approx((own.mean, own.spread, own.error), rel=1e-9)


@pytest.mark.parametrize("density", [0.3047, 0.5078, 0.758])
def test_between_points_the_error_is_the_stated_one(density: float) -> None:
    """Half way between points, on other masks of other seeds, within four standard errors and the line's."""
    masks = random_mask((400, 1, tensordash.LENGTH, 16), density, 77)
    shares = count_cycles(masks, 3) / tensordash.LENGTH
    own = sampled(shares, density)
    found = tensordash.work_factor(density, 1.0)
    assert abs(found.mean - own.mean) <= 4 * own.error + 4 * (found.error - tensordash.INTERPOLATION_ERROR) + (
        tensordash.INTERPOLATION_ERROR
    )


def test_the_file_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(point: int, *_: int) -> WorkFactor:
        return WorkFactor(point / 64, 0.5, 0.25)

    monkeypatch.setattr(tensordash, "simulated", shared)
    tensordash.write_points(tmp_path / "points.csv")
    title, header, *lines = (tmp_path / "points.csv").read_text().splitlines()
    assert title.startswith("# cycles over dense cycles")
    assert (header, lines[32]) == ("point,mean,spread,error", "32,0.5,0.5,0.25")
    assert len(lines) == tensordash.GRID + 1

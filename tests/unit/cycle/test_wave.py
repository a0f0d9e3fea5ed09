"""The wave of a fold through the array: closed form beside elements that pass operands on, cycle by cycle."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.backends.cycle.explain.array_picture import draw_array, moments
from npuc.backends.cycle.explain.explanation import Explanation
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.wave import Wave, fold_wave
from npuc.compiler.cli import run_command

SIZES = st.integers(1, 6)


def simulated(wave: Wave, side: tuple[int, int]) -> list[set[tuple[int, int]]]:
    """
    The elements that work in each cycle, where each passes what it has to the right and downwards.

    From the left comes the step of a row, from above that of a column, each edge skewed; an element works where both
    have come, and they must be of the same step.
    """
    rows, cols = side
    left, above = np.full((rows, cols), -1), np.full((rows, cols), -1)
    found: list[set[tuple[int, int]]] = []
    for cycle in range(wave.cycles):
        since = cycle - wave.start

        def entering(count: int, used: int, since: int = since) -> np.ndarray[Any, Any]:
            return np.array([since - i if i < used and 0 <= since - i < wave.steps else -1 for i in range(count)])

        left = np.hstack([entering(rows, wave.rows)[:, None], left[:, :-1]])
        above = np.vstack([entering(cols, wave.cols)[None], above[:-1]])
        both = (left >= 0) & (above >= 0)
        assert (left[both] == above[both]).all()
        found.append({(int(row), int(col)) for row, col in zip(*np.nonzero(both), strict=True)})
    return found


@given(
    side=st.tuples(SIZES, SIZES),
    fold=st.tuples(SIZES, SIZES, st.integers(1, 12)),
    dataflow=st.sampled_from(("os", "ws", "is")),
    drain=st.sampled_from(("hidden", "full")),
)
def test_the_closed_form_is_what_elements_do(
    side: tuple[int, int], fold: tuple[int, int, int], dataflow: Any, drain: Any
) -> None:
    array = Array(*side, dataflow=dataflow, drain=drain, fill="per-fold")
    wave = fold_wave(array, *fold)
    assert wave.cycles == array.stream(fold[2]), "as the report has it"
    found = simulated(wave, side)
    for cycle, busy in enumerate(found):
        assert wave.busy(cycle) == len(busy)
        for row in range(side[0]):
            for col in range(side[1]):
                assert wave.works(row, col, cycle) == ((row, col) in busy)
    assert sum(map(wave.busy, range(wave.cycles))) == wave.macs
    assert wave.macs == min(fold[0], side[0]) * min(fold[1], side[1]) * fold[2]
    most = max(map(wave.busy, range(wave.cycles)))
    assert wave.busy(wave.middle) == wave.busy(wave.start + wave.last - wave.middle) == most
    assert wave.busy(wave.start + wave.ramp) == wave.busy(wave.last - wave.ramp) == most
    assert [cycle for cycle, busy in enumerate(found) if busy] == list(range(wave.start, wave.last + 1))


@given(fold=st.tuples(SIZES, SIZES, st.integers(1, 12)))
def test_moments_are_within_the_fold_and_in_order(fold: tuple[int, int, int]) -> None:
    wave = fold_wave(Array(6, 6, dataflow="ws"), *fold)
    cycles = [cycle for _, cycle in moments(wave)]
    assert cycles == sorted(set(cycles))
    assert all(wave.busy(cycle) > 0 for cycle in cycles)
    assert max(map(wave.busy, cycles)) == max(map(wave.busy, range(wave.cycles)))


def test_a_long_fold_costs_no_more_than_a_short_one() -> None:
    wave = fold_wave(Array(1 << 16, 1 << 16), 1 << 16, 1 << 16, 1 << 40)
    assert wave.busy(1 << 30) == 1 << 32
    assert len(moments(wave)) == 5


NET = """network n(batch=8) {
  input x: f32[batch, 12]
  input y: f32[batch, 10]
  fc = linear(x, 10)
  loss mse(fc, y)
  optimizer sgd(lr=0.1)
}
"""
ARRAY = "--set array.rows=4 --set array.cols=6 --set array.fill=per-fold --phase forward -O 0".split()


STATES = ("fill", "steady", "drain", "edge")


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_the_picture_has_the_numbers_of_the_fold(tmp_path: Path, dataflow: str) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "net.dsl").write_text(NET)
    picture, asked = tmp_path / "a.svg", [str(tmp_path / "net.dsl"), "fc", *ARRAY]
    asked += ["--set", f"array.dataflow={dataflow}", "--plot", str(picture), "--view", "array", "-q"]
    drawn: list[Sequence[Explanation]] = []

    def noted(explanations: Sequence[Explanation], *rest: Any) -> bytes:
        drawn.append(explanations)
        return draw_array(explanations, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("npuc.backends.cycle.explain.answer.draw_array", noted)
        assert run_command(["explain", *asked]) == 0
    assert picture.stat().st_size > 1000
    ((one,),) = drawn
    (fold,) = one.folds
    assert one.timeline is not None
    first = [piece for piece in one.timeline.pieces if (piece.tile, piece.fold) == (0, 0)]
    spent = {state: sum(one.timeline.cycles(p.ticks) for p in first if p.state == state) for state in STATES}
    assert spent["steady"] == fold.wave.steps
    assert sum(spent.values()) == fold.wave.cycles, "the model's time of the first fold"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--set array.fill=overlap", "folds run into each other"),
        ("--set array.dataflow=in-place", "an in-place array keeps its tile"),
        ("--set array.fill=per-fold --set cycle.compat=scalesim3 --hw scalesim", "there is no fold to show"),
        ("--hw eyeriss", "passes of a row-stationary array are no folds"),
    ],
)
def test_arrays_without_such_folds_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, message: str
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "net.dsl").write_text(NET)
    picture = tmp_path / "a.svg"
    asked = [str(tmp_path / "net.dsl"), "fc", *given.split(), "--plot", str(picture), "--view", "array"]
    assert run_command(["explain", *asked]) == 2
    assert message in capsys.readouterr().err
    assert not picture.exists()

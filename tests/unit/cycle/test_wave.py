"""Folds on a systolic array in closed form, beside elements that pass operands on, cycle by cycle."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, groupby
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.cycle.explain.array_picture import SIDE, draw_array
from npuc.backends.cycle.explain.filling import IDLE, OTHER, WAITS, WORKS, Filling, Waves, wave_windows
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.analysis.machine.stationary import members, placement, stationary_reuse
from npuc.compiler.analysis.machine.table import Machine
from npuc.compiler.analysis.machine.wave import Fold, Wave, waves_of
from npuc.compiler.analysis.timing.folds import nest_folds, round_robin_folds
from npuc.compiler.analysis.timing.interleave import interleaved_pipeline
from npuc.compiler.cli import run_command
from npuc.compiler.core.drawing.palette import BLUE
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.shared import RoundRobin
from tests.schedules import gemm
from tests.support.pictures import kept_figures
from tests.unit.cycle.shadow import Matrix
from tests.unit.cycle.test_in_place import layer_nest, matrix, tiles_of
from tests.unit.cycle.test_shadow import add, folded, random_schedule, run, stream_of
from tests.widths import of_bytes

Place = tuple[int, int]
TOGETHER = (("dx", "dw"), ("dw", "dx"), ("forward1", "forward2"), ("dw1", "dx1", "dw2"))
KINDS = ("os", "ws", "is", "in-place", "register-fed")


def draw_array_of(r: Random, kind: str) -> Array:
    rows, cols = r.randint(1, 5), r.randint(1, 5)
    if kind == "register-fed":
        return Array(rows, cols, "ws", overlap=r.choice(OVERLAPS), tile_m=r.randint(1, 5))
    flow: Any = kind
    drain: Any = r.choice(("hidden", "full"))
    return Array(rows, cols, flow, r.choice(("per-fold", "overlap")), drain, edge_elements=r.choice([1, 1, 2, 3, None]))


def draw_nest(r: Random, kind: str) -> Nest:
    sizes = [r.randint(1, 9) for _ in range(3)]
    return layer_nest((r.choice(("forward", "dx", "dw")),), *sizes) if kind == "in-place" else gemm(*sizes)


def draw_any_nest(r: Random, kind: str) -> Nest:
    """A product, or several in one nest: both gradients of a layer, in either order, or products of two weights."""
    if r.random() < 0.5:
        return draw_nest(r, kind)
    return layer_nest(r.choice(TOGETHER), *(r.randint(1, 9) for _ in range(3)))


def walk(waves: Sequence[Wave], rows: int, cols: int) -> list[dict[Place, int]]:
    """
    The number of the wave that each multiplier works on, cycle by cycle.

    From the left comes the step of a row, from above that of a column, each a cycle later than the one before; a
    multiplier passes both on, and works where both have come, which must be of the same wave and step.
    """
    deep, end = waves[0].deep, max(wave.last for wave in waves) + 1
    high = -(-rows // deep)
    left: dict[tuple[int, int], tuple[int, int]] = {}
    above: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[dict[Place, int]] = []
    for cycle in range(end):
        left = {(row, col + 1): token for (row, col), token in left.items() if col + 1 < cols}
        above = {(row + 1, col): token for (row, col), token in above.items() if row + 1 < high}
        for number, wave in enumerate(waves):
            entering = [(left, (row, 0), row) for row in range(-(-wave.rows // deep))]
            entering += [(above, (0, col), col) for col in range(wave.cols)]
            for side, place, skew in entering:
                if 0 <= cycle - wave.start - skew < wave.steps:
                    assert place not in side, "two folds enter at once"
                    side[place] = number, cycle - wave.start - skew
        working: dict[Place, int] = {}
        for (row, col), token in left.items():
            if (row, col) in above:
                assert above[row, col] == token
                used = range(row * deep, min(waves[token[0]].rows, (row + 1) * deep))
                working |= dict.fromkeys(((one, col) for one in used), token[0])
        found.append(working)
    return found


def after_the_last(array: Array, folds: Sequence[Fold], last: Wave) -> int:
    """The cycles from the start of the last fold, or instruction, to the end of the operation."""
    if array.stages is not None:
        return array.tile_m + -(-array.rows // array.stages.deep) - 1 + array.cols
    drained = array.reload if any(fold.sums for fold in folds) else 0
    if array.dataflow == "in-place":
        return last.steps + array.latency + drained
    waited = 0
    if array.grouped and array.keeps_sums:
        groups = [list(same) for _, same in groupby(folds, key=lambda fold: fold.tile)]
        sums = array.shift(groups[-2][0].rows) if len(groups) > 1 else 0
        waited = max(0, sums - sum(fold.steps for fold in groups[-1]))
    return last.steps + waited + array.latency - (0 if array.keeps_sums else array.rows)


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 10**6))
def test_the_closed_form_is_what_elements_do(kind: str, seed: int) -> None:
    r = Random(seed)
    array, nest = draw_array_of(r, kind), draw_any_nest(r, kind)
    schedule = random_schedule(r, nest.sizes)
    folds = list(nest_folds(nest, schedule, array))
    waves = list(waves_of(folds, array))
    work = compute(nest, schedule, array)
    assert len(folds) == work.folds
    assert sum(wave.macs for wave in waves) == nest.macs
    assert waves[-1].start + after_the_last(array, folds, waves[-1]) == work.cycles, "the model's time of all folds"
    places = [(row, col) for row in range(array.rows) for col in range(array.cols)]
    done = 0
    for cycle, working in enumerate(walk(waves, array.rows, array.cols)):
        for number, wave in enumerate(waves):
            own = {place for place in places if wave.works(*place, cycle)}
            assert own == {place for place, other in working.items() if other == number}
            assert wave.busy(cycle) == len(own)
        done += len(working)
        assert sum(wave.done(cycle) for wave in waves) == done


@given(st.sampled_from(("in-place", "register-fed")), st.integers(0, 10**6))
def test_tiles_stay_until_another_takes_their_register(kind: str, seed: int) -> None:
    """Beside a walk of all folds that remembers what is in the registers: one for weights, in place one for sums."""
    r = Random(seed)
    array, nest = draw_array_of(r, kind), draw_any_nest(r, kind)
    schedule = random_schedule(r, nest.sizes)
    registers: dict[bool, object] = {}
    taken, elements = 0, dict[str, int]()
    for tile in tiles_of(schedule, nest.sizes):
        for statement in nest.statements:
            in_place_sums = kind == "in-place" and statement.out.startswith("dW")
            place, view = placement(statement, array), gemm_view(nest, statement)
            name = place.stationary(statement)
            rows, cols = (tile[members(view, group)[0]] for group in (place.rows, place.cols))
            for col in range(0, len(cols), array.cols):
                for row in range(0, len(rows), array.rows):
                    own = rows[row : row + array.rows], cols[col : col + array.cols]
                    if registers.get(in_place_sums) != (statement, own):
                        taken += 1
                        elements[name] = elements.get(name, 0) + len(own[0]) * len(own[1])
                    registers[in_place_sums] = statement, own
    work = compute(nest, schedule, array)
    reused = sum(stationary_reuse(nest, schedule, array, one, count_all=True).tiles for one in nest.statements)
    assert work.folds - reused == taken
    if array.skips_reloads:
        assert work.reloads == taken
        stationary = [placement(one, array).stationary(one) for one in nest.statements]
        for name in stationary:
            if sum(name in (one.out, one.lhs, one.rhs) for one in nest.statements) == 1:
                assert work.accesses[name] == elements[name]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_an_array_with_shadow_registers_starts_folds_then(seed: int, dataflow: Any) -> None:
    """Tiles and sums cross the edge in time, and the products are right."""
    r = Random(seed)
    array = Array(r.randint(1, 5), r.randint(1, 4), dataflow, edge_elements=r.choice([1, 1, 2, 3]))
    nest = gemm(*(r.randint(1, 9) for _ in range(3)))
    schedule = random_schedule(r, nest.sizes)
    folds = list(nest_folds(nest, schedule, array))
    waves = list(waves_of(folds, array))
    groups = [len(list(same)) for _, same in groupby(folds, key=lambda fold: fold.tile)]
    starts = [waves[first].start for first in accumulate(groups[:-1], initial=0)]
    # The first tile comes in as many cycles as it has rows; in the closed form in those of all rows.
    early = 0 if dataflow == "os" else array.rows - array.shift(folds[0].rows)
    x, w = matrix(r, nest.sizes["m"], nest.sizes["k"]), matrix(r, nest.sizes["k"], nest.sizes["n"])
    found = folded(nest, schedule, array)
    operands = [stream_of(array, x, w, tile, streams) for tile, streams in found]
    end = compute(nest, schedule, array).cycles - array.latency + (0 if dataflow == "os" else array.rows)
    outs, _ = run(array, operands, [start - early for start in (*starts, end)])
    y: Matrix = np.zeros((len(x), w.shape[1]), np.int64)
    for (tile, streams), out in zip(found, outs, strict=True):
        add(array, y, tile, streams, out)
    assert (y == x @ w).all()


@pytest.mark.parametrize("seed", range(30))
def test_nests_in_turn(seed: int) -> None:
    """One tile operation of each in turn, and the time of the model."""
    r = Random(seed)
    flow: Any = r.choice(("os", "ws", "is"))
    array = Array(r.randint(1, 5), r.randint(1, 5), flow, edge_elements=r.choice([1, 2, None]))
    nests = tuple(layer_nest((one,), *(r.randint(1, 7) for _ in range(3))) for one in ("dx", "dw"))
    schedules = tuple(random_schedule(r, nest.sizes) for nest in nests)
    folds = list(round_robin_folds(nests, schedules, array))
    waves = list(waves_of(folds, array))
    together = RoundRobin(nests, schedules, ((0, 1), (2, 0)))
    widths = tuple(of_bytes(nest, 2) for nest in nests)
    timing = interleaved_pipeline(together, Machine(array, 1 << 20, Fraction(4), 1000.0, 4, True, 1), widths)
    assert waves[-1].start + after_the_last(array, folds, waves[-1]) == timing.compute
    assert sum(wave.macs for wave in waves) == together.macs


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 10**6))
def test_windows_show_what_the_folds_do(kind: str, seed: int) -> None:
    r = Random(seed)
    array, nest = draw_array_of(r, kind), draw_nest(r, kind)
    schedule = random_schedule(r, nest.sizes)
    work = compute(nest, schedule, array)
    waves = list(waves_of(nest_folds(nest, schedule, array), array))
    out = nest.statements[0].out
    (window,) = wave_windows(nest_folds(nest, schedule, array), array, {out: ""}, work.cycles, len(waves))
    assert window.begin == 0
    assert window.end == work.cycles or window.end == waves[len(window.waves)].start
    busy = 0
    for cycle in range(window.end):
        states = [window.state(row, col, cycle) for row in range(array.rows) for col in range(array.cols)]
        own = [wave for wave in waves if wave.busy(cycle)]
        assert sum(state in (WORKS, OTHER) for state in states) == sum(wave.busy(cycle) for wave in own)
        assert window.busy(cycle) == (states.count(WORKS), states.count(OTHER))
        busy += sum(window.busy(cycle))
    assert busy == window.macs
    cycles = [cycle for _, cycle in window.moments]
    assert cycles == sorted(set(cycles))
    assert 1 <= len(cycles) <= 5
    assert all(0 <= cycle < window.end for cycle in cycles)
    most = max(sum(window.busy(cycle)) for cycle in cycles)
    assert most == max(sum(window.busy(cycle)) for cycle in range(window.end))


def test_a_second_statement_begins_while_the_first_one_is_in_the_array() -> None:
    array = Array(4, 4, "os", edge_elements=None)
    folds = [Fold("a", 4, 4, 5, 0), Fold("b", 2, 4, 5, 1), Fold("a", 4, 4, 5, 2), Fold("b", 4, 4, 5, 3)]
    first, second = wave_windows(iter(folds), array, {"a": "", "b": ""}, 4 * 5 + 6, 4)
    assert (first.begin, second.begin) == (0, 5)
    assert (first.number, second.number) == (0, 1)
    assert first.heading.startswith("all 4 folds take 26 cycles")
    assert second.heading.startswith("folds 2 to 4 of 4 take 21 cycles")
    assert second.state(0, 0, 5) == WORKS
    assert second.state(3, 1, 5) == OTHER, "the fold of the other statement, which is not over"
    assert second.busy(5) == (1, 14)
    assert [second.state(2, 0, cycle) for cycle in (6, 7)] == [OTHER, WAITS], "it has two rows alone"


def test_a_long_fold_costs_no_more_than_a_short_one() -> None:
    array = Array(1 << 16, 1 << 16, "os", "per-fold")
    folds = [Fold("y", 1 << 16, 1 << 16, 1 << 40, 0)]
    (window,) = wave_windows(folds, array, {"y": ""}, (1 << 40) + array.latency, 1)
    assert sum(window.busy(1 << 30)) == 1 << 32
    assert window.macs == 1 << 72
    assert len(window.moments) == 5
    assert window.heading.startswith("the only fold takes")


NET = """network n(batch=8) {
  input x: f32[batch, 12]
  input y: f32[batch, 10]
  fc = linear(x, 10)
  h = relu(fc)
  loss mse(h, y)
  optimizer sgd(lr=0.1)
}
"""
SMALL = "--set array.rows=4 --set array.cols=6"


def pictured(tmp_path: Path, layer: str, given: str) -> tuple[int, list[tuple[str, Filling]]]:
    """The exit status of the verb, and what it has drawn."""
    pytest.importorskip("matplotlib")
    (tmp_path / "net.dsl").write_text(NET)
    picture = tmp_path / "a.svg"
    drawn: list[tuple[str, Filling]] = []

    def noted(fillings: Sequence[tuple[str, Filling]], *rest: Any) -> bytes:
        drawn.extend(fillings)
        return draw_array(fillings, *rest)

    asked = [str(tmp_path / "net.dsl"), layer, *given.split(), "--plot", str(picture), "--view", "array", "-q"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("npuc.backends.cycle.explain.answer.draw_array", noted)
        status = run_command(["explain", *asked])
    assert (status == 0) == picture.exists()
    return status, drawn


@pytest.mark.parametrize("dataflow", ["os", "ws", "is", "in-place"])
@pytest.mark.parametrize("fill", ["per-fold", "overlap"])
def test_the_picture_has_the_folds_of_the_operation(tmp_path: Path, dataflow: str, fill: str) -> None:
    given = f"{SMALL} --set array.dataflow={dataflow} --set array.fill={fill} -O0"
    status, drawn = pictured(tmp_path, "fc", given)
    assert status == 0
    assert [(phase, filling.name) for phase, filling in drawn] == [("forward", "Y"), ("dW", "dW")]
    for _, filling in drawn:
        assert isinstance(filling, Waves)
        assert (filling.rows, filling.cols) == (4, 6)
        assert filling.placed.startswith(dataflow)
        rows, cols = filling.waves[0].rows, filling.waves[0].cols
        assert filling.state(rows - 1, cols - 1, filling.waves[0].last) in (WORKS, OTHER)


@pytest.mark.parametrize(
    ("given", "each"),
    [
        ("-O3", "fold"),
        ("-O0 --set array.cores=2", "fold"),
        ("-O0 --set memory.policy=lru", "fold"),
        ("-O1", "fold"),
        ("-p autodiff,lower-to-npu,interleave{mode=zip},schedule", "fold"),
        ("-O0 --set array.dataflow=ws --set array.overlap=wlbp", "instruction"),
        ("-O0 --set array.dataflow=ws --set array.overlap=dmdb-wls", "instruction"),
        ("-O0 --hw eyeriss", "set"),
        ("-O1 --hw eyeriss", "set"),
        ("--hw scalesim -O0", "fold"),
    ],
)
def test_every_array_is_drawn(tmp_path: Path, given: str, each: str) -> None:
    status, drawn = pictured(tmp_path, "fc", f"{SMALL} {given}")
    assert status == 0
    assert {filling.name for _, filling in drawn} == {"Y", "dW"}
    for _, filling in drawn:
        assert filling.each == each
        first = filling.moments[0][1]
        assert filling.state(filling.rows, filling.cols, first) == IDLE, "outside of the array"


def test_large_arrays_show_the_first_and_the_last_element_that_work() -> None:
    """A square of several elements, at the corners of the array, is the one at the corner."""
    to_rgba = pytest.importorskip("matplotlib.colors").to_rgba
    array = Array(100, 130, "os", "per-fold")
    (window,) = wave_windows([Fold("y", 100, 130, 1, 0)], array, {"y": ""}, array.latency + 1, 1)
    assert [window.moments[at][0] for at in (0, -1)] == ["first", "last"]
    with kept_figures() as figures:
        draw_array([("forward", window)], "png", "title", "about", "all")
    grids, curve = figures[0].axes
    corners = (0, 0), (SIDE - 1, SIDE - 1)
    for panel, corner in zip((grids.child_axes[0], grids.child_axes[-1]), corners, strict=True):
        assert [one.get_xy() for one in panel.patches if one.get_facecolor() == to_rgba(BLUE)] == [corner]
    assert curve.get_xlabel() == "cycle of the operation, without waits for DRAM"


@pytest.mark.parametrize("layer", ["h", "mse"])
def test_vector_work_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], layer: str) -> None:
    status, _ = pictured(tmp_path, layer, "")
    assert status == 2
    said = capsys.readouterr().err
    assert f"no operation of {layer} runs on the array" in said
    assert "one with a matrix product" in said

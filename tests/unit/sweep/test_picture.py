"""The picture of a sweep: what is drawn."""

from typing import Any

import pytest

from npuc.compiler.explore.sweep.axes import Axis
from npuc.compiler.explore.sweep.compare import Comparison
from npuc.compiler.explore.sweep.picture import MOST_IN_LEGEND, draw_sweep
from tests.support.pictures import kept_figures, legend_of, lines_of, ticks_of
from tests.unit.sweep.test_compare import BATCH, RATE, SPM, compared

pytest.importorskip("matplotlib")


def drawn(comparison: Comparison) -> Any:
    """The axes of a picture."""
    with kept_figures() as figures:
        draw_sweep("net", comparison, "svg")
    return figures[0].axes[0]


def test_a_line_is_drawn_for_each_combination_of_the_other_keys() -> None:
    axes = drawn(compared((SPM, RATE), [0.004, 0.002, None, 0.002, 0.003, 0.001]))
    assert lines_of(axes) == [([64.0, 256.0], [4.0, 3.0], "75"), ([64.0, 128.0, 256.0], [2.0, 2.0, 1.0], "150")]
    assert axes.get_xlabel() == "memory.spm_kib"
    assert axes.get_ylabel() == "time, ms"
    assert ticks_of(axes.xaxis) == ["64", "128", "256"]
    assert axes.get_ylim()[0] == 0.0
    assert axes.get_legend().get_title().get_text() == "dram.gb_per_s"


def test_one_key_has_one_line_without_a_legend() -> None:
    axes = drawn(compared((SPM,), [1.0, 2.0, 3.0]))
    assert [label for _, _, label in lines_of(axes)] == [None]
    assert legend_of(axes) == []


def test_lines_begin_at_the_least_value() -> None:
    falling = Axis("array.rows", "hardware", "array.rows", (4, 2, 1))
    axes = drawn(compared((falling,), [1.0, 2.0, 3.0]))
    assert lines_of(axes) == [([1.0, 2.0, 4.0], [3.0, 2.0, 1.0], None)]


def test_words_are_places() -> None:
    words = Axis("hw", "option", "hardware", ("igo-large", "igo-small"))
    axes = drawn(compared((words,), [1.0, 2.0]))
    assert lines_of(axes) == [([0.0, 1.0], [1.0, 2.0], None)]
    assert ticks_of(axes.xaxis) == ["igo-large", "igo-small"]


def test_wide_ranges_are_logarithmic() -> None:
    wide = Axis("array.rows", "hardware", "array.rows", (1, 1000))
    axes = drawn(compared((wide,), [1.0, 100.0]))
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "log"


def test_different_work_is_drawn_by_the_gmac() -> None:
    axes = drawn(compared((BATCH,), [1.0, 1.5], macs=[10**12, 2 * 10**12]))
    assert lines_of(axes) == [([8.0, 16.0], [1.0, 0.75], None)]
    assert axes.get_ylabel() == "time a GMAC, ms"


def test_of_many_lines_some_are_named() -> None:
    many = Axis("b", "define", "b", tuple(range(100)))
    axes = drawn(compared((RATE, many, BATCH), [1.0] * 400))
    assert len(lines_of(axes)) == 200
    named = [label for _, _, label in lines_of(axes) if label is not None]
    assert named[:2] == ["0, 8", "6, 16"]
    assert len(named) <= MOST_IN_LEGEND
    assert axes.get_legend().get_title().get_text() == f"b,\nbatch\n({len(named)} of 200)"


def test_points_that_do_not_fit_are_left_out() -> None:
    assert lines_of(drawn(compared((SPM,), [None, None, None]))) == [([], [], None)]


DEVICES = Axis("devices", "option", "devices", (1, 2, 4))
STRATEGIES = Axis("parallel", "option", "parallel", ("dp", "joint"))


def test_devices_are_halved_along_a_line_that_waits_for_nothing() -> None:
    costs = [0.008, 0.006, 0.005, 0.004, 0.003, 0.002]
    axes = drawn(compared((DEVICES, STRATEGIES), costs))
    assert [label for _, _, label in lines_of(axes)] == ["dp", "joint", "linear"]
    assert lines_of(axes)[-1][:2] == ([1, 2, 4], [6.0, 3.0, 1.5])
    assert axes.get_xscale() == "log"


def test_a_line_that_others_cover_is_wider() -> None:
    widths: list[float] = []
    for costs in ([3.0, 3.0, 2.0, 2.0, 1.0, 1.0], [3.0, 3.0, 2.0, 1.0, 1.0, 0.5]):
        widths += [line.get_linewidth() for line in drawn(compared((SPM, RATE), costs)).get_lines()]
    assert widths == [3.0, 1.4, 1.4, 1.4]

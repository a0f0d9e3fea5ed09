"""What pictures share: colours that are told apart, titles in lines, numbers in full, files without a clock."""

import sys
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler.core.drawing.axes import is_doubling
from npuc.compiler.core.drawing.figure import check_format, lines_of, picture, text_size
from npuc.compiler.core.drawing.palette import PHASES, SERIES, WAITING
from npuc.compiler.core.drawing.roofline import RoofPoint, roofline
from npuc.compiler.core.drawing.ticks import number_text
from npuc.compiler.core.errors import UsageError
from tests.support.pictures import kept_figures, legend_of, texts_of, ticks_of

Matrix = npt.NDArray[np.float64]
VISION: dict[str, Matrix] = {
    "usual": np.eye(3),
    # Machado, Oliveira and Fernandes, 2009: severity 1, on linear RGB
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
APART = 15.0
"""The least distance of two colours in CIELAB; 2.3 can just be seen."""


def lab(colour: str, vision: Matrix) -> Matrix:
    """A colour in CIELAB, as it is seen."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x = to_xyz @ np.clip(vision @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart_by_everybody(vision: str) -> None:
    for one, other in combinations([*SERIES, WAITING], 2):
        assert np.linalg.norm(lab(one, VISION[vision]) - lab(other, VISION[vision])) > APART, (one, other)
    assert set(PHASES.values()) <= set(SERIES)


def test_powers_of_two() -> None:
    assert is_doubling([64, 128, 256])
    assert is_doubling([0.5, 1, 4])
    assert not is_doubling([1, 2])
    assert not is_doubling([0, 1, 2])
    assert not is_doubling([1, 2, 3])
    assert number_text(1024) == "1,024"


def test_lines_are_as_wide_as_they_may_be() -> None:
    pytest.importorskip("matplotlib")
    text = "a title that takes more than one line of a narrow picture"
    lines = lines_of(text, 1.5)
    assert " ".join(lines) == text
    assert all(text_size(line)[0] <= 1.5 for line in lines)
    assert lines_of("word" * 40, 1.0) == ["word" * 40] or all(lines_of("word" * 40, 1.0))


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_files_hold_no_clock(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    rc: Any = pytest.importorskip("matplotlib").rcParams
    before = dict(rc)

    def fill(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([1, 10, 1000], [1, 2, 3], label="$5 \\frac")
        axes.set_xscale("log")
        axes.legend()

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    one = picture(kind, (4, 3), fill, title="A $title$ 漢")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "2000000000")
    assert picture(kind, (4, 3), fill, title="A $title$ 漢") == one
    assert dict(rc) == before
    if kind == "svg":
        assert {"$5 \\frac", "1,000", "A $title$ 漢"} <= set(texts_of(one))


def test_the_roofline_of_a_machine() -> None:
    pytest.importorskip("matplotlib")
    points = [RoofPoint("a", 2.0, 1e12, 3.0, "forward"), RoofPoint("b", 500.0, 8e12, 1.0, "dX")]
    with kept_figures() as figures:
        data = roofline("svg", 1e13, {"DRAM": 1e11}, points, title="title")
    (axes,) = figures[0].axes
    assert {"peak 10 TOPS", "DRAM 100 GB/s", "ridge 100", "a", "b"} <= set(texts_of(data))
    slope, ridge, peak = axes.get_lines()
    assert slope.get_ydata()[-1] == peak.get_ydata()[0] == pytest.approx(10.0)
    assert slope.get_xdata()[-1] == ridge.get_xdata()[0] == 100.0
    assert legend_of(axes) == ["forward", "dX"]
    assert "100" in ticks_of(axes.xaxis)


def test_without_matplotlib_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="--plot needs matplotlib") as caught:
        check_format("figure.png")
    assert caught.value.hint == 'pip install "npuc[plot]"'

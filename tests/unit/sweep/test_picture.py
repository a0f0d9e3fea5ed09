"""The picture of a sweep: what is drawn, on axes that write it down."""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from npuc.compiler.explore.sweep.axes import Axis
from npuc.compiler.explore.sweep.picture import MOST_IN_LEGEND, draw_sweep
from tests.unit.sweep.test_compare import BATCH, RATE, SPM, compared


class Paper:
    """A figure with its axes: keeps lines, and what else it is told by name."""

    made: "Paper"

    def __init__(self, **more: object) -> None:
        Paper.made = self
        self.lines: list[tuple[list[float], list[float], object]] = []
        self.told: dict[str, Any] = {}

    def subplots(self, **more: object) -> "Paper":
        return self

    def plot(self, x: Sequence[float], y: Sequence[float], **style: object) -> None:
        self.lines.append((list(x), list(y), style["label"]))

    def legend(self, **style: object) -> None:
        self.told["legend"] = style["title"]

    def __getattr__(self, name: str) -> object:
        def called(*arguments: object, **more: object) -> None:
            self.told[name] = arguments or more

        return called


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> type[Paper]:
    """The figure that is drawn, `Paper.made`."""
    package, figure = ModuleType("matplotlib"), ModuleType("matplotlib.figure")
    vars(package).update(rcParams={}, colormaps={"viridis": str})
    vars(figure)["Figure"] = Paper
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", figure)
    return Paper


def test_a_line_is_drawn_for_each_combination_of_the_other_keys(paper: type[Paper]) -> None:
    draw_sweep("net", compared((SPM, RATE), [0.004, 0.002, None, 0.002, 0.003, 0.001]), "svg")
    assert paper.made.lines == [([64.0, 256.0], [4.0, 3.0], "75"), ([64.0, 128.0, 256.0], [2.0, 2.0, 1.0], "150")]
    assert paper.made.told["set_xlabel"] == ("memory.spm_kib",)
    assert paper.made.told["set_ylabel"] == ("time, ms",)
    assert paper.made.told["set_xticks"] == ([64.0, 128.0, 256.0], ["64", "128", "256"])
    assert paper.made.told["set_ylim"] == {"bottom": 0.0}
    assert paper.made.told["legend"] == "dram.gb_per_s"


def test_one_key_has_one_line_without_a_legend(paper: type[Paper]) -> None:
    draw_sweep("net", compared((SPM,), [1.0, 2.0, 3.0]), "svg")
    assert [label for _, _, label in paper.made.lines] == [None]
    assert "legend" not in paper.made.told


def test_lines_begin_at_the_least_value(paper: type[Paper]) -> None:
    falling = Axis("array.rows", "hardware", "array.rows", (4, 2, 1))
    draw_sweep("net", compared((falling,), [1.0, 2.0, 3.0]), "svg")
    assert paper.made.lines == [([1.0, 2.0, 4.0], [3.0, 2.0, 1.0], None)]


def test_words_are_places(paper: type[Paper]) -> None:
    words = Axis("hw", "option", "hardware", ("igo-large", "igo-small"))
    draw_sweep("net", compared((words,), [1.0, 2.0]), "svg")
    assert paper.made.lines == [([0.0, 1.0], [1.0, 2.0], None)]
    assert paper.made.told["set_xticks"] == ([0.0, 1.0], ["igo-large", "igo-small"])


def test_wide_ranges_are_logarithmic(paper: type[Paper]) -> None:
    wide = Axis("array.rows", "hardware", "array.rows", (1, 1000))
    draw_sweep("net", compared((wide,), [1.0, 100.0]), "svg")
    assert paper.made.told["set_xscale"] == ("log",)
    assert paper.made.told["set_yscale"] == ("log",)


def test_different_work_is_drawn_by_the_gmac(paper: type[Paper]) -> None:
    draw_sweep("net", compared((BATCH,), [1.0, 1.5], macs=[10**12, 2 * 10**12]), "svg")
    assert paper.made.lines == [([8.0, 16.0], [1.0, 0.75], None)]
    assert paper.made.told["set_ylabel"] == ("time a GMAC, ms",)


def test_of_many_lines_some_are_named(paper: type[Paper]) -> None:
    many = Axis("b", "define", "b", tuple(range(100)))
    draw_sweep("net", compared((RATE, many, BATCH), [1.0] * 400), "svg")
    assert len(paper.made.lines) == 200
    named = [label for _, _, label in paper.made.lines if label is not None]
    assert named[:2] == ["0, 8", "6, 16"]
    assert len(named) <= MOST_IN_LEGEND
    assert paper.made.told["legend"] == f"b,\nbatch\n({len(named)} of 200)"


@pytest.mark.usefixtures("paper")
def test_points_that_do_not_fit_are_left_out() -> None:
    assert draw_sweep("net", compared((SPM,), [None, None, None]), "svg") == b""


DEVICES = Axis("devices", "option", "devices", (1, 2, 4))
STRATEGIES = Axis("parallel", "option", "parallel", ("dp", "joint"))


def test_devices_are_halved_along_a_line_that_waits_for_nothing(paper: type[Paper]) -> None:
    costs = [0.008, 0.006, 0.005, 0.004, 0.003, 0.002]
    draw_sweep("net", compared((DEVICES, STRATEGIES), costs), "svg")
    assert [label for _, _, label in paper.made.lines] == ["dp", "joint", "linear"]
    assert paper.made.lines[-1][:2] == ([1, 2, 4], [6.0, 3.0, 1.5])
    assert paper.made.told["set_xscale"] == ("log",)


def test_a_line_that_others_cover_is_wider(paper: type[Paper], monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[object] = []

    def plot(self: Paper, x: Sequence[float], y: Sequence[float], **style: object) -> None:
        widths.append(style["linewidth"])

    monkeypatch.setattr(Paper, "plot", plot)
    draw_sweep("net", compared((SPM, RATE), [3.0, 3.0, 2.0, 2.0, 1.0, 1.0]), "svg")
    draw_sweep("net", compared((SPM, RATE), [3.0, 3.0, 2.0, 1.0, 1.0, 0.5]), "svg")
    assert widths == [3.0, 1.4, 1.4, 1.4]

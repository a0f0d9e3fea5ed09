"""The figure of the study: what is drawn, on axes that write it down; and the errors before a study runs."""

import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

from npuc.compiler.core.drawing.figure import check_format
from npuc.compiler.core.errors import UsageError
from npuc.studies.igo.plot import draw
from npuc.studies.igo.settings import LARGE, SMALL, STEPS
from npuc.studies.igo.study import run_study


class Paper:
    """Axes and a figure that keep bars, marks and what else they are told by name."""

    def __init__(self) -> None:
        self.heights: list[list[float]] = []
        self.marks: list[float] = []
        self.calls: list[str] = []

    def bar(self, x: Sequence[float], height: Sequence[float], width: float, **style: object) -> None:
        self.heights.append(list(height))

    def plot(self, x: Sequence[float], y: Sequence[float], *style: object, **more: object) -> None:
        self.marks += y

    def get_legend_handles_labels(self) -> tuple[list[object], list[str]]:
        return [1, 2], ["published", "interleaving"]

    def __getattr__(self, name: str) -> object:
        def called(*arguments: object, **more: object) -> None:
            self.calls.append(name)

        return called


class Figure(Paper):
    """The last one that was made is `Figure.made`."""

    made: "Figure"

    def __init__(self, **more: object) -> None:
        super().__init__()
        Figure.made = self
        self.axes: list[Paper] = []

    def subplots(self, rows: int, columns: int, **more: object) -> list[Paper]:
        self.axes = [Paper() for _ in range(rows)]
        return self.axes


@pytest.fixture
def matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matplotlib that writes down what is drawn."""
    package, figure = ModuleType("matplotlib"), ModuleType("matplotlib.figure")
    vars(package)["rcParams"] = {}
    vars(figure)["Figure"] = Figure
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", figure)


@pytest.mark.usefixtures("matplotlib")
def test_bars_are_ours_and_marks_the_papers() -> None:
    study = run_study("lru", (LARGE, SMALL), ("ncf", "mob"))
    assert draw(study, check_format("figure.svg")) == b""
    large, small, means = Figure.made.axes
    for axes, setting in ((large, LARGE), (small, SMALL)):
        rows = [study.of(setting, step) for step in STEPS]
        assert axes.heights == [[row.ours for row in own.values()] for own in rows]
        assert axes.marks == [row.published for own in rows for row in own.values() if row.published is not None]
        assert len(axes.marks) == 7
    assert means.heights[-1] == [study.of(setting, STEPS[-1])["avg"].ours for setting in (LARGE, SMALL)]
    assert {"suptitle", "legend", "savefig"} <= set(Figure.made.calls)


def test_without_matplotlib_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="needs matplotlib") as caught:
        check_format("figure.png")
    assert caught.value.hint == 'pip install "npuc[plot]"'


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("name", ["figure", "figure.gif", "png"])
def test_other_pictures_are_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError, match="cannot tell the kind of picture"):
        check_format(name)

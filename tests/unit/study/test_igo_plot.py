"""The figure of the study: what is drawn; and the errors before a study runs."""

import sys
from typing import Any

import pytest

from npuc.compiler.core.drawing.figure import check_format
from npuc.compiler.core.errors import UsageError
from npuc.studies.igo.plot import draw
from npuc.studies.igo.settings import LARGE, SMALL, STEPS
from npuc.studies.igo.study import run_study
from tests.support.pictures import kept_figures, lines_of, texts_of


def heights(axes: Any) -> list[list[float]]:
    """The bars of axes, a list a series."""
    return [[bar.get_height() for bar in bars] for bars in axes.containers]


def test_bars_are_ours_and_marks_the_papers() -> None:
    study = run_study("lru", (LARGE, SMALL), ("ncf", "mob"))
    with kept_figures() as figures:
        data = draw(study, check_format("figure.svg"))
    large, small, means = figures[0].axes
    for axes, setting in ((large, LARGE), (small, SMALL)):
        rows = [study.of(setting, step) for step in STEPS]
        assert heights(axes) == [[row.ours for row in own.values()] for own in rows]
        marks = [value for _, y, name in lines_of(axes) if name == "published" for value in y]
        assert marks == [row.published for own in rows for row in own.values() if row.published is not None]
        assert len(marks) == 7
    assert heights(means)[-1] == [study.of(setting, STEPS[-1])["avg"].ours for setting in (LARGE, SMALL)]
    assert [text.get_text() for text in figures[0].subfigs[-1].legends[0].get_texts()][-1] == "published"
    assert "Interleaved gradients: time over the sequential program's (preset lru)" in texts_of(data)


def test_without_matplotlib_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="needs matplotlib") as caught:
        check_format("figure.png")
    assert caught.value.hint == 'pip install "npuc[plot]"'


@pytest.mark.parametrize("name", ["figure", "figure.gif", "png"])
def test_other_pictures_are_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError, match="cannot tell the kind of picture"):
        check_format(name)

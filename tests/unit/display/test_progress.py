"""Progress of calls from Python: nothing where nobody looks on, a bar in terminals and in notebooks."""

import io
import sys
from types import ModuleType
from typing import Any

import pytest

from npuc.compiler import optimize_source, sweep_source
from npuc.compiler.core.display import progress
from npuc.compiler.core.display.progress import bar_html, watched
from tests.unit.display.results import NET, VARY
from tests.unit.display.test_words import Tags


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Handle:
    """A line of a notebook, and what it showed."""

    def __init__(self, first: str):
        self.texts = [first]

    def update(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[Handle]:
    """A shell with a kernel, whose lines are kept; each step takes a second."""
    handles: list[Handle] = []

    def display(text: str, display_id: bool) -> Handle:
        assert display_id
        handles.append(Handle(text))
        return handles[-1]

    shell, own = ModuleType("IPython"), ModuleType("IPython.display")
    names: Any = {"display": display, "HTML": str}
    own.__dict__.update(names)
    shell.__dict__.update({"get_ipython": lambda: type("Shell", (), {"kernel": object()})(), "display": own})
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", own)
    clock = iter(range(10_000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    return handles


def test_a_program_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    sweep_source(NET, vary=VARY, backend="cycle").collect()
    optimize_source(NET, vary=VARY, backend="cycle", goals=("time",))
    assert capfd.readouterr() == ("", "")


def test_a_terminal_alone_is_quiet_until_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with watched("sweep", 2, None) as advance:
        advance(1)
    assert shown.getvalue() == ""
    with watched("sweep [x]", 2, True) as advance:
        advance(2)
    assert "sweep [x]" in shown.getvalue()
    assert "2/2" in shown.getvalue()


def test_an_interactive_session_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    sweep_source(NET, vary=VARY, backend="cycle").collect()
    assert "6/6" in shown.getvalue()
    before = shown.getvalue()
    sweep_source(NET, vary=VARY, backend="cycle").collect(progress=False)
    assert shown.getvalue() == before


def test_a_notebook_has_one_line_that_is_empty_at_the_end(notebook: list[Handle]) -> None:
    sweep_source(NET, vary=VARY, backend="cycle").collect()
    (line,) = notebook
    assert len(line.texts) == 7
    assert "1 of 6 in 0:01, about 0:05 left" in line.texts[0]
    assert "6 of 6" in line.texts[5]
    assert line.texts[-1] == ""


def test_a_notebook_that_wants_none(notebook: list[Handle]) -> None:
    optimize_source(NET, vary=VARY, backend="cycle", goals=("time",), progress=False)
    assert notebook == []


def test_the_line_is_empty_after_an_error(notebook: list[Handle]) -> None:
    def stopped() -> None:
        with watched("sweep", 3, None) as advance:
            advance(1)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stopped()
    assert notebook[0].texts[-1] == ""


def test_a_bar_of_any_name() -> None:
    html = bar_html("<script>" + "x" * 1000, 7, 5, 61.0)
    tags = Tags(html)
    assert (tags.open, tags.seen) == ([], {"div", "progress"})
    assert "7 of 5 in 1:01" in html
    assert len(html) < 300

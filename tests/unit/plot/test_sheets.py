"""Pictures for papers: their sizes, letters, panels, and what is refused."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.drawing.sheet import MOST, OPTION, letter_of, made_for, read_sheet
from npuc.compiler.core.errors import UsageError
from tests.support.pictures import kept_figures, overlapping

NAMES = ("left", "right")


def fill(figure: Any) -> None:
    """Two panels with one axis of y, and a legend beside the second."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, name in zip(panels, NAMES, strict=True):
        axes.plot([1, 2, 3], [3, 2, 1], "o-", color="#0072b2", label="one")
        axes.plot([1, 2, 3], [4, 5, 6], "o-", color="#e69f00", label="two")
        axes.set_title(name)
        axes.set_xlabel(f"x of {name}")
    panels[0].set_ylabel("time, ms")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.02))


def bars(figure: Any) -> None:
    """Parts that touch."""
    axes = figure.subplots()
    for number, colour in enumerate(("#0072b2", "#e69f00", "#009e73")):
        axes.bar([0, 1], [1, 2], bottom=[number, 2 * number], color=colour, label=colour)


def drawn(words: str, kind: str = "svg", draw: Any = fill, title: str = "A title") -> tuple[bytes, list[bytes], Any]:
    """A picture for a sheet, its panels, and the last figure."""
    pytest.importorskip("matplotlib")
    from npuc.compiler.core.drawing.figure import picture

    with kept_figures() as figures, made_for(read_sheet(words)) as panels:
        data = picture(kind, (8.0, 4.6), draw, title=title, about="on a machine")
    return data, panels, figures[-1]


def texts(figure: Any) -> list[Any]:
    module: Any = pytest.importorskip("matplotlib.text")
    return [one for one in figure.findobj(module.Text) if one.get_text().strip() and one.get_visible()]


@pytest.mark.parametrize(("words", "width"), [("column", 3.33), ("page", 7.0), ("3.5x2.5", 3.5), ("88.9x63.5mm", 3.5)])
def test_a_paper_has_its_width_and_letters_of_eight_points(words: str, width: float) -> None:
    data, panels, figure = drawn(words)
    assert not panels
    found = re.search(rb'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"', data)
    assert found is not None
    assert float(found[1]) == pytest.approx(72 * width, abs=0.01)
    if words != "page" and words != "column":
        assert float(found[2]) == pytest.approx(72 * 2.5, abs=0.01)
    shown = texts(figure)
    assert "A title" not in {one.get_text() for one in shown}
    assert {one.get_fontsize() for one in shown if one.get_text() in ("one", "two", "time, ms")} == {8.0}
    assert min(one.get_fontsize() for one in shown) >= 7.0
    assert overlapping(figure) == []


def test_a_title_stands_where_it_is_asked_for() -> None:
    for words, there in (("column,title", True), ("column", False), ("slide", True), ("slide,bare", False)):
        _, _, figure = drawn(words)
        assert ("A title" in {one.get_text() for one in texts(figure)}) == there, words


def test_a_column_has_panels_below_each_other() -> None:
    for words, columns in (("column", 1), ("page", 2)):
        _, _, figure = drawn(words)
        places = {round(axes.get_window_extent().x0) for axes in figure.subfigs[0].axes}
        assert len(places) == columns


def test_panels_are_files_with_their_own_names_of_axes() -> None:
    first, panels, last = drawn("column,panels")
    assert len(panels) == 2
    assert panels[0] == first != panels[1]
    axes = last.subfigs[0].axes
    assert [one.get_title(loc="left") or one.get_title() for one in axes] == ["right"]
    assert axes[0].get_ylabel() == "time, ms"
    assert any(tick.get_visible() and tick.get_text() for tick in axes[0].get_yticklabels())


def test_one_panel_is_one_file() -> None:
    _, panels, _ = drawn("panels", draw=bars)
    assert len(panels) == 1


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_call_gives_the_same_bytes(kind: str) -> None:
    assert drawn("column,panels", kind)[:2] == drawn("column,panels", kind)[:2]


def test_fonts_of_a_pdf_are_truetype_and_it_has_no_clock() -> None:
    data, _, _ = drawn("column", "pdf")
    assert b"/Subtype /Type0" in data
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data


def test_areas_that_touch_have_hatches_and_lines_dashes_on_paper_alone() -> None:
    for words, several in (("column", True), ("slide", False)):
        _, _, figure = drawn(words, draw=bars)
        hatches = {bar.get_hatch() for bar in figure.subfigs[0].axes[0].patches}
        assert (len(hatches) == 3) == several
        _, _, figure = drawn(words)
        lines = figure.subfigs[0].axes[0].get_lines()
        assert (len({line.get_marker() for line in lines}) == 2) == several
        assert all(line.get_linewidth() >= 0.5 for line in lines)


WRONG = (
    ("colum", "there is no such size"),
    ("", "'': expected words"),
    ("column,", "'column,': expected words"),
    ("column,column", "given twice"),
    ("column,page", "expected one size"),
    ("title,bare", "exclude each other"),
    ("panels,panels", "given twice"),
    ("0x0", "1.5 to 40 inches"),
    ("9999x3", "1.5 to 40 inches"),
    ("3.5x2.2cm", "there is no such size"),
    ("١x٢", "there is no such size"),
)


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_sizes(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        read_sheet(text)


@given(st.text(max_size=30) | st.from_regex(r"[0-9x.m,a-z]{0,20}", fullmatch=True))
def test_any_words_are_a_sheet_or_one_error(text: str) -> None:
    sheet = None
    try:
        sheet = read_sheet(text)
    except UsageError as error:
        message = error.message
    else:
        message = OPTION
    assert OPTION in message
    assert sheet is None or sheet.width is None or 0 < sheet.width <= MOST


def test_letters_of_panels() -> None:
    assert [letter_of(n) for n in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]


def test_files_of_panels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from npuc.compiler.cli.plot.target import picture_target
    from npuc.compiler.core.drawing.figure import picture

    target = picture_target(str(tmp_path / "f.v1.svg"), made_for="column,panels")
    assert target is not None
    files = target.drawn(lambda kind: picture(kind, (8, 4), fill))
    assert [Path(path).name for path in files] == ["f.v1-a.svg", "f.v1-b.svg"]


def test_a_sheet_without_a_picture_is_refused() -> None:
    from npuc.compiler.cli.plot.target import picture_target

    with pytest.raises(UsageError, match="there is none"):
        picture_target(None, made_for="column")


def crowded(figure: Any) -> None:
    """Names that fit beside each other in one panel and not in the other, and a legend over high bars."""
    names = [f"network-{number}" for number in range(9)]
    panels = figure.subplots(2, 1)
    for axes, count in zip(panels, (3, 9), strict=True):
        axes.bar(range(count), range(1, count + 1), color="#0072b2", label="ours")
        axes.plot(range(count), range(count, 0, -1), "o-", color="#e69f00", label="a line that goes down")
        axes.set_xticks(range(count), names[:count])
    panels[1].set_yscale("log")
    panels[1].legend(loc="upper left")
    panels[1].set_ylim(0.5, 10)


@pytest.mark.parametrize("words", ["4.6x4", "4.6x4,title"])
def test_names_and_legends_have_room(words: str) -> None:
    _, _, figure = drawn(words, draw=crowded)
    wide, narrow = (one for one in figure.findobj(import_module("matplotlib.axes").Axes) if one.axison)
    assert {one.get_rotation() for one in wide.get_xticklabels()} == {0.0}
    assert {one.get_rotation() for one in narrow.get_xticklabels()} == {90.0}
    assert not overlapping(figure)
    legend = narrow.get_legend().get_window_extent()
    for bar in narrow.patches:
        assert not bar.get_window_extent().overlaps(legend)
    for x, y in narrow.lines[0].get_transform().transform(narrow.lines[0].get_xydata()):
        assert not (legend.x0 <= x <= legend.x1 and legend.y0 <= y <= legend.y1)


def uneven(figure: Any) -> None:
    """A panel over two, and a scale of colours."""
    grid = figure.add_gridspec(2, 2)
    figure.add_subplot(grid[0, :]).plot([1, 2])
    figure.add_subplot(grid[1, 0]).plot([1, 2])
    axes = figure.add_subplot(grid[1, 1])
    figure.colorbar(axes.imshow([[1, 2], [3, 4]]), ax=axes)


def parted(figure: Any) -> None:
    """Two sub-figures with a title each."""
    for number, part in enumerate(figure.subfigures(1, 2)):
        part.subplots().plot([1, 2])
        part.suptitle(f"part {number}")


@pytest.mark.parametrize("draw", [uneven, parted])
def test_panels_that_have_their_places_are_refused_in_a_column_and_files_of_their_own(draw: Any) -> None:
    with pytest.raises(UsageError, match="panels side by side need"):
        drawn("column", draw=draw)
    assert len(drawn("column,panels", draw=draw)[1]) == (3 if draw is uneven else 2)


def grid(rows: int, columns: int) -> Callable[[Any], None]:
    """What fills a figure with so many panels."""

    def fill_grid(figure: Any) -> None:
        for axes in figure.subplots(rows, columns, squeeze=False).flat:
            axes.plot([1, 2])

    return fill_grid


def test_a_sheet_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match=r"are the least|is cut at the edge"):
        drawn("3.33x1.5", draw=grid(6, 1))


def test_a_picture_higher_than_a_page_is_refused() -> None:
    with pytest.raises(UsageError, match="a page has"):
        drawn("column", draw=grid(6, 6))


def test_panels_keep_the_title_and_what_stands_below_it() -> None:
    _, _, figure = drawn("slide,panels")
    assert "A title" in {one.get_text() for one in texts(figure)}
    assert b"on a machine" in drawn("column")[0]


def lines_of_bars(figure: Any) -> None:
    """More names than have room beside each other in a picture of little height."""
    axes = figure.subplots()
    axes.barh(range(14), range(1, 15), color="#0072b2")
    axes.set_yticks(range(14), [f"layer{number}" for number in range(14)])


def test_a_picture_without_a_height_is_as_high_as_its_names_need() -> None:
    pytest.importorskip("matplotlib")
    from npuc.compiler.core.drawing.figure import picture

    with kept_figures() as figures, made_for(read_sheet("column")):
        picture("svg", (8.0, 1.2), lines_of_bars, title="", about="", rows=True)
    assert figures[-1].get_size_inches()[1] > 1.2
    assert not overlapping(figures[-1])
    with pytest.raises(UsageError, match="along an axis are over each other"), made_for(read_sheet("3.33x1.5")):
        picture("svg", (8.0, 1.2), lines_of_bars, title="", about="", rows=True)

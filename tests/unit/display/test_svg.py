"""Small pictures: well-formed, with what they show in their place, whatever the numbers are."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.display.svg import HEIGHT, WIDTH, curves, scatter, share_bar

NUMBER = st.floats() | st.sampled_from([0.0, 1e308, -1e308, 5e-324])
POINTS = st.lists(st.tuples(NUMBER, NUMBER), max_size=300)
NAMES = st.text(max_size=80)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{text}</div>")


def places(text: str, tag: str, name: str) -> list[float]:
    return [float(one.attrib[name]) for one in parsed(text).iter(f"{{http://www.w3.org/2000/svg}}{tag}")]


def test_a_bar_has_its_shares() -> None:
    text = share_bar([("forward", 3.0, "#111"), ("none", 0.0, "#222"), ("dX & dW", 1.0, "#333")], "times")
    assert places(text, "rect", "width") == [75.0, 25.0]
    assert places(text, "rect", "x") == [0.0, 75.0]
    assert [one.text for one in parsed(text).iter("span")] == [None, None]
    assert "forward 75%" in text
    assert "dX &amp; dW 25%" in text
    assert share_bar([], "nothing") == share_bar([("a", 0.0, "#111")], "nothing") == ""


@given(st.lists(st.tuples(NAMES, NUMBER), max_size=8))
def test_any_bar_is_well_formed(parts: list[tuple[str, float]]) -> None:
    text = share_bar([(name, size, "#123456") for name, size in parts], "any")
    if text:
        assert abs(sum(places(text, "rect", "width")) - 100) < 0.1


@given(POINTS, POINTS, NAMES, NAMES)
def test_any_points_are_inside(
    points: list[tuple[float, float]], best: list[tuple[float, float]], x: str, y: str
) -> None:
    text = scatter(points, best, x, y)
    if text:
        assert len(text) < 60_000
        assert all(0 <= place <= WIDTH for place in places(text, "circle", "cx"))
        assert all(0 <= place <= HEIGHT for place in places(text, "circle", "cy"))


def test_points_stand_where_they_are() -> None:
    text = scatter([(0.0, 10.0), (5.0, 20.0), (10.0, 30.0)], [(0.0, 10.0)], "time", "area, mm2")
    xs, ys = places(text, "circle", "cx"), places(text, "circle", "cy")
    assert xs[1] - xs[0] == xs[2] - xs[1] > 0
    assert ys[0] - ys[1] == ys[1] - ys[2] > 0
    assert (xs[3], ys[3]) == (xs[0], ys[0])
    wide = scatter([(1.0, 1.0), (10.0, 1.0), (100.0, 1.0)], [], "x", "y")
    first, second, third = places(wide, "circle", "cx")
    assert abs((second - first) - (third - second)) < 0.2  # logarithmic


@given(st.lists(st.lists(NUMBER, max_size=400), max_size=12))
def test_any_curves_are_inside(series: list[list[float]]) -> None:
    text = curves(series, "step", "loss")
    if text:
        numbers = re.findall(r'points="([^"]*)"', text)
        assert all(0 <= float(y) <= HEIGHT for line in numbers for y in re.findall(r",(\S+)", line))
        parsed(text)
    assert curves([[1.0]], "step", "loss") == ""

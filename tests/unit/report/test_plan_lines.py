"""Layers of a plan as lines: names that stand for several, and what is left where there are too many."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.numbered import name_of_all, template
from npuc.compiler.report.parallel import ParallelTotal
from npuc.compiler.report.plan import PlanLayer
from npuc.compiler.report.text.plan_lines import plan_lines


def layer(name: str, elements: int) -> PlanLayer:
    """A layer without parts."""
    total = ParallelTotal(elements=elements, bytes=8 * elements)
    return PlanLayer(
        layer=name, weights=True, choices=["dp"], cuts=None, parts=[], total=total, other=None, adapted=None
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["fc"], "fc"),
        (["a.3.q"], "a.3.q"),
        (["a.0.q", "a.1.q", "a.2.q"], "a.0-2.q"),
        (["a.0.q", "a.2.q"], "a.*.q"),
        (["a.0.3", "a.0.4", "a.1.3", "a.1.4"], "a.0-1.3-4"),
        (["a.0.3", "a.1.4"], "a.*.*"),
        (["a.9.x (for all readers)", "a.10.x (for all readers)"], "a.9-10.x (for all readers)"),
    ],
)
def test_names_of_several_layers(names: list[str], expected: str) -> None:
    assert name_of_all(names) == expected
    assert len({template(name) for name in names}) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(0, 9)), unique_by=lambda t: t[:2]))
def test_lines_keep_every_layer_once(drawn: list[tuple[int, str, int]]) -> None:
    layers = [layer(f"net.{number}.{name}", elements) for number, name, elements in drawn]
    many = [*layers, *(layer(f"other.{n}x", n) for n in range(MOST_LINES + 1))]
    for rows in ("folded", "all"):
        lines = plan_lines(many, lambda own: own.total.elements, rows)
        shown = [own.layer for line in lines for own in line.layers]
        assert sorted(shown) == sorted(own.layer for own in many)
        assert sum(line.elements for line in lines) == sum(Fraction(own.total.elements) for own in many)
        for line in lines:
            assert line.rest or len({(template(own.layer), own.total.elements) for own in line.layers}) == 1
    assert len(plan_lines(many, lambda own: own.total.elements)) == MOST_LINES
    assert len(plan_lines(layers, lambda own: own.total.elements)) == len(layers)


def test_the_rest_is_what_moves_least() -> None:
    layers = [layer(f"fc{n}", n) for n in range(MOST_LINES + 3)]
    *kept, rest = plan_lines(layers, lambda own: own.layer)
    assert [line.name for line in kept] == [f"fc{n}" for n in range(4, MOST_LINES + 3)]
    assert (rest.name, rest.elements) == ("(4 others)", 0 + 1 + 2 + 3)

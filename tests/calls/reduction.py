"""Random calls of reductions and running sums."""

from math import prod
from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import axis_of, sizes


def reduced(data: st.DataObject) -> tuple[Shape, dict[str, Any]]:
    """An operand and the axes to reduce it over: one, several or all, counted from either end."""
    x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 4)))
    axes = data.draw(st.lists(st.integers(0, len(x) - 1), max_size=len(x), unique=True))
    given = [axis - data.draw(st.sampled_from([0, len(x)])) for axis in axes]
    arguments: dict[str, Any] = {"keepdim": data.draw(st.booleans())}
    if given:
        arguments["axis"] = given[0] if len(given) == 1 and data.draw(st.booleans()) else given
    return x, arguments


def reduction(function: str) -> Draw:
    """A reduction over any axes."""

    def draw(data: st.DataObject) -> Call:
        x, arguments = reduced(data)
        return Call(function, {"x": x}, arguments)

    return draw


def _var(data: st.DataObject) -> Call:
    x, arguments = reduced(data)
    axes: int | list[int] = arguments.get("axis", list(range(len(x))))
    count = prod(x[axis] for axis in ([axes] if isinstance(axes, int) else axes))
    return Call("var", {"x": x}, arguments | {"correction": data.draw(st.integers(0, min(2, count - 1)))})


def _cumsum(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 5)] * data.draw(st.integers(1, 3)))
    return Call("cumsum", {"x": x}, {"axis": axis_of(data, x)})


def _vector_norm(data: st.DataObject) -> Call:
    """Clear of 0, where the norm has no derivative."""
    x, arguments = reduced(data)
    range = data.draw(st.sampled_from([(0.2, 1.5), (-1.5, -0.2)]))
    return Call(
        "vector_norm",
        {"x": x},
        {"order": data.draw(st.sampled_from([2.0, 1.0, 3.0, 0.5])), **arguments},
        ranges={"x": range},
    )


CALLS: dict[str, Draw] = {
    "sum": reduction("sum"),
    "mean": reduction("mean"),
    "var": _var,
    "prod": reduction("prod"),
    "cumsum": _cumsum,
    "vector_norm": _vector_norm,
}

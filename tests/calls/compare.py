"""Random calls of the comparisons, of the operations on booleans, and of the choice between two tensors."""

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import broadcast_pair, sizes, unary, vectors

_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _swapped(data: st.DataObject) -> tuple[Shape, Shape]:
    x, y = broadcast_pair(data)
    return (x, y) if data.draw(st.booleans()) else (y, x)


def _compare(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, y = _swapped(data)
        if data.draw(st.booleans()):
            return Call(function, indices={"x": (x, 3), "y": (y, 3)})
        return Call(function, {"x": x, "y": y})

    return draw


def _compare_number(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        tensor, other = data.draw(st.sampled_from(["xy", "yx"]))
        if data.draw(st.booleans()):
            return Call(function, indices={tensor: (vectors(data), 3)}, arguments={other: 1})
        return Call(function, {tensor: vectors(data)}, {other: data.draw(st.sampled_from([-0.3, 0.2]))})

    return draw


def _logical(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, y = _swapped(data)
        return Call(function, masks={"x": x, "y": y})

    return draw


def _where(data: st.DataObject) -> Call:
    full = sizes(data, (1, 3), (1, 3), (1, 3))
    condition, x, y = (_cut(data, full) for _ in range(3))
    return Call("where", {"x": x, "y": y}, masks={"condition": condition})


def _cut(data: st.DataObject, shape: Shape) -> Shape:
    """A shape that broadcasts to another one."""
    return tuple(1 if data.draw(st.booleans()) else s for s in shape)[data.draw(st.integers(0, 2)) :]


def _where_number(data: st.DataObject) -> Call:
    x, condition = _swapped(data)
    tensor, other = data.draw(st.sampled_from(["xy", "yx"]))
    return Call("where", {tensor: x}, {other: data.draw(st.sampled_from([-2, 0.5]))}, masks={"condition": condition})


CALLS: dict[str, Draw] = {
    **{name: _compare(name) for name in _COMPARISONS},
    **{f"{name} number": _compare_number(name) for name in _COMPARISONS},
    "logical_and": _logical("logical_and"),
    "logical_or": _logical("logical_or"),
    "logical_xor": _logical("logical_xor"),
    **{name: unary(name) for name in ("isnan", "isinf", "isfinite")},
    "logical_not": lambda data: Call("logical_not", masks={"x": vectors(data)}),
    "where": _where,
    "where number": _where_number,
}

"""Random calls of matrix products."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _linear(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 3)] * data.draw(st.integers(2, 4)))
    return Call("linear", {"x": x}, {"features": data.draw(st.integers(1, 4)), "bias": data.draw(st.booleans())})


def _linear_shared(data: st.DataObject) -> Call:
    x = sizes(data, (1, 3), (1, 3), (1, 4))
    return Call("linear", {"x": x, "weight": (x[-1], data.draw(st.integers(1, 4)))}, {"bias": data.draw(st.booleans())})


def _matmul(data: st.DataObject) -> Call:
    m, n, k = sizes(data, (1, 3), (1, 4), (1, 3))
    batch = sizes(data, *[(1, 3)] * data.draw(st.integers(0, 2)))
    cut = tuple(1 if data.draw(st.booleans()) else s for s in batch)[data.draw(st.integers(0, len(batch))) :]
    ta, tb = data.draw(st.booleans()), data.draw(st.booleans())
    a = (*batch, *((k, m) if ta else (m, k)))
    b = (*cut, *((n, k) if tb else (k, n)))
    if data.draw(st.booleans()):
        a, b, ta, tb = b, a, not tb, not ta
    return Call("matmul", {"x": a, "y": b}, {"transpose_a": ta, "transpose_b": tb})


CALLS: dict[str, Draw] = {"linear": _linear, "linear shared": _linear_shared, "matmul": _matmul}

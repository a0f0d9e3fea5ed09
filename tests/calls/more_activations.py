"""Random calls of the activation functions that are made of others, and of limits that are not two numbers."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import broadcast_pair, unary, vectors


def _glu(data: st.DataObject) -> Call:
    x, axis = list(vectors(data)), data.draw(st.integers(-3, 2))
    x[axis] = 2 * data.draw(st.integers(1, 2))
    return Call("glu", {"x": tuple(x)}, {"axis": axis})


def _clip_by_tensors(data: st.DataObject) -> Call:
    x, bound = broadcast_pair(data)
    name, other, number = data.draw(st.sampled_from([("low", "high", 2.5), ("high", "low", -2.5)]))
    arguments = {other: data.draw(st.sampled_from([None, number]))}
    return Call("clip", {"x": x, name: bound}, arguments, ranges={name: (-0.93, 1.0)})


def _clip_one_sided(data: st.DataObject) -> Call:
    name, other = data.draw(st.sampled_from([("low", "high"), ("high", "low")]))
    return Call("clip", {"x": vectors(data)}, {name: 0.3, other: None})


CALLS: dict[str, Draw] = {
    "hardtanh": unary("hardtanh", range=(-3.0, 3.0)),
    "hardtanh bounds": unary("hardtanh", low=-0.5, high=2.0, range=(-3.0, 3.0)),
    "selu": unary("selu", range=(-3.0, 3.0)),
    "celu": unary("celu", range=(-3.0, 3.0)),
    "celu alpha": unary("celu", alpha=0.5, range=(-3.0, 3.0)),
    "softsign": unary("softsign", range=(-3.0, 3.0)),
    "log_sigmoid": unary("log_sigmoid", range=(-5.0, 5.0)),
    "tanhshrink": unary("tanhshrink", range=(-3.0, 3.0)),
    "hardshrink": unary("hardshrink", range=(-2.0, 2.0)),
    "softshrink": unary("softshrink", lambd=0.25, range=(-2.0, 2.0)),
    "softplus beta": unary("softplus", beta=2.0, range=(-3.0, 3.0)),
    "threshold": unary("threshold", threshold=0.25, value=-1.5),
    "glu": _glu,
    "clip tensor": _clip_by_tensors,
    "clip one-sided": _clip_one_sided,
}

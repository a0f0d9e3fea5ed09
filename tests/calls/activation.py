"""Random calls of the activation functions made of straight lines."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import image, sizes, unary, vectors


def _clip(data: st.DataObject) -> Call:
    low = data.draw(st.sampled_from([-1.5, -0.4, 0.1]))
    return Call("clip", {"x": vectors(data)}, {"low": low, "high": low + data.draw(st.sampled_from([0.3, 1.0]))})


def _leaky_relu(data: st.DataObject) -> Call:
    slope = data.draw(st.sampled_from([0.0, 0.01, 0.3, 1.5, -0.2]))
    return Call("leaky_relu", {"x": vectors(data)}, {"negative_slope": slope})


def _prelu(data: st.DataObject) -> Call:
    x = data.draw(st.sampled_from([image, vectors]))(data) if data.draw(st.booleans()) else sizes(data, (1, 3), (1, 4))
    return Call("prelu", {"x": x})


def _prelu_shared(data: st.DataObject) -> Call:
    x = vectors(data)
    return Call("prelu", {"x": x, "weight": x[1:2]})


CALLS: dict[str, Draw] = {
    "relu": unary("relu"),
    "relu6": unary("relu6", range=(-2.0, 8.0)),
    "clip": _clip,
    "leaky_relu": _leaky_relu,
    "leaky_relu default": unary("leaky_relu"),
    "prelu": _prelu,
    "prelu shared": _prelu_shared,
    "hard_sigmoid": unary("hard_sigmoid", range=(-5.0, 5.0)),
    "hard_swish": unary("hard_swish", range=(-5.0, 5.0)),
}
